"""Ray or one of our collectors exports each metric that a shipped alert rule reads."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import promql_parser as parser
from tests.cluster import wait_until
from tests.running import Running
from tests.story import SESSION, Story

from rayscope.alerts.rules import load_rules
from rayscope.metrics.collector import Cluster, load
from rayscope.metrics.ray_text import Texts
from rayscope.model.metric import Family
from rayscope.model.usage import Resources, Usage
from rayscope.ray.agents.scrape import is_wanted
from rayscope.ray.prometheus_text import TextReader
from rayscope.runs.collector import RunCollector

UNIT = Path(__file__).parents[1]
#: Recorded from Ray.
SAMPLES = ("metrics/samples/ray-2.60.prom", "ray/samples/node.prom")
#: Where Ray declares the metrics of GPUs, Serve and Data, which the samples lack.
DECLARED = (
    "dashboard/modules/reporter/reporter_agent.py",
    "serve/_private/replica.py",
    "data/_internal/stats.py",
)
#: A metric for each field.
OPERATOR = "data/_internal/execution/interfaces/op_runtime_metrics.py"


def selected(node: parser.Expr) -> Iterator[str]:
    """The names of the metrics that an expression reads."""
    match node:
        case parser.VectorSelector():
            yield node.name
        case parser.MatrixSelector():
            yield from selected(node.vector_selector)
        case parser.BinaryExpr():
            yield from selected(node.lhs)
            yield from selected(node.rhs)
        case parser.Call():
            for argument in node.args:
                yield from selected(argument)
        case parser.AggregateExpr() | parser.ParenExpr() | parser.UnaryExpr():
            yield from selected(node.expr)


def exported_by_ray() -> set[str]:
    """The names in the samples, and those that the source of the installed Ray declares."""
    reader = TextReader(is_wanted, lambda labels: labels)
    recorded = {sample.name for path in SAMPLES for sample in reader.read((UNIT / path).read_text()).samples}
    spec = find_spec("ray")
    assert spec is not None
    assert spec.origin is not None
    ray = Path(spec.origin).parent
    declared = {name for path in DECLARED for name in re.findall(r'"([a-z_]+)"', (ray / path).read_text())}
    # Counters end in _total where OpenTelemetry exports them, and histograms have a _count.
    named = {f"ray_{name}{end}" for name in declared for end in ("", "_total", "_count")}
    fields = re.findall(r"^    (\w+): \w+ = metric_field", (ray / OPERATOR).read_text(), re.MULTILINE)
    return recorded | named | {f"ray_data_{name}" for name in fields}


def exported_by_us(running: Running) -> set[str]:
    """The metrics of a running server, and those that each collector describes."""
    story = Story()
    story.task("work", 0, 1, 2)
    running.record(story)
    services = running.server.services
    assert services is not None
    own = "rayscope_store_failing"
    wait_until(lambda: own in {name for of in services.metrics.live().values() for name in of.names()}, own)
    cluster = Cluster(
        SESSION,
        time.time_ns(),
        nodes=list,
        usage=Usage,
        resources=lambda: Resources(time_ns=0),
        text=lambda: Texts({}, {}, {}, [], 0.0),
        record=lambda look, key=None: services.records.read(SESSION, look),
        figures=dict,
    )
    collectors = [services.findings, RunCollector(services.runs), *(make() for _, make in load().values())]
    described = [one for each in collectors for one in each.collect(cluster)]
    measured = services.metrics.live()[SESSION].names()
    return {*measured, *(one.name for one in described if isinstance(one, Family))}


def test_each_metric_of_a_shipped_rule_is_exported(fresh: Running) -> None:
    found = load_rules(fresh.folder / "nowhere")
    exported = exported_by_us(fresh) | exported_by_ray()
    for rule in (*found.rules, *found.disabled):
        assert set(selected(parser.parse(rule.expr))) <= exported, rule.name
