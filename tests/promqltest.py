"""Tests of PromQL in the form of Prometheus' own (promql/promqltest), run here and on its `promtool`.

    load 5s
      metric{a="b"} 0 1 2+3x10 _ stale
    eval instant at 1m rate(metric[1m])
      {a="b"} 0.2
    eval_fail instant at 1m metric + on() other

A `load` after an `eval` starts with an empty store.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import promql_parser
import yaml

from rayscope.metrics.promql.evaluate import Result, evaluate
from rayscope.metrics.tsdb.ring import STALE
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Labels, Sample
from rayscope.storage.errors import BadQuery

PROMTOOL = shutil.which("promtool") or "/usr/bin/promtool"
Answer = dict[Labels, float] | None
"""The value of each series; None: it fails."""


class Line(NamedTuple):
    """`metric{a="b"} 0 1 2`"""

    series: str
    values: str


class Case(NamedTuple):
    """An expression at a time, s, and its expected result."""

    expr: str
    at_s: float
    expected: list[tuple[Labels, float]] | None
    ordered: bool = False


@dataclass
class Group:
    """Series that are loaded at an interval, and the queries on them."""

    interval: str
    lines: list[Line] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)


def seconds(duration: str) -> float:
    return promql_parser.parse_duration(duration).total_seconds() if duration != "0" else 0.0


def labels_of(series: str) -> Labels:
    """`metric{a="b"}` or `{a="b"}` as labels."""
    if series == "{}":
        return ()
    selector = promql_parser.parse(series)
    assert isinstance(selector, promql_parser.VectorSelector)
    pairs = [(each.name, each.value) for each in selector.matchers.matchers]
    return tuple(sorted([("__name__", selector.name), *pairs] if selector.name else pairs))


def read(path: Path) -> list[Group]:
    groups: list[Group] = []
    lines = [line.rstrip() for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
    for line in lines:
        if line.startswith("load "):
            if not groups or groups[-1].cases:
                groups.append(Group(line.split()[1]))
        elif match := re.fullmatch(r"eval(_fail|_ordered)? instant at (\S+) (.+)", line):
            expected = None if match[1] == "_fail" else []
            groups[-1].cases.append(Case(match[3], seconds(match[2]), expected, match[1] == "_ordered"))
        elif groups[-1].cases:
            series, value = re.fullmatch(r"\s+(\S*\{.*\}|\w+)\s+(\S+)", line).groups()
            groups[-1].cases[-1].expected.append((labels_of(series), float(value)))
        else:
            groups[-1].lines.append(Line(*re.fullmatch(r"\s+(\S*\{.*?\}|\S+)\s+(.+)", line).groups()))
    return groups


def spread(values: str) -> list[float | None]:
    """`0+10x3 _ stale` as numbers; None is nothing, STALE the end of the series."""
    found: list[float | None] = []
    for word in values.split():
        if match := re.fullmatch(r"_(?:x(\d+))?", word):
            found += [None] * int(match[1] or 1)
        elif match := re.fullmatch(r"(-?[\d.]+(?:e\d+)?)([+-][\d.]+)x(\d+)", word):
            found += [float(match[1]) + i * float(match[2]) for i in range(int(match[3]) + 1)]
        else:
            found.append(STALE if word == "stale" else float(word))
    return found


def loaded(group: Group) -> SeriesStore:
    """A store with a group's samples; time 0 is the epoch."""
    step_s = seconds(group.interval)
    columns = {labels_of(line.series): spread(line.values) for line in group.lines}
    width = max(map(len, columns.values()), default=0)
    store = SeriesStore(step_s=step_s, full_s=step_s * (width + 1))
    for at in range(width):
        samples = []
        for labels, values in columns.items():
            if at < len(values) and values[at] is not None:
                name = dict(labels)["__name__"]
                rest = tuple(pair for pair in labels if pair[0] != "__name__")
                samples.append(Sample(name, rest, values[at]))
        put(store, round(at * step_s * 1e9), samples)
    return store


def put(store: SeriesStore, time_ns: int, samples: Iterable[Sample]) -> None:
    """Append, also ends of series: series that their source no longer reports."""
    for sample in samples:
        source = f"{sample.name} {sample.labels}"
        current = [] if math.isnan(sample.value) else [sample]
        store.append(time_ns, current, source=source)


def our_result(store: SeriesStore, case: Case) -> Result | None:
    at_ns = round(case.at_s * 1e9)
    try:
        return evaluate(store, case.expr, at_ns, at_ns, 0)
    except BadQuery:
        return None


def answer(result: Result | None, step: int = 0) -> Answer:
    """The values of a result at one of its steps."""
    if result is None:
        return None
    return {
        tuple(sorted(labels.items())): values[step]
        for labels, values in result.series
        if values[step] is not None
    }


def prometheus_answers(groups: Sequence[Group], folder: Path) -> list[list[Answer]]:
    """Prometheus's answers to each group's cases, read from its errors about impossible expectations.

    Prometheus loads samples only up to the latest time of a query, so one query is at the end of all samples.
    """
    tests = [
        {
            "interval": group.interval,
            "name": str(number),
            "input_series": [{"series": line.series, "values": line.values} for line in group.lines],
            "promql_expr_test": [
                {"expr": case.expr, "eval_time": f"{round(case.at_s * 1000)}ms", "exp_samples": [_NEVER]}
                for case in [*group.cases, Case("1", _end_s(group), [])]
            ],
        }
        for number, group in enumerate(groups)
    ]
    file = folder / "oracle.yml"
    file.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": tests}, sort_keys=False))
    done = subprocess.run([PROMTOOL, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    said = re.split(r"^    expr: ", done.stdout + done.stderr, flags=re.MULTILINE)[1:]
    assert len(said) == sum(len(group.cases) + 1 for group in groups), done.stdout + done.stderr
    answers = iter(map(_read, said))
    return [[next(answers) for _ in [*group.cases, None]][:-1] for group in groups]


def _end_s(group: Group) -> float:
    """When all samples are taken in: it takes them once a minute."""
    width = max((len(spread(line.values)) for line in group.lines), default=0)
    return math.ceil(max(width * seconds(group.interval), *(case.at_s for case in group.cases)) / 60) * 60


_NEVER = {"labels": '{never="this"}', "value": 1}
_SAMPLE = re.compile(r"(\w*\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*\}) ([-+]?(?:Inf|NaN|[\d.]+E[-+]\d+))")


def _read(said: str) -> Answer:
    if "\n        got:" not in said:
        assert "err:" in said, said
        return None
    got = said.split("\n        got:", 1)[1]
    return {labels_of(labels): float(value) for labels, value in _SAMPLE.findall(got)}


def are_equal(first: Answer, second: Answer) -> bool:
    """Equal but for rounding."""
    if first is None or second is None:
        return first is second
    return first.keys() == second.keys() and all(
        close(value, second[labels]) for labels, value in first.items()
    )


def close(first: float, second: float) -> bool:
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) and math.isnan(second)
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
