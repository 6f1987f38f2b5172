"""The lists, jobs, logs and ``top`` of the command line, against a server with a record."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.running import Running
from tests.story import Story
from tests.waiting import TIMEOUT_S
from typer.testing import CliRunner

from rayscope.cli.main import app
from rayscope.cli.printing import short_id
from rayscope.cli.serving import reading_server, running_server, started_server
from rayscope.cli.top import take_look
from rayscope.cli.top_view import SORTS, Look, bar, picture
from rayscope.client import Client, RayscopeError

runner = CliRunner()
#: Characters that control a terminal or reverse text.
CONTROLS = "\x1b\x07\x08\x9b\u202e"


def run(*args: str, code: int = 0) -> str:
    result = runner.invoke(app, list(args))
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.stdout if code == 0 else result.output


@pytest.fixture
def here(running: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(running.folder))
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    return running


@pytest.mark.parametrize("kind", ["tasks", "actors", "nodes", "workers", "jobs", "events"])
def test_each_list_has_the_rows_of_the_api_in_each_format(here: Running, kind: str) -> None:
    answer = here.get(f"/api/v1/{kind}", limit=1000)
    printed = json.loads(run(kind, "--format", "json", "--limit", "0"))
    assert [set(row) for row in printed] == [set(row) for row in answer["items"]]
    identity = {"events": "id"}.get(kind, f"{kind[:-1]}_id")
    assert [row[identity] for row in printed] == [row[identity] for row in answer["items"]]
    lines = list(csv.DictReader(io.StringIO(run(kind, "--format", "csv", "--limit", "0"))))
    assert [row[identity] for row in lines] == [row[identity] or "" for row in answer["items"]]
    result = runner.invoke(app, [kind, "--limit", "1"])
    assert (f"1 of {answer['total']:,}" in result.stderr) == (answer["total"] > 1)
    assert "\x1b" not in result.stdout
    shown = short_id(answer["items"][0][identity]) if kind != "events" else answer["items"][0]["event"]
    assert shown in result.stdout


@pytest.mark.parametrize("width", [80, 140])
def test_tables_fit_and_ids_are_whole_where_they_are_wide(
    here: Running, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for kind in ("tasks", "actors", "nodes", "workers", "jobs", "events"):
        lines = run(kind, "--limit", "20").splitlines()
        assert max(map(len, lines)) <= width
        if kind != "events":
            identity = here.get(f"/api/v1/{kind}", limit=1)["items"][0][f"{kind[:-1]}_id"]
            assert short_id(identity) in lines[1]
            wide = run(kind, "--limit", "20", "--wide").splitlines()
            assert identity in wide[1]
            assert "job" in wide[0].split() or kind == "nodes"  # the last column
            assert "…" not in "".join(wide)
        assert "…" not in lines[0]


@pytest.mark.parametrize("kind", ["actors", "nodes", "workers"])
def test_an_id_is_taken_by_how_it_begins(here: Running, kind: str) -> None:
    field = f"{kind[:-1]}_id"
    whole = here.get(f"/api/v1/{kind}", limit=1)["items"][0][field]
    begin = short_id(whole)
    assert here.get(f"/api/v1/{kind}/{begin}")[field] == whole
    for asked, filters in ((f"/api/v1/{kind}", {field: begin}), ("/api/v1/tasks", {field: begin})):
        if asked != "/api/v1/nodes":
            rows = here.get(asked, **filters)["items"]
            assert rows == here.get(asked, **{**filters, field: whole})["items"]
    assert here.error(here.client.get(f"/api/v1/{kind}/{begin[:3]}"), 404)


def test_a_task_that_was_lost_says_why(here: Running) -> None:
    lost = next(
        (task, attempt["lost_with"])
        for task in here.get("/api/v1/tasks", state="FAILED", limit=100)["items"]
        for attempt in here.get(f"/api/v1/tasks/{task['task_id']}")["attempts"]
        if attempt["lost_with"] is not None
    )
    (death,) = here.get("/api/v1/deaths", kind=lost[1]["kind"], id=lost[1]["id"])["items"]
    text = " ".join(run("task", lost[0]["task_id"]).split())
    assert "Why it was lost" in text
    for said in (*death["chain"], *death["candidates"]):
        assert said["message"].split(".")[0] in text


def test_one_task_in_full(here: Running) -> None:
    failed = here.get("/api/v1/tasks", state="FAILED")["items"][0]
    text = run("task", failed["task_id"][:8])
    task = here.get(f"/api/v1/tasks/{failed['task_id']}")
    assert failed["task_id"] in text
    assert failed["name"] in text
    assert task["attempts"][-1]["error"]["message"].splitlines()[-1][:40] in text
    assert f"rayscope logs --task {failed['task_id']}" in text
    assert json.loads(run("task", failed["task_id"], "--format", "json"))["task_id"] == failed["task_id"]
    assert "first 4" in run("task", "nope", code=2)


def test_sessions_and_functions_and_the_ui(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    (session,) = here.get("/api/v1/sessions")["items"]
    monkeypatch.setenv("COLUMNS", "80")
    assert session["name"] in run("sessions")
    assert session["session"] in run("sessions", "--wide")
    (printed,) = json.loads(run("sessions", "--format", "json"))
    assert (printed.keys(), printed["session"]) == (session.keys(), session["session"])
    functions = here.get("/api/v1/summary")["functions"]
    assert [row["func_name"] for row in json.loads(run("functions", "--format", "json"))] == [
        row["func_name"] for row in functions
    ]
    assert functions[0]["func_name"] in run("functions")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: not opened.append(url))
    task = here.get("/api/v1/tasks")["items"][0]["task_id"]
    shown = run("open", "--task", task[:8]).strip()
    assert opened == [shown]
    assert shown == f"{here.server.url}/s/{session['session']}?task={task}"
    # 503 where the UI is not built.
    assert here.client.get(shown).status_code in (200, 503)


def test_filters_are_those_of_the_api(here: Running) -> None:
    failed = json.loads(run("tasks", "--state", "FAILED", "--format", "json"))
    assert failed
    assert {row["state"] for row in failed} == {"FAILED"}
    name = failed[0]["name"]
    same = json.loads(run("tasks", "--name", name, "--job", failed[0]["job_id"], "--format", "json"))
    assert {row["name"] for row in same} == {name}
    assert json.loads(run("events", "--severity", "ERROR", "--format", "json"))
    assert json.loads(run("actors", "--name", "nobody", "--format", "json")) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["tasks", "--sort", "zz"], "Sort by one of"),
        (["tasks", "--session", "nope"], "not found"),
        (["nodes", "--at-least", "x:1"], "Cannot filter"),
        (["actors", "--server", "http://127.0.0.1:1"], "rayscope serve"),
        (["jobs", "--server", "nohost"], "http://HOST:PORT"),
        (["jobs", "delete", "../../x"], "is not an ID"),
        (["jobs", "submit"], "Missing argument"),
        (["jobs", "submit", "--runtime-env-json", "[1", "--", "true"], "JSON object"),
        (["jobs", "submit", "--env", "x", "--", "true"], "NAME=VALUE"),
        (["jobs", "submit", "--working-dir", "/nowhere", "--", "true"], "folder"),
        (["jobs", "submit", "--", "true"], "session has ended"),
        (["logs", "--task", "1", "--job", "2"], "Use only one of"),
        (["logs", "--follow"], "Nothing to follow"),
        (["logs", "--file", "no.log"], "not found: no.log"),
        (["top", "--sort", "zz"], "Use one of"),
        (["top", "--session", "nope"], "rayscope run"),
    ],
)
def test_failures_print_the_remedy_and_exit_with_status_2(here: Running, args: list[str], said: str) -> None:
    assert said in " ".join(run(*args, code=2).split())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["task", "abcd1234"], "`rayscope tasks` lists the tasks."),
        (["tasks", "--session", "nowhere"], "`rayscope sessions` lists"),
        (["diagnose", "--job", "77000000"], "`rayscope jobs` lists the jobs."),
        (["logs", "--actor", "abcd1234"], "`rayscope actors` lists the actors."),
    ],
)
def test_messages_name_commands_and_methods_not_requests(here: Running, args: list[str], said: str) -> None:
    text = " ".join(run(*args, code=2).split())
    assert said in text
    assert "/api/" not in text
    with Client(here.server.url) as client, pytest.raises(RayscopeError) as raised:
        client.task("abcd1234")
    assert raised.value.remedy == "`Client.tasks()` lists the tasks."


def test_commands_that_make_changes_need_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    assert "rayscope serve" in run("sessions", "rename", "a", "b", code=2)
    assert "rayscope run" in run("tasks", code=2)
    assert list(tmp_path.iterdir()) == []


def test_without_a_server_the_directory_is_read_and_left_as_it_is(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    story = Story()
    story.task("work", 0, 1, 2)
    story.task("broken", 0, 1, 2, failed=True)
    fresh.record(story)
    expected = [json.loads(run(kind, "--format", "json")) for kind in ("tasks", "nodes", "failures")]
    fresh.server.stop()

    def files() -> dict[str, int]:
        found = (path for path in fresh.folder.rglob("*") if path.is_file())
        return {str(path): path.stat().st_mtime_ns for path in found}

    before = files()
    assert [json.loads(run(kind, "--format", "json")) for kind in ("tasks", "nodes", "failures")] == expected
    assert "work" in run("functions")
    assert files() == before


def test_a_server_starts_while_a_command_reads_its_directory(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 1, 2)
    fresh.record(story)
    fresh.server.stop()
    settings = fresh.server.settings
    with reading_server(settings) as (url, token):
        with Client(url, token) as client:
            assert [task["name"] for task in client.tasks()] == ["work"]
        with Client(url, "") as client, pytest.raises(RayscopeError, match="token"):
            client.summary()
        with started_server(settings) as serving:
            assert running_server(settings.folder) is not None
            assert serving.url != url


def test_a_group_lists_without_a_command(here: Running) -> None:
    def rows(*command: str) -> str:
        # A session that is live lasts until now, and its files grow.
        return re.sub(r'"(last_ns|disk_bytes)": ?\d+', "", run(*command, "--format", "json"))

    for group in ("sessions", "jobs"):
        assert rows(group) == rows(group, "list")
        assert run(group) == run(group, "list")


def test_a_session_is_an_option_of_every_command(here: Running) -> None:
    name = here.get("/api/v1/summary")["session"]
    for args in (
        ["diagnose"],
        ["tasks"],
        ["nodes"],
        ["logs"],
        ["task", here.get("/api/v1/tasks")["items"][0]["task_id"]],
    ):
        assert "not found" in run(*args, "--session", "nowhere", code=2)
        run(*args, "--session", name, *(["--format", "json"] if args != ["logs"] else []))


def test_sql_has_the_same_limit_without_a_server(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    story = Story()
    story.task("work", 0, 1, 2)
    fresh.record(story)
    fresh.server.stop()
    assert "1" in run("sql", "SELECT 1 AS one", "--limit", "1000000")
    assert "limit must be 1 to" in run("sql", "SELECT 1 AS one", "--limit", "1000001", code=1)


def test_hostile_names_move_no_cursor(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    names = ["\x1b[2Jclear", "‮evil", "[red]markup[/red]", "line\nbreak", "tab\there", "x" * 5000]
    names += ["=cmd|'/C calc'!A0", "@sum", "\x9b2J", "\x07bell"]
    story = Story()
    for number, name in enumerate(names):
        story.task(name, number, number + 1, number + 2, failed=True)
    fresh.record(story)
    for args in (["tasks"], ["events"], ["top", "--once"]):
        out = run(*args)
        assert not set(CONTROLS) & set(out)
        assert max(map(len, out.splitlines())) <= 200
    assert "[red]markup[/red]" in run("tasks")
    text = run("tasks", "--format", "json")
    assert not set(CONTROLS) & set(text)
    assert {row["name"] for row in json.loads(text)} == set(names)
    text = run("tasks", "--format", "csv")
    assert not set(CONTROLS) & set(text)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {"'=cmd|'/C calc'!A0", "'@sum", "line\nbreak", "\\x1b[2Jclear"} <= {row["name"] for row in rows}
    text = run("sql", "SELECT '=1' AS text, -5 AS number, '-x' AS \"@name\"", "--format", "csv")
    assert text.splitlines() == ["text,number,'@name", "'=1,-5,'-x"]


def test_wide_results_are_whole_lines_in_files_and_one_field_a_line_on_terminals(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT repeat('x', 300) AS first, repeat('y', 300) AS second FROM range(2)"
    lines = run("sql", query).splitlines()
    assert [line.split() for line in lines] == [["first", "second"], *[["x" * 300, "y" * 300]] * 2]
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", run("sql", query)).splitlines()
    assert [line.split()[0] for line in lines if "row" in line or "first" in line or "second" in line] == [
        *("row", "first", "second") * 2
    ]
    assert max(map(len, lines)) <= 100


def test_an_empty_list_is_announced_on_stderr(here: Running) -> None:
    result = runner.invoke(app, ["tasks", "--state", "cut_off", "--format", "json"])
    assert (result.exit_code, result.stdout) == (0, "[]\n")
    assert "nothing matches" in result.stderr
    assert "'BOGUS'" in run("tasks", "--state", "BOGUS", code=2)


def _drawn(look: Look, width: int, height: int, sort: str = "cpu") -> list[str]:
    console = Console(record=True, width=width, height=height, file=io.StringIO(), force_terminal=True)
    console.print(picture(look, sort, width, height))
    return console.export_text().splitlines()


def _busy(client: Client) -> Look:
    """A look with more of everything than a terminal has room for."""
    look = take_look(client, "cpu")
    usage = {"cpu_percent": 97.2, "mem_percent": 71.0, "object_store_percent": 3.0, "gpus": 2}
    usage |= {"gpu_percent": 50.0, "gpu_mem_percent": None}
    node: Any = {
        **look.nodes[0],
        "node_name": "10.123.123",
        "usage": usage,
        "workers": 1234,
        "state": "ALIVE",
    }
    job: Any = {
        **look.jobs[0],
        "tasks": {"FINISHED": 999_000, "FAILED": 12, "RUNNING": 988},
        "state": "RUNNING",
    }
    done: Any = {**job, "job_id": "09000000", "state": "SUCCEEDED"}
    times = {"p50_ns": 10**9, "p95_ns": 10**9, "duration_ns": 10**10}
    function: Any = {**look.functions[0], **times, "func_name": "a_function_with_a_long_name_" * 4}
    function["attempts"] = 10**7
    alert: Any = {
        "state": "firing",
        "rule": "NodeCpu",
        "labels": {},
        "annotations": {"summary": "too hot " * 40},
    }
    return Look(
        look.session, time.time_ns(), [node] * 40, 1000, [done, *[job] * 9], 10, [function] * 30, [alert] * 7
    )


@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 40), (200, 60), (60, 15)])
def test_top_fits_its_terminal(here: Running, width: int, height: int) -> None:
    with Client(here.server.url) as client:
        look = _busy(client)
    lines = _drawn(look, width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for said in (
        "Nodes by cpu",
        "1,000",
        "10.123.123",
        " 97%",
        "999,012 of 1,000,000",
        "7 alerts",
        "NodeCpu",
        "a_fun",
        "q: quit",
    ):
        assert said in text, text
    running, other = text.find("RUNNING ", text.find("Jobs")), text.find("SUCCEEDED")
    assert running > 0
    assert other in (-1, *range(running, len(text)))  # what runs comes first


def test_top_without_a_terminal_is_one_print(here: Running) -> None:
    for sort in SORTS:
        assert f"Nodes by {sort}" in run("top", "--sort", sort)
    text = run("top", "--once")
    assert here.get("/api/v1/sessions")["items"][0]["session"] in text
    assert "q: quit" not in text


def test_top_is_live_and_takes_keys(here: Running) -> None:
    """In a terminal of 80 by 24: s sorts by something else, q ends, and the terminal is as it was."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(inner)
    command = [sys.executable, "-m", "rayscope.cli", "top", "--interval", "0.5"]
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    top = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env={**env, "TERM": "xterm"})
    seen = ""

    def until(text: str) -> None:
        nonlocal seen
        while text not in seen:  # else pytest's time limit shows what it has seen
            if select.select([outer], [], [], 0.2)[0]:
                seen += re.sub(r"\x1b\[[0-9;]*m", "", os.read(outer, 65536).decode(errors="replace"))

    try:
        until("Nodes by cpu")
        os.write(outer, b"s")
        until("Nodes by memory")
        os.write(outer, b"q")
        until("\x1b[?1049l")  # it leaves the alternate screen
        assert top.wait(TIMEOUT_S) == 0
        assert termios.tcgetattr(inner) == before
    finally:
        top.kill()
        os.close(outer)
        os.close(inner)


def test_top_says_that_a_session_has_ended(here: Running) -> None:
    with Client(here.server.url) as client:
        look = take_look(client, "cpu")
    ended: Any = {**look.session, "state": "ended"}
    assert "as it was" in _drawn(Look(ended, look.time_ns), 80, 24)[0]
    lost = _drawn(Look(look.session, look.time_ns, problem="Could not reach a Rayscope server"), 80, 24)
    assert lost[0].startswith("Could not reach a Rayscope server")


@pytest.mark.parametrize(
    ("percent", "text"), [(None, "-"), (float("nan"), "-"), (-5, "0%"), (250, "250%"), (50, "50%")]
)
def test_bars(percent: Any, text: str) -> None:
    drawn = bar(percent, 8).plain
    assert drawn.strip().endswith(text.strip() if text == "-" else text)
    assert len(drawn) == 13


def test_the_shell_learns_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    for shell in ("bash", "zsh", "fish"):
        result = runner.invoke(app, ["--show-completion", shell])
        assert result.exit_code == 0
        assert "_RAYSCOPE_COMPLETE" in result.output
    monkeypatch.setenv("COMP_WORDS", "rayscope jobs s")
    monkeypatch.setenv("COMP_CWORD", "2")
    done = runner.invoke(app, [], env={"_RAYSCOPE_COMPLETE": "complete_bash"}, prog_name="rayscope")
    assert done.output.split() == ["submit", "stop"]


def test_failures_are_listed_by_signature(here: Running) -> None:
    found = here.get("/api/v1/failures")["items"]
    assert json.loads(run("failures", "--format", "json")) == found
