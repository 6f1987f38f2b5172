"""Events per CPU second that both decoders process: Ray's JSON, and the same events as protobuf.

    python benchmarks/decode.py                      # some seconds
    python benchmarks/decode.py --rounds 31

The batches are those of ingest.py (created by load.py from a recording of Ray 2.60), with 1,000 events each.
Ray's own classes convert them to protobuf before the measurement. Each is checked individually, as while its
sender waits, and as many are decoded together as in the server's writer. The two formats take turns, so that
other load affects both. The exit status is 1 unless their records are equal.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Iterator

from common import HERE, SRC, header, parse_arguments, table
from load import Cluster, to_binary

sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(SRC))

from tests.records import decode, in_order

from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import Batch, Format

#: Number of bytes decoded at a time, as in the server's writer.
DECODE_BYTES = 8 << 20


def bodies(events: int) -> dict[Format, list[bytes]]:
    """Batches with about this many events, in both formats."""
    cluster = Cluster()
    batches: list[bytes] = []
    while len(batches) * 1000 < events:
        batches += [body for node in cluster.round() for body, _ in node]
    return {Format.JSON: batches, Format.BINARY: [to_binary(body) for body in batches]}


def measure(texts: list[bytes], form: Format) -> dict[str, float]:
    """CPU seconds of each step for all bodies."""
    began = time.process_time()
    batches = [events_batch.check(body, form) for body in texts]
    checked = time.process_time()
    for together in chunks(batches):
        (session,) = {session for batch in together for session in batch.sessions}
        events_batch.decode([batch.body for batch in together], form, session)
    decoded = time.process_time()
    return {"check": checked - began, "decode": decoded - checked, "both": decoded - began}


def chunks(batches: list[Batch]) -> Iterator[list[Batch]]:
    """Groups of batches that are decoded together."""
    size, together = 0, []
    for batch in batches:
        together.append(batch)
        size += len(batch.body)
        if size >= DECODE_BYTES:
            yield together
            size, together = 0, []
    if together:
        yield together


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=11)
    args = parse_arguments(parser, events=1000, rounds=2)
    print(header("Decoding Ray's events", ["ray", "protobuf", "msgspec"]))
    gc.set_threshold(50_000, 20, 20)  # like the server
    batches = bodies(args.events)
    for text, binary in zip(batches[Format.JSON], batches[Format.BINARY], strict=True):
        (from_json, no_json), (from_binary, no_binary) = decode(text), decode(binary, Format.BINARY)
        if no_json or no_binary or in_order(from_json) != in_order(from_binary):
            print("The two formats give different records.")
            return 1
    count = sum(events_batch.check(body, Format.JSON).count for body in batches[Format.JSON])
    times: dict[Format, list[dict[str, float]]] = {form: [] for form in Format}
    for number in range(args.rounds):
        for form in list(Format)[:: 1 if number % 2 else -1]:
            times[form].append(measure(batches[form], form))
    size = {form: sum(map(len, batches[form])) / count for form in Format}
    print(
        f"{count} events in {len(batches[Format.JSON])} batches: {size[Format.JSON]:.0f} bytes an event as JSON, "
        f"{size[Format.BINARY]:.0f} as protobuf. Medians of {args.rounds} alternating rounds.\n"
    )
    rows = []
    for step in ("check", "decode", "both"):
        rates = {form: count / statistics.median(t[step] for t in times[form]) for form in Format}
        ratio = statistics.median(
            a[step] / b[step] for a, b in zip(times[Format.JSON], times[Format.BINARY], strict=True)
        )
        rows.append([step, *(f"{rate:,.0f}" for rate in rates.values()), f"{ratio:.2f}"])
    print(table(["Step", "JSON, events a CPU second", "protobuf", "ratio"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
