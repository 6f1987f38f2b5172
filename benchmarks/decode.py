"""How many events a CPU second both decoders read: Ray's JSON, and the same events as protobuf.

    python benchmarks/decode.py                      # some seconds
    python benchmarks/decode.py --rounds 31

The batches are those of ingest.py (load.py makes them from a recording of Ray 2.60), 1,000 events each, and
Ray's own classes write them as protobuf before the clock starts. The two take turns, so that whatever else
the machine does meets both. Their records must be equal, or the exit status is 1.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time

from google.protobuf import json_format
from ray.core.generated.events_event_aggregator_service_pb2 import RayEventsData

from common import SRC, header, table
from load import Cluster

sys.path.insert(0, str(SRC))

from rayscope.model import RecordBatch
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import Format


def bodies(events: int) -> dict[Format, list[bytes]]:
    """About so many events in both formats."""
    cluster = Cluster()
    made: list[bytes] = []
    while len(made) * 1000 < events:
        made += [body for node in cluster.round() for body, _ in node]
    binary = []
    for body in made:
        data = RayEventsData()
        for event in json.loads(body):
            json_format.ParseDict(event, data.events.add())
        binary.append(data.SerializeToString())
    return {Format.JSON: made, Format.BINARY: binary}


def measure(made: list[bytes], form: Format) -> dict[str, float]:
    """CPU seconds of each step for all bodies, one after another as the server takes them."""
    parse = convert = 0.0
    for body in made:
        began = time.process_time()
        batch = events_batch.parse(body, form)
        parsed = time.process_time()
        batch.convert(look=False)
        parse, convert = parse + parsed - began, convert + time.process_time() - parsed
    return {"parse": parse, "convert": convert, "both": parse + convert}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=11)
    args = parser.parse_args()
    print(header("Decoding Ray's events", ["ray", "protobuf", "msgspec"]))
    gc.set_threshold(50_000, 20, 20)  # as the server does
    made = bodies(args.events)

    def records(form: Format) -> list[list[RecordBatch]]:
        found = [events_batch.parse(body, form).convert(look=False)[0] for body in made[form]]
        for batches in found:
            for batch in batches:  # their order is not the same
                for some in (batch.attempts, batch.spans, batch.entities, batch.edges, batch.annotations):
                    some.sort(key=repr)
        return found

    if records(Format.JSON) != records(Format.BINARY):
        print("The two formats give different records.")
        return 1
    count = sum(len(events_batch.parse(body, Format.JSON)) for body in made[Format.JSON])
    times: dict[Format, list[dict[str, float]]] = {form: [] for form in Format}
    for number in range(args.rounds):
        for form in list(Format)[:: 1 if number % 2 else -1]:
            times[form].append(measure(made[form], form))
    size = {form: sum(map(len, made[form])) / count for form in Format}
    print(
        f"{count} events in {len(made[Format.JSON])} batches: {size[Format.JSON]:.0f} bytes an event as JSON, "
        f"{size[Format.BINARY]:.0f} as protobuf. Medians of {args.rounds} alternating rounds.\n"
    )
    rows = []
    for step in ("parse", "convert", "both"):
        rates = {form: count / statistics.median(t[step] for t in times[form]) for form in Format}
        ratio = statistics.median(
            a[step] / b[step] for a, b in zip(times[Format.JSON], times[Format.BINARY], strict=True)
        )
        rows.append([step, *(f"{rate:,.0f}" for rate in rates.values()), f"{ratio:.2f}"])
    print(table(["Step", "JSON, events a CPU second", "protobuf", "ratio"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
