"""Cases in the form of Prometheus' rule tests: its ``promtool`` and our evaluation read the same files."""

from __future__ import annotations

import functools
import math
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from rayscope.alerts.rules import Rule, export, load_rules, parse_rules
from rayscope.alerts.service import evaluate_expr
from rayscope.alerts.state import Alerts, Machine, State
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Sample

CASES = Path(__file__).parent / "cases"
BUILT_IN = {path.stem: path for path in sorted((CASES / "built-in").glob("*.yml"))}
FILES = sorted(path for path in CASES.glob("*.yml") if path.name != "rules.yml")
ORIGIN_S = 1_760_000_000
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_STALE = math.nan


def seconds(text: str) -> int:
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([smh])", text))


def values(text: str) -> list[float | None]:
    """A series in promtool's notation; None where there is no sample, NaN where it ends."""
    found: list[float | None] = []
    for word in text.split():
        match = re.fullmatch(r"(_|stale|-?[\d.]+)(?:([+-])([\d.]+))?(?:x(\d+))?", word)
        assert match, word
        start, sign, step, times = match.groups()
        if start == "_":
            found += [None] * int(times or 1)
        elif start == "stale":
            found.append(_STALE)
        else:
            by = float(step or 0) * (-1 if sign == "-" else 1)
            found += [float(start) + by * number for number in range(int(times or 0) + 1)]
    return found


@functools.cache
def cases(path: Path) -> list[tuple[dict[str, Any], SeriesStore]]:
    """The cases of a file, and the samples of each."""
    return [(case, stored(case)) for case in yaml.safe_load(path.read_text())["tests"]]


def stored(case: dict[str, Any]) -> SeriesStore:
    interval_s = seconds(case["interval"])
    store = SeriesStore(step_s=interval_s, full_s=3600)
    expected = []
    for series in case["input_series"]:
        name, _, inner = series["series"].rstrip("}").partition("{")
        labels = tuple(sorted(re.findall(r'(\w+)="([^"]*)"', inner)))
        expected.append((name, labels, values(series["values"])))
    for number in range(max(len(given) for _, _, given in expected)):
        for name, labels, given in expected:
            value = given[number] if number < len(given) else None
            if value is None:
                continue
            samples = [] if math.isnan(value) else [Sample(name, labels, value)]
            # A series that its source no longer reports has ended.
            store.append((ORIGIN_S + number * interval_s) * 10**9, samples, source=f"{name}{labels}")
    return store


def evaluation_step_s(path: Path) -> int:
    return seconds(yaml.safe_load(path.read_text())["evaluation_interval"])


def check(path: Path, rules: Sequence[Rule]) -> None:
    """Check that our results are those in the cases of a file."""
    step_s = evaluation_step_s(path)
    for case, store in cases(path):
        machines = {rule.name: Machine(rule) for rule in rules}
        alerts: dict[str, Alerts] = {rule.name: {} for rule in rules}
        wanted = {(seconds(one["eval_time"]), one["alertname"]): one for one in case["alert_rule_test"]}
        for now_s in range(0, max(at for at, _ in wanted) + 1, step_s):
            now_ns = (ORIGIN_S + now_s) * 10**9
            for rule in rules:
                machines[rule.name].step(alerts[rule.name], evaluate_expr(rule, store, now_ns)[1], now_ns)
                test = wanted.get((now_s, rule.name))
                if test is None:
                    continue
                fires = [one for one in alerts[rule.name].values() if one.state is State.FIRING]
                got = [(one.labels, one.annotations) for one in fires]
                expected = [
                    (one["exp_labels"] | {"alertname": rule.name}, one.get("exp_annotations"))
                    for one in test["exp_alerts"]
                ]
                # promtool, too, leaves annotations aside that a case does not name.
                shown = [(labels, texts if any(e for _, e in expected) else None) for labels, texts in got]
                assert sorted(shown, key=str) == sorted(expected, key=str), (path.name, now_s, rule.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_our_results_equal_the_case(path: Path) -> None:
    check(path, parse_rules((CASES / "rules.yml").read_text(), "rules.yml").rules)


@pytest.fixture(scope="module")
def shipped() -> dict[str, Rule]:
    found = load_rules(CASES / "nowhere")
    rules = (*found.rules, *found.disabled)
    # The cases are in English.
    return {
        rule.name: replace(
            rule, annotations={n: text for n, text in rule.annotations.items() if not n.endswith("_zh")}
        )
        for rule in rules
    }


def test_each_shipped_rule_has_a_file_of_cases(shipped: dict[str, Rule]) -> None:
    """In which it fires, and before and afterwards does not."""
    assert BUILT_IN.keys() == shipped.keys()
    for name, path in BUILT_IN.items():
        for case in yaml.safe_load(path.read_text())["tests"]:
            expectations = sorted(case["alert_rule_test"], key=lambda one: seconds(one["eval_time"]))
            assert {one["alertname"] for one in expectations} == {name}
            fires = [bool(one["exp_alerts"]) for one in expectations]
            assert (fires[0], any(fires), fires[-1]) == (False, True, False), path.name


def test_shipped_rules_fire_as_their_cases_expect(shipped: dict[str, Rule], tmp_path: Path) -> None:
    (tmp_path / "built-in.yml").write_text(export(shipped.values()))
    copies = [str(shutil.copy(path, tmp_path)) for path in BUILT_IN.values()]
    done = subprocess.run(["promtool", "test", "rules", *copies], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, path in BUILT_IN.items():
        check(path, [shipped[name]])


def altered(rule: Rule, step_s: int) -> Iterator[Rule]:
    """The rule with each of its limits, windows and waits a little shorter or longer."""
    for number in re.finditer(r"(?<=[=<>] )\d+", rule.expr):
        for by in (-1, 1):
            limit = str(int(number[0]) + by)
            yield replace(rule, expr=rule.expr[: number.start()] + limit + rule.expr[number.end() :])
    for by_s in (-step_s, step_s):
        expr = re.sub(r"\[(\d+)m\]", lambda window: f"[{int(window[1]) * 60 + by_s}s]", rule.expr)
        if expr != rule.expr:
            yield replace(rule, expr=expr)
    for by_ns in (-step_s * 10**9, step_s * 10**9):
        if rule.for_ns + by_ns >= 0:
            yield replace(rule, for_ns=rule.for_ns + by_ns)
        if rule.keep_firing_ns + by_ns >= 0:
            yield replace(rule, keep_firing_ns=rule.keep_firing_ns + by_ns)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_cases_of_a_shipped_rule_notice_any_other_limit(name: str, shipped: dict[str, Rule]) -> None:
    step_s = evaluation_step_s(BUILT_IN[name])
    unnoticed = []
    for other in altered(shipped[name], step_s):
        try:
            check(BUILT_IN[name], [other])
        except AssertionError:
            continue
        unnoticed.append((other.expr, other.for_ns, other.keep_firing_ns))
    assert not unnoticed


def test_promtool_returns_the_same() -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing: run `make system`"
    done = subprocess.run([promtool, "test", "rules", *map(str, FILES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_and_we_read_our_export_alike(tmp_path: Path) -> None:
    rules = parse_rules((CASES / "rules.yml").read_text(), "rules.yml").rules
    shorthand, *_ = parse_rules(
        "groups: [{name: mine, interval: 1m, rules: [{alert: Full, metric: 'disk{mount=\"/\"}', op: '>', "
        "threshold: 0.9, for: 1h30m}]}]",
        "mine.yml",
    )
    text = export([*rules, *shorthand])
    (tmp_path / "rules.yml").write_text(text)
    done = subprocess.run(
        ["promtool", "check", "rules", str(tmp_path / "rules.yml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    again = parse_rules(text, "again").rules
    facts = [
        (r.name, r.expr, r.interval_ns, r.for_ns, r.keep_firing_ns, r.labels, r.annotations) for r in again
    ]
    assert facts == [
        (r.name, r.expr, r.interval_ns, r.for_ns, r.keep_firing_ns, r.labels, r.annotations)
        for r in (*rules, *shorthand)
    ]
