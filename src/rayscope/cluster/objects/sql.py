"""Who made objects, and when: what the record knows of the objects that processes hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import FIRST_PUT, function_name

#: The first byte of the id of what was put holds the attempt in place of the task's own.
_MASK = 2**56 - 1
_TASK_DIGITS = 48


class Maker(NamedTuple):
    """The task that made an object. ``time_ns``: when it was put, or else when its task ended, if known."""

    function: str | None
    is_put: bool
    time_ns: int | None


def makers(file: SessionFile, object_ids: Sequence[str]) -> dict[str, Maker]:
    """The makers of objects (hex ids), as far as they are on record."""
    if not object_ids:
        return {}
    places = [one[_TASK_DIGITS:] for one in object_ids]
    wanted = pa.table(
        {
            "id": object_ids,
            "hi": pa.array([int(one[:16], 16) for one in object_ids], pa.uint64()),
            "lo": [one[16:_TASK_DIGITS] for one in object_ids],
            "number": pa.array([int.from_bytes(bytes.fromhex(one), "little") for one in places], pa.uint32()),
        }
    )
    with file.reader() as reader:
        reader.register("wanted", wanted)
        found = reader.execute(
            f"""
            WITH made AS (
                SELECT w.id, arg_max({function_name("a")}, a.attempt) AS function,
                    max(a.ended_at_ns) AS ended_ns,
                    bool_or(a.type = 'DRIVER_TASK') AS by_driver
                FROM wanted w JOIN attempts a
                    ON a.task_lo = w.lo AND (a.task_hi & {_MASK}) = (w.hi & {_MASK}) GROUP BY w.id),
            put AS (
                SELECT w.id, max(e.end_ns) AS put_ns FROM wanted w JOIN edge_rows e
                    ON e.kind = 'put' AND e.object_hi = w.hi AND e.object_lo = w.lo
                    AND e.object_index = w.number GROUP BY w.id)
            SELECT w.id, CASE WHEN by_driver THEN 'driver' ELSE function END, w.number >= {FIRST_PUT},
                coalesce(put_ns, CASE WHEN w.number < {FIRST_PUT} THEN ended_ns END)
            FROM wanted w LEFT JOIN made USING (id) LEFT JOIN put USING (id)
            WHERE made.id IS NOT NULL OR put.id IS NOT NULL
            """
        ).fetchall()
    return {row[0]: Maker(row[1], row[2], row[3]) for row in found}
