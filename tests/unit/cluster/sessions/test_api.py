"""Names of sessions, and the operator's actions on them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.running import Running, start
from tests.story import SESSION, Story, at
from typer.testing import CliRunner

from rayscope.api.write_access import HEADER
from rayscope.cli.main import app as cli
from rayscope.model.program import program_name, script_name
from rayscope.settings import operator_token
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_names import find_session

PATH = f"/api/v1/sessions/{SESSION}"
#: Letters of a terminal, letters that turn text around, markup of rich, HTML and SQL.
HOSTILE = "a\x1b[31m\u202e b\n[bold]c[/] </script>'\";--"


def record(running: Running, *entrypoints: str) -> None:
    story = Story()
    story.task("t", 0, 1, 2)
    story.entity("node", "a" * 56, 0, hostname="box", is_head=True)
    for number, entrypoint in enumerate(entrypoints, 1):
        story.entity("job", f"{number:08x}", number, entrypoint=entrypoint)
    running.record(story)


def end(running: Running) -> None:
    """As half a minute later: its cluster shows no sign of life any more."""
    assert running.server.services is not None
    running.server.services.writer.end_session(SESSION, 1)
    assert running.server.services.writer.flush()


def row(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = running.get("/api/v1/sessions")["items"][0]
    return found


def act(running: Running, method: str, token: str | None = None, **given: Any) -> httpx.Response:
    token = operator_token(running.folder) if token is None else token
    return running.client.request(method, PATH, headers={HEADER: token}, **given)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/python3.11 -u /home/me/train.py --lr 1", "train.py"),
        ("python -m pkg.main -v", "pkg.main"),
        ("python -c print(1)", "python -c"),
        ("cd /x && RAY_ADDRESS=auto python b.py", "b.py"),
        ("/opt/run.sh a/b", "run.sh"),
        ("bash -c 'sleep 1'", "bash"),
        ("bash -c 'python a.py'", "bash"),
        ("python 'my dir/odd places.py' --x", "odd places.py"),
        ('"/my env/bin/python" "my dir/odd places.py" --x "a b"', "odd places.py"),
        ("python my\\ dir/odd\\ places.py", "odd places.py"),
        ("python it's.py", "it's.py"),
        (" ", ""),
    ],
)
def test_a_command_is_called_by_its_script(command: str, name: str) -> None:
    assert script_name(command) == name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/python3.11 -u /home/me/train.py --lr 1", "train.py --lr 1"),
        ("python -m pkg.main -v", "pkg.main -v"),
        ("python -c print(1)", "python -c print(1)"),
        ("./run.sh a/b", "run.sh a/b"),
        ('"/my env/bin/python" "my dir/odd places.py" --x "a b" \\d', 'odd places.py --x "a b" \\d'),
        ("python -c 'print(1,  2)'", "python -c 'print(1,  2)'"),
        ("python", "python"),
        (" ", ""),
    ],
)
def test_a_job_is_called_by_its_script_and_arguments(command: str, name: str) -> None:
    assert program_name(command) == name


def test_a_session_is_called_by_its_first_script_and_how_many_jobs_more(fresh: Running) -> None:
    record(fresh)
    assert (row(fresh)["name"], row(fresh)["host"]) == (None, "box")
    record(fresh, "python /a/one.py", "python two.py", "python three.py")
    assert (row(fresh)["name"], row(fresh)["script"]) == ("one.py +2", "one.py")
    exported = fresh.client.get("/api/v1/export", params={"format": "speedscope"})
    assert "one.py_2_20" in exported.headers["Content-Disposition"]


def test_a_session_lasts_from_its_first_task_until_now_or_its_end(fresh: Running) -> None:
    record(fresh, "python train.py")
    assert fresh.server.services is not None
    about = fresh.server.services.catalog.about(SESSION)
    # No events for ten seconds, but its cluster is alive: its tasks may be running.
    about.last_ns -= 10 * 10**9
    before_ns = time.time_ns()
    live = row(fresh)
    assert live["state"] == "live"
    assert live["last_ns"] >= before_ns
    assert live["first_ns"] == at(0), "it ran before its first data arrived"
    fresh.server.services.writer.end_session(SESSION, before_ns)
    assert fresh.server.services.writer.flush()
    ended = row(fresh)
    assert (ended["first_ns"], ended["last_ns"]) == (at(0), before_ns)


def test_names_and_notes_outlive_the_server_and_need_the_operator(tmp_path: Path) -> None:
    for running in start(tmp_path, []):
        record(running, "python one.py")
        for token in ("", "x" * 24):
            assert running.error(act(running, "PATCH", token, json={"name": "x"}), 403)
            assert running.error(act(running, "DELETE", token), 403)
        for too_much in (
            {"name": "x" * 121},
            {"note": "x" * 4001},
            {"tags": ["x"] * 21},
            {"tags": ["x" * 41]},
        ):
            assert running.error(act(running, "PATCH", json=too_much), 422)
        assert act(running, "PATCH", json={"name": "夜间 run", "tags": ["a", " a", ""]}).status_code == 200
        assert act(running, "PATCH", json={"note": "two\nlines"}).json()["name"] == "夜间 run"
    for running in start(tmp_path, []):
        kept = row(running)
        assert (kept["name"], kept["note"], kept["tags"]) == ("夜间 run", "two\nlines", ["a"])
        assert act(running, "PATCH", json={"name": ""}).json()["name"] == "one.py"
    (tmp_path / "sessions" / SESSION / "label.json").write_text('{"name":')
    for running in start(tmp_path, []):
        assert (row(running)["name"], row(running)["note"]) == ("one.py", "")


def test_sessions_are_found_by_what_they_are_called(fresh: Running) -> None:
    record(fresh, "python one.py")
    act(fresh, "PATCH", json={"name": "夜间 Run", "note": "new cluster", "tags": ["gpu"]})
    for text, found in (
        ("RUN", 1),
        ("one.PY", 1),
        ("box", 1),
        ("gpu", 1),
        ("cluster", 1),
        (SESSION[9:], 1),
        ("two", 0),
    ):
        assert fresh.get("/api/v1/sessions", q=text)["total"] == found, text


def test_a_session_is_accepted_by_its_shown_name(fresh: Running, tmp_path: Path) -> None:
    record(fresh, "python 'my dir/odd places.py' --x", "python two.py")
    for name in ("odd places.py +1", SESSION, SESSION[:15]):
        assert fresh.get("/api/v1/sessions", name=name)["total"] == 1
    url = ["--server", fresh.server.url, "--session", "odd places.py +1"]
    table = CliRunner().invoke(cli, ["jobs", *url], env={"COLUMNS": "120"})
    assert "odd places.py --x" in table.output
    assert "python" not in table.output
    assert "box" in CliRunner().invoke(cli, ["nodes", *url]).output
    assert "not found" in fresh.error(fresh.client.get("/api/v1/jobs?session=places.py"), 404)["message"]


def test_a_name_of_several_sessions_is_refused_with_their_ids(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    sessions = [f"session_2026-01-0{day}_00-00-00_000000_1" for day in (1, 2)]
    for session in sessions:
        catalog.add(session).script = "train.py"
    assert find_session(catalog, sessions[0]) == sessions[0]
    with pytest.raises(BadQuery, match="2 sessions are called") as refused:
        find_session(catalog, "train.py")
    assert all(session in refused.value.remedy for session in sessions)
    catalog.close()


def test_a_hostile_name_changes_no_terminal_and_no_header(fresh: Running) -> None:
    record(fresh, "python one.py")
    session = act(fresh, "PATCH", json={"name": HOSTILE, "note": HOSTILE}).json()
    assert session["name"] == "a [31m b [bold]c[/] </script>'\";--"
    assert "\x1b" not in session["note"]
    assert "\u202e" not in session["note"]
    exported = fresh.client.get("/api/v1/export", params={"format": "speedscope"})
    assert "a_31m_b" in exported.headers["Content-Disposition"]
    table = CliRunner().invoke(cli, ["sessions", "--server", fresh.server.url], env={"COLUMNS": "300"})
    assert "[bold]c[/]" in table.output


def test_a_session_is_deleted_with_its_files_once_it_is_over(fresh: Running) -> None:
    record(fresh, "python one.py")
    assert fresh.error(act(fresh, "DELETE"), 409)["code"] == "session_live"
    assert row(fresh)["attempts"] == 1
    end(fresh)
    assert act(fresh, "DELETE").json() == {"session": SESSION}
    assert fresh.get("/api/v1/sessions")["total"] == 0
    assert not (fresh.folder / "sessions" / SESSION).exists()
    assert fresh.error(act(fresh, "DELETE"), 404)
    record(fresh, "python one.py")  # later events begin a new record
    assert row(fresh)["attempts"] == 1
    assert act(fresh, "DELETE", params={"force": True}).status_code == 200


def test_a_deletion_waits_for_short_queries(fresh: Running) -> None:
    record(fresh, "python one.py")
    end(fresh)
    assert fresh.server.services is not None
    with ThreadPoolExecutor() as pool:
        with fresh.server.services.catalog.reading(SESSION):
            deletion = pool.submit(act, fresh, "DELETE")
            time.sleep(0.5)
            assert not deletion.done()
        assert deletion.result().status_code == 200


def test_a_session_that_is_read_is_not_deleted(fresh: Running) -> None:
    record(fresh, "python one.py")
    end(fresh)
    assert fresh.server.services is not None
    with fresh.server.services.catalog.reading(SESSION):
        assert fresh.error(act(fresh, "DELETE"), 409)["code"] == "session_in_use"
    assert fresh.get("/api/v1/summary")["attempts"] == 1


def test_the_beginning_of_a_name_is_taken_for_it(fresh: Running) -> None:
    record(fresh)
    for begin in ("session_2025-10", "2025-10-09_08"):
        assert fresh.get("/api/v1/summary", session=begin)["session"] == SESSION
    assert fresh.error(fresh.client.get("/api/v1/summary", params={"session": "ses"}), 404)
    assert fresh.server.services is not None
    fresh.server.services.catalog.add("session_2025-11")
    assert (
        "Several"
        in fresh.error(fresh.client.get("/api/v1/summary", params={"session": "2025"}), 400)["message"]
    )


def test_the_command_line_names_annotates_and_deletes(fresh: Running) -> None:
    def run(*words: str, answer: str = "") -> str:
        options = ("--server", fresh.server.url, "--data-dir", str(fresh.folder))
        done = CliRunner().invoke(cli, ["sessions", *words, *options], input=answer)
        return f"{done.exit_code} {done.output}"

    record(fresh, "python one.py")
    assert "mine · " in run("rename", "2025-10", "mine")
    run("note", "2025-10", "as of old", "--tag", "base")
    assert run("note", "2025-10") == "0 #base\nas of old\n"
    end(fresh)
    refused = run("delete", "2025-10", answer="n\n")
    assert "mine · " in refused
    assert SESSION in refused
    assert refused.startswith("1")
    assert row(fresh)["attempts"] == 1
    assert run("delete", "2025-10", "--yes").startswith("0")
    assert fresh.get("/api/v1/sessions")["total"] == 0
