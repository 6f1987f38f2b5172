"""Counters: ended attempts by function and outcome, restarts of actors, and platform events."""

from __future__ import annotations

from typing import NamedTuple

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import FUNCTION, NOT_DRIVER
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.library_stops import count_stopped
from rayscope.storage.sql.platform_events import WHAT


class FunctionEnds(NamedTuple):
    """A function's ended attempts."""

    func_name: str
    finished: int
    failed: int


def function_ends(file: SessionFile, limit: int) -> tuple[list[FunctionEnds], int]:
    """The functions with the most attempts, and the number of others."""
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
    """Number of failed attempts that a library stopped on purpose."""
    with file.reader() as reader:
        return count_stopped(reader)


class ClassRestarts(NamedTuple):
    """Number of restarts of all actors of a class."""

    class_name: str
    restarts: int


def class_restarts(file: SessionFile, limit: int) -> tuple[list[ClassRestarts], int]:
    """The classes with the most restarts, and the number of classes beyond ``limit``."""
    with file.reader() as reader:
        found = reader.execute(
            f"""
            SELECT class_name, sum(coalesce(num_restarts, 0))::BIGINT AS restarts, count(*) OVER ()
            FROM actor_rows WHERE class_name IS NOT NULL AND NOT {IS_INTERNAL["actor"]}
            GROUP BY class_name ORDER BY restarts DESC, class_name LIMIT {int(limit)}
            """
        ).fetchall()
    others = found[0][2] - len(found) if found else 0
    return [ClassRestarts(name, restarts) for name, restarts, _ in found], others


def platform_events(file: SessionFile, limit: int) -> tuple[dict[str, int], int]:
    """The most frequent platform events with their number, and the number of others."""
    with file.reader() as reader:
        found = reader.execute(
            f"""
            SELECT {WHAT} AS event, sum(count)::BIGINT AS number, count(*) OVER ()
            FROM platform_event_rows WHERE reason IS NOT NULL
            GROUP BY event ORDER BY number DESC, event LIMIT {int(limit)}
            """
        ).fetchall()
    others = found[0][2] - len(found) if found else 0
    return {event: number for event, number, _ in found}, others
