"""Lanes of the Gantt chart by call path, folded below a number of levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import duckdb

from rayscope.storage.errors import BadQuery
from rayscope.storage.sql.pages import Row

#: Maximum number of distinct call paths. With more, lanes by call path are refused.
MAX_PATHS = 200_000
MAX_LEVELS = 30
#: SQL for an attempt's lane ('' if it has no call path), and for the order of lanes. Both need the table of
#: :func:`prepare`.
LANE = "coalesce((SELECT p.in_lane FROM path_lanes p WHERE p.path_id = attempts.path_id), '')"
ORDER = "(SELECT p.rank FROM path_lanes p WHERE p.path_id = TRY_CAST(lane AS BIGINT)) NULLS LAST, lane"


class CallLane(NamedTuple):
    """The lane of a call path.

    Attributes:
        lane: ID of the path that the lane shows.
        rank: position among all paths, callers before callees.
        name: the lane's name.
        depth: number of calls from the driver, 1 if called by a driver.
    """

    lane: int
    rank: int
    name: str
    depth: int


def call_lanes(paths: Iterable[tuple[int, int, str]], levels: int) -> dict[int, CallLane]:
    """Call path -> its lane. A path has its own lane down to ``levels``, and below that its caller's lane.

    ``paths``: (ID, caller's ID, name). Paths with the same caller are ordered by name.
    """
    known = {path: (parent, name) for path, parent, name in paths}
    below: dict[int | None, list[int]] = defaultdict(list)
    for path, (parent, _) in known.items():
        below[parent if parent in known else None].append(path)
    for called in below.values():
        called.sort(key=lambda path: (known[path][1], path), reverse=True)
    lanes: dict[int, CallLane] = {}
    todo = [(path, 1) for path in below[None]]
    while todo:
        path, depth = todo.pop()
        parent, name = known[path]
        lanes[path] = CallLane(path, len(lanes), name, depth) if depth <= levels else lanes[parent]
        todo.extend((called, depth + 1) for called in below.get(path, ()))
    return lanes


def prepare(reader: duckdb.DuckDBPyConnection, levels: int) -> dict[str, CallLane]:
    """Create the table that :data:`LANE` and :data:`ORDER` read. Returns the lanes by ID.

    Raises BadQuery if there are too many call paths.
    """
    paths = reader.execute(
        f"SELECT path_id, parent_path_id, name FROM paths LIMIT {MAX_PATHS + 1}"
    ).fetchall()
    if len(paths) > MAX_PATHS:
        raise BadQuery(
            f"There are more than {MAX_PATHS} different call paths.",
            "Choose lanes by function instead.",
            what="lane_paths",
            limit=MAX_PATHS,
        )
    lanes = call_lanes(paths, levels)
    reader.execute(
        "CREATE TEMP TABLE path_lanes AS SELECT unnest(?::BIGINT[]) AS path_id, "
        "unnest(?::VARCHAR[]) AS in_lane, unnest(?::INTEGER[]) AS rank",
        [list(lanes), [str(one.lane) for one in lanes.values()], [one.rank for one in lanes.values()]],
    )
    return {str(path): one for path, one in lanes.items() if one.lane == path}


def label(rows: Iterable[Row], lanes: Mapping[str, CallLane]) -> None:
    """Add ``depth`` and ``label`` to the rows of lanes by call path. The column ``lane`` contains the lane's
    ID.
    """
    for row in rows:
        call = lanes.get(row["lane"])
        row["depth"] = call.depth if call else None
        if call:
            row["label"] = call.name
