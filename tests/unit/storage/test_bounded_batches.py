"""Small packed bodies that unpack to much: refused within bounds, and nothing else waits for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until

from rayscope.ingest.queue import Spooled
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events import from_json, from_protobuf
from rayscope.ray.events.batch import BatchTooLarge, Format
from rayscope.ray.events.batch_format import MAX_EVENTS
from rayscope.storage import spool as spool_module

SESSION = "session_2026-01-01_00-00-00_000000_1"
GOOD = json.dumps({"sessionName": SESSION, "eventType": "TASK_DEFINITION_EVENT"}).encode()
NODE = f'{{"sessionName":"{SESSION}","eventType":"NODE_DEFINITION_EVENT","nodeDefinitionEvent":'.encode()
MB64 = 64 << 20
#: Format, prefix, repeated part, and suffix.
FILLERS = {
    "numbers": (Format.JSON, b"[", b"1,", b"1]"),
    "numbers behind an event": (Format.JSON, b"[" + GOOD + b",", b"1,", b"1]"),
    "objects": (Format.JSON, b"[", b"{},", b"{}]"),
    "objects that end badly": (Format.JSON, b"[", b"{},", b"x]"),
    "lists": (Format.JSON, b"[", b"[],", b"1]"),
    "texts": (Format.JSON, b"[", b'"",', b'""]'),
    "commas": (Format.JSON, b"[", b",", b"]"),
    "brackets": (Format.JSON, b"[", b"[", b"]"),
    "in an event": (Format.JSON, b"[" + NODE + b'{"labels":[', b"{},", b"{}]}}]"),
    "in an event of the other spelling": (Format.JSON, b'[{"event_id":"","x":[', b"{},", b"{}]}]"),
    "binary events": (Format.BINARY, b"", b"\x0a\x00", b""),
}

#: Checks bodies as those of agents, with little more memory than their size.
CHILD = """
import os, resource, sys
from rayscope.ray.events import batch
from rayscope.ray.events.batch import Format, MalformedBatch
fillers, size = eval(sys.argv[1])
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + 2 * size + (300 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for name, (form, before, part, after) in fillers.items():
    body = before + part * ((size - len(before) - len(after)) // len(part)) + after
    try:
        batch.check(body, Format(form))
        print(name, "is taken")
    except MalformedBatch as error:
        print(name, "is refused")
    except MemoryError:
        print(name, "takes too much memory")
    del body
"""


def test_bodies_of_many_values_take_little_memory() -> None:
    fillers = {name: (form.value, *texts) for name, (form, *texts) in FILLERS.items()}
    argument = repr((fillers, MB64))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, argument], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [f"{name} is refused" for name in FILLERS], done.stderr[-500:]


@pytest.mark.parametrize("form", list(Format))
def test_real_batches_are_far_below_the_bounds(form: Format, make_batches: Any, to_binary: Any) -> None:
    bodies = make_batches(200)
    for body in bodies:
        count = len(json.loads(body))
        assert events_batch.check(body if form is Format.JSON else to_binary(body), form).count == count
        assert sum(map(body.count, (b",", b"[", b"{"))) * MAX_EVENTS < from_json._MAX_PARTS * count


def test_commas_in_texts_are_no_values() -> None:
    event = json.dumps({"sessionName": SESSION, "message": "1, " * 2_500_000}).encode()
    assert events_batch.check(b"[" + event + b"]", Format.JSON).count == 1


def test_the_number_of_events_is_bounded_on_every_way() -> None:
    events = b",".join([GOOD] * (MAX_EVENTS + 1))
    with pytest.raises(BatchTooLarge):
        events_batch.check(b"[" + events + b"]", Format.JSON)  # all of them can be read
    with pytest.raises(BatchTooLarge):
        from_json.split(b"[" + events + b"]")
    with pytest.raises(BatchTooLarge):
        from_json.split(b"[" + events + b",{x}]")  # one that no decoder gets through
    assert len(from_json.split(b"[" + GOOD + b",1,{x}]")) == 3


def test_the_number_of_unreadable_events_is_bounded() -> None:
    def of(unreadable: int) -> bytes:
        return b"[" + GOOD + b",1" * unreadable + b"]"

    assert (
        events_batch.check(of(from_json._MAX_UNREADABLE), Format.JSON).count == from_json._MAX_UNREADABLE + 1
    )
    with pytest.raises(BatchTooLarge):
        events_batch.check(of(from_json._MAX_UNREADABLE + 1), Format.JSON)


def test_a_map_of_many_names_costs_its_event(to_binary: Any) -> None:
    definition = {"taskId": "A" * 32, "requiredResources": {f"r{number}": 1.0 for number in range(10_001)}}
    event = {"sessionName": SESSION, "eventType": "TASK_DEFINITION_EVENT", "taskDefinitionEvent": definition}
    body = to_binary(json.dumps([event]).encode())
    assert len(from_protobuf.decode([body], SESSION).invalid) == 1


def test_what_an_earlier_version_took_is_decoded_once(start_writer: Any, bodies: list[bytes]) -> None:
    made = start_writer()
    _, before, part, after = FILLERS["numbers behind an event"]
    name = made.spool.put(before + part * 4_000_000 + after)
    made._queue.put(Spooled(name, made.spool.size(name)))
    for body in bodies:
        made.submit(body)
    assert made.flush()
    assert made.spool.waiting() == []
    assert made.rejected == len(list(spool_module.batches(made.spool.rejected))) == 1


def test_a_batch_without_memory_does_not_hold_up_its_neighbours(
    start_writer: Any, bodies: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are decoded together; one takes more memory than there is."""
    decode = events_batch.decode
    unlucky = bodies[0]

    def decode_others(some: list[bytes], form: Format, session: str) -> Any:
        if unlucky in some:
            raise MemoryError
        return decode(some, form, session)

    monkeypatch.setattr(events_batch, "decode", decode_others)
    made = start_writer()
    for body in bodies:
        made.submit(body)
    wait_until(
        lambda: made.problem() is not None and len(made.spool.waiting()) == 1, "the others are written"
    )
    monkeypatch.setattr(events_batch, "decode", decode)
    assert made.flush()
    assert made.spool.waiting() == []


def test_the_folder_of_rejected_batches_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "_MAX_REJECTED_BYTES", 1_000)
    spool = spool_module.Spool(tmp_path / "spool")
    for _ in range(10):
        spool.reject(b"x" * 400, "why")
    assert len(list(spool_module.batches(spool.rejected))) == 2
    spool.reject(b"x" * 5_000, "why")
    assert len(list(spool_module.batches(spool.rejected))) == 1  # the newest one always
