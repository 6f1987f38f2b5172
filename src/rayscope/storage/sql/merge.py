"""The merge rule of attempts in SQL: how any number of partial accounts become one.

The owner and the executor of a task report independently, an event may come twice, in any order or not at
all, and the GCS tells it again. So an attempt only grows, and of each part the *least* known value wins: of a
state's times the earliest; of fields, which hardly ever conflict, whichever, as long as the choice does not
depend on the order of arrival. Hence merging is commutative, associative and idempotent. An interval, an
error and a return are one value each, of several columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rayscope.model import PHASES, STATES
from rayscope.model.attempt import SCALARS

#: Scalars of an attempt that are no texts.
INTEGERS = {"worker_pid", "stdout_start", "stdout_end", "stderr_start", "stderr_end", "cpu_ns"}
#: The task that made the call, as far as anybody knows.
SUBMITTER = "coalesce(caller_task_id, parent_task_id)"
KEY = ("task_hi", "task_lo", "attempt")
#: Values of several columns, by the one that is known whenever any is.
TOGETHER: dict[str, Sequence[str]] = {
    **{f"{phase}_begin_ns": (f"{phase}_begin_ns", f"{phase}_end_ns") for phase in PHASES},
    "error_ns": ("error_ns", "error_type", "error_message"),
    "returned_ns": ("returned_ns", "return_bytes", "output_bytes"),
}
#: What is put before those columns: of an error that a worker died its task's owner says only that, and the
#: GCS, a second later, how. So the earliest with a message holds.
FIRST = {"error_ns": "coalesce(error_message, '') = ''"}
SCALAR_COLUMNS = (
    *((name, "BIGINT" if name in INTEGERS else "VARCHAR") for name in SCALARS),
    *((f"{state.lower()}_ns", "BIGINT") for state in STATES),
)
#: (column, DuckDB type) of a part of an attempt; a table of parts has the key and some of the others.
PART_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("task_hi", "UBIGINT"), ("task_lo", "VARCHAR"), ("attempt", "INTEGER")),
    *SCALAR_COLUMNS,
    *(
        (column, "VARCHAR" if column in ("error_type", "error_message") else "BIGINT")
        for columns in TOGETHER.values()
        for column in columns
    ),
)
#: When a part came (monotonic, s): the least holds, too.
SINCE = "since"


def merge(tables: Iterable[str]) -> str:
    """A query of what the parts in all ``tables`` say together: one row for each attempt."""
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
