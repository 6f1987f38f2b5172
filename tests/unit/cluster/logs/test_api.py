"""The paths of log files over what was kept of a session that has ended."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.running import Running
from tests.story import JOB, SESSION, Story

from rayscope.cluster.logs.files import Source
from rayscope.cluster.logs.pages import PageFilters, backward, forward
from rayscope.storage.log_archive import LogStore

NODE, WORKER = "a" * 56, "b" * 56
NAME = f"worker-{WORKER}-01000000-100.out"
BEGIN = datetime(2026, 11, 22, 7, 0, 0)


def _lines(count: int) -> list[str]:
    made = []
    for number in range(count):
        level = "ERROR" if number % 100 == 99 else "INFO"
        stamp = f"2026-11-22 07:{number // 60 % 60:02}:{number % 60:02},000"
        made.append(f"{stamp} {level} it: line {number} {'x' * (number % 90)}")
    return made


LINES = _lines(3_000)
TEXT = "\n".join(LINES) + "\n"


@pytest.fixture
def archived(fresh: Running) -> Running:
    story = Story()
    story.task("f", 0, 1, 2)
    story.entity("node", NODE, 0, 5, node_ip="10.0.0.1", is_head=True)
    story.entity("worker", WORKER, 0, 5, node_id=NODE, pid=100)
    story.entity("job", JOB, 0, 5, submission_id="sub_1", driver_node_id=NODE, type="SUBMISSION")
    fresh.record(story)
    assert fresh.server.services is not None
    store = fresh.server.services.logs.store(SESSION, make=True)
    assert store is not None
    store.append(NODE, NAME, 0, TEXT.encode(), 1)
    store.append(NODE, "job-driver-sub_1.log", 0, b"the driver said this\n", 1)
    store.append(NODE, "raylet.out", 0, b"[2026-11-22 07:00:00,000 W 1 1] odd\n", 1, is_user=False)
    return fresh


def _file(server: Running, **params: Any) -> Any:
    return server.get("/api/v1/logs/file", node_id=NODE, name=NAME, **params)


def test_files_pages_and_filters(archived: Running) -> None:
    answer = archived.get("/api/v1/logs")
    assert [(f["name"], f["kind"], f["live"]) for f in answer["files"]] == [
        ("job-driver-sub_1.log", "driver", False),
        (NAME, "worker_out", False),
        ("raylet.out", "raylet", False),
    ]
    assert answer["keeping"]["mode"] == "workers"
    assert [node["node_id"] for node in answer["nodes"]] == [NODE]
    last = _file(archived, limit=100)
    assert [line["text"] for line in last["lines"]] == LINES[-100:]
    assert (last["live"], last["more"], bool(last["problem"])) == (False, False, True)
    assert [line["text"] for line in _file(archived, before=last["prev"], limit=100)["lines"]] == LINES[
        -200:-100
    ]
    errors = _file(archived, level="error", offset=0, limit=5_000)
    assert [line["text"] for line in errors["lines"]] == [line for line in LINES if "ERROR" in line]
    some = _file(archived, q="^2026.* line 1[0-9]{3} ", regex=1, offset=0, limit=5_000)
    assert [line["text"] for line in some["lines"]] == LINES[1000:2000]
    since = round(BEGIN.timestamp() + 1500) * 10**9
    of_time = _file(archived, since_ns=since, until_ns=since + 9 * 10**9)
    assert [line["text"] for line in of_time["lines"]] == LINES[1500:1510]
    download = archived.client.get("/api/v1/logs/download", params={"node_id": NODE, "name": NAME})
    assert download.text == TEXT
    assert NAME in download.headers["content-disposition"]
    found = archived.get("/api/v1/logs/search", q="odd")
    assert [(hit["name"], hit["level"]) for hit in found["items"]] == [("raylet.out", "warning")]
    assert found["complete"]
    of_worker = archived.get("/api/v1/logs/of", worker_id=WORKER)
    assert [part["name"] for part in of_worker["parts"]] == [NAME]
    assert of_worker["parts"][0]["page"]["lines"][-1]["text"] == LINES[-1]
    for job in (JOB, "sub_1"):
        of_job = archived.get("/api/v1/logs/of", job_id=job)
        assert [part["name"] for part in of_job["parts"]] == ["job-driver-sub_1.log", NAME]
        assert of_job["parts"][0]["page"]["lines"][0]["text"] == "the driver said this"


def test_rotated_pieces_are_one_log_from_the_oldest_to_the_newest(fresh: Running) -> None:
    story = Story()
    story.entity("node", NODE, 0, 5)
    story.entity("worker", WORKER, 0, 5, node_id=NODE, pid=100)
    story.task("f", 0, 1, 2)
    task = story.batch.attempts[-1]
    task.node_id, task.worker_id = NODE, WORKER
    task.stdout_file, task.stdout_start, task.stdout_end = f"/tmp/ray/logs/{NAME}", 41, 90
    fresh.record(story)
    store = fresh.server.services.logs.store(SESSION, make=True)  # type: ignore[union-attr]
    assert store is not None
    for piece in ("", ".1", ".2", ".10"):
        store.append(NODE, f"{NAME}{piece}", 0, f"piece {piece}\n".encode(), 2)
    of_worker = fresh.get("/api/v1/logs/of", worker_id=WORKER)
    pieces = [f"{NAME}.10", f"{NAME}.2", f"{NAME}.1", NAME]
    assert [part["name"] for part in of_worker["parts"]] == pieces
    of_task = fresh.get("/api/v1/logs/of", task_id=task.task_id)  # its offsets may be of any piece
    assert ([part["name"] for part in of_task["parts"]], of_task["notes"]) == (pieces, ["rotated"])


def test_files_are_known_by_what_ran_in_them(archived: Running) -> None:
    store = archived.server.services.logs.store(SESSION)  # type: ignore[union-attr]
    assert store is not None
    idle, actor = (f"worker-{first * 56}-ffffffff-{pid}.err" for first, pid in (("d", 7), ("e", 8)))
    store.append(NODE, idle, 0, b":job_id:01000000\n:task_name:f\n", 2)
    store.append(NODE, actor, 0, b":job_id:01000000\n:actor_name:Board\nsaid\n", 3)
    story = Story(_made=10)
    for at, name in enumerate(("f", "f", "load", "clean", "train", "Board.__init__")):
        worker = "de"[name.startswith("Board")] * 56
        story.task(name, at, at, at + 1, worker=worker, actor="1" * 24 if worker[0] == "e" else None)
    printing = story.batch.attempts[1]
    printing.stdout_file, printing.stdout_start, printing.stdout_end = f"/tmp/ray/logs/{NAME}", 41, 90
    printing.worker_id = WORKER
    story.entity("actor", "1" * 24 + JOB, 0, class_name="Board")
    story.entity("worker", "d" * 56, 0, node_id=NODE, pid=7, job_id=JOB)
    story.entity("worker", "e" * 56, 0, node_id=NODE, pid=8)
    story.entity("job", JOB, 0, 5, entrypoint="python /home/me/nightly.py --all", submission_id="sub_1")
    archived.record(story)

    every = archived.get("/api/v1/logs", node_id=NODE[:8])
    files = {file["name"]: file for file in every["files"]}
    assert [file["pid"] for file in every["files"]] == [8, 7, None, 100, None]  # users', the newest first
    assert (files[actor]["actor_class"], files[actor]["is_empty"]) == ("Board", False)
    assert (files[idle]["functions"], files[idle]["functions_total"]) == (["f", "load", "clean"], 4)
    assert (files[idle]["job_id"], files[idle]["script"]) == (JOB, "nightly.py")
    assert files["job-driver-sub_1.log"]["script"] == "nightly.py"
    shown = archived.get("/api/v1/logs", hide_empty=1)
    assert (shown["total"], shown["empty"]) == (4, 1)
    assert idle not in {file["name"] for file in shown["files"]}
    for text, name in (("board", actor), ("load", idle), ("d" * 9, idle)):
        assert [file["name"] for file in archived.get("/api/v1/logs", q=text)["files"]] == [name]

    found = archived.get("/api/v1/logs/search", q="it: line [01] ", regex=1)
    assert [file["name"] for file in found["files"]] == [NAME]
    assert [(hit["func_name"], hit["attempt"]) for hit in found["items"]] == [(None, None), ("f", 0)]
    assert found["items"][1]["task_id"] == printing.task_id
    workers = {worker["pid"]: worker for worker in archived.get("/api/v1/workers")["items"]}
    assert (workers[7]["functions"], workers[7]["functions_total"]) == (["f", "load", "clean"], 4)
    assert (workers[7]["script"], workers[8]["actor_class"]) == ("nightly.py", "Board")
    assert archived.get(f"/api/v1/workers/{'e' * 56}")["actor_class"] == "Board"
    (part,) = archived.get("/api/v1/logs/of", worker_id="e" * 8)["parts"]
    assert (part["actor_class"], part["name"]) == ("Board", actor)
    page = archived.get("/api/v1/logs/file", node_id=NODE[:8], name=actor)
    assert page["lines"][-1]["text"] == "said"
    items = archived.get("/api/v1/find", q="board")["groups"]
    (group,) = [group for group in items if group["kind"] == "log_file"]
    assert [(item["name"], item["detail"]) for item in group["items"]] == [("Board", "stderr · PID 8")]


HOSTILE = (
    "../record.duckdb",
    "/etc/passwd",
    "%2e%2e/key",
    "x\0y",
    "..",
    "a" * 390,
    "raylet.out/../../../key",
)


def test_the_first_answer_knows_which_files_are_empty(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {NAME: 0, f"worker-{WORKER}-01000000-100.err": 5}
    services = fresh.server.services
    assert services is not None
    story = Story()
    story.entity("node", NODE, 0, None, node_ip="10.0.0.1", is_head=True)
    story.entity("worker", WORKER, 0, None, node_id=NODE, pid=100)
    fresh.record(story)
    agent = SimpleNamespace(
        names=lambda: list(sizes), size=lambda name, at_least: sizes[name], close=lambda: None
    )
    monkeypatch.setattr(services.logs, "agent", lambda session, node_id: agent)
    answer = fresh.get("/api/v1/logs", hide_empty=1)
    assert [(f["name"], f["size"]) for f in answer["files"]] == [(f"worker-{WORKER}-01000000-100.err", 5)]
    assert (answer["total"], answer["empty"]) == (1, 1)
    files = {f["name"]: (f["size"], f["is_empty"]) for f in fresh.get("/api/v1/logs")["files"]}
    assert files[NAME] == (0, True)


def test_invalid_names_reach_no_file(archived: Running) -> None:
    for name in HOSTILE:
        for path in ("file", "download"):
            answer = archived.client.get(f"/api/v1/logs/{path}", params={"node_id": NODE, "name": name})
            archived.error(answer, 404)
    for node in ("../x", "A" * 10, "", "f" * 56):
        answer = archived.client.get("/api/v1/logs/file", params={"node_id": node, "name": "raylet.out"})
        archived.error(answer, 404)


def test_hostile_searches_are_refused_or_bounded(archived: Running) -> None:
    for pattern in ("(", "(?=a)b", "\\1", "(a{1000}){1000}", "["):
        for path, more in (("search", {}), ("file", {"node_id": NODE, "name": NAME})):
            answer = archived.client.get(f"/api/v1/logs/{path}", params={"q": pattern, "regex": 1, **more})
            archived.error(answer, 400)
    evil = archived.get("/api/v1/logs/search", q="(x+x+)+y$", regex=1)
    assert evil["items"] == []
    archived.error(archived.client.get("/api/v1/logs/search", params={"q": "x" * 301}), 422)
    archived.error(archived.client.get("/api/v1/logs", params={"kind": "secrets"}), 400)
    archived.error(archived.client.get("/api/v1/logs/of", params={"task_id": "a", "job_id": "b"}), 400)
    foreign = archived.client.get(
        "/api/v1/logs/search", params={"q": "x"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    archived.error(foreign, 403)


def test_pages_put_together_are_the_file(tmp_path: Path) -> None:
    data = TEXT.encode() + "ends without a line's end, 雪".encode()
    store = LogStore(tmp_path / "logs.sqlite")
    store.append("n", "f", 0, data, 1)
    source = Source("n", "f", store.file("n", "f"), store, None, None)
    filters = PageFilters(0, len(data), 170)
    whole = data.decode().split("\n")
    ahead: list[str] = []
    page = forward(source, 0, filters)
    while True:
        ahead += [line["text"] for line in page["lines"]]
        if not page["more"]:
            break
        page = forward(source, page["next"], filters)
    assert ahead == whole
    back: list[str] = []
    page = backward(source, len(data), filters)
    while True:
        back = [line["text"] for line in page["lines"]] + back
        if page["prev"] is None:
            break
        page = backward(source, page["prev"], filters)
    assert back == whole


def test_missing_parts_are_reported(tmp_path: Path) -> None:
    store = LogStore(tmp_path / "logs.sqlite")
    store.append("n", "f", 0, b"one\ntwo\n", 1)
    store.append("n", "f", 500, b"half\nlast\n", 2)
    source = Source("n", "f", store.file("n", "f"), store, None, None)
    for page in (forward(source, 0, PageFilters(0, 510)), backward(source, 510, PageFilters(0, 510))):
        assert [line["text"] for line in page["lines"]] == ["one", "two", "half", "last"]
        assert page["missing"] == [{"begin": 8, "end": 500}]


@pytest.mark.parametrize("repeats", [1, 400])
def test_lines_without_a_time_have_the_time_of_the_line_before(tmp_path: Path, repeats: int) -> None:
    """A dump without times, as Ray's GCS prints them, that precedes the requested time, is older."""
    dump = [f"a figure of the dump: {number}" for number in range(300)]
    lines = ["a banner"]
    for number in range(repeats):
        lines += [f"[2026-11-22 07:{number // 60:02}:{number % 60:02},000 I 1 1] told {number}", *dump]
    last = f"[2026-11-22 09:00:00,000 I 1 1] late {'x' * 90}"
    data = "\n".join([*lines, last, *dump, ""]).encode()
    store = LogStore(tmp_path / "logs.sqlite")
    store.append("n", "f", 0, data, 1)
    source = Source("n", "f", store.file("n", "f"), store, None, None)
    late_ns = round(datetime(2026, 11, 22, 9).timestamp()) * 10**9
    page = forward(source, 0, PageFilters(0, len(data), 500, since_ns=late_ns - 1))
    assert [line["text"] for line in page["lines"]] == [last, *dump]
    early = round(BEGIN.timestamp()) * 10**9
    page = forward(source, 0, PageFilters(0, len(data), 2, since_ns=early - 1))
    assert [line["text"] for line in page["lines"]] == lines[:2]


def test_output_of_a_program_is_the_log_of_its_driver(fresh: Running) -> None:
    story = Story()
    story.entity("node", NODE, 0, 5, node_ip="10.0.0.1", is_head=True)
    story.entity("job", JOB, 0, 5, driver_pid=77, type="DRIVER")
    story.entity("job", "02000000", 1, 5, driver_pid=5, type="DRIVER")
    story.entity("worker", WORKER, 0, 5, worker_type="DRIVER", job_id=JOB, node_id=NODE)
    fresh.record(story)
    assert fresh.get("/api/v1/logs/of", worker_id=WORKER)["notes"] == ["driver_terminal"]
    services = fresh.server.services
    assert services is not None

    def send(data: bytes, offset: int, pids: str = "5,77", key: str = services.secrets.ingest_key) -> Any:
        where = {"session": SESSION, "pids": pids, "began_ns": 0, "offset": offset}
        return fresh.client.post(f"/api/ingest/{key}/program-output", params=where, content=data)

    assert send(b"epoch 1\n", 0, pids="6").json() == {"taken": False}
    assert send(b"epoch 1\n", 0).json() == {"taken": True}
    assert send(b"1\nepoch 2\n", 6).json() == {"taken": True}  # sent again, in part
    assert send(b"x" * 200_000 + b"\nend\n", 16).json() == {"taken": True}
    assert send(b"x", 0, key="wrong").status_code == 404
    assert send(b"x", 0, pids="../5").status_code == 422
    [part] = fresh.get("/api/v1/logs/of", job_id=JOB)["parts"]
    assert (part["name"], part["stream"]) == (f"driver-{JOB}.log", "driver")
    assert fresh.get("/api/v1/logs/of", worker_id=WORKER)["parts"] == [part]
    texts = [line["text"] for line in part["page"]["lines"]]
    assert (texts[:2], texts[-1]) == (["epoch 1", "epoch 2"], "end")
    assert part["page"]["problem"] is None
    [hit] = fresh.get("/api/v1/logs/search", q="epoch 2", kind="driver")["items"]
    assert hit["name"] == f"driver-{JOB}.log"
