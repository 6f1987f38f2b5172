"""Queries which tasks created objects that processes hold, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import DRIVER_HI, DRIVER_LO, FIRST_PUT, function_name

#: For an object that was put, the first byte of the task ID holds the attempt. This mask removes it.
_MASK = 2**56 - 1
_TASK_DIGITS = 48
_WORKER_DIGITS = 56
#: SQL for whether a task attempt ``a`` created the object in a row ``w`` of :func:`object_table`.
IS_CREATOR = f"a.task_lo = w.lo AND (a.task_hi & {_MASK}) = (w.hi & {_MASK})"


def owner_of(file: SessionFile, object_id: str) -> str | None:
    """The worker that owns an object, or None if it is not recorded. IDs are in hex.

    The owner of a value that was put is the worker that put it. The owner of a returned value is the task's
    caller.
    """
    high, low = int(object_id[:16], 16), object_id[16:_TASK_DIGITS]
    is_put = int.from_bytes(bytes.fromhex(object_id[_TASK_DIGITS:]), "little") >= FIRST_PUT
    if is_put and high & _MASK == DRIVER_HI & _MASK and low.startswith(DRIVER_LO):
        return _driver(low)
    with file.reader() as reader:
        found = reader.execute(
            "SELECT worker_id, parent_hi, parent_lo FROM attempts "
            f"WHERE task_lo = ? AND (task_hi & {_MASK}) = ? ORDER BY attempt DESC LIMIT 1",
            [low, high & _MASK],
        ).fetchone()
        if found is None or is_put:
            return found[0] if found else None
        _, high, low = found
        if high == DRIVER_HI and low.startswith(DRIVER_LO):
            return _driver(low)
        found = reader.execute(
            "SELECT worker_id FROM attempts WHERE task_hi = ? AND task_lo = ? ORDER BY attempt DESC LIMIT 1",
            [high, low],
        ).fetchone()
    return found[0] if found else None


def _driver(low: str) -> str:
    """The worker ID of the driver whose task ID ends with ``low``: its job's ID, followed by ones."""
    return low.removeprefix(DRIVER_LO).ljust(_WORKER_DIGITS, "f")


class Maker(NamedTuple):
    """The task that created an object. ``time_ns``: when it was put, or when its task ended, if known."""

    function: str | None
    is_put: bool
    time_ns: int | None


def object_table(object_ids: Sequence[str]) -> pa.Table:
    """Object IDs as a table, with the two parts of the task's ID and the object's index."""
    places = [one[_TASK_DIGITS:] for one in object_ids]
    return pa.table(
        {
            "id": pa.array(object_ids, pa.string()),
            "hi": pa.array([int(one[:16], 16) for one in object_ids], pa.uint64()),
            "lo": pa.array([one[16:_TASK_DIGITS] for one in object_ids], pa.string()),
            "number": pa.array([int.from_bytes(bytes.fromhex(one), "little") for one in places], pa.uint32()),
        }
    )


def makers(file: SessionFile, object_ids: Sequence[str]) -> dict[str, Maker]:
    """The recorded creators of objects, by object ID (hex)."""
    if not object_ids:
        return {}
    with file.reader() as reader:
        reader.register("wanted", object_table(object_ids))
        found = reader.execute(
            f"""
            WITH made AS (
                SELECT w.id, arg_max({function_name("a")}, a.attempt) AS function,
                    max(a.ended_at_ns) AS ended_ns,
                    bool_or(a.type = 'DRIVER_TASK') AS by_driver
                FROM wanted w JOIN attempts a ON {IS_CREATOR} GROUP BY w.id),
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
