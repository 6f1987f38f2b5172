"""``rayscope diagnose`` over records with known numbers."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from tests.running import Running
from tests.story import DRIVER, JOB, SESSION, Story, at
from tests.unit.insights.detectors.test_code import puts
from tests.waiting import TIMEOUT_S, wait_until
from typer.testing import CliRunner, Result

from rayscope.cli import run, summary
from rayscope.cli.api import Api
from rayscope.cli.main import app
from rayscope.model import Drop

ONE_CPU = '{"CPU":1.0}'
COMMAND = "/usr/bin/python3 -u /home/me/train.py --lr 0.1"
VERDICT = "Bound by one function: Data: load ran for 400 ms of 800 ms."


@pytest.fixture
def here(fresh: Running) -> Running:
    """Nine functions one after the other, each submitted once the one before was there, then 10 ms more."""
    story = Story()
    begin = 0
    for number, took in enumerate((400, 100, 80, 60, 50, 40, 30, 20, 10)):
        name = "load" if number == 0 else f"step_{number}"
        task = story.task(name, begin, begin, begin + took, resources=ONE_CPU)
        story.batch.attempts[-1].module_name = "ray.data._internal" if name == "load" else "__main__"
        story.get(DRIVER, task, begin, begin + took)
        begin += took
    story.entity("node", "a" * 56, -1000, resources_total='{"CPU":4.0}', is_head=True)
    story.entity("job", JOB, 0, 800, entrypoint=COMMAND)
    fresh.record(story)
    return fresh


def diagnose(here: Running, *options: str) -> str:
    command = ["diagnose", *options, "--server", here.server.url]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


def test_text_begins_with_the_job_its_verdict_and_what_its_time_went_into(here: Running) -> None:
    lines = diagnose(here).splitlines()
    assert lines[0].startswith(f"train.py --lr 0.1 (job {JOB}) took 800 ms for 9 attempts.")
    assert lines[1].startswith(VERDICT)
    start = lines.index("Where its time went") + 1
    rows = [re.split(r"\s{2,}|(?<=\S) (?=█)|(?<=█) ", line.strip()) for line in lines[start : start + 7]]
    assert [row[0] for row in rows] == ["Data: load [ray.data]", *(f"step_{n}" for n in range(1, 6)), "other"]
    assert rows[0][1:] == ["█" * 10, "400 ms", "50.0%"]
    assert rows[-1][-2] == "70.0 ms"  # and 10 ms of the driver
    assert lines[start + 7].strip().startswith("Data: load itself ran for 400 ms.")
    assert sum(round(float(row[-1].rstrip("%")) * 10) for row in rows) == 1000
    gains = lines.index("If it took half the time, the job would save about (the range in 9 of 10 cases)") + 1
    assert lines[gains].strip().startswith("Data: load [ray.data]")


def test_markdown_has_the_verdict_and_json_all(here: Running) -> None:
    lines = diagnose(here, "--format", "md").splitlines()
    assert lines[0].startswith(f"# train.py --lr 0.1 (job {JOB}) took 800 ms")
    assert lines[2].startswith(VERDICT)
    assert any(line.startswith("| Data: load [ray.data] |") for line in lines)
    assert json.loads(diagnose(here, "--format", "json"))["verdict"]["text"].startswith(VERDICT)


@pytest.fixture
def looping(fresh: Running) -> Running:
    """Eight calls; each is waited for before the next is submitted."""
    story = Story()
    for begin in range(0, 800, 100):
        task = story.task("load", begin, begin, begin + 100, resources=ONE_CPU)
        story.get(DRIVER, task, begin, begin + 100)
    story.entity("node", "a" * 56, -1000, resources_total='{"CPU":4.0}', is_head=True)
    story.entity("job", JOB, 0, 800)
    fresh.record(story)
    return fresh


def test_fail_on_a_finding(looping: Running) -> None:
    text = diagnose(looping)
    assert text.startswith(f"Job {JOB} took")
    assert re.search(r"critical +ray.get in a loop: load +\(would save about \d", text)
    assert fail_on_warning(looping).exit_code == 1


def fail_on_warning(running: Running) -> Result:
    command = ["diagnose", "--fail-on", "warning", "--server", running.server.url]
    return CliRunner().invoke(app, command, env={"COLUMNS": "200"})


def healthy(*, is_traced: bool) -> Story:
    """Three tasks that run at once; the driver's wait is on record if it was traced."""
    story = Story()
    tasks = [story.task("load", 0, 1, 500, worker=f"{n:056x}", resources=ONE_CPU) for n in range(3)]
    if is_traced:
        story.get(DRIVER, tasks, 0, 500)
    story.entity("node", "a" * 56, -1000, resources_total='{"CPU":4.0}', is_head=True)
    story.entity("job", JOB, 0, 510)
    return story


def test_a_job_that_cannot_be_analyzed_has_an_exit_status_of_its_own(fresh: Running) -> None:
    assert fail_on_warning(fresh).exit_code == 2, "nothing is recorded"
    fresh.record(healthy(is_traced=False))
    done = fail_on_warning(fresh)
    assert done.exit_code == 4
    assert "Found nothing in what is recorded." in done.output
    assert "Not recorded: waits and objects. The tracer reported nothing" in done.output
    assert CliRunner().invoke(app, ["diagnose", "--server", fresh.server.url]).exit_code == 0


@pytest.mark.parametrize(("when", "status"), [(100, 4), (-5000, 0)])
def test_dropped_events_are_not_recorded(fresh: Running, when: float, status: int) -> None:
    story = healthy(is_traced=True)
    story.batch.drops.append(Drop("node", "full", 7, at(when), "TASK_LIFECYCLE_EVENT", at(when), at(when)))
    fresh.record(story)
    done = fail_on_warning(fresh)
    assert done.exit_code == status
    assert ("Not recorded: 7 events, dropped while the job ran." in done.output) == (status == 4)


def test_a_finding_that_costs_no_time_is_called_a_risk(fresh: Running) -> None:
    fresh.record(puts(268, blocked=0))
    assert re.search(r"info +Tasks return references of ray.put: load +\(a risk\)", diagnose(fresh))
    assert "It is a risk." in diagnose(fresh, "--format", "md")
    lines = [" ".join(line.strip("│ ").split()) for line in shown_at_the_end(fresh).splitlines()]
    assert "Tasks return references of ray.put load a risk" in lines


def shown_at_the_end(running: Running, wait_s: float = TIMEOUT_S) -> str:
    """The summary of a run that began with the story, and that waits ``wait_s`` for insights."""
    console = Console(file=io.StringIO(), width=200)
    with Api(running.server.url) as api:
        job_id = run._longest_job(api, SESSION, at(0))
        found = run._insights(api, SESSION, job_id, time.monotonic() + wait_s)
        shown = {**api.summary(SESSION), "failures": api.failures(session=SESSION)}
        summary.show(console, shown, running.server.url, insights=found)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_run_ends_with_the_verdict_and_what_to_change_first(looping: Running) -> None:
    lines = [" ".join(line.strip("│ ").split()) for line in shown_at_the_end(looping).splitlines()]
    assert lines[2].startswith("Bound by one function: load ran for 800 ms of 800 ms.")
    start = lines.index("What to change first")
    assert lines[start + 1] == "finding where gain"
    assert lines[start + 2].startswith("ray.get in a loop load would save")
    page = f"{looping.server.url}/s/{SESSION}/insights"
    assert lines[start + 3] == f"How, and what else: rayscope diagnose, or {page}"


def test_a_run_does_not_wait_for_insights_that_take_long(
    looping: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    def endless(_: Any, check: Callable[[], None]) -> None:
        try:
            while True:
                check(0.0)
                time.sleep(0.01)
        finally:
            ended.append(True)

    monkeypatch.setattr("rayscope.insights.gains.baseline", endless)
    text = shown_at_the_end(looping, wait_s=1)
    assert "8 tasks" in text
    assert "Bound by" not in text
    wait_until(lambda: ended, "the server to give up, too")


def test_the_longest_job_of_a_run_is_one_that_began_in_it(fresh: Running) -> None:
    story = Story()
    for job, begin, end in (("01000000", 0, 900), ("02000000", 1000, 1100), ("03000000", 1200, 1500)):
        story.task("work", begin, begin, end, job=job)
        story.entity("job", job, begin, end)
    story.entity("job", "04000000", 1200)
    fresh.record(story)
    with Api(fresh.server.url) as api:
        assert run._longest_job(api, SESSION, at(950)) == "03000000"
        assert run._longest_job(api, SESSION, at(2000)) is None
