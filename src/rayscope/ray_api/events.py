"""Events in the form of Ray's dashboard."""

from __future__ import annotations

from typing import Any

from rayscope.cluster.events.sql import EVENTS, MESSAGE_CHARS
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.pages import Where, rows_of

#: Maximum number of events in an answer, the newest: as many as Ray keeps of a job.
_MAX_EVENTS = 10_000
#: The job of events that belong to none, as Ray names it.
_GLOBAL = "global"


def read_events(file: SessionFile, job_id: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """The newest events by job, each in the order of time. With ``job_id``, only those of a job."""
    where = Where(["time_ns IS NOT NULL"], [])
    if job_id is not None:
        where.add(f"coalesce(job_id, '{_GLOBAL}') = ?", job_id)
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                f"SELECT * REPLACE (left(message, {MESSAGE_CHARS}) AS message) FROM ({EVENTS}){where.sql} "
                f"ORDER BY time_ns DESC, kind, event, id LIMIT {_MAX_EVENTS}",
                where.values,
            )
        )
    by_job: dict[str, list[dict[str, Any]]] = {}
    for row in reversed(rows):
        message = ": ".join(text for text in (row["title"], row["message"]) if text)
        by_job.setdefault(row["job_id"] or _GLOBAL, []).append(
            {
                "eventId": f"{row['kind']}:{row['id']}:{row['time_ns']}",
                "severity": row["severity"],
                "sourceType": row["kind"].upper(),
                "label": row["event"],
                "message": message,
                "timestamp": row["time_ns"] // 10**9,
                "customFields": {"jobId": row["job_id"], "nodeId": row["node_id"], "count": row["count"]},
            }
        )
    return by_job


def read_platform_events(file: SessionFile) -> list[dict[str, Any]]:
    """The newest platform events, newest first."""
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                "SELECT *, strftime(make_timestamp_ns(coalesce(last_ns, start_ns)), '%Y-%m-%dT%H:%M:%S.%fZ') "
                "AS timestamp FROM platform_event_rows ORDER BY coalesce(last_ns, start_ns) DESC, id "
                f"LIMIT {_MAX_EVENTS}"
            )
        )
    return [
        {
            "eventId": row["id"],
            "severity": row["severity"],
            "timestamp": row["timestamp"],
            "message": row["message"] or "",
            "platformEvent": {
                "source": {
                    "platform": "KUBERNETES",
                    "component": row["component"] or "",
                    "metadata": {"namespace": row["namespace"] or ""},
                },
                "objectKind": row["object_kind"] or "",
                "objectName": row["object_name"] or "",
                "reason": row["reason"] or "",
                "message": row["message"] or "",
            },
        }
        for row in rows
    ]
