"""The protobuf format: equal to JSON, and what can only go wrong in bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayscope.model import Attempt, RecordBatch
from rayscope.ray.events import from_protobuf, tasks_protobuf
from rayscope.ray.events.batch import Format, MalformedBatch, join, parse
from rayscope.ray.events.schema import UNION

Recorded = Callable[[str, Format], list[bytes]]
VERSIONS = ("2.50", "2.53", "2.56", "2.60")
TASK = bytes(range(20)) + b"\x07\0\0\0"


def convert(body: bytes) -> tuple[list[RecordBatch], list[bytes]]:
    parsed = parse(body, Format.BINARY)
    batches, invalid = parsed.convert()
    return batches, parsed.invalid + invalid


def field(number: int, value: bytes | int) -> bytes:
    """A field of a message as bytes."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def timestamp(seconds: int = 1_800_000_000, nanos: int = 300_000_000) -> bytes:
    return field(1, seconds) + field(2, nanos)


def lifecycle(*transitions: bytes, task: bytes = TASK, rest: bytes = field(8, b"\x07\0\0\0")) -> bytes:
    body = field(1, task) + b"".join(field(3, transition) for transition in transitions) + rest
    return envelope(2, 9, body)


def envelope(kind: int, number: int, body: bytes, session: str = "session_a") -> bytes:
    """An event of a kind, with its content in a field, as a RayEventsData of its own."""
    head = field(3, kind) + field(4, timestamp()) + field(7, session.encode())
    return field(1, head + field(number, body))


def one(body: bytes) -> Attempt:
    (batch,), invalid = convert(body)
    assert not invalid
    assert batch.unknown == {}
    (attempt,) = batch.attempts
    return attempt


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The events that take the slow way."""
    taken: list[bytes] = []
    real = from_protobuf._add_by_json

    def add(raws: list[bytes], batch: RecordBatch) -> list[bytes]:
        taken.extend(raws)
        return real(raws, batch)

    monkeypatch.setattr(from_protobuf, "_add_by_json", add)
    return taken


def in_order(batches: list[RecordBatch]) -> list[RecordBatch]:
    """The binary form is read kind by kind, so its records have another order."""
    for batch in batches:
        for records in (batch.attempts, batch.spans, batch.entities, batch.edges, batch.annotations):
            records.sort(key=repr)  # type: ignore[attr-defined]
    return batches


@pytest.mark.parametrize("version", VERSIONS)
def test_records_equal_those_of_json(recorded: Recorded, version: str) -> None:
    pairs = zip(recorded(version, Format.JSON), recorded(version, Format.BINARY), strict=True)
    for text, body in pairs:
        from_json, no_json = parse(text, Format.JSON).convert()
        from_binary, no_binary = parse(body, Format.BINARY).convert()
        if version == "2.50":
            # It does not know the reason of a restart, which is the default on the wire later.
            for batch in from_binary:
                for entity in batch.entities:
                    for fields in entity.transitions.values():
                        assert fields.pop("restart_reason", "ACTOR_FAILURE") == "ACTOR_FAILURE"
        assert in_order(from_binary) == in_order(from_json)
        assert no_binary == no_json == []


def test_what_the_tracer_tells_is_the_same_in_both_forms(
    sample: Callable[[str], Any], to_binary: Callable[[bytes], bytes]
) -> None:
    edges, annotations = [], []
    for events in sample("2.60-traced"):
        text = json.dumps(events).encode()
        from_json, no_json = parse(text, Format.JSON).convert()
        from_binary, no_binary = parse(to_binary(text), Format.BINARY).convert()
        assert in_order(from_binary) == in_order(from_json)
        assert no_binary == no_json == []
        edges += [edge for batch in from_binary for edge in batch.edges]
        annotations += [note for batch in from_binary for note in batch.annotations]
    assert {edge.kind for edge in edges} == {
        *("argument", "fetched", "get", "last_return", "nested", "put", "return", "wait", "blocked:ray.get")
    }
    assert {note.name for note in annotations} == {"model", "layers", "parts"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_slow_way_gives_the_same_as_the_fast(
    recorded: Recorded, version: str, monkeypatch: pytest.MonkeyPatch, slow: list[bytes]
) -> None:
    bodies = recorded(version, Format.BINARY)
    fast = [in_order(convert(body)[0]) for body in bodies]
    events = sum(batch.events for found in fast for batch in found)
    hot = [raw for raw in slow if UNION["RayEvent"].FromString(raw).event_type <= 4]
    assert len(hot) < events / 20
    monkeypatch.setattr(tasks_protobuf, "add", lambda events, _: events.raws)
    assert [in_order(convert(body)[0]) for body in bodies] == fast


def test_bodies_after_one_another_are_one_body(recorded: Recorded) -> None:
    bodies = recorded("2.60", Format.BINARY)
    whole, invalid = convert(b"".join(bodies))
    parts = [convert(body)[0][0] for body in bodies]
    assert not invalid
    joined = RecordBatch(parts[0].session)
    for part in parts:
        joined.events += part.events
        joined.attempts += part.attempts
        joined.spans += part.spans
        joined.entities += part.entities
        for what, number in part.unknown.items():
            joined.unknown[what] = joined.unknown.get(what, 0) + number
    whole[0].unknown = joined.unknown = {}
    assert in_order(whole) == in_order([joined])


def test_two_sessions_in_one_body_stay_apart() -> None:
    bodies = [envelope(2, 9, field(1, TASK) + field(8, b"\x07\0\0\0"), name) for name in ("b", "a", "b")]
    assert parse(b"".join(bodies), Format.BINARY).sessions == {"a", "b"}
    found, _ = convert(b"".join(bodies))
    assert [(batch.session, batch.events, len(batch.attempts)) for batch in found] == [
        ("b", 2, 2),
        ("a", 1, 1),
    ]


def test_dropped_attempts() -> None:
    creation = b"\xff" * 8 + TASK[8:]
    metadata = field(2, field(2, field(1, TASK) + field(2, 3)) + field(2, field(1, creation)))
    wrong = field(2, field(2, field(1, b"short")) + field(2, field(1, b"\xff" * 24)))
    parsed = parse(metadata + lifecycle() + wrong, Format.BINARY)
    assert len(parsed) == 1
    (batch,), invalid = parsed.convert()
    assert batch.attempts[1:] == [
        Attempt(TASK.hex(), 3, job_id="07000000"),
        Attempt(creation.hex(), job_id="07000000", type="ACTOR_CREATION_TASK", actor_id=creation.hex()[16:]),
    ]
    assert batch.unknown == {
        "invalid event: ValueError: a task id of 5 bytes": 1,
        "invalid event: ValueError: a nil task id": 1,
    }
    assert not invalid
    assert convert(metadata) == ([], [])  # of no session


def test_a_body_without_events() -> None:
    parsed = parse(b"", Format.BINARY)
    assert (len(parsed), parsed.sessions, parsed.node_id) == (0, set(), None)
    assert parsed.convert() == ([], [])
    assert len(parse(field(2, b""), Format.BINARY)) == 0


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'[{"eventId": ""}]', b"\xff", b"\0", b"\x0a\x05abc", b"\x20\x01"]
)
def test_what_is_no_batch_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBatch, match="RayEventsData"):
        parse(body, Format.BINARY)


def test_an_event_that_cannot_be_read_does_not_take_the_others_along(recorded: Recorded) -> None:
    (body, *_) = recorded("2.60", Format.BINARY)
    no_text = envelope(2, 9, field(1, TASK)).replace(b"session_a", b"session_\xff")
    too_short = field(1, field(3, 2) + b"\x4a\x7fabc")
    parsed = parse(no_text + body + too_short, Format.BINARY)
    good = parse(body, Format.BINARY)
    assert join(parsed.invalid, Format.BINARY) == no_text + too_short
    assert len(parsed) == len(good)
    (found,), invalid = parsed.convert()
    (expected,), _ = good.convert()
    assert not invalid
    assert found.attempts == expected.attempts
    assert all(what.startswith("invalid event: DecodeError") for what in found.unknown)
    assert sum(found.unknown.values()) == 2
    with pytest.raises(MalformedBatch, match="invalid event"):
        parse(no_text, Format.BINARY)


@pytest.mark.parametrize(
    "broken",
    [
        lifecycle(task=TASK[:20]),
        lifecycle(field(1, 8) + field(2, timestamp(seconds=9_223_372_036))),
        lifecycle(field(1, 8) + field(2, timestamp(seconds=2**64 - 1))),
        lifecycle(field(1, 8) + field(2, timestamp(nanos=1_000_000_000))),
        lifecycle(field(1, 8)),
        lifecycle(rest=field(10, b"\xff")),
        envelope(1, 8, field(1, TASK) + field(6, b"\xff")),
        envelope(1, 8, field(1, TASK) + field(10, TASK[:9])),
        envelope(1, 8, field(1, TASK) + b"R\x18abc"),
        envelope(1, 8, field(1, TASK) + field(7, field(1, b"CPU") + b"\x11\0\0\0\0\0\0\xf0\x7f")),
        envelope(4, 11, field(1, b"") + field(4, field(4, field(1, 1)))),
        envelope(16, 24, field(3, field(2, timestamp(seconds=9_223_372_036)))),
    ],
)
def test_an_invalid_event_is_set_aside(broken: bytes) -> None:
    parsed = parse(broken + lifecycle(), Format.BINARY)
    (batch,), invalid = parsed.convert(look=False)
    assert join(invalid, Format.BINARY) == broken
    assert batch.attempts == [Attempt(TASK.hex(), job_id="07000000")]
    assert [what.partition(":")[0] for what in batch.unknown] == ["invalid event"]


@pytest.mark.parametrize(
    "nanos", [0, 1, 127, 128, 16_383, 16_384, 2_097_152, 268_435_455, 268_435_456, 999_999_999]
)
@pytest.mark.parametrize("seconds", [1, 1_700_000_000, 9_223_372_035])
def test_times_are_exact(seconds: int, nanos: int) -> None:
    parts = (field(1, 8) + field(2, timestamp(seconds, nanos)), field(1, 11) + field(2, timestamp()))
    assert one(lifecycle(*parts)).states == {
        "RUNNING": seconds * 10**9 + nanos,
        "FINISHED": 1_800_000_000_300_000_000,
    }


def test_the_first_of_two_times_of_a_state() -> None:
    parts = [field(1, 8) + field(2, timestamp(nanos=n)) for n in (400_000_000, 300_000_000, 500_000_000)]
    assert one(lifecycle(*parts)).states == {"RUNNING": 1_800_000_000_300_000_000}


def test_bytes_that_look_like_a_parent(slow: list[bytes]) -> None:
    """A definition is cut at its parent's id, whose first two bytes can also be part of something else."""
    parent = bytes(range(100, 120)) + b"\x07\0\0\0"
    name = "a" + "R\x18" + "x" * 30
    body = field(1, TASK) + field(6, name.encode()) + field(10, parent) + field(14, b"call")
    attempt = one(envelope(1, 8, body))
    assert (attempt.name, attempt.parent_task_id, attempt.call_site) == (name, parent.hex(), "call")
    assert len(slow) == 1
    plain = one(envelope(1, 8, body.replace(name.encode(), b"a" * len(name))))
    assert (plain.parent_task_id, plain.call_site) == (parent.hex(), "call")
    assert len(slow) == 1


def test_log_files_with_any_names(slow: list[bytes]) -> None:
    def attempt(out: bytes, err: bytes, *offsets: int) -> Attempt:
        log = field(1, out) + field(2, err)
        log += b"".join(field(number, value) for number, value in zip((3, 4, 5, 6), offsets, strict=False))
        return one(lifecycle(rest=field(8, b"\x07\0\0\0") + field(11, log)))

    folder = b"/tmp/" + b"a" * 60
    for _ in range(2):  # the second time from what was kept
        for offsets in ((), (1, 2, 3, 4), (2**40, 2**62, 7, 300)):
            found = attempt(folder + b"/w.out", folder + b"/w.err", *offsets)
            assert found.stderr_file == (folder + b"/w.err").decode()
            given = (found.stdout_start, found.stdout_end, found.stderr_start, found.stderr_end)
            assert given == (offsets or (None,) * 4)
    assert not slow
    found = attempt(folder + b"/w.err", folder + b"/w.errors", 1, 2, 3, 4)
    assert (found.stderr_file, found.stderr_end) == ((folder + b"/w.errors").decode(), 4)
    assert len(slow) == 1


def test_a_failure_without_its_time_has_that_of_the_event() -> None:
    error = one(lifecycle(rest=field(4, field(5, b"\x1b[31mno\x1b[0m") + field(11, 3)))).error
    assert error == (1_800_000_000_300_000_000, "TASK_EXECUTION_EXCEPTION", "no")
    failed = field(1, 12) + field(2, timestamp(nanos=400_000_000))
    error = one(lifecycle(failed, rest=field(4, b""))).error
    assert error == (1_800_000_000_400_000_000, "WORKER_DIED", "")


def test_what_a_later_ray_adds_is_counted_and_the_rest_kept() -> None:
    moment = field(2, timestamp())
    late = lifecycle(
        field(1, 99) + moment + field(9, b"new \xff"),
        field(1, 8) + moment,
        rest=field(4, field(11, 77)) + field(50, 1),
    )
    (batch,), invalid = convert(late)
    assert not invalid
    (attempt,) = batch.attempts
    assert attempt.states.keys() == {"99", "RUNNING"}
    assert attempt.error is not None
    assert attempt.error.type == "77"
    assert batch.unknown == {
        "enum TaskStatus 99": 1,
        "enum ErrorType 77": 1,
        "field TaskLifecycleEvent #50": 1,
        "field TaskStateTransition #9": 1,
    }
    definition = envelope(1, 8, field(1, TASK) + field(3, 8) + field(4, 9) + field(6, b"f"))
    (batch,), _ = convert(definition + field(3, 1))
    assert (batch.attempts[0].type, batch.attempts[0].language) == ("8", "9")
    assert batch.unknown == {"enum TaskType 8": 1, "enum Language 9": 1, "field RayEventsData #3": 1}
    worker = envelope(16, 24, field(1, b"w") + field(3, field(1, 9) + moment))
    (batch,), _ = convert(worker)
    assert batch.unknown == {"enum worker_lifecycle_event.state 9": 1}
    (batch,), _ = convert(envelope(15, 23, b"\x0a\0") + envelope(99, 99, b"", "session_a"))
    assert {what: n for what, n in batch.unknown.items() if what.startswith("event")} == {
        "event type PLATFORM_EVENT": 1,
        "event type 99": 1,
    }


def _check(body: bytes) -> None:
    """Whatever comes, it is refused, or gives only records that the store can hold."""
    try:
        parsed = parse(body, Format.BINARY)
    except MalformedBatch:
        return
    batches, invalid = parsed.convert()
    assert parsed.node_id is None or isinstance(parsed.node_id, str)
    assert all(isinstance(raw, bytes) for raw in parsed.invalid + invalid)
    assert sum(batch.events for batch in batches) == len(parsed)
    for batch in batches:
        for attempt in batch.attempts:
            assert len(bytes.fromhex(attempt.task_id)) == 24
            assert -(2**31) <= attempt.attempt < 2**31
            assert all(0 <= time_ns < 2**63 for time_ns in attempt.states.values()) or attempt.phases
            texts = [getattr(attempt, name) for name in attempt.__struct_fields__]
            json.dumps([text for text in texts if isinstance(text, str)]).encode()
            "".join(text for text in texts if isinstance(text, str)).encode()
        for span in batch.spans:
            assert -(2**63) <= span.begin_ns < 2**63
            (span.task_id + span.name + span.extra).encode()
        for entity in batch.entities:
            entity.current()
            assert all(0 <= time_ns < 2**63 for time_ns, _ in entity.transitions)
    # What was kept from this body must not come up in another.
    assert parse(body, Format.BINARY).convert() == (batches, invalid)


@given(st.binary(max_size=300))
def test_random_bytes(body: bytes) -> None:
    _check(body)
    _check(field(1, body))
    _check(envelope(2, 9, body))
    _check(envelope(2, 9, field(1, TASK) + body))
    _check(envelope(1, 8, field(1, TASK) + body))


@given(st.data())
def test_mutated_bodies(recorded: Recorded, data: Any) -> None:
    """One event of a real body, some of its bytes changed, cut out or doubled."""
    bodies = recorded(data.draw(st.sampled_from(VERSIONS)), Format.BINARY)
    raws = UNION["RayEventsData"].FromString(b"".join(bodies)).events
    raw = bytearray(raws[data.draw(st.integers(0, len(raws) - 1))])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw)))
        end = at + data.draw(st.integers(0, 3))
        raw[at:end] = data.draw(st.one_of(st.binary(max_size=3), st.just(bytes(raw[at:end]) * 2)))
    _check(field(1, bytes(raw)))


def _records(body: bytes) -> tuple[RecordBatch, list[bytes]]:
    """All records of a body in one batch of one order, without what is unknown; and what is invalid."""
    try:
        batches, invalid = convert(body)
    except MalformedBatch:
        return RecordBatch(""), list(UNION["RayEventsData"].FromString(body).events)
    whole = RecordBatch("")
    for batch in batches:
        whole.attempts += batch.attempts
        whole.spans += batch.spans
        whole.entities += batch.entities
        whole.edges += batch.edges
        whole.annotations += batch.annotations
    return in_order([whole])[0], sorted(invalid)


@given(st.data())
def test_a_damaged_event_leaves_its_neighbours_alone(
    recorded: Recorded, sample: Callable[[str], Any], to_binary: Callable[[bytes], bytes], data: Any
) -> None:
    """Events are read joined, so one that ends too early must not take from the next one."""
    version = data.draw(st.sampled_from(("2.50", "2.60", "2.60-traced")))
    if version == "2.60-traced":
        bodies = [to_binary(json.dumps(events).encode()) for events in sample(version)]
    else:
        bodies = recorded(version, Format.BINARY)
    raws = list(UNION["RayEventsData"].FromString(b"".join(bodies)).events)
    some = data.draw(st.lists(st.sampled_from(raws), min_size=2, max_size=6, unique=True))
    damaged = bytearray(some.pop())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged)))
        end = at + data.draw(st.integers(0, 40))
        damaged[at:end] = data.draw(st.one_of(st.binary(max_size=3), st.just(bytes(damaged[at:end]) * 2)))
    at = data.draw(st.integers(0, len(some)))
    among = b"".join(field(1, raw) for raw in (*some[:at], bytes(damaged), *some[at:]))
    whole, invalid = _records(among)
    good, none = _records(b"".join(field(1, raw) for raw in some))
    alone, broken = _records(field(1, bytes(damaged)))
    assert none == []
    assert invalid == broken
    expected = RecordBatch("")
    for part in (good, alone):
        for name in ("attempts", "spans", "entities", "edges", "annotations"):
            getattr(expected, name).extend(getattr(part, name))
    assert whole == in_order([expected])[0]


def test_profiles_of_retried_attempts_and_odd_ones_among_usual_ones() -> None:
    def entry(name: str, begin: int, end: int, extra: str = "{}") -> bytes:
        body = field(1, begin) + field(2, end) + field(3, extra.encode()) + field(4, name.encode())
        return field(4, body)

    usual = ["task:deserialize_arguments", "task:execute", "task:store_outputs", "task::f"]

    def profile(task: bytes, number: int, *names: str) -> bytes:
        inside = field(1, b"worker") + field(2, b"w" * 28)
        inside += b"".join(entry(name, 10 + at, 20 + at) for at, name in enumerate(names))
        told = field(1, task) + (field(2, number) if number else b"") + field(3, b"\x07\0\0\0")
        return envelope(4, 11, told + field(4, inside))

    tasks = [bytes([number]) * 20 + b"\x07\0\0\0" for number in range(6)]
    bodies = [
        profile(tasks[0], 0, *usual),
        profile(tasks[1], 2, *usual),
        profile(tasks[2], 0, *usual[:2], "mine"),
        profile(tasks[3], 0, *usual[:3], "\0|", "task::g"),
        profile(tasks[4], 0),
        profile(tasks[5], 0, *usual),
    ]
    for order in (
        bodies,
        bodies[::-1],
        [bodies[0], bodies[1], bodies[5]],
        [*bodies, profile(TASK, 300, *usual)],
    ):
        (batch,), invalid = convert(b"".join(order))
        alone = [convert(body)[0][0] for body in order]
        assert not invalid
        assert sorted(batch.spans) == sorted(span for one in alone for span in one.spans)
        expected = [attempt for one in alone for attempt in one.attempts]
        assert sorted(batch.attempts, key=repr) == sorted(expected, key=repr)
    assert batch.attempts[0].phases == {
        "deserialize": (10, 20),
        "execute": (11, 21),
        "store": (12, 22),
        "total": (13, 23),
    }
    assert {attempt.attempt for attempt in batch.attempts} == {0, 2, 300}
