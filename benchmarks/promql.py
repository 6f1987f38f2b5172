"""CPU time of a chart over many series, and of an expression whose error is hard to locate.

python benchmarks/promql.py --series 1000
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

from common import SRC, header, parse_arguments, table

sys.path.insert(0, str(SRC))

from rayscope.metrics.promql.evaluate import MAX_EXPR_CHARS, evaluate
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Family, sample
from rayscope.storage.errors import BadQuery

S = 10**9


def store_of(series: int, seconds: int) -> SeriesStore:
    """A store of counters with a sample every 5 s."""
    store = SeriesStore(max_series=2 * series)
    family = Family("work_total", "counter", "", "bytes")
    for at in range(0, seconds + 1, 5):
        samples = [sample("work_total", 2 * at + node, node=str(node)) for node in range(series)]
        store.append(at * S, samples, families=[family])
    return store


def wrong_expression() -> None:
    """An expression in which every second prefix could contain the error."""
    try:
        evaluate(SeriesStore(), "a," * (MAX_EXPR_CHARS // 2 - 10), 0, 0, 0)
    except BadQuery:
        return
    raise AssertionError("the expression is not refused")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=600, help="the range of the chart")
    parser.add_argument("--rounds", type=int, default=7)
    args = parse_arguments(parser, series=10, rounds=1)
    print(header("PromQL", ["numpy", "promql-parser"]))
    store = store_of(args.series, args.seconds)
    chart = f"rate(work_total[1m]) of {args.series} series at {args.seconds // 2} steps"
    cases: dict[str, Callable[[], object]] = {
        chart: lambda: evaluate(store, "rate(work_total[1m])", 0, args.seconds * S, 2 * S),
        "a long expression that is wrong": wrong_expression,
    }
    rows = []
    for name, run in cases.items():
        times = []
        for _ in range(args.rounds):
            began = time.process_time()
            run()
            times.append(time.process_time() - began)
        rows.append([name, f"{statistics.median(times):.3f}", f"{min(times):.3f}", f"{max(times):.3f}"])
    print(table(["What", "median, CPU s", "min", "max"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
