"""The tracer's events to records, and what is none of them."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from tests.records import decode
from tests.reference import merge_attempts
from tests.tables import insert_attempts

from rayscope.model import NO_OBJECT, Annotation, Attempt, Edge, Entity, RecordBatch, Span
from rayscope.ray.common import TRACED
from rayscope.ray.events.batch import Format, join
from rayscope.ray.events.schema import UNION, as_json
from rayscope.storage import rows
from rayscope.storage.schema import TABLES, VIEWS

TASK = "aa" * 24
OTHER = "bb" * 24
WORKER = b"\x07" * 28
OBJECT = bytes.fromhex(OTHER) + (1).to_bytes(4, "little")
PUT = bytes.fromhex("00" + "aa" * 23) + (100_000_001).to_bytes(4, "little")


class Entry(NamedTuple):
    event_name: str
    start_time: int
    end_time: int
    extra_data: str


def entry_of(name: str, begin: int = 5, end: int = 9, /, **values: Any) -> Entry:
    return Entry(name, begin, end, json.dumps(values))


def objects(*ids: bytes) -> str:
    return base64.b64encode(b"".join(ids)).decode()


def test_a_report_of_ray_train() -> None:
    metrics = {f"m{at}": at for at in range(40)} | {"x" * 200: 1.5}
    values = {"loss": "nan", "odd": "text", "none": None} | metrics
    entry = entry_of(
        "rayscope.train_report",
        60,
        70,
        t=OTHER,
        n=3,
        rank=1,
        k=50,
        e=40,
        wait=7,
        x=1,
        text="/c",
        values=values,
    )
    (span,) = records(entry).spans
    assert (span.task_id, span.attempt, span.name, span.begin_ns, span.end_ns) == (
        OTHER,
        0,
        "train.report",
        50,
        70,
    )
    extra = json.loads(span.extra)
    found = extra.pop("metrics")
    assert extra == {"step": 3, "rank": 1, "since_ns": 40, "data_ns": 7, "checkpoint": "/c"}
    assert found["loss"] == "nan"
    assert "odd" not in found
    assert len(found) <= 32
    # Impossible values are not interpreted: they stay a span with a text.
    for wrong in ({"e": 10**12}, {"rank": -1}, {"n": 2**60}, {"wait": "x"}, {"values": [1]}):
        (kept,) = records(entry_of("rayscope.train_report", 60, 70, **wrong)).spans
        assert kept.name == "rayscope.train_report"


def test_a_canceled_task_is_not_finished() -> None:
    batch = records(entry_of("rayscope.canceled", t=OTHER, a=1), entry_of("rayscope.cancel", c=OTHER))
    attempt = next(one for one in batch.attempts if one.error is not None)
    assert (attempt.task_id, attempt.attempt) == (OTHER, 1)
    (span,) = batch.spans
    assert (span.task_id, span.name, json.loads(span.extra)) == (OTHER, "ray.cancel", {"by": TASK})
    # Ray's own events, before and after it in the record.
    ended = Attempt(OTHER, 1, states={"RUNNING": 2, "FINISHED": 8})
    connection = duckdb.connect()
    for statement in (*TABLES, *VIEWS):
        connection.execute(statement)
    insert_attempts(connection, [attempt, ended])
    found = connection.execute("SELECT state, reported_state, error_type, end_ns FROM tasks").fetchall()
    assert found == [("FAILED", "FINISHED", "TASK_CANCELLED", 8)]


def test_an_experiment_of_ray_tune() -> None:
    fields = {
        "experiment": "e1",
        "name": "asha",
        "path": "s3://me:hush@bucket/x",
        "metric": "loss",
        "mode": "min",
    }
    fields |= {"scheduler": "ASHA", "search": "Random", "restored": False, "samples": 20, "start": 3}
    running = entry_of("rayscope.tune_experiment", 5, 9, state="RUNNING", **fields)
    ended = entry_of("rayscope.tune_experiment", 15, 19, state="FINISHED", end=18, **fields)
    first, last = records(running, ended).entities
    assert (first.kind, first.id, first.has_ended, last.has_ended) == ("tune_experiment", "e1", False, True)
    assert first.observed == {"state": "RUNNING", "start_ns": 3}
    assert last.observed == {"state": "FINISHED", "start_ns": 3, "end_ns": 18}
    assert first.fields == last.fields
    assert first.fields["job_id"] == TASK[-8:]
    assert first.fields["path"] == "s3://<redacted>@bucket/x"
    assert (first.fields["num_samples"], first.fields["mode"]) == (20, "min")
    for wrong in ({"state": "ODD"}, {"experiment": "a/b"}, {"samples": -1}, {"start": "x"}, {"t": "short"}):
        batch = records(entry_of("rayscope.tune_experiment", **{"state": "RUNNING"} | fields | wrong))
        assert (batch.entities, [span.name for span in batch.spans]) == ([], ["rayscope.tune_experiment"])


def test_trials_of_ray_tune_and_their_results() -> None:
    parameters = {
        "lr": 0.1,
        "api_key": "hush",
        "env/env_vars/A": "hush",
        "url": "http://me:hush@x",
        "n": None,
    }
    one = {"trial": "abc_0", "name": "f_abc_0", "state": "ERROR", "parameters": parameters, "n": 3}
    one |= {"seconds": 1.5, "values": {"loss": "nan", "odd": "text"}, "failures": 1, "actors": ["01", "02"]}
    one |= {"error": "\x1b[36mValueError\x1b[39m: no", "start": 4, "end": 8}
    two = {"trial": "abc_1", "state": "PENDING"}
    failed, fresh = records(
        entry_of("rayscope.tune_trials", 5, 9, experiment="e1", trials=[one, two])
    ).entities
    assert (failed.kind, failed.id, fresh.id) == ("tune_trial", "e1/abc_0", "e1/abc_1")
    assert failed.fields == {
        "experiment_id": "e1",
        "trial_id": "abc_0",
        "name": "f_abc_0",
        "job_id": TASK[-8:],
    }
    assert "hush" not in json.dumps(failed.observed)
    assert json.loads(str(failed.observed["parameters"]))["lr"] == 0.1
    assert (failed.observed["metrics"], failed.observed["actor_id"]) == ('{"loss":"nan"}', "02")
    assert (failed.observed["error"], failed.observed_ns, failed.has_ended) == ("ValueError: no", 9, False)
    assert fresh.observed["state"] == "PENDING"
    values = {"loss": 0.5, "huge": 1.5e308}
    fields = {"experiment": "e1", "trial": "abc_0", "n": 4, "seconds": 2.5, "values": values, "x": 1}
    (span,) = records(entry_of("rayscope.tune_result", 5, 9, t=OTHER, **fields)).spans
    assert (span.task_id, span.name, span.begin_ns, span.end_ns) == (OTHER, "tune.result", 9, 9)
    assert json.loads(span.extra) == {
        "experiment": "e1",
        "trial": "abc_0",
        "iteration": 4,
        "seconds": 2.5,
        "metrics": {"loss": 0.5},
        "checkpoint": 1,
    }
    for wrong in ({"state": "DONE"}, {"why": "x"}, {"actors": ["a"] * 99}, {"n": -1}, {"trial": ""}):
        batch = records(entry_of("rayscope.tune_trials", experiment="e1", trials=[one | wrong]))
        assert (batch.entities, [span.name for span in batch.spans]) == ([], ["rayscope.tune_trials"])


def test_parts_of_requests_of_ray_serve_and_calls_of_deployments() -> None:
    ms = 10**6
    hop = {"k": 60 * ms, "e": 90 * ms, "id": "i", "q": "mine", "app": "shop", "dep": "Front", "r": "/shop"}
    hop |= {"m": "GET", "s": "500", "f": 1, "err": "ValueError", "w": "00-a-b-01", "n": 2, "d": 20 * ms}
    hop["c"] = [["shop#Model", 65 * ms, 85 * ms, ms, 1]]
    edge = {"from": "shop#Front", "to": "shop#Model", "n": 9, "x": 1, "l": [168, 8, 170, 1]}
    good = {"t": OTHER, "k": 50 * ms, "e": 100 * ms, "hops": [hop], "edges": [edge], "n": 3}
    first, calls, left_out = records(entry_of("rayscope.serve", 99 * ms, 100 * ms, **good)).spans
    assert first[:5] == (OTHER, 0, "serve.hop", 60 * ms, 90 * ms)
    assert json.loads(first.extra) == {
        "request": "i",
        "application": "shop",
        "deployment": "Front",
        "request_id": "mine",
        "route": "/shop",
        "method": "GET",
        "status": "500",
        "failed": True,
        "error": "ValueError",
        "traceparent": "00-a-b-01",
        "call_count": 2,
        "downstream_ns": 20 * ms,
        "calls": [
            {
                "callee": "shop#Model",
                "begin_ns": 65 * ms,
                "end_ns": 85 * ms,
                "queue_ns": ms,
                "failed": True,
            }
        ],
    }
    assert calls[:5] == (OTHER, 0, "serve.calls", 50 * ms, 100 * ms)
    assert json.loads(calls.extra) == {
        "caller": "shop#Front",
        "callee": "shop#Model",
        "calls": 9,
        "errors": 1,
        "latency": {"168": 8, "170": 1},
    }
    assert (left_out.name, left_out.extra) == ("serve.left_out", '{"hops":3}')
    for wrong in (
        {"e": 40 * ms},
        {"e": 10**12},
        {"hops": [{**hop, "k": 91 * ms}]},
        {"hops": [{**hop, "c": [["x", 0, 10**12, 0, 0]]}]},
        {"hops": [{**hop, "app": None}]},
        {"edges": [{**edge, "l": [1]}]},
        {"edges": [{**edge, "n": -1}]},
    ):
        (kept,) = records(entry_of("rayscope.serve", 99 * ms, 100 * ms, **{**good, **wrong})).spans
        assert kept.name == "rayscope.serve"


def records(*entries: Entry, task: str = TASK, number: int = 2) -> RecordBatch:
    """The records of one profile in either format, with its attempts merged."""
    profile = {
        "component_type": "worker",
        "component_id": WORKER,
        "events": [entry._asdict() for entry in entries],
    }
    event = UNION["RayEvent"](
        event_type=4,
        session_name="session",
        task_profile_events={
            "task_id": bytes.fromhex(task),
            "attempt_number": number,
            "job_id": b"\x01\0\0\0",
            "profile_events": profile,
        },
    )
    (batch,), invalid = decode(join([event.SerializeToString()], Format.BINARY), Format.BINARY)
    (from_json,), no_json = decode(json.dumps([as_json(event)]).encode())
    assert invalid == no_json == []
    assert from_json == batch
    merged: dict[tuple[str, int], Attempt] = {}
    for part in batch.attempts:
        known = merged.setdefault((part.task_id, part.attempt), part)
        if known is not part:
            merge_attempts(known, part)
    batch.attempts = list(merged.values())
    return batch


def test_a_get_is_a_span_and_an_edge_for_each_object() -> None:
    batch = records(entry_of("ray.get", o=objects(OBJECT, PUT), s=[15, 18], n=300, b=9000))
    assert batch.edges == [
        Edge(TASK, 2, "get", OTHER, 1, 15, 5, 9),
        Edge(TASK, 2, "get", PUT[:24].hex(), 100_000_001, 18, 5, 9),
    ]
    assert batch.spans == [Span(TASK, 2, "ray.get", 5, 9, '{"objects":300,"unnamed":298,"bytes":9000}')]


def test_an_unsuccessful_wait_is_no_get() -> None:
    batch = records(
        entry_of("ray.get", o=objects(OBJECT)),
        entry_of("ray.wait", o=objects(OBJECT), ready=0),
        entry_of("await", o=objects(OBJECT), x=1),
    )
    assert [edge.kind for edge in batch.edges] == ["wait", "wait", "wait"]
    assert [span.extra for span in batch.spans] == ["", '{"ready":0}', ""]


def test_a_call_reported_while_it_blocked_keeps_that_begin() -> None:
    blocked = entry_of("rayscope.blocked", 1000, 1001, name="ray.get", k=7, o=objects(OBJECT), t=OTHER, a=1)
    ended = entry_of("ray.get", 1999, 2000, o=objects(OBJECT), s=[1], k=7, t=OTHER, a=1)
    batch = records(blocked, ended)
    assert [(e.task_id, e.attempt, e.kind, e.begin_ns) for e in batch.edges] == [
        (OTHER, 1, "blocked:ray.get", 7),
        (OTHER, 1, "get", 7),
    ]
    assert batch.spans == [Span(OTHER, 1, "ray.get", 7, 2000)]


def test_a_wait_for_a_placement_group_is_an_edge_to_it() -> None:
    group = b"\x07" * 14 + b"\x01\0\0\0"
    group_text = base64.b64encode(group).decode()
    batch = records(
        entry_of("placement_group.wait", g=group_text, ready=0),
        entry_of("rayscope.blocked", name="ray.get", o=objects(PUT), g=group_text),
    )
    edge = Edge(TASK, 2, "wait", group.hex() + "0" * 12, NO_OBJECT, None, 5, 9)
    assert batch.edges[0] == edge
    assert edge._replace(kind="blocked:ray.get") in batch.edges[1:]
    assert batch.spans == [Span(TASK, 2, "placement_group.wait", 5, 9, '{"ready":0}')]


def test_arguments_belong_to_the_task_that_is_called() -> None:
    batch = records(entry_of("rayscope.arguments", c=OTHER, o=objects(OBJECT), i=objects(PUT), more=1))
    assert batch.edges == [
        Edge(OTHER, -1, "argument", OTHER, 1, None, 5, 5),
        Edge(OTHER, -1, "nested", PUT[:24].hex(), 100_000_001, None, 5, 5),
    ]
    assert batch.spans == [Span(OTHER, 0, "arguments", 5, 5, '{"more":1}')]


def test_returns_are_part_of_the_attempt() -> None:
    plain = records(entry_of("rayscope.returned", s=[15]))
    assert plain.attempts == [
        Attempt(TASK, 2, job_id="01000000", worker_id=WORKER.hex(), returned=(5, 15, 15))
    ]
    assert not plain.edges
    several = records(entry_of("rayscope.returned", s=[15, 20, 25]))
    assert several.attempts[0].returned == (5, 15, 60)
    assert [(e.kind, e.object_index, e.size) for e in several.edges] == [
        ("return", 2, 20),
        ("last_return", 3, 25),
    ]
    early = records(entry_of("rayscope.returned", 50, 60, s=[15], k=40))
    assert early.attempts[0].returned == (40, 15, 15)
    cut = records(entry_of("rayscope.returned", s=[15, 20], n=1000, b=20_000))
    assert cut.attempts[0].returned == (5, 15, 20_000)
    assert [edge.kind for edge in cut.edges] == ["return"]
    coroutine = records(entry_of("rayscope.returned", s=[15], t=OTHER, a=0))
    assert coroutine.attempts == [Attempt(OTHER, 0, returned=(5, 15, 15))]


def test_arguments_may_be_reported_along_with_the_returns() -> None:
    given = records(
        entry_of("rayscope.returned", 50, 60, s=[15], k=40, o=objects(OBJECT, PUT), f=[7, 8], h=30)
    )
    assert given.attempts[0].returned == (40, 15, 15)
    assert given.edges == [
        Edge(TASK, 2, "fetched", OTHER, 1, 7, 30, 30),
        Edge(TASK, 2, "fetched", PUT[:24].hex(), 100_000_001, 8, 30, 30),
    ]
    # One that does not add up is kept as the span that it is.
    wrong = records(entry_of("rayscope.returned", s=[15], o=objects(OBJECT), f=[7, 8]))
    assert not wrong.edges
    assert [span.name for span in wrong.spans] == ["rayscope.returned"]


def test_cpu_time_comes_with_the_returns() -> None:
    assert records(entry_of("rayscope.returned", s=[15], u=1_234_567)).attempts[0].cpu_ns == 1_234_567
    nothing = records(entry_of("rayscope.returned", s=[], u=0))
    assert (nothing.attempts[0].cpu_ns, nothing.attempts[0].returned) == (0, None)
    wrong = records(entry_of("rayscope.returned", s=[15], u=-1))
    assert [span.name for span in wrong.spans] == ["rayscope.returned"]


def test_memory_comes_with_the_returns() -> None:
    def memory(*numbers: int) -> tuple[int | None, int | None, str | None]:
        (attempt,) = records(entry_of("rayscope.returned", s=[15], m=numbers)).attempts
        return attempt.peak_memory, attempt.start_memory, attempt.memory_scope

    assert memory(0, 9_000, 7_000) == (9_000, 7_000, "own")
    assert memory(1, 9_000, 7_000) == (9_000, 7_000, "shared")
    assert memory(2) == (None, None, "off")
    assert memory(3) == (None, None, "unavailable")
    assert memory() == (None, None, None)  # from a tracer that does not measure it
    assert memory(99) == (None, None, None)  # from a newer one
    (coroutine,) = records(entry_of("rayscope.returned", s=[15], t=OTHER, a=1, m=[1, 9, 7])).attempts
    assert (coroutine.task_id, coroutine.peak_memory, coroutine.memory_scope) == (OTHER, 9, "shared")


def test_suspensions_of_a_coroutine() -> None:
    batch = records(
        entry_of(
            "rayscope.returned", 50, 600, s=[15], k=40, u=7, t=OTHER, a=1, y=[100, 9, 9, 1, 200, 90, 50, 4]
        ),
        entry_of("rayscope.awaited", 50, 60, t=OTHER, a=1, y=[20, 5, 5, 1]),
        entry_of("rayscope.suspended", 50, 60, k=30, t=OTHER, a=1),
    )
    assert [(one.task_id, one.attempt, one.cpu_ns) for one in batch.attempts] == [(OTHER, 1, 7)]
    assert batch.spans == [
        Span(OTHER, 1, "awaiting", 100, 109),
        Span(OTHER, 1, "awaiting", 200, 290, '{"calls":4,"objects":0,"bytes":0,"blocked_ns":50}'),
        Span(OTHER, 1, "awaiting", 20, 25),
    ]
    assert [(edge.task_id, edge.kind, edge.begin_ns) for edge in batch.edges] == [(OTHER, "awaiting", 30)]
    for wrong in ([20, 5, 6, 1], [20, 5, 5], [20, 2**61, 5, 1]):
        (span,) = records(entry_of("rayscope.awaited", 50, 60, t=OTHER, y=wrong)).spans
        assert span.name == "rayscope.awaited"


def test_sums_annotations_counters_and_spans_of_the_user() -> None:
    batch = records(
        entry_of("rayscope.sum", name="ray.get", calls=7, n=9, b=90, ns=70, k=1, e=100, t=OTHER, a=3),
        entry_of("rayscope.annotation", values={"model": "resnet", "epoch": 3, "note": "第一"}),
        entry_of("rayscope.counter", name="loss", value=0.25),
        entry_of("rayscope.counter", name="loss", value=0, text="nan"),
        entry_of("rayscope.span", name="load", values={"shard": 7}),
    )
    assert batch.spans == [
        Span(OTHER, 3, "ray.get", 1, 100, '{"calls":7,"objects":9,"bytes":90,"blocked_ns":70}'),
        Span(TASK, 2, "load", 5, 9, '{"user":{"shard":7}}'),
    ]
    assert batch.annotations == [
        Annotation(TASK, 2, "annotation", "model", "resnet", None, 5),
        Annotation(TASK, 2, "annotation", "epoch", "3", 3.0, 5),
        Annotation(TASK, 2, "annotation", "note", "第一", None, 5),
        Annotation(TASK, 2, "counter", "loss", "0.25", 0.25, 5),
        Annotation(TASK, 2, "counter", "loss", "nan", None, 5),
    ]


def test_a_tracer_reports_for_its_worker_whether_it_is_on() -> None:
    batch = records(
        entry_of("rayscope.tracer", on=1, missing=["worker.wait"]), entry_of("rayscope.tracer", off="a: b")
    )
    assert batch.entities == [
        Entity("worker", WORKER.hex(), {"tracer": "on, without worker.wait"}),
        Entity("worker", WORKER.hex(), {"tracer": "off: a: b"}),
    ]


def test_a_span_of_rays_own_stays_one() -> None:
    plain = Entry("ray.get", 5, 9, "{}")
    failed = entry_of("ray.get", type="<class 'ValueError'>", value="x", traceback="y")
    batch = records(plain, failed)
    assert batch.spans == [Span(TASK, 2, "ray.get", 5, 9), Span(TASK, 2, *failed)]
    assert not batch.edges


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
keys = st.sampled_from(
    [
        "t",
        "a",
        "o",
        "s",
        "n",
        "b",
        "k",
        "e",
        "c",
        "i",
        "ns",
        "calls",
        "name",
        "values",
        "off",
        "experiment",
        "trial",
        "trials",
        "state",
        "start",
        "actors",
        "hops",
        "edges",
    ]
)
times = st.integers(-1, 2**63)
hops = st.fixed_dictionaries(
    {"k": times, "e": times, "id": st.text(max_size=3), "app": st.text(max_size=3)},
    optional={
        "n": times,
        "d": times,
        "c": st.lists(st.tuples(st.text(max_size=3), *[times] * 4), max_size=2),
    },
)
edges = st.fixed_dictionaries(
    {"from": st.text(max_size=3), "to": st.text(max_size=3), "n": times},
    optional={"x": times, "l": st.lists(times, max_size=5)},
)
served = st.fixed_dictionaries(
    {}, optional={"k": times, "e": times, "hops": st.lists(hops), "edges": st.lists(edges)}
)
texts = (
    st.dictionaries(keys, values).map(json.dumps)
    | served.map(json.dumps)
    | st.text()
    | st.sampled_from(['{"o":"AAAA"}', '{"calls":', '{"calls":1e400}', '{"k":1,"e":2}', '{"plain":1}'])
)


@given(st.lists(st.builds(Entry, st.sampled_from(sorted(TRACED)), *[st.integers(1, 2**62)] * 2, texts)))
def test_whatever_an_event_says_becomes_rows_that_can_be_written_and_read(entries: list[Entry]) -> None:
    batch = records(*entries)
    connection = duckdb.connect()
    for statement in (*TABLES, *VIEWS):
        connection.execute(statement)
    insert_attempts(connection, batch.attempts)
    for table, content in (
        ("span_rows", rows.span_table(batch.spans)),
        ("edge_rows", rows.edge_table(batch.edges)),
        ("annotation_rows", rows.annotation_table(batch.annotations)),
    ):
        connection.register("fresh", content)
        connection.execute(f"INSERT INTO {table} SELECT * FROM fresh")
    for view in ("data_edges", "annotations", "spans", "phases"):
        connection.execute(f"FROM {view}").fetchall()


def test_code_that_was_exported_and_what_arguments_look_like() -> None:
    batch = records(
        entry_of("rayscope.export", 5, 9, code="c0de", b=700, k=3),
        entry_of("rayscope.contents", 6, 6, s=[200_000, 300_000], sums=[1, 2]),
    )
    assert batch.spans == [
        Span(TASK, 2, "export", 3, 9, '{"code":"c0de","bytes":700}'),
        Span(TASK, 2, "content", 6, 6, '{"bytes":200000,"check_sum":1}'),
        Span(TASK, 2, "content", 6, 6, '{"bytes":300000,"check_sum":2}'),
    ]
    odd = records(entry_of("rayscope.contents", s=[200_000], sums=[]))
    assert [span.name for span in odd.spans] == ["rayscope.contents"]


def test_gpus_that_ray_gave_to_a_task() -> None:
    batch = records(entry_of("rayscope.gpus", 5, 5, values={"1": 0.5, "GPU-7f": True, "no": "number"}))
    assert batch.spans == [Span(TASK, 2, "gpus", 5, 5, '{"gpus":{"1":0.5}}')]


def test_places_in_the_code_that_are_a_risk() -> None:
    batch = records(
        entry_of("rayscope.risk", 5, 5, name="fork", text="app.py:3 (load)", n=9, t=OTHER),
        entry_of("rayscope.risk", 5, 5, name="pickled_reference", text="app.py:4", n=1),
        entry_of(
            "rayscope.risk", 5, 5, name="data_issue", text="Map(f)", n=1, values={"message": "It hangs."}
        ),
    )
    assert batch.spans == [
        Span(OTHER, 0, "fork", 5, 5, '{"place":"app.py:3 (load)","times":9}'),
        Span(TASK, 2, "pickled_reference", 5, 5, '{"place":"app.py:4","times":1}'),
        Span(TASK, 2, "data_issue", 5, 5, '{"place":"Map(f)","times":1,"message":"It hangs."}'),
    ]
    odd = records(entry_of("rayscope.risk", 5, 5, name="ray.get", text="app.py:3", n=1))
    assert [span.name for span in odd.spans] == ["rayscope.risk"]


def test_operators_and_their_inputs() -> None:
    plan = {"name": "train_1", "operators": ["Read_0", "Read_1", "Union_2"], "inputs": [[], [], [1, 0, 1]]}
    ids = [f"train_1/{name}" for name in plan["operators"]]
    *operators, dataset = records(entry_of("rayscope.plan", **plan)).entities
    fields = {"name": "train_1", "job_id": TASK[-8:]}
    assert dataset == Entity("dataset", "train_1", fields, {(5, "RUNNING"): {"start_ns": 5}})
    assert operators == [
        Entity("dataset_operator", ids[0], {"dataset_id": "train_1", "inputs": "[]"}),
        Entity("dataset_operator", ids[1], {"dataset_id": "train_1", "inputs": "[]"}),
        Entity(
            "dataset_operator",
            ids[2],
            {"dataset_id": "train_1", "inputs": json.dumps(ids[:2], separators=(",", ":"))},
        ),
    ]
    for odd in ({"inputs": [[], [], [3]]}, {"inputs": [[], [], [-1]]}, {"inputs": [[]]}, {"name": ""}):
        batch = records(entry_of("rayscope.plan", **plan | odd))
        assert (batch.entities, [span.name for span in batch.spans]) == ([], ["rayscope.plan"])


def test_the_end_of_a_dataset() -> None:
    (dataset,) = records(entry_of("rayscope.dataset_end", 8, 9, name="dataset_a_1", text="FAILED")).entities
    fields = {"name": "a_1", "job_id": TASK[-8:]}
    assert dataset == Entity("dataset", "dataset_a_1", fields, {(9, "FAILED"): {"end_ns": 9}})
    assert records(entry_of("rayscope.dataset_end", name="dataset_a_1", text="RUNNING")).entities == []


def test_callers_are_reported_in_pairs() -> None:
    pairs = base64.b64encode(bytes.fromhex(TASK + OTHER + OTHER + "cc" * 24)).decode()
    assert records(entry_of("rayscope.callers", d=pairs)).edges == [
        Edge(OTHER, -1, "caller", TASK, 0, None, 5, 5),
        Edge("cc" * 24, -1, "caller", OTHER, 0, None, 5, 5),
    ]
    for odd in ("", "AAAA", base64.b64encode(bytes(24)).decode(), "no base64"):
        batch = records(entry_of("rayscope.callers", d=odd))
        assert (batch.edges, [span.name for span in batch.spans]) == ([], ["rayscope.callers"])
