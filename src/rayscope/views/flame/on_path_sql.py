"""How much of the critical path's time was spent on each call path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rayscope.storage.rows import split_id
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import called_name
from rayscope.views.critical_path.compute import Path
from rayscope.views.critical_path.read import is_driver, ns_by_task
from rayscope.views.flame.compute import ROOT, Own

_CALL_PATHS = f"""
WITH wanted AS (
    SELECT unnest($high::UBIGINT[]) AS task_hi, unnest($low::VARCHAR[]) AS task_lo,
        unnest($ns::BIGINT[]) AS ns)
SELECT path_id::VARCHAR, CASE WHEN path_id IS NULL THEN name END, sum(ns)::BIGINT
FROM (
    SELECT task_hi, task_lo, any_value(ns) AS ns, any_value(path_id) AS path_id,
        any_value({called_name("attempts")}) AS name
    FROM wanted LEFT JOIN attempts USING (task_hi, task_lo) GROUP BY task_hi, task_lo)
GROUP BY ALL
"""


def add_critical_path(file: SessionFile, rows: Sequence[Own], path: Path) -> list[Own]:
    """Add the time on a critical path to each row.

    The result has additional rows for the driver and for unknown time, so that the times add up to the job's
    duration.
    """
    share: dict[tuple[str | None, str | None], int] = defaultdict(int)
    tasks: list[tuple[int | None, str | None, int]] = []
    for task_id, ns in ns_by_task(path).items():
        if not task_id:
            share[None, None] += ns
        elif is_driver(task_id):
            share[ROOT, None] += ns
        else:
            tasks.append((*split_id(task_id), ns))
    if tasks:
        high, low, ns_of = (list(column) for column in zip(*tasks, strict=True))
        with file.reader() as reader:
            found = reader.execute(_CALL_PATHS, {"high": high, "low": low, "ns": ns_of}).fetchall()
        for call_path, name, ns in found:
            share[call_path, name] += ns
    added = [row._replace(path_ns=share.pop((row.path, row.name), 0)) for row in rows]
    return added + [Own(path, name, path_ns=ns) for (path, name), ns in share.items()]
