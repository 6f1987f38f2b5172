"""Files of rules: the shorthand, what ships, what takes its place, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import promql_parser
import pytest

from rayscope.alerts.durations import duration_s
from rayscope.alerts.rules import SHIPPED, export, load_rules, named, parse_rules
from rayscope.alerts.simple_form import METRICS
from rayscope.alerts.templates import Template
from rayscope.storage.errors import BadQuery

S = 10**9


def rule(body: str) -> str:
    return f"groups: [{{name: g, rules: [{body}]}}]"


def test_built_in_rules() -> None:
    found = load_rules(Path("nowhere"))
    shipped = {each.name: each for each in (*found.rules, *found.disabled)}
    assert found.disabled == ()
    wanted = {
        "NodeCpuHigh": ("info", 60, ">", 80),  # a busy CPU is no alarm
        "NodeMemoryHigh": ("critical", 60, ">", 85),
        "NodeDead": ("critical", 10, "==", 0),
        "TaskFailureRateHigh": ("warning", 300, ">", 10),
        "TrainingRunFailed": ("critical", 0, ">", 0),
        "TuneExperimentFailed": ("critical", 0, ">", 0),
        "TuneTrialsFailed": ("warning", 0, ">", 0),
    }
    for name, (severity, wait_s, op, threshold) in wanted.items():
        rule = shipped[name]
        assert (rule.severity, rule.for_ns // S, rule.op, rule.threshold) == (severity, wait_s, op, threshold)
    assert len(shipped) > len(wanted)


def test_a_few_bytes_do_not_become_gigabytes() -> None:
    lines = ["groups:", "- name: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"- name: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(12)]
    with pytest.raises(BadQuery, match="aliases"):
        parse_rules("\n".join(lines), "bomb.yml")
    with pytest.raises(BadQuery, match="name"):
        parse_rules("groups: [{name: [x], rules: []}]", "odd.yml")


def test_a_file_overrides_disables_and_adds(tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text(
        "disable: [NodeMemoryHigh, Nothing]\n"
        + rule("{alert: NodeCpuHigh, metric: cpu, op: '>=', threshold: 50, for: 1m30s}")
    )
    (tmp_path / "broken.yml").write_text("groups: [")
    (tmp_path / "channels.yml").write_text("channels: []")
    (tmp_path / "date.yml").write_text("groups: 9999-99-99")
    (tmp_path / "deep.yml").write_text("[" * 5000)
    (tmp_path / "latin.yml").write_bytes(b"groups: \xff")
    (tmp_path / "folder.yml").mkdir()
    found = load_rules(tmp_path)
    named = {each.name: each for each in found.rules}
    assert (named["NodeCpuHigh"].expr, named["NodeCpuHigh"].source) == ("cpu >= 50", "mine.yml")
    assert named["NodeCpuHigh"].for_ns == 90 * S
    assert [each.name for each in found.disabled] == ["NodeMemoryHigh"]
    assert "NodeDead" in named
    said = {problem.file: problem.params.get("what") for problem in found.problems}
    assert (said["broken.yml"], said["latin.yml"], said[""]) == ("yaml", "rule_text", "rule")
    broken = ["broken.yml", "date.yml", "deep.yml", "folder.yml", "latin.yml", ""]
    assert [problem.file for problem in found.problems] == broken


def test_files_that_people_have_for_prometheus_are_used(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: r}\nspec:\n  "
        + rule("{alert: FromKubernetes, expr: up == 0}")
    )
    (tmp_path / "channels.yaml").write_text("channels: []")
    (tmp_path / "records.yml").write_text(
        rule(
            "{record: 'job:load', expr: avg(load), labels: {team: ml}}, "
            "{record: 'job:twice', expr: '2 * job:load'}, {record: 'no name', expr: a}"
        )
    )
    (tmp_path / "uses.yml").write_text(
        rule(
            "{alert: Load, expr: 'job:twice > 80'}, {alert: Range, expr: 'rate(job:load[5m]) > 1'}, "
            "{alert: Text, expr: 'a{b=\"job:load\"} > 1'}, {alert: Odd, expr: '('}, "
            "{alert: Fine, expr: a > 1, annotations: {text: '{{ $labels }} {{ $externalLabels.cluster }}'}}"
        )
    )
    (tmp_path / "circle.yml").write_text(
        rule("{record: 'c:a', expr: 'c:b + 1'}, {record: 'c:b', expr: 'c:a'}, {alert: Circle, expr: c:a > 1}")
    )
    found = load_rules(tmp_path)
    rules = {each.name: each for each in found.rules}
    assert rules["FromKubernetes"].source == "crd.yaml"
    assert rules["Load"].expr == '(2 * (label_replace(avg(load), "team", "ml", "", ""))) > 80'
    assert (rules["Load"].op, rules["Load"].threshold) == (">", 80)
    assert rules["Text"].expr == 'a{b="job:load"} > 1'
    (text,) = rules["Fine"].templates()[1].values()
    assert text.fill({"b": "2", "a": "1"}, 0.0) == "map[a:1 b:2] "
    assert [(problem.file, problem.rule) for problem in found.problems] == [
        ("circle.yml", "c:a"),
        ("circle.yml", "c:b"),
        ("circle.yml", "Circle"),
        ("records.yml", "no name"),
        ("uses.yml", "Range"),
        ("uses.yml", "Odd"),
    ]
    messages = [problem.message.partition(":")[0] for problem in found.problems]
    assert messages[2:4] == [
        "The recording rules in it refer to each other, or are too long.",
        "'no name' is not a name of a series.",
    ]
    assert not {"Range", "Odd", "Circle"} & set(rules)


def test_a_rule_is_switched_on_and_off(tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text("enable: [NodeCpuHigh]")
    assert "NodeCpuHigh" in {each.name for each in load_rules(tmp_path).rules}
    (tmp_path / "other.yml").write_text("disable: [NodeCpuHigh]")
    assert [each.name for each in load_rules(tmp_path).disabled] == ["NodeCpuHigh"]


def test_the_bounded_value_of_a_threshold_is_known() -> None:
    texts = {
        "(avg by (x) (rate(a[5m])) > 0.5)": ("avg by (x) (rate(a[5m]))", ">", 0.5),
        "a > b": (None, None, None),
        "a > 1 and b > 2": (None, None, None),
        "absent(a)": (None, None, None),
    }
    for expr, expected in texts.items():
        (found,), *_ = parse_rules(rule(f"{{alert: A, expr: '{expr}'}}"), "f")
        assert (found.value_expr, found.op, found.threshold) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "groups: {}",
        "surprise: 1",
        rule("{record: a b, expr: b}"),
        rule("{alert: A}"),
        rule("{alert: A, expr: 'a >'}"),
        rule("{alert: A, expr: a, metric: a}"),
        rule("{alert: A, metric: a, op: '=>', threshold: 1}"),
        rule("{alert: A, metric: a, op: '>', threshold: true}"),
        rule("{alert: A, expr: a, for: soon}"),
        rule("{alert: A, expr: a, for: NaN}"),
        rule("{alert: A, expr: a, for: 99999999999y}"),
        rule("{alert: A, expr: a, labels: [x]}"),
        rule("{alert: A, expr: a, annotations: {s: '{{ nothing \"x\" }}'}}"),
        rule("{alert: A, expr: a, annotations: {s: '{{ $value'}}"),
        rule("{alert: A, expr: a, unless: b}"),
        rule("{alert: A, expr: a, annotations: {rayscope_profile: soon}}"),
        rule("{alert: A, expr: a, annotations: {rayscope_profile: 1500ms}}"),
        rule("{alert: A, expr: a, annotations: {rayscope_profile: 61s}}"),
        "disable: [{}]",
        "groups: [1, [metric], {metric: a}]",
        "a: !!python/object/apply:os.system [id]",
        "[" * 60_000,
        "- " * 30_000,
        "{a: " * 15_000,
        "9" * 60_000,
        "9999-99-99",
        "1" + ":59" * 20_000 + ".0",
        "!!timestamp soon",
        "!!bool perhaps",
        "groups: [" + "a, " * 60_000 + "]",
        rule("{alert: A, metric: a, op: '>', threshold: 1" + "0" * 400 + "}"),
        rule(f"{{alert: {'A' * 300}, expr: a}}"),
        rule("{alert: A, expr: '" + "(" * 4000 + "'}"),
        # These took days: with one of them, anyone who may look could stop the server.
        rule("{alert: A, expr: a, annotations: {s: '{{" + " " * 60_000 + "'}}"),
        rule("{alert: A, expr: a, annotations: {s: '" + "{{" * 30_000 + "'}}"),
    ],
    ids=lambda text: text[:70],
)
def test_errors_say_what_to_do(text: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_rules(text, "f")
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("fields", "expr"),
    [
        ("metric: cpu_usage, operator: '>', threshold: 80", "ray_node_cpu_utilization > 80"),
        ("metric: node_status, operator: ==, threshold: dead", "rayscope_node_up == 0"),
        ("metric: my_queue, operator: '<', threshold: 3", "my_queue < 3"),
        (
            "metric: memory_usage, operator: '>', threshold: 85",
            "100 * ray_node_mem_used / ray_node_mem_total > 85",
        ),
        ("metric: task_failure_rate, operator: '>', threshold: 10", "100 * (increase("),
    ],
)
@pytest.mark.parametrize("around", ["{%s}", "[{%s}]", "groups: [{name: g, rules: [{%s}]}]"])
def test_a_rule_of_the_simple_form_is_refused_with_one_to_copy(fields: str, expr: str, around: str) -> None:
    rule = f"id: high, name: 高使用率, duration: 60, severity: warning, {fields}"
    with pytest.raises(BadQuery) as refused:
        parse_rules(around % rule, "mine.yml")
    (made,) = parse_rules(refused.value.remedy.partition("\n")[2], "mine.yml").rules
    assert (made.name, made.for_ns, made.severity) == ("高使用率", 60 * 10**9, "warning")
    assert made.expr.startswith(expr)


_SIMPLE = "{id: 1, name: High, metric: cpu_usage, operator: '>', threshold: 80, duration: 5m}"
_OTHER = "{name: Long, metric: my_queue, operator: '<=', threshold: 3}"


@pytest.mark.parametrize(
    "around",
    [
        "rules: [%s]",
        "[%s]",
        "groups: [%s]",
        "version: 1\nalert_rules: [%s]",
        "alerting: {rules: [%s]}",
        "[{rules: [%s]}]",
    ],
)
def test_a_list_of_rules_of_the_simple_form_is_refused_with_all_of_them_to_copy(around: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_rules(around % f"{_SIMPLE}, {_OTHER}, {{alert: Fine, expr: m > 1}}", "mine.yml")
    found = parse_rules(refused.value.remedy.partition("\n")[2], "mine.yml").rules
    assert [(one.name, one.expr, one.for_ns) for one in found] == [
        ("High", "ray_node_cpu_utilization > 80", 300 * 10**9),
        ("Long", "my_queue <= 3", 0),
        ("Fine", "m > 1", 0),
    ]


@pytest.mark.parametrize("around", ["%s", "rules: [%s]", "groups: [{name: g, rules: [%s]}]"])
@pytest.mark.parametrize("metric", ["my_metric", "node_status"])
@pytest.mark.parametrize("operator", ["~", "=", "gt", "and"])
def test_an_unknown_operator_of_the_simple_form_is_answered_with_the_known_ones(
    operator: str, metric: str, around: str
) -> None:
    rule = f"{{name: Odd, metric: {metric}, operator: '{operator}', threshold: 10}}"
    with pytest.raises(BadQuery) as refused:
        parse_rules(around % rule, "mine.yml")
    assert refused.value.message == f"Odd: {operator!r} is not an operator."
    assert refused.value.remedy == "Use one of > >= < <= == !=."


@pytest.mark.parametrize("fields", ["metric: my queue, threshold: 3", "metric: my_queue, threshold: 80%"])
def test_a_rule_of_the_simple_form_that_would_be_no_promql_is_not_offered(fields: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_rules(f"{{name: Odd, operator: '>', {fields}}}", "mine.yml")
    assert (refused.value.message.startswith("Odd: "), refused.value.params["what"]) == (True, "promql")


@pytest.mark.parametrize("text", ["0", "0s", "0m", "0h0m", "00s", "0ms"])
def test_zero_is_a_duration(text: str) -> None:
    assert duration_s(text) == 0
    (found,) = parse_rules(rule(f"{{alert: A, expr: a, for: {text}, keep_firing_for: {text}}}"), "f").rules
    assert (found.for_ns, found.keep_firing_ns) == (0, 0)


def test_the_metrics_of_the_simple_form_are_those_of_the_built_in_rules() -> None:
    shipped = {each.name: each for each in parse_rules(SHIPPED.read_text(), "shipped").rules}
    docs = Path(__file__).parents[3] / "docs"
    pages = [docs / place / "coming-from-rays-dashboard.md" for place in ("how-to", "zh/how-to")]
    for metric, name in (
        ("cpu_usage", "NodeCpuHigh"),
        ("memory_usage", "NodeMemoryHigh"),
        ("task_failure_rate", "TaskFailureRateHigh"),
    ):
        built_in = shipped[name].value_expr
        assert promql_parser.parse(METRICS[metric]).prettify() == built_in
        for page in pages:
            (row,) = re.findall(rf"^\| `{metric} > .*", page.read_text(), re.MULTILINE)
            assert f"`{name}`" in row or f"`{METRICS[metric]} > " in row


def test_of_a_file_a_rule_of_the_simple_form_is_refused_alone(tmp_path: Path) -> None:
    simple = "{name: High, metric: cpu_usage, operator: '>', threshold: 80}"
    (tmp_path / "mine.yml").write_text(
        f"groups: [{{name: g, rules: [{simple}, {{alert: Fine, expr: m > 1}}]}}]"
    )
    found = load_rules(tmp_path)
    assert [(problem.file, problem.rule) for problem in found.problems] == [("mine.yml", "High")]
    assert found.problems[0].params["what"] == "simple_rule"
    assert "Fine" in {rule.name for rule in found.rules}


def test_a_template_grows_no_further_than_its_bounds() -> None:
    texts = Template("{{ $labels.a }}" * 100).fill({"a": "x" * 100_000}, 1)
    assert len(texts) <= 4000
    piped = Template("{{ $labels.a" + "|toUpper" * 240 + " }}")
    assert piped.fill({"a": "deep"}, 1) == "DEEP"


def test_a_rule_is_found_by_its_name_and_may_compare_with_zero() -> None:
    rules = parse_rules(rule("{alert: A, metric: a, op: '>', threshold: 0}, {alert: B, expr: b}"), "f").rules
    assert (rules[0].expr, rules[0].threshold) == ("a > 0", 0.0)
    assert named(rules, "B") is rules[1]
    with pytest.raises(BadQuery, match="'C' not found"):
        named(rules, "C")
    exported = parse_rules(export(rules), "g").rules
    assert [(each.name, each.expr) for each in exported] == [("A", "a > 0"), ("B", "b")]
