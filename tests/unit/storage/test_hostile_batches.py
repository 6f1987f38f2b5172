"""A bad batch harms only itself: not its neighbours, not other sessions, not the server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from rayscope.ingest import writer
from rayscope.ingest.writer import Writer
from rayscope.model import Annotation, Attempt, Entity, RecordBatch, Span, TaskError
from rayscope.model.long_texts import CUT, MAX_CHARS, cut_long_texts
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events import columns, from_json, from_protobuf
from rayscope.ray.events.batch import Format, MalformedBatch, SessionEvents
from rayscope.ray.events.columns import Fields, Unreadable
from rayscope.storage.attempts import AttemptFlush
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.errors import SpoolFull
from rayscope.storage.schema import ATTEMPT_COLUMNS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.spool import Spool, batches

Dump = Callable[[Path], dict[str, list[tuple[Any, ...]]]]


def record_of(writer: Writer) -> Path:
    (session,) = writer.catalog.names()
    return writer.catalog.path(session)


@pytest.mark.parametrize("form", list(Format))
def test_an_unforeseen_decoder_error_costs_one_event(
    form: Format,
    make_batches: Any,
    to_binary: Any,
    start_writer: Any,
    dump: Dump,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fault of ours, or one of a library's, in the conversion of one task's events."""
    bodies = [json.loads(body) for body in make_batches(40, size=50)]
    tasks = {
        part["taskId"]
        for events in bodies
        for event in events
        for part in event.values()
        if isinstance(part, dict) and "taskId" in part
    }
    definitions = [event for events in bodies for event in events if "taskDefinitionEvent" in event]
    definitions[len(definitions) // 2]["taskDefinitionEvent"]["taskName"] = "unlucky"

    def fails(fields: Fields, events: SessionEvents) -> Unreadable:
        if "unlucky" in fields["name"].to_pylist():
            raise SystemError("unforeseen")
        return columns.add_definitions(fields, events)

    for decoder in (from_json, from_protobuf):
        monkeypatch.setattr(decoder, "add_definitions", fails)
    made = start_writer()
    for events in bodies:
        body = json.dumps(events).encode()
        made.submit(body if form is Format.JSON else to_binary(body), form)
    assert made.flush()
    assert made.rejected == 1
    assert len(list(batches(made.spool.rejected))) == 1
    made.stop()
    column = [name for name, _ in ATTEMPT_COLUMNS].index("name")
    names = [row[column] for row in dump(record_of(made))["attempts"]]
    assert len(names) == len(tasks)  # the unlucky one by its other events
    assert names.count(None) == 1


def test_a_batch_of_many_sessions_is_refused(bodies: list[bytes], start_writer: Any) -> None:
    (event, *_) = json.loads(bodies[0])
    made = start_writer()
    with pytest.raises(MalformedBatch, match="3000 sessions"):
        made.submit(json.dumps([event | {"sessionName": f"session_{n}"} for n in range(3000)]).encode())
    assert made.catalog.names() == []


def test_a_flood_of_sessions_is_bounded_and_the_honest_one_continues(
    bodies: list[bytes], start_writer: Any
) -> None:
    made = start_writer()
    made.submit(bodies[0])
    (event, *_) = json.loads(bodies[0])
    refused = 0
    for number in range(200):
        try:
            made.submit(json.dumps([event | {"sessionName": f"session_{number}"}]).encode())
        except SpoolFull as error:
            refused += error.code == "too_many_sessions"
    assert refused >= 150
    assert len(list(made.catalog.folder.iterdir())) == 200 - refused + 1
    for body in bodies[1:]:
        made.submit(body)  # of a session that is known
    assert made.flush()


def test_sessions_that_are_recorded_come_before_new_ones(
    bodies: list[bytes], start_writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it takes long to begin records, one that is open is written in between."""
    monkeypatch.setattr(writer, "_FLUSH_TURN_S", 0.0)  # one new record in each turn
    made = start_writer()
    made.submit(bodies[0])
    assert made.flush()
    honest = json.loads(bodies[0])[0]["sessionName"]
    order: list[str] = []
    write = SessionFile.write

    def noted(self: SessionFile, **parts: Any) -> None:
        if self.path.is_relative_to(made.catalog.folder):  # not of a server that other tests share
            order.append(self.path.parent.name)
        write(self, **parts)

    monkeypatch.setattr(SessionFile, "write", noted)
    (event, *_) = json.loads(bodies[0])
    for number in range(8):
        made.submit(json.dumps([event | {"sessionName": f"session_{number}"}]).encode())
    for body in bodies[1:]:
        made.submit(body)
    assert made.flush()
    assert order.index(honest) < 3
    assert len(set(order)) == 9


@pytest.mark.long
def test_lack_of_memory_is_reported_and_passes(
    make_batches: Any, start_writer: Any, dump: Dump, monkeypatch: pytest.MonkeyPatch, wait_for: Any
) -> None:
    written: list[int] = []
    write = AttemptFlush.write

    def short_of_memory(self: AttemptFlush) -> int:
        attempts = write(self)
        if attempts > 1500:
            raise pa.ArrowMemoryError("malloc of size 1 failed")
        written.append(attempts)
        return attempts

    monkeypatch.setattr(AttemptFlush, "write", short_of_memory)
    made = start_writer()
    for body in make_batches(3000):
        made.submit(body)
    made.flush(0.5)
    error = wait_for(lambda: made.error or written, "a try")
    if not written:
        assert error.code == "memory"
        assert "memory" in error.remedy
    wait_for(lambda: made.error is None and not made.spool.waiting(), "smaller tries")
    assert max(written) <= 1500
    made.stop()
    assert len(dump(record_of(made))["attempts"]) == 3000


def test_batches_too_large_for_the_memory_of_duckdb_are_merged_in_parts(
    make_batches: Any, start_writer: Any, dump: Dump, monkeypatch: pytest.MonkeyPatch, wait_for: Any
) -> None:
    """After the store could not be written for a while, more waits than DuckDB can merge at a time."""
    merge = AttemptFlush.merge
    tried: list[int] = []

    def short_of_memory(self: AttemptFlush, parts: Sequence[pa.Table], *rest: Any, **options: Any) -> None:
        tried.append(sum(part.num_rows for part in parts))
        if tried[-1] > 6000:
            raise duckdb.OutOfMemoryException("failed to allocate data of size 256.0 KiB")
        merge(self, parts, *rest, **options)

    monkeypatch.setattr(AttemptFlush, "merge", short_of_memory)
    made = start_writer()
    for body in make_batches(3000):
        made.submit(body)
    made.flush(0.5)
    wait_for(lambda: made.error is None and not made.spool.waiting(), "smaller tries")
    assert max(tried) > 6000
    made.stop()
    assert len(dump(record_of(made))["attempts"]) == 3000


def test_a_batch_that_memory_does_not_suffice_for_is_merged_later(
    bodies: list[bytes],
    record: Any,
    start_writer: Any,
    dump: Dump,
    monkeypatch: pytest.MonkeyPatch,
    wait_for: Any,
) -> None:
    expected = dump(record(bodies))
    decode, calls = events_batch.decode, []

    def fails_at_first(bodies: Sequence[bytes], *of: Any) -> SessionEvents:
        calls.append(len(bodies))
        if len(calls) < 3:
            raise MemoryError
        return decode(bodies, *of)

    monkeypatch.setattr("rayscope.ingest.queue._TRY_AGAIN_S", 0.1)
    monkeypatch.setattr(writer, "UNREAD_FLUSH_S", 0.1)
    monkeypatch.setattr(events_batch, "decode", fails_at_first)
    made = start_writer()
    for body in bodies:
        made.submit(body)
    wait_for(lambda: len(calls) > 2 and not made.spool.waiting(), "the batches to be merged")
    made.stop()
    assert len(list(batches(made.spool.rejected))) == 0
    assert dump(record_of(made)) == expected


def test_health_says_that_batches_are_refused(fresh_spool: Spool) -> None:
    assert fresh_spool.problem() is None
    fresh_spool._min_free_bytes = 1 << 60
    fresh_spool._free_checked = 0.0
    problem = fresh_spool.problem()
    assert problem is not None
    assert problem.code == "full"
    assert problem.remedy


@pytest.fixture
def fresh_spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", min_free_bytes=0)


def test_names_come_from_folders(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("dear")
    folder = tmp_path / "data" / "sessions" / "session_1"
    folder.mkdir(parents=True)
    (folder / "about.json").write_text('{"session": "../../victim", "last_ns": 1}')
    catalog = Catalog(tmp_path / "data")
    assert catalog.about("session_1").session == "session_1"
    assert catalog.disk_bytes("session_1") == (folder / "about.json").stat().st_size
    assert catalog.apply_retention(Retention(max_age_s=1), time.time_ns()) == ["session_1"]
    assert (victim / "file").exists()
    assert not folder.exists()


def test_an_event_of_no_session_costs_itself_alone(
    bodies: list[bytes], start_writer: Any, dump: Dump, record: Any
) -> None:
    expected = dump(record(bodies))
    made = start_writer()
    for body in bodies:
        stray = json.loads(body)[0] | {"sessionName": "../elsewhere"}
        made.submit(b"[" + json.dumps(stray).encode() + b"," + body.strip()[1:])
    assert made.flush()
    assert made.rejected == len(list(batches(made.spool.rejected))) == len(bodies)
    made.stop()
    assert dump(record_of(made)) == expected


@pytest.mark.parametrize("form", list(Format))
def test_no_text_on_record_is_longer_than_a_page_can_show(
    form: Format, make_batches: Any, to_binary: Any, start_writer: Any, dump: Dump
) -> None:
    (body,) = make_batches(40)
    events = json.loads(body)
    tasks = {event["taskDefinitionEvent"]["taskId"] for event in events if "taskDefinitionEvent" in event}
    (definition, *_) = (event["taskDefinitionEvent"] for event in events if "taskDefinitionEvent" in event)
    definition["taskName"] = "long" * 500_000
    definition["serializedRuntimeEnv"] = json.dumps({"pip": ["x" * 500_000]})
    definition["requiredResources"] = {"x" * 500_000: 1.0}
    body = json.dumps(events).encode()
    made = start_writer()
    made.submit(body if form is Format.JSON else to_binary(body), form)
    assert made.flush()
    (session,) = made.catalog.names()
    assert made.catalog.about(session).unknown == {CUT: 3}
    made.stop()
    tables = dump(record_of(made))
    assert len(tables["attempts"]) == len(tasks)
    texts = [value for rows in tables.values() for row in rows for value in row if isinstance(value, str)]
    assert max(map(len, texts)) == MAX_CHARS
    assert sum(text.startswith("longlong") for text in texts) >= 1


def test_long_texts_of_every_kind_are_cut_and_no_json_is_broken() -> None:
    long = "x" * (MAX_CHARS + 1)
    fits = "y" * MAX_CHARS
    batch = RecordBatch(
        "s",
        attempts=[Attempt("a" * 48, name=fits, call_site=long, error=TaskError(1, "E", long + "KeyError"))],
        spans=[Span("a" * 48, 0, long, 1, 2, f'{{"a":"{long}"}}'), Span("a" * 48, 0, fits, 1, 2, "{}")],
        annotations=[Annotation("a" * 48, 0, "annotation", "k", long, None, 1)],
        entities=[
            Entity(
                "actor",
                "c" * 32,
                {"class_name": long, "required_resources": f'{{"{long}":1}}', "num": 1},
                {(1, "ALIVE"): {"repr_name": long}},
                1,
                {"death_reason": long, "state": "ALIVE"},
            )
        ],
    )
    cut_long_texts(batch)
    assert batch.unknown == {CUT: 8}
    (attempt,), (actor,) = batch.attempts, batch.entities
    assert (attempt.name, len(attempt.call_site or "")) == (fits, MAX_CHARS)
    assert attempt.error is not None
    assert attempt.error.message.endswith("xKeyError")
    assert [(len(span.name), span.extra) for span in batch.spans] == [(MAX_CHARS, ""), (MAX_CHARS, "{}")]
    assert len(batch.annotations[0].value) == MAX_CHARS
    assert (len(str(actor.fields["class_name"])), actor.fields["num"]) == (MAX_CHARS, 1)
    assert "required_resources" not in actor.fields
    assert [
        len(str(actor.transitions[1, "ALIVE"]["repr_name"])),
        len(str(actor.observed["death_reason"])),
    ] == [
        MAX_CHARS,
        MAX_CHARS,
    ]
    cut_long_texts(batch)
    assert batch.unknown == {CUT: 8}
