"""Mutated event batches in both forms, through the whole way in: nothing but the bad event may be lost.

    python -m tests.faults.mutated_events --count 100000 --seed 1

Each body has one mutated event of a real Ray between two good ones, whose tasks must be on record in the end
if the body was taken. A body may be refused only if the mutation broke the array itself. Prints counts, and
ends with 1 on a loss, an exception or a fault in the log.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import tempfile
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from ray.core.generated import events_event_aggregator_service_pb2 as service

from rayscope.ingest.writer import Writer
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events import from_json
from rayscope.ray.events.batch import Format, MalformedBatch
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.spool import Spool

SAMPLE = Path(__file__).parents[1] / "unit" / "ray" / "samples" / "ray-2.60.json"
SESSION = "session_mutated"
#: Bodies between two looks at the record.
FLUSH_EVERY = 2000
DRIVER_TAIL = bytes.fromhex("ffffffffffffffffffffffffffff01000000")[-16:]
VALUES: tuple[bytes, ...] = (
    *(b"null", b"true", b"-1", b"0", b"1e400", b"-1e-400", b"NaN", b"9" * 400, b"1" + b"0" * 5000),
    *(
        b'""',
        b'"\xff\xfe"',
        b'"\\ud800"',
        b'"\\u0000"',
        b'"' + b"\x1b" * 3000 + b'"',
        b'"2262-99-99T00:00:00Z"',
    ),
    *(
        b"[]",
        b"{}",
        b"[" * 600 + b"]" * 600,
        b"[" * 20_000 + b"]" * 20_000,
        b'{"a":' * 2000 + b"1" + b"}" * 2000,
    ),
    *(
        b'"' + b"token" * 2000 + b'"',
        b'"' + b"A" * 100_000 + b'"',
        b"18446744073709551616",
        b"9223372036854775807",
    ),
)
#: Large values take most of the time, and a few thousand of them find as much as a million.
_WEIGHTS = [1 if len(value) > 2000 else 100 for value in VALUES]


class Faults(logging.Handler):
    """Counts the tracebacks in the log: an unforeseen fault."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            self.found[f"{record.msg}: {type(error).__name__}: {str(error)[:200]}"] += 1


def load_events() -> list[dict[str, Any]]:
    """The events of the sample, all of one session."""
    batches = json.loads(SAMPLE.read_text())
    return [event | {"sessionName": SESSION} for batch in batches for event in batch]


def to_binary(event: dict[str, Any]) -> bytes:
    """One event as the protobuf of the Ray that is installed."""
    data = service.RayEventsData()
    json_format.ParseDict(event, data.events.add(), ignore_unknown_fields=True)
    return bytes(data.events[0].SerializeToString())


def mutate(raw: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled or put in."""
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(changed):
            changed[at] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 2:
            del changed[at : at + rng.choice((1, 2, 10, 200))]
        elif kind == 3:
            changed[at:at] = changed[at : at + rng.choice((1, 5, 50))]
        else:
            changed[at:at] = rng.randbytes(rng.randrange(1, 6))
    return bytes(changed)


def mutate_json(raw: bytes, rng: random.Random) -> bytes:
    """The same, or another value behind one of its colons."""
    if rng.random() < 0.5:
        return mutate(raw, rng)
    colons = [at for at, byte in enumerate(raw) if byte == ord(":")]
    at = rng.choice(colons) + 1
    end = min((found for sign in b",}" if (found := raw.find(sign, at)) >= 0), default=len(raw))
    return raw[:at] + rng.choices(VALUES, _WEIGHTS)[0] + raw[end:]


def breaks_the_array(raw: bytes, form: Format) -> bool:
    """Whether a mutated event leaves no array to take apart."""
    if form is Format.BINARY:
        return False
    try:
        from_json.split(b"[" + raw + b"]")
    except ValueError:
        return True
    return False


class Campaign:
    """One run over one data directory."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self.expected = 0
        self.writer = Writer(
            Catalog(folder), Spool(folder / "spool", min_free_bytes=0, max_rejected=10), Retention()
        )
        self.writer.start()
        events = load_events()
        definition = json.loads(json.dumps(next(event for event in events if "taskDefinitionEvent" in event)))
        self._placeholder = b"\x07" * 8 + DRIVER_TAIL
        definition["taskDefinitionEvent"]["taskId"] = b64encode(self._placeholder).decode()
        definition["taskDefinitionEvent"]["taskName"] = "neighbour"
        self._good = {Format.JSON: json.dumps(definition).encode(), Format.BINARY: to_binary(definition)}
        self._events = {
            Format.JSON: [json.dumps(event).encode() for event in events],
            Format.BINARY: [to_binary(event) for event in events],
        }
        self._mutate: dict[Format, Callable[[bytes, random.Random], bytes]] = {
            Format.JSON: mutate_json,
            Format.BINARY: mutate,
        }

    def neighbour(self, number: int, form: Format) -> bytes:
        """The definition of task ``number``."""
        task = number.to_bytes(8, "big") + DRIVER_TAIL
        if form is Format.JSON:
            return self._good[form].replace(b64encode(self._placeholder), b64encode(task))
        return self._good[form].replace(self._placeholder, task)

    def try_one(self, number: int, form: Format) -> None:
        """Send one body."""
        bad = self._mutate[form](self.rng.choice(self._events[form]), self.rng)
        pieces = [self.neighbour(2 * number, form), bad, self.neighbour(2 * number + 1, form)]
        body = events_batch.join(pieces, form)
        self.counts[f"bodies {form.value}"] += 1
        try:
            batch = events_batch.check(body, form)
            if set(batch.sessions) - {SESSION, ""}:
                self.counts["of another session, only read"] += 1
                for session, part in events_batch.split(batch).items():
                    events_batch.decode([part], form, session)
                return
            self.writer.submit(body, form)
            self.expected += 2
        except MalformedBatch:
            self.counts["refused"] += 1
            if not breaks_the_array(bad, form):
                self.problem("refused, though the array is whole", body)
        except Exception as error:
            self.problem(f"{type(error).__name__}: {str(error)[:200]}", body)

    def problem(self, what: str, body: bytes) -> None:
        """Note a failure, and show the first of its kind."""
        if not self.problems[what]:
            print(f"PROBLEM {what}\n  {body[:3000]!r}", file=sys.stderr, flush=True)
        self.problems[what] += 1

    def check(self) -> None:
        """Write all of it, and compare with what is on record."""
        if not self.writer.flush(300):
            self.problems[f"not written: {self.writer.error}"] += 1
            return
        with self.writer.catalog.reading(SESSION) as file, file.reader() as cursor:
            row = cursor.execute(
                "SELECT count(DISTINCT task_id) FROM tasks WHERE name = 'neighbour'"
            ).fetchone()
        recorded = row[0] if row else 0
        self.counts["neighbours taken"], self.counts["neighbours on record"] = self.expected, recorded
        if recorded < self.expected:
            self.problems["neighbours that are not on record"] = self.expected - recorded


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000, help="bodies, half of them in each form")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    faults = Faults()
    logging.getLogger("rayscope").addHandler(faults)
    logging.getLogger("rayscope").propagate = False
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), options.seed)
        for number in range(options.count):
            campaign.try_one(number, Format.JSON if number % 2 else Format.BINARY)
            if number % FLUSH_EVERY == FLUSH_EVERY - 1:
                campaign.check()
                if number % (25 * FLUSH_EVERY) == 25 * FLUSH_EVERY - 1:
                    print(f"{number + 1} bodies, {time.monotonic() - start:.0f} s", flush=True)
        campaign.check()
        campaign.counts["events of no session, set aside"] = campaign.writer.rejected
        campaign.writer.stop()
    campaign.problems.update({f"fault in the log: {what}": n for what, n in faults.found.items()})
    for what, number in sorted(campaign.counts.items()):
        print(f"{number:>10,}  {what}")
    for what, number in campaign.problems.items():
        print(f"{number:>10,}  PROBLEM {what}")
    print(f"seed {options.seed}: {'FAILED' if campaign.problems else 'nothing lost'}")
    return 1 if campaign.problems else 0


if __name__ == "__main__":
    sys.exit(main())
