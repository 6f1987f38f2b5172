"""``rayscope diagnose`` over records whose every number is known."""

from __future__ import annotations

import json
import re

import pytest
from tests.story import DRIVER, JOB, Story
from tests.unit.server.conftest import Running
from typer.testing import CliRunner

from rayscope.cli.main import app

ONE_CPU = '{"CPU":1.0}'
COMMAND = "/usr/bin/python3 -u /home/me/train.py --lr 0.1"
VERDICT = "Bound by one function: load ran for 400 ms of 800 ms."


@pytest.fixture
def here(fresh: Running) -> Running:
    """Nine functions one after the other, each submitted once the one before was there, then 10 ms more."""
    story = Story()
    at = 0
    for number, took in enumerate((400, 100, 80, 60, 50, 40, 30, 20, 10)):
        name = "load" if number == 0 else f"step_{number}"
        task = story.task(name, at, at, at + took, resources=ONE_CPU)
        story.batch.attempts[-1].module_name = "ray.data._internal" if name == "load" else "__main__"
        story.get(DRIVER, task, at, at + took)
        at += took
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
    assert [row[0] for row in rows] == ["load [ray.data]", *(f"step_{n}" for n in range(1, 6)), "other"]
    assert rows[0][1:] == ["█" * 10, "400 ms", "50.0%"]
    assert (rows[-1][-2], lines[start + 7]) == ("70 ms", "")  # and 10 ms of the driver
    assert sum(round(float(row[-1].rstrip("%")) * 10) for row in rows) == 1000
    gains = lines.index("If it took half the time, the job would save") + 1
    assert lines[gains].strip().startswith("load [ray.data]")


def test_markdown_has_the_verdict_and_json_all(here: Running) -> None:
    lines = diagnose(here, "--format", "md").splitlines()
    assert lines[0].startswith(f"# train.py --lr 0.1 (job {JOB}) took 800 ms")
    assert lines[2].startswith(VERDICT)
    assert any(line.startswith("| load [ray.data] |") for line in lines)
    assert json.loads(diagnose(here, "--format", "json"))["verdict"]["text"].startswith(VERDICT)


def test_fail_on_a_finding(fresh: Running) -> None:
    story = Story()
    for at in range(0, 800, 100):
        task = story.task("load", at, at, at + 100, resources=ONE_CPU)
        story.get(DRIVER, task, at, at + 100)
    story.entity("node", "a" * 56, -1000, resources_total='{"CPU":4.0}', is_head=True)
    story.entity("job", JOB, 0, 800)
    fresh.record(story)
    text = diagnose(fresh)
    assert text.startswith(f"Job {JOB} took")
    assert re.search(r"critical +ray.get in a loop: load +\(would save \d", text)
    done = CliRunner().invoke(app, ["diagnose", "--fail-on", "warning", "--server", fresh.server.url])
    assert done.exit_code == 1
