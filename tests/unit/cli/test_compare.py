"""``rayscope compare`` over jobs with known numbers, and its exit status."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.stacks import Stacks, add
from tests.story import JOB, Story
from tests.unit.compare.test_api import PREFIX, job
from tests.unit.compare.test_findings import OTHER, loops
from typer.testing import CliRunner, Result

from rayscope.cli.main import app

#: How long each of the two loads of four jobs takes, ms.
FAST = (400, 402, 398, 401)
SLOW = (600, 603, 597, 601)
SAME = (401, 399, 400, 402)


@pytest.fixture
def here(fresh: Running) -> Running:
    """Twelve jobs: four that load slowly, between two times four equal ones."""
    story = Story()
    for number, load_ms in enumerate((*FAST, *SLOW, *SAME)):
        job(story, f"{number + 1:02}000000", load_ms, entrypoint=f"python train.py --rows {load_ms // 100}")
    fresh.record(story)
    return fresh


def runs(first: int) -> str:
    return ",".join(f"/{number + 1:02}000000" for number in range(first, first + 4))


def compare(here: Running, a: str, b: str, *options: str) -> Result:
    command = ["compare", a, b, *options, "--server", here.server.url]
    return CliRunner().invoke(app, command, env={"COLUMNS": "300"})


def test_the_verdict_comes_first_then_where_it_comes_from(here: Running) -> None:
    done = compare(here, runs(0), runs(4))
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("B is slower: +4")
    assert "(4 against 4 runs)" in lines[0]
    at = lines.index("Where the difference comes from, in the median runs: +400 ms")
    assert lines[at + 1].split()[:3] == ["+400", "ms", "load"]
    assert any(line.startswith("  load is slower: +") for line in lines)
    assert "  entrypoint: python train.py --rows 3; python train.py --rows 4 → " in done.output


def test_the_lines_of_a_function_that_changed(fresh: Running) -> None:
    story, stacks = Story(), Stacks()
    for number, load_ms in enumerate((*FAST, *SLOW)):
        job(story, f"{number + 1:02}000000", load_ms)
        parse, score = (
            stacks.number(f"train.py:{line} {name}") for line, name in ((6, "parse"), (8, "score"))
        )
        for attempt in story.batch.attempts:
            if attempt.job_id == f"{number + 1:02}000000" and attempt.func_name == "load":
                of_parse = 20 if number < 4 else 60
                sums = (("executing", False, of_parse, parse), ("executing", False, 100 - of_parse, score))
                add(story, attempt.task_id, 10, *sums)
    stacks.add_to(story)
    fresh.record(story)
    printed = compare(fresh, runs(0), runs(4)).output
    assert "  load: train.py:6 in parse, 20% → 60% of its samples (+40.0 ± 4.4 points)" in printed
    assert "  load: train.py:8 in score, 80% → 40% of its samples (−40.0 ± 4.4 points)" in printed
    assert "`train.py:6` in `parse`" in compare(fresh, runs(0), runs(4), "--format", "md").output


def test_long_values_show_where_they_differ(fresh: Running) -> None:
    story = Story()
    for number, rows in enumerate((100, 120)):
        long = f"python train.py --table {'t' * 2_000} --rows {rows}"
        job(story, f"{number + 1:02}000000", 400, entrypoint=long)
    fresh.record(story)
    done = compare(fresh, "/01000000", "/02000000")
    assert "  entrypoint: …100 → …120" in done.output


def test_functions_are_compared_by_call_path(fresh: Running) -> None:
    story = Story()
    for name, callers in ((JOB, 1), (OTHER, 2)):
        parents = [f"{PREFIX}{name}", story.task("prepare", 0, 10, 500, parent=f"{PREFIX}{name}", job=name)]
        for parent in parents[:callers]:
            story.task("load", 20, 30, 60, parent=parent, job=name)
        story.entity("job", name, 0, 600)
    fresh.record(story)
    assert "load is new" not in compare(fresh, f"/{JOB}", f"/{OTHER}").output
    done = compare(fresh, f"/{JOB}", f"/{OTHER}", "--functions-by", "path")
    assert "  prepare › load is new: 30.0 ms in all" in done.output


def test_warm_up_runs_are_left_out(here: Running) -> None:
    output = compare(here, runs(0), runs(4), "--skip-first", "1").output
    assert "(3 against 3 runs, 2 warm-up runs left out)" in output
    done = compare(here, runs(0), runs(4), "--skip-first", "4")
    assert done.exit_code != 0
    assert "No run of a side is left without its first 4." in done.output


def test_markdown_has_the_same(here: Running) -> None:
    output = compare(here, runs(0), runs(4), "--format", "md").output
    assert output.startswith("**B is slower: +")
    assert "| +400 ms | `load` |" in output


def test_json_is_the_answer_of_the_server(here: Running) -> None:
    answer: Any = json.loads(compare(here, runs(0), runs(4), "--format", "json").output)
    assert answer == here.get("/api/v1/compare", a=runs(0), b=runs(4))


def test_findings_and_what_is_not_printed(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.record(loops())

    def printed(*options: str) -> str:
        return compare(fresh, f"/{JOB}", f"/{OTHER}", "--findings", *options).output

    shown: Any = json.loads(printed("--format", "json"))
    sides = {side: f"{shown[side]['shown']['session']}/{shown[side]['shown']['job_id']}" for side in "ab"}
    found = fresh.get("/api/v1/compare/findings", **sides)["items"]
    assert shown["findings"] == found != []
    lines = printed().splitlines()
    at = lines.index("Findings")
    assert found[0]["title"] in lines[at + 1]
    assert lines[at + 1].strip().split(":")[0] in ("New", "Gone", "Stayed")
    assert f"- {lines[at + 1].strip().split(' (')[0]}" in printed("--format", "md")
    monkeypatch.setattr("rayscope.cli.compare._FUNCTIONS", 0)
    assert f"  {len(found)} more: use --format json" in printed()


@pytest.mark.parametrize(
    ("a", "b", "options", "status"),
    [
        (runs(0), runs(4), ("--fail-if-slower", "5%"), 3),
        (runs(0), runs(4), ("--fail-if-slower", "0.9"), 0),
        (runs(4), runs(0), ("--fail-if-slower", "5%"), 0),
        (runs(0), runs(8), ("--fail-if-slower", "5%"), 0),
        ("/01000000", "/05000000", ("--fail-if-slower", "5%"), 4),
        ("/01000000", "/05000000", ("--fail-if-slower", "5%", "--allow-unknown"), 0),
        (runs(0), runs(4), ("--fail-if-slower", "much"), 2),
        (runs(0), runs(4), (), 0),
        (runs(0), "/0f000000", (), 2),
    ],
)
def test_the_exit_status_decides_in_ci(
    here: Running, a: str, b: str, options: tuple[str, ...], status: int
) -> None:
    done = compare(here, a, b, *options)
    assert done.exit_code == status, done.output


def test_by_default_the_newest_session_is_compared_with_earlier_ones(fresh: Running) -> None:
    services = fresh.server.services
    assert services is not None
    names = [f"session_2025-10-0{day}_08-53-20_000000_1" for day in (5, 6, 7, 8)]
    for day, name in enumerate(names):
        story = Story()
        story.batch.session = name
        script = "other.py" if day == 1 else "train.py"
        job(story, JOB, 100 + day, entrypoint=f"python {script}", since=day * 24 * 3600 * 1000)
        fresh.record(story)
        services.writer.end_session(name, services.catalog.about(name).last_ns)
    assert services.writer.flush()
    command = ["compare", "--format", "json", "--server", fresh.server.url]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert [run["session"] for run in answer["b"]["runs"]] == [names[3]]
    assert [run["session"] for run in answer["a"]["runs"]] == [names[2], names[0]]
    done = CliRunner().invoke(app, [*command, names[0]])
    assert done.exit_code == 2
    assert "No run of the same script is on record before" in done.output


def test_one_run_on_each_side_says_what_is_missing(here: Running) -> None:
    output = compare(here, "/01000000", "/05000000").output
    assert "One run on each side cannot tell chance from change." in output
