"""The protobuf format: equal to JSON; and what may be wrong with events in either."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray.core.generated import gcs_pb2
from tests.records import decode, in_order, records
from tests.reference import merge_attempts

from rayscope.model import Attempt, RecordBatch, Span
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import Format, MalformedBatch, check, join, node_id, split_events
from rayscope.ray.events.schema import UNION, as_json
from rayscope.ray.gcs.task_table import add_tasks

Recorded = Callable[[str, Format], list[bytes]]
VERSIONS = ("2.50", "2.53", "2.56", "2.60")
TASK = bytes(range(20)) + b"\x07\0\0\0"
both_forms = pytest.mark.parametrize("form", list(Format), ids=lambda form: form.value)


def convert(body: bytes) -> tuple[list[RecordBatch], list[bytes]]:
    return decode(body, Format.BINARY)


def _joined(batches: list[RecordBatch]) -> RecordBatch:
    whole = RecordBatch("")
    for batch in batches:
        for name in ("attempts", "spans", "entities", "edges", "annotations"):
            getattr(whole, name).extend(getattr(batch, name))
    return in_order([whole])[0]


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


def envelope(
    kind: int, number: int, body: bytes, session: str = "session_a", time: bytes = field(4, timestamp())
) -> bytes:
    """An event of a kind, with its content in a field, as a RayEventsData of its own."""
    head = field(3, kind) + time + field(7, session.encode())
    return field(1, head + field(number, body))


def only_attempt(body: bytes) -> Attempt:
    (batch,), invalid = convert(body)
    assert not invalid
    assert batch.unknown == {}
    (attempt,) = batch.attempts
    return attempt


@pytest.mark.parametrize("version", VERSIONS)
def test_records_equal_those_of_json(recorded: Recorded, version: str) -> None:
    pairs = zip(recorded(version, Format.JSON), recorded(version, Format.BINARY), strict=True)
    for text, body in pairs:
        from_json, no_json = decode(text)
        from_binary, no_binary = convert(body)
        if version == "2.50":
            # It does not know the reason of a restart, which is the default on the wire later.
            for batch in from_binary:
                for entity in batch.entities:
                    for fields in entity.transitions.values():
                        assert fields.pop("restart_reason", "ACTOR_FAILURE") == "ACTOR_FAILURE"
        assert in_order(from_binary) == in_order(from_json)
        assert no_binary == no_json == []


def test_reports_of_the_tracer_are_the_same_in_both_forms(
    sample: Callable[[str], Any], to_binary: Callable[[bytes], bytes]
) -> None:
    edges, annotations = [], []
    for events in sample("2.60-traced"):
        text = json.dumps(events).encode()
        from_json, no_json = decode(text)
        from_binary, no_binary = convert(to_binary(text))
        assert in_order(from_binary) == in_order(from_json)
        assert no_binary == no_json == []
        edges += [edge for batch in from_binary for edge in batch.edges]
        annotations += [note for batch in from_binary for note in batch.annotations]
    assert {edge.kind for edge in edges} == {
        *("argument", "fetched", "get", "last_return", "nested", "put", "return", "wait", "blocked:ray.get")
    }
    assert {note.name for note in annotations} == {"model", "layers", "parts"}


@both_forms
def test_bodies_read_together_have_the_records_of_each(recorded: Recorded, form: Format) -> None:
    bodies = recorded("2.60", form)
    (session,) = check(bodies[0], form).sessions
    together = [records(events_batch.decode(bodies, form, session))]
    if form is Format.BINARY:  # after one another they are one body
        together += convert(b"".join(bodies))[0]
    parts = [batch for body in bodies for batch in decode(body, form)[0]]
    for whole in together:
        assert whole.events == sum(part.events for part in parts)
        assert _joined([whole]) == _joined(parts)


def test_two_sessions_in_one_body_stay_apart() -> None:
    bodies = [envelope(2, 9, field(1, TASK) + field(8, b"\x07\0\0\0"), name) for name in ("b", "a", "b")]
    assert check(b"".join(bodies), Format.BINARY).sessions == ["b", "a"]
    found, _ = convert(b"".join(bodies))
    assert [(batch.session, batch.events, len(batch.attempts)) for batch in found] == [
        ("b", 2, 2),
        ("a", 1, 1),
    ]


def test_dropped_attempts() -> None:
    creation = b"\xff" * 8 + TASK[8:]
    metadata = field(2, field(2, field(1, TASK) + field(2, 3)) + field(2, field(1, creation)))
    wrong = field(2, field(2, field(1, b"short")) + field(2, field(1, b"\xff" * 24)))
    body = metadata + lifecycle() + wrong
    assert check(body, Format.BINARY).count == 1
    (batch,), invalid = convert(body)
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
    for body in (b"", field(2, b"")):
        batch = check(body, Format.BINARY)
        assert (batch.count, batch.sessions, node_id(body, Format.BINARY)) == (0, [], None)
        assert convert(body) == ([], [])


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b'[{"eventId": ""}]', b"\xff", b"\0", b"\x0a\x05abc", b"\x20\x01"]
)
def test_bodies_that_are_no_batch_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedBatch, match="RayEventsData"):
        check(body, Format.BINARY)


def test_an_event_that_cannot_be_read_does_not_take_the_others_along(recorded: Recorded) -> None:
    (body, *_) = recorded("2.60", Format.BINARY)
    no_text = envelope(2, 9, field(1, TASK)).replace(b"session_a", b"session_\xff")
    too_short = field(1, field(3, 2) + b"\x4a\x7fabc")
    (found,), invalid = convert(no_text + body + too_short)
    (expected,), _ = convert(body)
    assert join(invalid, Format.BINARY) == no_text + too_short
    assert in_order([found])[0].attempts == in_order([expected])[0].attempts
    assert all(what.startswith("invalid event: DecodeError") for what in found.unknown)
    assert sum(found.unknown.values()) == 2
    with pytest.raises(MalformedBatch, match="invalid event"):
        check(no_text, Format.BINARY)


@pytest.mark.parametrize(
    "broken",
    [
        lifecycle(task=TASK[:20]),
        lifecycle(field(1, 8) + field(2, timestamp(seconds=9_223_372_036))),
        lifecycle(field(1, 8) + field(2, timestamp(seconds=2**64 - 1))),
        lifecycle(field(1, 8)),
        lifecycle(rest=field(10, b"\xff")),
        envelope(1, 8, field(1, TASK) + field(6, b"\xff")),
        envelope(1, 8, field(1, TASK) + field(10, TASK[:9])),
        envelope(1, 8, field(1, TASK) + b"R\x18abc"),
        envelope(1, 8, field(1, TASK) + field(7, field(1, b"CPU") + b"\x11\0\0\0\0\0\0\xf0\x7f")),
        envelope(4, 11, field(1, b"") + field(4, field(4, field(1, 1)))),
        envelope(16, 24, field(3, field(2, timestamp(seconds=9_223_372_036)))),
        # A failure without its time, and no event's time that could stand for it.
        *(
            envelope(2, 9, field(1, TASK) + field(4, field(5, b"no")), time=time)
            for time in (b"", field(4, b"\xff"), *(field(4, timestamp(s)) for s in (2**64 - 1, 2**40)))
        ),
        # A length beyond all bounds, at which the parser in Rust panics.
        envelope(2, 9, field(1, TASK) + b"*" + b"\xff" * 9 + b"\x01"),
    ],
)
def test_an_invalid_event_is_set_aside(broken: bytes) -> None:
    (batch,), invalid = convert(broken + lifecycle())
    assert join(invalid, Format.BINARY) == broken
    assert batch.attempts == [Attempt(TASK.hex(), job_id="07000000")]
    assert [what.partition(":")[0] for what in batch.unknown] == ["invalid event"]


def test_the_others_stay_together_among_many_that_cannot_be_read() -> None:
    """A table takes as long as hundreds of its rows."""
    broken = [
        envelope(2, 9, field(1, TASK) + b"*\xff"),
        envelope(2, 9, field(1, TASK)).replace(b"session_a", b"session_\xff"),
        lifecycle(task=TASK[:20]),
    ]
    body = b"".join(lifecycle() + only_attempt for only_attempt in broken * 20)
    events = events_batch.decode([body], Format.BINARY, "session_a")
    assert sorted(join([raw], Format.BINARY) for raw in events.invalid) == sorted(broken * 20)
    assert [table.num_rows for table in events.attempts] == [60]


@pytest.mark.parametrize(
    "nanos", [0, 1, 127, 128, 16_383, 16_384, 2_097_152, 268_435_455, 268_435_456, 999_999_999]
)
@pytest.mark.parametrize("seconds", [1, 1_700_000_000, 9_223_372_035])
def test_times_are_exact(seconds: int, nanos: int) -> None:
    parts = (field(1, 8) + field(2, timestamp(seconds, nanos)), field(1, 11) + field(2, timestamp()))
    assert only_attempt(lifecycle(*parts)).states == {
        "RUNNING": seconds * 10**9 + nanos,
        "FINISHED": 1_800_000_000_300_000_000,
    }


def test_the_first_of_two_times_of_a_state() -> None:
    parts = [field(1, 8) + field(2, timestamp(nanos=n)) for n in (400_000_000, 300_000_000, 500_000_000)]
    assert only_attempt(lifecycle(*parts)).states == {"RUNNING": 1_800_000_000_300_000_000}


def test_a_failure_without_its_time_has_that_of_the_event() -> None:
    error = only_attempt(lifecycle(rest=field(4, field(5, b"\x1b[31mno\x1b[0m") + field(11, 3)))).error
    assert error == (1_800_000_000_300_000_000, "TASK_EXECUTION_EXCEPTION", "no")
    failed = field(1, 12) + field(2, timestamp(nanos=400_000_000))
    error = only_attempt(lifecycle(failed, rest=field(4, b""))).error
    assert error == (1_800_000_000_400_000_000, "WORKER_DIED", "")


def test_additions_of_a_later_ray_are_counted_and_the_rest_kept() -> None:
    moment = field(2, timestamp())
    late = lifecycle(
        field(1, 99) + moment + field(9, b"new \xff"),
        field(1, 8) + moment,
        rest=field(4, field(11, 77)) + field(50, 1),
    )
    (batch,), invalid = convert(late)
    assert not invalid
    (attempt,) = batch.attempts
    assert attempt.states.keys() == {"RUNNING"}
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
    (batch,), _ = convert(envelope(98, 98, b"\x0a\0") + envelope(99, 99, b"", "session_a"))
    assert {what: n for what, n in batch.unknown.items() if what.startswith("event")} == {
        "event type 98": 1,
        "event type 99": 1,
    }


ANY_ID = st.sampled_from([b"", b"\xff" * 4, b"\xff" * 28, b"\x07\0\0\0", b"w" * 28])
ANY_TASK = st.sampled_from(
    [TASK, TASK[4:20] + TASK[:8], b"\xff" * 8 + TASK[8:], b"\xff" * 20 + TASK[20:], b"\xff" * 24]
)
ANY_TEXT = st.text(max_size=5) | st.sampled_from(
    ["{}", '{"s":[1,2]}', '{"env_vars":{"a":1}}', "a.b", "\x1b[0m"]
)
ANY_NUMBER = st.integers(-3, 15) | st.integers(-(2**31), 2**31 - 1)
ANY_LONG = st.integers(0, 9) | st.integers(-(2**63), 2**63 - 1)
ANY_TIME = st.fixed_dictionaries(
    {
        "seconds": st.integers(1, 3) | st.sampled_from([-1, 0, 9_223_372_035, 9_223_372_036]),
        "nanos": st.integers(0, 999_999_999),
    }
)
ANY_FUNCTION = st.sampled_from(["python", "java", "cpp"]).flatmap(
    lambda language: st.fixed_dictionaries(
        {
            f"{language}_function_descriptor": st.fixed_dictionaries(
                {}, optional={"class_name": st.sampled_from(["", "A", "m.A"]), "function_name": ANY_TEXT}
            )
        }
    )
)


def some_of(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


OF_ATTEMPT = {"task_attempt": ANY_NUMBER, "job_id": ANY_ID}
DEFINED = {
    **OF_ATTEMPT,
    "language": ANY_NUMBER,
    "required_resources": st.dictionaries(ANY_TEXT, st.floats(), max_size=2),
    "label_selector": st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=2),
    "parent_task_id": ANY_TASK | ANY_ID,
    "placement_group_id": ANY_ID,
    "serialized_runtime_env": ANY_TEXT,
    "call_site": ANY_TEXT,
}
LOGS = {f"{stream}_{what}": ANY_LONG for stream in ("stdout", "stderr") for what in ("start", "end")}
ANY_PROFILE = some_of(
    component_type=st.sampled_from(["worker", "driver"]),
    component_id=ANY_ID,
    events=st.lists(
        some_of(
            event_name=st.sampled_from(
                [
                    *("task:deserialize_arguments", "task:execute", "task:store_outputs", "task::f"),
                    *("task::g", "mine", "ray.get", "rayscope.returned", "rayscope.span"),
                ]
            ),
            start_time=ANY_LONG,
            end_time=ANY_LONG,
            extra_data=ANY_TEXT,
        ),
        max_size=6,
    ),
)
#: Number and name of the content of an event, and what that may be.
ANY_CONTENT: dict[tuple[int, str], st.SearchStrategy[dict[str, Any]]] = {
    (1, "task_definition_event"): some_of(
        **DEFINED, task_type=ANY_NUMBER, task_name=ANY_TEXT, task_func=ANY_FUNCTION
    ),
    (3, "actor_task_definition_event"): some_of(
        **DEFINED, actor_id=ANY_ID, actor_task_name=ANY_TEXT, actor_func=ANY_FUNCTION
    ),
    (2, "task_lifecycle_event"): some_of(
        **OF_ATTEMPT,
        state_transitions=st.lists(some_of(state=ANY_NUMBER, timestamp=ANY_TIME), max_size=4),
        ray_error_info=some_of(error_type=ANY_NUMBER, error_message=ANY_TEXT),
        node_id=ANY_ID,
        worker_id=ANY_ID,
        worker_pid=ANY_NUMBER,
        actor_repr_name=ANY_TEXT,
        task_log_info=some_of(stdout_file=ANY_TEXT, stderr_file=ANY_TEXT, **LOGS),
    ),
    (4, "task_profile_events"): st.fixed_dictionaries(
        {"profile_events": ANY_PROFILE}, optional={"attempt_number": ANY_NUMBER, "job_id": ANY_ID}
    ),
}


@st.composite
def any_event(draw: st.DrawFn) -> Any:
    """An event of a task with any values that its fields can have."""
    (kind, name), contents = draw(st.sampled_from(list(ANY_CONTENT.items())))
    content = draw(contents) | {"task_id": draw(ANY_TASK | st.just(TASK[:20]))}
    head = draw(some_of(timestamp=ANY_TIME))
    return UNION["RayEvent"](event_type=kind, session_name="session_a", **head, **{name: content})


@given(st.lists(any_event(), min_size=1, max_size=4))
def test_whatever_events_say_both_formats_say_the_same(events: list[Any]) -> None:
    body = join([event.SerializeToString() for event in events], Format.BINARY)
    (from_binary,), no_binary = convert(body)
    (from_json,), no_json = decode(json.dumps([as_json(event) for event in events]).encode())
    assert len(no_binary) == len(no_json)
    if no_binary:  # what is wrong with them is counted otherwise
        from_binary.unknown = from_json.unknown = {}
        from_binary.events = from_json.events = 0
    assert in_order([from_binary]) == in_order([from_json])


@given(st.sampled_from([TASK, b"\xff" * 8 + TASK[8:]]), st.integers(0, 2), ANY_PROFILE)
def test_profiles_say_the_same_as_in_the_table_of_the_gcs(task: bytes, number: int, profile: Any) -> None:
    """So the two accounts of an attempt merge without conflict, and no span comes twice."""
    values = {"task_id": task, "attempt_number": number, "job_id": b"\x07\0\0\0", "profile_events": profile}
    event = UNION["RayEvent"](event_type=4, session_name="s", task_profile_events=values)
    (ours,), _ = convert(join([event.SerializeToString()], Format.BINARY))
    theirs = RecordBatch("s")
    add_tasks([gcs_pb2.TaskEvents(**values)], theirs)
    assert sorted(ours.spans) == sorted(theirs.spans)
    assert ours.edges == theirs.edges
    if theirs.attempts and theirs.attempts[0].phases:
        (attempt,) = theirs.attempts
        merged = functools.reduce(merge_attempts, ours.attempts)
        for name in ("task_id", "attempt", "job_id", "worker_id", "phases", "returned", "cpu_ns"):
            assert getattr(merged, name) == getattr(attempt, name)


def _check(body: bytes, form: Format = Format.BINARY) -> None:
    """Any body is refused or results only in records that the store can hold."""
    try:
        batch = check(body, form)
    except MalformedBatch:
        return
    batches, invalid = decode(body, form)
    sender = node_id(body, form)
    assert sender is None or isinstance(sender, str)
    assert all(isinstance(raw, bytes) for raw in invalid)
    read = sum(batch.events for batch in batches)
    assert max(read, len(invalid)) <= batch.count <= read + len(invalid)
    for found in batches:
        for attempt in found.attempts:
            assert len(bytes.fromhex(attempt.task_id)) == 24
            assert -(2**31) <= attempt.attempt < 2**31
            assert all(0 <= time_ns < 2**63 for time_ns in attempt.states.values()) or attempt.phases
            texts = [getattr(attempt, name) for name in attempt.__struct_fields__]
            "".join(text for text in texts if isinstance(text, str)).encode()
        for span in found.spans:
            assert -(2**63) <= span.begin_ns < 2**63
            (span.task_id + span.name + span.extra).encode()
        for entity in found.entities:
            entity.current()
            assert all(0 <= time_ns < 2**63 for time_ns, _ in entity.transitions)
    # Data kept from this body must not appear in another.
    assert decode(body, form) == (batches, invalid)


@given(st.binary(max_size=300))
def test_random_bytes(body: bytes) -> None:
    _check(body)
    _check(field(1, body))
    for kind, number in ((1, 8), (2, 9), (3, 10), (4, 11)):
        _check(envelope(kind, number, body))
        _check(envelope(kind, number, field(1, TASK) + body))
    _check(body, Format.JSON)
    _check(b"[" + body + b"]", Format.JSON)
    _check(b'[{"eventType":2,"taskLifecycleEvent":' + body + b"}]", Format.JSON)


def _events(version: str, form: Format, recorded: Recorded) -> list[bytes]:
    """Single events of a real Ray."""
    if form is Format.BINARY:
        return list(UNION["RayEventsData"].FromString(b"".join(recorded(version, form))).events)
    return [json.dumps(event).encode() for body in recorded(version, form) for event in json.loads(body)]


def _damaged(raw: bytes, data: st.DataObject, *, max_bytes: int) -> bytes:
    """Some bytes changed, cut out or doubled; or, in JSON, another value behind a colon."""
    if raw.startswith(b"{") and data.draw(st.booleans()):
        at = data.draw(st.sampled_from([found.end() for found in re.finditer(b": ", raw)]))
        end = min(found for sign in b",}" if (found := raw.find(sign, at)) >= 0)
        return raw[:at] + data.draw(st.sampled_from(VALUES)) + raw[end:]
    damaged = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged)))
        end = at + data.draw(st.integers(0, max_bytes))
        damaged[at:end] = data.draw(st.one_of(st.binary(max_size=3), st.just(bytes(damaged[at:end]) * 2)))
    return bytes(damaged)


#: What JSON may have for a value.
VALUES = (
    *(b"null", b"true", b"-1", b"0", b"1e400", b"-1e-400", b"NaN", b"9" * 400, b"1" + b"0" * 5000, b"[]"),
    *(b"{}", b'""', b'"\xff\xfe"', b'"\\ud800"', b'"\\u0000"', b'"2262-99-99T00:00:00Z"', b'"token"'),
    *(b"18446744073709551616", b"9223372036854775807", b"-1099511627776", b'"9223372036854775808"'),
    *(b"[" * 600 + b"]" * 600, b"[" * 20_000 + b"]" * 20_000, b'{"a":' * 2000 + b"1" + b"}" * 2000),
)


@both_forms
@given(data=st.data())
def test_mutated_bodies(recorded: Recorded, form: Format, data: st.DataObject) -> None:
    """One event of a real body, some of its bytes changed, cut out or doubled."""
    raw = data.draw(st.sampled_from(_events(data.draw(st.sampled_from(VERSIONS)), form, recorded)))
    damaged = _damaged(raw, data, max_bytes=3)
    _check(field(1, damaged) if form is Format.BINARY else b"[" + damaged + b"]", form)


def _records(raws: list[bytes], form: Format) -> tuple[RecordBatch, list[bytes]]:
    """All records of events in one batch of one order, without what is unknown; and what is invalid."""
    body = join(raws, form)
    try:
        batches, invalid = decode(body, form)
    except MalformedBatch:
        return RecordBatch(""), sorted(split_events(body, form))
    return _joined(batches), sorted(join([raw], form) for raw in invalid)


@both_forms
@given(data=st.data())
def test_a_damaged_event_leaves_its_neighbours_alone(
    recorded: Recorded,
    sample: Callable[[str], Any],
    to_binary: Callable[[bytes], bytes],
    form: Format,
    data: st.DataObject,
) -> None:
    """Events are read together, so one that ends too early must not take from the next one."""

    def bodies(version: str, form: Format) -> list[bytes]:
        if version != "2.60-traced":
            return recorded(version, form)
        texts = [json.dumps(events).encode() for events in sample(version)]
        return texts if form is Format.JSON else list(map(to_binary, texts))

    raws = _events(data.draw(st.sampled_from(("2.50", "2.60", "2.60-traced"))), form, bodies)
    some = data.draw(st.lists(st.sampled_from(raws), min_size=2, max_size=6, unique=True))
    damaged = _damaged(some.pop(), data, max_bytes=40)
    try:
        split_events(join([damaged], form), form)
    except ValueError:
        return  # an array of JSON that cannot be split
    good, none = _records(some, form)
    alone, broken = _records([damaged], form)
    assert none == []
    expected = _joined([good, alone])
    for at in range(len(some) + 1):
        whole, invalid = _records([*some[:at], damaged, *some[at:]], form)
        assert invalid == broken
        assert whole == expected


USUAL = ("task:deserialize_arguments", "task:execute", "task:store_outputs", "task::f")


def profile(task: bytes, number: int, *names: str) -> bytes:
    """A worker's profile: each of ``names`` lasts 10 ns, the first from 10 on, the next from 11 on."""
    inside = field(1, b"worker") + field(2, b"w" * 28)
    for at, name in enumerate(names):
        inside += field(4, field(1, 10 + at) + field(2, 20 + at) + field(3, b"{}") + field(4, name.encode()))
    fields = field(1, task) + (field(2, number) if number else b"") + field(3, b"\x07\0\0\0")
    return envelope(4, 11, fields + field(4, inside))


def test_the_profile_of_a_restarted_actor_has_the_end() -> None:
    creation, driver = b"\xff" * 8 + TASK[8:], b"\xff" * 20 + TASK[20:]
    assert only_attempt(profile(creation, 1, *USUAL)).states == {"FINISHED": 23}
    for other in (profile(creation, 0, *USUAL), profile(driver, 1, *USUAL), profile(creation, 1, *USUAL[:3])):
        assert only_attempt(other).states == {}


def test_coroutines_run_outside_of_any_task() -> None:
    (batch,), invalid = convert(profile(b"\xff" * 24, 3, "task::f", "mine") + profile(TASK, 3, "mine"))
    worker = '{"worker_id":"' + "77" * 28 + '"}'
    assert batch.spans == [
        Span("", 0, "task::f", 10, 20, worker),
        Span("", 0, "mine", 11, 21, worker),
        Span(TASK.hex(), 3, "mine", 10, 20),
    ]
    assert not batch.attempts
    assert not invalid


def test_profiles_of_retried_attempts_and_odd_ones_among_usual_ones() -> None:
    tasks = [bytes([number]) * 20 + b"\x07\0\0\0" for number in range(6)]
    bodies = [
        profile(tasks[0], 0, *USUAL),
        profile(tasks[1], 2, *USUAL),
        profile(tasks[2], 0, *USUAL[:2], "mine"),
        profile(tasks[3], 0, *USUAL[:3], "\0|", "task::g"),
        profile(tasks[4], 0),
        profile(tasks[5], 0, *USUAL),
    ]
    for order in (
        bodies,
        bodies[::-1],
        [bodies[0], bodies[1], bodies[5]],
        [*bodies, profile(TASK, 300, *USUAL)],
    ):
        (batch,), invalid = convert(b"".join(order))
        alone = [convert(body)[0][0] for body in order]
        assert not invalid
        assert sorted(batch.spans) == sorted(span for only_attempt in alone for span in only_attempt.spans)
        expected = [attempt for only_attempt in alone for attempt in only_attempt.attempts]
        assert sorted(batch.attempts, key=repr) == sorted(expected, key=repr)
    assert batch.attempts[0].phases == {
        "deserialize": (10, 20),
        "execute": (11, 21),
        "store": (12, 22),
        "total": (13, 23),
    }
    assert {attempt.attempt for attempt in batch.attempts} == {0, 2, 300}
