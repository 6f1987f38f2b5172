"""The merge rule of attempts in SQL: how any number of partial accounts become one.

A task's owner and executor report independently. An event may arrive several times, in any order, or not at
all, and the GCS reports the same things again. So merging only ever adds to an attempt, and the *least* known
value of each part wins, except that the *largest* peak wins. For the time of a state, the least is the
earliest. Other fields hardly ever conflict, so any choice that does not depend on the order of arrival will
do. Hence merging is commutative, associative and idempotent. An interval, an error, and a return value each
consist of several columns that are merged together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rayscope.model import PHASES, STATES
from rayscope.model.attempt import SCALARS

#: Scalar fields of an attempt that are integers, not strings.
INTEGERS = {
    *("worker_pid", "stdout_start", "stdout_end", "stderr_start", "stderr_end"),
    *("cpu_ns", "peak_memory", "start_memory"),
}
#: Scalar fields whose largest value wins.
LARGEST = frozenset({"peak_memory"})
#: SQL for the caller: as reported by the tracer, otherwise the parent according to Ray.
SUBMITTER = "coalesce(caller_task_id, parent_task_id)"
KEY = ("task_hi", "task_lo", "attempt")
#: Groups of columns that are merged together. The key is the column that has a value whenever any of them
#: has.
TOGETHER: dict[str, Sequence[str]] = {
    **{f"{phase}_begin_ns": (f"{phase}_begin_ns", f"{phase}_end_ns") for phase in PHASES},
    "error_ns": ("error_ns", "error_type", "error_message"),
    "returned_ns": ("returned_ns", "return_bytes", "output_bytes"),
}
#: SQL for a value that is compared before the columns of a group. When a worker dies, the task's owner
#: reports only the death, and a second later the GCS reports the cause. So the earliest error with a message
#: wins.
FIRST = {"error_ns": "coalesce(error_message, '') = ''"}
SCALAR_COLUMNS = (
    *((name, "BIGINT" if name in INTEGERS else "VARCHAR") for name in SCALARS),
    *((f"{state.lower()}_ns", "BIGINT") for state in STATES),
)
#: The columns of a part of an attempt, as (column, DuckDB type). A table of parts has the key columns and
#: some of the other ones.
PART_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("task_hi", "UBIGINT"), ("task_lo", "VARCHAR"), ("attempt", "INTEGER")),
    *SCALAR_COLUMNS,
    *(
        (column, "VARCHAR" if column in ("error_type", "error_message") else "BIGINT")
        for columns in TOGETHER.values()
        for column in columns
    ),
)
#: Column for when a part arrived (monotonic, s). The least value wins here, too.
SINCE = "since"


def merge(tables: Iterable[str]) -> str:
    """A query that merges the parts in all ``tables``. It returns one row per attempt."""
    key = ", ".join(KEY)
    nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in (*PART_COLUMNS, (SINCE, "DOUBLE")))
    parts = " UNION ALL BY NAME ".join([f"SELECT {nothing} WHERE false", *(f"FROM {t}" for t in tables)])
    names = (*(n for n, _ in SCALAR_COLUMNS), SINCE)
    least = [f"{'max' if name in LARGEST else 'min'}({name}) AS {name}" for name in names]
    unpacked = [name for name, _ in SCALAR_COLUMNS]
    for known, columns in TOGETHER.items():
        values = [FIRST.get(known, "0"), *columns]
        packed = ", ".join(f"_{number} := {value}" for number, value in enumerate(values))
        least.append(f"min(CASE WHEN {known} IS NOT NULL THEN struct_pack({packed}) END) AS of_{known}")
        unpacked += [f"of_{known}._{number} AS {name}" for number, name in enumerate(columns, 1)]
    return (
        f"SELECT {key}, {', '.join(unpacked)}, {SINCE} FROM "
        f"(SELECT {key}, {', '.join(least)} FROM ({parts}) GROUP BY {key})"
    )
