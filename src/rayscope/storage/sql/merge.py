"""The merge rule of attempts in SQL: how any number of partial accounts become one.

A task's owner and executor report independently. An event may arrive repeatedly, in any order or not at all,
and the GCS reports it again. So an attempt only grows, and the *least* known value of each part wins: for the
time of a state, the earliest; for other fields, which hardly ever conflict, any value that does not depend on
the order of arrival. Hence merging is commutative, associative and idempotent. An interval, an error, and a
return value each consist of several columns that are merged together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rayscope.model import PHASES, STATES
from rayscope.model.attempt import SCALARS

#: Scalars of an attempt that are not texts.
INTEGERS = {"worker_pid", "stdout_start", "stdout_end", "stderr_start", "stderr_end", "cpu_ns"}
#: The caller, as far as it is known.
SUBMITTER = "coalesce(caller_task_id, parent_task_id)"
KEY = ("task_hi", "task_lo", "attempt")
#: Groups of columns merged together, by the column that is known whenever any of them is.
TOGETHER: dict[str, Sequence[str]] = {
    **{f"{phase}_begin_ns": (f"{phase}_begin_ns", f"{phase}_end_ns") for phase in PHASES},
    "error_ns": ("error_ns", "error_type", "error_message"),
    "returned_ns": ("returned_ns", "return_bytes", "output_bytes"),
}
#: Compared before those columns. When a worker dies, the task's owner reports only that, and a second later
#: the GCS reports how. So the earliest error with a message wins.
FIRST = {"error_ns": "coalesce(error_message, '') = ''"}
SCALAR_COLUMNS = (
    *((name, "BIGINT" if name in INTEGERS else "VARCHAR") for name in SCALARS),
    *((f"{state.lower()}_ns", "BIGINT") for state in STATES),
)
#: (column, DuckDB type) of a part of an attempt. A table of parts has the key and some of the others.
PART_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("task_hi", "UBIGINT"), ("task_lo", "VARCHAR"), ("attempt", "INTEGER")),
    *SCALAR_COLUMNS,
    *(
        (column, "VARCHAR" if column in ("error_type", "error_message") else "BIGINT")
        for columns in TOGETHER.values()
        for column in columns
    ),
)
#: When a part arrived (monotonic, s). The least value wins here, too.
SINCE = "since"


def merge(tables: Iterable[str]) -> str:
    """A query that merges the parts in all ``tables``: one row per attempt."""
    key = ", ".join(KEY)
    nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in (*PART_COLUMNS, (SINCE, "DOUBLE")))
    parts = " UNION ALL BY NAME ".join([f"SELECT {nothing} WHERE false", *(f"FROM {t}" for t in tables)])
    least = [f"min({name}) AS {name}" for name in (*(n for n, _ in SCALAR_COLUMNS), SINCE)]
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
