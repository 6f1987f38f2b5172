"""The sentence about crashed workers, after a run and in ``rayscope doctor``."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from tests.unit.cli.test_doctor import SERVER, URL, WHOLE
from tests.unit.cli.test_summary import SUMMARY

from rayscope.cli.doctor import checks, command
from rayscope.cli.summary import show

CRASHES: dict[str, Any] = {
    "session": "session_1",
    "workers": 28,
    "total": 3,
    "harmed": 0,
    "unknown": 0,
    "in_race": 0,
    "left_out": 3,
    "items": [],
}
RACE = (
    "2 crashed in a race in Ray as they exited, which happens without Rayscope, too: "
    "http://127.0.0.1:8700/docs/reference/faults.md"
)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ({}, "3 of 28 workers crashed; no harm was done."),
        ({"in_race": 2}, f"3 of 28 workers crashed; no harm was done. {RACE}"),
        ({"unknown": 1}, "3 of 28 workers crashed; whether 1 of them did harm is unknown."),
        ({"unknown": 1, "harmed": 2}, "3 of 28 workers crashed; 2 of them did harm."),
        ({"harmed": 3}, "3 of 28 workers crashed; all of them did harm."),
    ],
)
def test_a_sentence_says_how_many_crashed_and_whether_it_did_harm(
    numbers: dict[str, int], sentence: str
) -> None:
    crashes: Any = {**CRASHES, **numbers}
    after_run = Console(file=io.StringIO(), width=250)
    show(after_run, SUMMARY, URL, crashes=crashes)
    assert sentence in _text(after_run)
    facts = replace(WHOLE, server=replace(SERVER, crashes=crashes))
    doctor = Console(file=io.StringIO(), width=250)
    command.show(doctor, facts, checks.judge(facts))
    assert sentence in _text(doctor).splitlines()
    assert "Recording is complete." in _text(doctor)  # a crash is no gap in the record


def test_nothing_is_said_where_no_worker_crashed() -> None:
    crashes: Any = {**CRASHES, "total": 0}
    after_run, doctor = Console(file=io.StringIO(), width=250), Console(file=io.StringIO(), width=250)
    show(after_run, SUMMARY, URL, crashes=crashes)
    facts = replace(WHOLE, server=replace(SERVER, crashes=crashes))
    command.show(doctor, facts, checks.judge(facts))
    assert "crashed" not in _text(after_run) + _text(doctor)


def _text(console: Console) -> str:
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text
