"""Exports of executions with known numbers, read as their target programs read them."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pyarrow.parquet as pq
import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, ORIGIN_NS, SESSION, Story, at
from tests.traces import Slice, Trace, read_perfetto
from tests.waiting import wait_until

from rayscope.model import Edge
from rayscope.views.export.tables_sql import VIEWS
from rayscope.views.export.timeline_sql import WAIT_ROWS

ROOT = Path(__file__).parents[4]
ACTOR = "5" * 24


def story() -> tuple[Story, dict[str, str]]:
    """A root that waits for a leaf; one that fails; an actor that does two things at once; one not run."""
    recorded = Story()
    ids = {"root": recorded.task("root", 0, 10, 100, queued=5, worker="b" * 56)}
    root = recorded.batch.attempts[-1]
    root.phases = {"execute": (at(12), at(95)), "total": (at(11), at(98))}
    ids["leaf"] = recorded.task("leaf", 20, 30, 50, parent=ids["root"], worker="c" * 56)
    ids["bad"] = recorded.task("bad", 21, 50, 60, parent=ids["root"], worker="c" * 56, failed=True)
    recorded.get(ids["root"], ids["leaf"], 25, 55)
    recorded.argument(ids["bad"], ids["leaf"])
    recorded.span(ids["root"], "tidy", 60, 70)
    for name, begin, end in (("A.one", 20, 60), ("A.two", 40, 80)):
        ids[name] = recorded.task(name, begin - 1, begin, end, actor=ACTOR, worker="d" * 56)
    ids["late"] = recorded.task("late", 30)
    recorded.count(ids["root"], "loss", 0.5, 40)
    recorded.annotate(ids["root"], "model", "resnet")
    return recorded, ids


def fetch(fresh: Running, form: str, **params: Any) -> tuple[bytes, dict[str, int]]:
    answer = fresh.client.get("/api/v1/export", params={"format": form, **params})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{SESSION}.')
    return answer.content, json.loads(answer.headers["x-rayscope-left-out"])


def ms(piece: Slice) -> tuple[float, float]:
    return ((piece.begin - ORIGIN_NS) / 1e6, (piece.end - ORIGIN_NS) / 1e6)


def test_a_trace_shows_every_attempt_with_its_times_and_arrows(fresh: Running) -> None:
    recorded, ids = story()
    fresh.record(recorded)
    content, left_out = fetch(fresh, "perfetto")
    trace: Trace = read_perfetto(content)
    root, leaf, bad = trace.named("root"), trace.named("leaf"), trace.named("bad", "failed")
    # The worker's own account of the end (98), not its owner's (100).
    assert ms(root) == (10, 98)
    assert ms(leaf) == (30, 50)
    assert ms(bad) == (50, 60)
    assert trace.place(leaf) == trace.place(bad) == ("node aaaaaaaa", "worker 100")
    assert root.args["task_id"] == ids["root"]
    assert root.args["annotation.model"] == "resnet"
    assert (root.args["state"], bad.args["state"]) == ("FINISHED", "FAILED")
    assert bad.args["error"] == "ValueError: it is a story"
    assert int(root.args["created_ns"]) == at(0)
    inside = {s.name: (ms(s), s.depth) for s in trace.slices if s.track == root.track and s is not root}
    assert inside == {
        "fetching": ((10, 12), 1),
        "executing": ((12, 95), 1),
        "storing": ((95, 98), 1),
        "ray.get": ((25, 55), 2),
        "tidy": ((60, 70), 2),
    }
    one, two = trace.named("A.one"), trace.named("A.two")
    assert one.track != two.track
    assert {one.depth, two.depth} == {0}
    assert (ms(one), ms(two)) == ((20, 60), (40, 80))
    waits = {s.name: ms(s) for s in trace.slices if s.category == "wait" and s.depth == 0}
    assert waits["root"] == (0, 10)
    assert waits["late"][0] == 30
    assert {(s.name, ms(s)) for s in trace.slices if s.category == "wait" and s.depth} >= {
        ("waiting_node", (0, 5)),
        ("queued", (5, 10)),
    }
    (failed,) = [s for s in trace.instants if s.category == "failed"]
    assert (failed.name, ms(failed)) == ("FAILED TASK_EXECUTION_EXCEPTION", (60, 60))
    arrows = {(a.name, b.name) for a, b in trace.arrows}
    assert {("call leaf", "leaf"), ("call bad", "bad"), ("call root", "root")} <= arrows
    assert ("leaf", "ray.get") in arrows
    assert ("leaf", "bad") in arrows
    assert trace.counters["node aaaaaaaa", "loss, worker 100"] == [(at(40), 0.5)]
    # The one that has not run is in flight to this day.
    assert trace.counters["all tasks", "in flight"][-1][1] == 1
    assert ("all tasks", "running") in trace.counters
    assert left_out == {}


def test_a_trace_names_the_caller_and_the_parent_that_ray_names(fresh: Running) -> None:
    recorded = Story()
    init = recorded.task("Control.__init__", 0, 1, 2, actor=ACTOR)
    run = recorded.task("Control.run", 3, 4, 100, actor=ACTOR)
    step = recorded.task("step", 10, 11, 50, parent=init)
    recorded.batch.edges.append(Edge(step, -1, "caller", run, 0, None, at(10), at(10)))
    fresh.record(recorded)
    args = read_perfetto(fetch(fresh, "perfetto")[0]).named("step").args
    assert (args["caller_task_id"], args["parent_task_id"]) == (run, init)


def test_filters_and_what_is_left_out(fresh: Running) -> None:
    recorded, ids = story()
    for number in range(WAIT_ROWS + 5):
        recorded.task(f"many_{number}", 200, 300, 301, worker=f"{number:056x}")
    fresh.record(recorded)
    content, left_out = fetch(fresh, "perfetto", func_name="leaf")
    trace = read_perfetto(content)
    assert [s.name for s in trace.slices if s.category in ("task", "failed", "driver")] == ["leaf"]
    assert left_out == {"call_arrows": 1}
    content, left_out = fetch(fresh, "perfetto")
    trace = read_perfetto(content)
    # One of the rows is taken by the task that never ran.
    assert left_out == {"waits": 6}
    assert sum(s.category in ("task", "failed") for s in trace.slices) == len(ids) - 1 + WAIT_ROWS + 5
    content, _ = fetch(fresh, "perfetto", until_ns=at(5))
    assert [s.name for s in read_perfetto(content).slices if s.category == "task"] == ["root"]


def test_an_empty_session_is_a_trace_too(fresh: Running) -> None:
    recorded = Story()
    recorded.task("waits", 0)
    fresh.record(recorded)
    content, _ = fetch(fresh, "perfetto", func_name="nothing")
    assert read_perfetto(content).slices == []
    speedscope, _ = fetch(fresh, "speedscope", func_name="nothing")
    assert json.loads(speedscope)["profiles"][0]["weights"] == []
    archive, _ = fetch(fresh, "parquet", func_name="nothing")
    assert pq.read_table(io.BytesIO(zipfile.ZipFile(io.BytesIO(archive)).read("tasks.parquet"))).num_rows == 0


def test_speedscope_has_the_sums_by_call_path_and_each_worker(fresh: Running) -> None:
    recorded, _ = story()
    fresh.record(recorded)
    content, left_out = fetch(fresh, "speedscope")
    file = json.loads(content)
    folder = ROOT / "web" / "node_modules" / "speedscope" / "dist" / "release"
    jsonschema.validate(file, json.loads((folder / "file-format-schema.json").read_text()))
    names = [frame["name"] for frame in file["shared"]["frames"]]
    summed, *workers = file["profiles"]
    weights = {
        tuple(names[frame] for frame in stack): weight / 1e6
        for stack, weight in zip(summed["samples"], summed["weights"], strict=True)
    }
    # Only execution, without the 30 ms in ray.get.
    assert weights == {
        ("driver", "root"): 53,
        ("driver", "root", "leaf"): 20,
        ("driver", "root", "bad"): 10,
        ("driver", "A.one"): 40,
        ("driver", "A.two"): 40,
    }
    flame = fresh.get("/api/v1/flow/flame")
    assert summed["endValue"] == flame["total"]
    assert left_out == {"attempts_without_worker": 1}
    assert len(workers) == 5  # the driver, and three workers of which one does two things at once
    seen = set()
    for profile in workers:
        stack: list[int] = []
        last = profile["startValue"]
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            seen.add(names[event["frame"]])
            stack.append(event["frame"]) if event["type"] == "O" else None
            assert event["type"] == "O" or stack.pop() == event["frame"]
        assert not stack
    assert seen >= {"root", "leaf", "bad", "A.one", "A.two", "ray.get", "executing", "tidy"}


def test_of_too_many_attempts_the_busiest_workers_go(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Story()
    for number in range(9):
        recorded.task("busy", number, number, number + 1, worker="a" * 56)
    for worker in "bcd":
        recorded.task(f"on_{worker}", 0, 5, 10, worker=worker * 56)
    fresh.record(recorded)
    monkeypatch.setattr("rayscope.views.export.export.SPEEDSCOPE_ATTEMPTS", 5)
    content, left_out = fetch(fresh, "speedscope")
    file = json.loads(content)
    assert left_out == {"workers": 1, "attempts_of_these_workers": 9}
    assert file["rayscope"]["attempts"] == 3
    names = [frame["name"] for frame in file["shared"]["frames"]]
    drawn = {names[event["frame"]] for one in file["profiles"][1:] for event in one["events"]}
    assert drawn >= {"on_b", "on_c", "on_d"}
    assert "busy" not in drawn
    # In the sums are all, but where stacks are too deep: then the header and the file say how many are not.
    assert len(file["profiles"][0]["samples"]) == 4
    monkeypatch.setattr("rayscope.views.export.export.SPEEDSCOPE_FRAMES", 6)
    content, left_out = fetch(fresh, "speedscope")
    file = json.loads(content)
    assert left_out["call_paths"] == file["rayscope"]["left_out"]["call_paths"] == 1
    assert len(file["profiles"][0]["samples"]) == 3


def test_a_stalled_download_is_cut_and_its_place_is_free_again(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_end(*_: Any, **__: Any) -> Iterator[bytes]:
        for _ in range(4000):
            yield b"x" * (1 << 18)

    fresh.record(story()[0])
    monkeypatch.setattr("rayscope.server.http_protocol.STALLED_S", 5.0)
    with monkeypatch.context() as patched, contextlib.ExitStack() as stack:
        patched.setattr("rayscope.views.export.export.draw", without_end)
        at = urlsplit(fresh.server.url)
        for _ in range(2):
            client = stack.enter_context(socket.create_connection((at.hostname, at.port)))
            client.sendall(
                f"GET /api/v1/export?format=perfetto HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode()
            )
            assert client.recv(12) == b"HTTP/1.1 200"
        fresh.error(fresh.client.get("/api/v1/export", params={"format": "perfetto"}), 503)
        patched.undo()

        def has_room() -> bool:
            return fresh.client.get("/api/v1/export", params={"format": "parquet"}).status_code != 503

        wait_until(has_room, "the stalled downloads leave their places")


def test_parquet_is_what_sql_says(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded, ids = story()
    fresh.record(recorded)
    archive = zipfile.ZipFile(io.BytesIO(fetch(fresh, "parquet")[0]))
    assert archive.testzip() is None
    about = json.loads(archive.read("about.json"))
    assert (about["session"], about["rows"]["tasks"]) == (SESSION, len(ids))
    assert SESSION in archive.read("README.md").decode()
    for view in VIEWS:
        table = pq.read_table(io.BytesIO(archive.read(f"{view}.parquet")))
        answer = fresh.client.post("/api/v1/sql", json={"sql": f"SELECT * FROM {view}", "limit": 1000}).json()
        assert table.column_names == [column[0] for column in answer["columns"]]
        rows = [[row[name] for name in table.column_names] for row in table.to_pylist()]
        key = json.dumps
        assert sorted(rows, key=key) == sorted(answer["rows"], key=key), view
        assert json.loads(table.schema.metadata[b"rayscope"])["session"] == SESSION
    # A large record's data edges are read in parts.
    monkeypatch.setattr("rayscope.views.export.tables_sql._EDGES_PART", 2)
    again = zipfile.ZipFile(io.BytesIO(fetch(fresh, "parquet")[0]))
    edges, before = (pq.read_table(io.BytesIO(one.read("data_edges.parquet"))) for one in (again, archive))
    assert sorted(map(str, edges.to_pylist())) == sorted(map(str, before.to_pylist()))
    part = zipfile.ZipFile(io.BytesIO(fetch(fresh, "parquet", func_name="leaf")[0]))
    tasks = pq.read_table(io.BytesIO(part.read("tasks.parquet")))
    assert tasks.column("task_id").to_pylist() == [ids["leaf"]]
    spans = pq.read_table(io.BytesIO(part.read("spans.parquet")))
    assert spans.num_rows == 0
    edges = pq.read_table(io.BytesIO(part.read("data_edges.parquet")))
    assert set(edges.column("consumer_task_id").to_pylist()) == {ids["root"], ids["bad"]}


def test_bad_requests_say_what_to_do(fresh: Running) -> None:
    fresh.error(fresh.client.get("/api/v1/export", params={"format": "perfetto"}), 404)
    recorded, _ = story()
    fresh.record(recorded)
    assert fresh.client.get("/api/v1/export", params={"format": "exe"}).status_code == 422
    fresh.error(fresh.client.get("/api/v1/export", params={"format": "perfetto", "parent_task_id": "x"}), 400)
    fresh.error(fresh.client.get("/api/v1/export", params={"format": "perfetto", "session": "other"}), 404)
    # None of these keeps a place.
    for _ in range(3):
        fetch(fresh, "perfetto", job_id=JOB)
    assert DRIVER.endswith(JOB)
