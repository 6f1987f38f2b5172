"""Files of rules: the shorthand, what ships, what takes its place, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayscope.alerts.rules import load_rules, parse_rules
from rayscope.store.errors import BadQuery

S = 10**9


def rule(body: str) -> str:
    return f"groups: [{{name: g, rules: [{body}]}}]"


def test_what_ships() -> None:
    shipped = {each.name: each for each in load_rules(Path("nowhere")).rules}
    wanted = {
        "NodeCpuHigh": ("warning", 60, ">", 80),
        "NodeMemoryHigh": ("critical", 60, ">", 85),
        "NodeDead": ("critical", 10, "==", 0),
        "TaskFailureRateHigh": ("warning", 300, ">", 10),
    }
    for name, (severity, wait_s, op, threshold) in wanted.items():
        found = shipped[name]
        assert (found.severity, found.for_ns // S, found.op, found.threshold) == (
            severity,
            wait_s,
            op,
            threshold,
        )
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
    found = load_rules(tmp_path)
    named = {each.name: each for each in found.rules}
    assert (named["NodeCpuHigh"].expr, named["NodeCpuHigh"].source) == ("cpu >= 50", "mine.yml")
    assert named["NodeCpuHigh"].for_ns == 90 * S
    assert [each.name for each in found.disabled] == ["NodeMemoryHigh"]
    assert "NodeDead" in named
    assert [problem.file for problem in found.problems] == ["broken.yml", ""]


def test_what_a_threshold_bounds_is_known() -> None:
    texts = {
        "(avg by (x) (rate(a[5m])) > 0.5)": ("avg by (x) (rate(a[5m]))", ">", 0.5),
        "a > b": (None, None, None),
        "a > 1 and b > 2": (None, None, None),
        "absent(a)": (None, None, None),
    }
    for expr, expected in texts.items():
        (found,), _ = parse_rules(rule(f"{{alert: A, expr: '{expr}'}}"), "f")
        assert (found.value_expr, found.op, found.threshold) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "groups: {}",
        "surprise: 1",
        rule("{record: a, expr: b}"),
        rule("{alert: A}"),
        rule("{alert: A, expr: 'a >'}"),
        rule("{alert: A, expr: a, metric: a}"),
        rule("{alert: A, metric: a, op: '=>', threshold: 1}"),
        rule("{alert: A, metric: a, op: '>', threshold: true}"),
        rule("{alert: A, expr: a, for: soon}"),
        rule("{alert: A, expr: a, labels: [x]}"),
        rule("{alert: A, expr: a, annotations: {s: '{{ query \"x\" }}'}}"),
        rule("{alert: A, expr: a, annotations: {s: '{{ $value'}}"),
        rule("{alert: A, expr: a, unless: b}"),
        "disable: [{}]",
        "a: !!python/object/apply:os.system [id]",
    ],
)
def test_what_is_refused_says_what_to_do(text: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_rules(text, "f")
    assert refused.value.remedy
