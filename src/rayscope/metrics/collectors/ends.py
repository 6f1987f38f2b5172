"""Counters of the metrics: attempts of each function that have ended, and how; restarts of actors."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import FUNCTION, NOT_DRIVER
from rayscope.storage.sql.library_stops import count_stopped


class FunctionEnds(NamedTuple):
    """A function's attempts that have ended."""

    func_name: str
    finished: int
    failed: int


def function_ends(file: SessionFile, limit: int) -> tuple[list[FunctionEnds], int]:
    """The functions with the most attempts, and how many more there are."""
    with file.reader() as reader:
        found = reader.execute(
            f"""
            SELECT {FUNCTION} AS function, count(*) FILTER (state = 'FINISHED'),
                count(*) FILTER (state = 'FAILED'), count(*) OVER ()
            FROM attempts WHERE func_name IS NOT NULL AND {NOT_DRIVER}
            GROUP BY function ORDER BY count(*) DESC, function LIMIT {int(limit)}
            """
        ).fetchall()
    others = found[0][3] - len(found) if found else 0
    return [FunctionEnds(name, finished, failed) for name, finished, failed, _ in found], others


def stopped_internals(file: SessionFile) -> int:
    """How many of the failed attempts are those that a library stopped on purpose."""
    with file.reader() as reader:
        return count_stopped(reader)


class ClassRestarts(NamedTuple):
    """How often the actors of a class were restarted, all together."""

    class_name: str
    restarts: int


def class_restarts(file: SessionFile, limit: int) -> tuple[list[ClassRestarts], int]:
    """The classes whose actors were restarted most often, then the others; and how many more there are."""
    with file.reader() as reader:
        found = reader.execute(
            f"""
            SELECT class_name, sum(coalesce(num_restarts, 0))::BIGINT AS restarts, count(*) OVER ()
            FROM actor_rows WHERE class_name IS NOT NULL
            GROUP BY class_name ORDER BY restarts DESC, class_name LIMIT {int(limit)}
            """
        ).fetchall()
    others = found[0][2] - len(found) if found else 0
    return [ClassRestarts(name, restarts) for name, restarts, _ in found], others
