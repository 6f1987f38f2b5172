"""Cases in the form of Prometheus' rule tests: its ``promtool`` and our evaluation read the same files."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from rayscope.alerts.rules import Rule, export, load_rules, parse_rules
from rayscope.alerts.service import vector_at
from rayscope.alerts.state import Alerts, Machine, State
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Sample

CASES = Path(__file__).parent / "cases"
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


def stored(case: dict[str, Any]) -> SeriesStore:
    interval_s = seconds(case["interval"])
    store = SeriesStore(step_s=interval_s, full_s=3600)
    told = []
    for series in case["input_series"]:
        name, _, inner = series["series"].rstrip("}").partition("{")
        labels = tuple(sorted(re.findall(r'(\w+)="([^"]*)"', inner)))
        told.append((name, labels, values(series["values"])))
    for number in range(max(len(given) for _, _, given in told)):
        for name, labels, given in told:
            value = given[number] if number < len(given) else None
            if value is None:
                continue
            samples = [] if math.isnan(value) else [Sample(name, labels, value)]
            # Which source tells nothing any more has ended.
            store.append((ORIGIN_S + number * interval_s) * 10**9, samples, source=f"{name}{labels}")
    return store


def check(path: Path, rules: Sequence[Rule]) -> None:
    """What we say is what the cases of a file say."""
    document = yaml.safe_load(path.read_text())
    step_s = seconds(document["evaluation_interval"])
    for case in document["tests"]:
        store = stored(case)
        machines = {rule.name: Machine(rule) for rule in rules}
        alerts: dict[str, Alerts] = {rule.name: {} for rule in rules}
        wanted = {(seconds(one["eval_time"]), one["alertname"]): one for one in case["alert_rule_test"]}
        for now_s in range(0, max(at for at, _ in wanted) + 1, step_s):
            now_ns = (ORIGIN_S + now_s) * 10**9
            for rule in rules:
                machines[rule.name].step(alerts[rule.name], vector_at(rule, store, now_ns), now_ns)
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
def test_we_say_what_the_case_says(path: Path) -> None:
    check(path, parse_rules((CASES / "rules.yml").read_text(), "rules.yml").rules)


def test_the_built_in_rules_say_what_their_cases_say(tmp_path: Path) -> None:
    rules = load_rules(tmp_path / "nowhere").rules
    (tmp_path / "built-in.yml").write_text(export(rules))
    for path in (CASES / "built-in").glob("*.yml"):
        shutil.copy(path, tmp_path)
        check(path, rules)
        done = subprocess.run(
            ["promtool", "test", "rules", str(tmp_path / path.name)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_says_the_same() -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing: run `make system`"
    done = subprocess.run([promtool, "test", "rules", *map(str, FILES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_we_export_is_what_promtool_and_we_read(tmp_path: Path) -> None:
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
