"""Which objects moved, who waited for whom, and where time went: of one task, and by function."""

from __future__ import annotations

from typing import Any

import duckdb

from rayscope.store import flow_sql
from rayscope.store.flow_sql import NOT_DRIVER, SCHEDULING_PHASES
from rayscope.store.paths import DRIVER_PREFIX
from rayscope.store.query.pages import Row, rows_of
from rayscope.store.schema import SHOWN_NAME
from rayscope.store.session_file import SessionFile

_TOP = 100


def of_task(reader: duckdb.DuckDBPyConnection, high: int, low: str) -> dict[str, Any]:
    """A task's ``data_in`` and ``data_out`` (the largest objects and how many there are), annotations, and
    the scheduling phases (ns) of each attempt.
    """
    task_id = f"{high:016x}{low}"
    found = rows_of(
        reader.execute(
            f"SELECT * FROM ({flow_sql.EDGES_NEAR_TASK}) "
            "WHERE producer_task_id = $task OR consumer_task_id = $task "
            "ORDER BY bytes DESC NULLS LAST, object_id, kind",
            {"high": high, "low": low, "task": task_id},
        )
    )
    ins = [row for row in found if row["consumer_task_id"] == task_id and row["kind"] in ("argument", "get")]
    outs = [row for row in found if row["producer_task_id"] == task_id]
    _name(reader, ins[:_TOP] + outs[:_TOP])
    notes = rows_of(
        reader.execute(
            "SELECT attempt, kind, name, value, number, time_ns FROM annotation_rows "
            "WHERE task_hi = ? AND task_lo = ? ORDER BY time_ns DESC LIMIT 1000",
            [high, low],
        )
    )
    lasted = rows_of(
        reader.execute(
            f"SELECT * FROM ({flow_sql.phases('task_hi = $high AND task_lo = $low')}) ORDER BY attempt",
            {"high": high, "low": low},
        )
    )
    return {
        "data_in": ins[:_TOP],
        "data_in_total": len(ins),
        "data_in_bytes": sum(row["bytes"] or 0 for row in ins if not row["nested"]),
        "data_out": outs[:_TOP],
        "data_out_total": len(outs),
        "data_out_bytes": sum({row["object_id"]: row["bytes"] or 0 for row in outs}.values()),
        "annotations": notes[::-1],
        "scheduling": lasted,
    }


def _name(reader: duckdb.DuckDBPyConnection, edges: list[Row]) -> None:
    """Add ``producer_name`` and ``consumer_name``."""
    ids = {row[end] for row in edges for end in ("producer_task_id", "consumer_task_id") if row[end]}
    named = dict(
        reader.execute(
            f"SELECT {flow_sql.TASK_ID} AS id, any_value({SHOWN_NAME}) FROM attempts "
            "WHERE task_hi IN (SELECT unnest(?::UBIGINT[])) GROUP BY id",
            [[int(task_id[:16], 16) for task_id in ids]],
        ).fetchall()
    )
    for row in edges:
        for end in ("producer", "consumer"):
            task_id = row[f"{end}_task_id"] or ""
            driver = "driver" if task_id.startswith(DRIVER_PREFIX) else None
            row[f"{end}_name"] = named.get(task_id) or driver


def scheduling(file: SessionFile, job_id: str | None = None, limit: int = 200) -> list[Row]:
    """By function: attempts, the sums of their phases (ns), and how many ran where they were submitted.

    ``local`` and ``spilled`` count those of which both nodes are known.
    """
    sums = ", ".join(f"sum({phase}_ns)::BIGINT AS {phase}_ns" for phase in SCHEDULING_PHASES)
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"SELECT func_name, any_value(type) AS type, count(*) AS attempts, {sums}, "
                "sum(total_ns)::BIGINT AS total_ns, count(*) FILTER (is_local) AS local, "
                "count(*) FILTER (NOT is_local) AS spilled "
                f"FROM ({flow_sql.phases(NOT_DRIVER + (' AND job_id = $job' if job_id else ''))}) "
                "WHERE func_name IS NOT NULL GROUP BY func_name ORDER BY total_ns DESC, func_name "
                f"LIMIT {int(limit)}",
                {"job": job_id} if job_id else {},
            )
        )


def tracing(file: SessionFile) -> Row:
    """Of the workers that ran tasks: how many are traced, how many not, and what some said besides."""
    with file.reader() as reader:
        found = reader.execute(
            "SELECT count(*) FILTER (tracer LIKE 'on%'), count(*) FILTER (tracer IS NULL) FROM worker_rows "
            f"WHERE id IN (SELECT DISTINCT worker_id FROM attempts WHERE {NOT_DRIVER})"
        ).fetchone()
        said = reader.execute(
            "SELECT tracer, count(*) FROM worker_rows WHERE tracer IS NOT NULL AND tracer != 'on' "
            "GROUP BY tracer ORDER BY count(*) DESC LIMIT 10"
        ).fetchall()
        summed = reader.execute(
            "SELECT coalesce(sum(TRY_CAST(json_extract(extra, '$.calls') AS BIGINT)), 0)::BIGINT "
            "FROM span_rows WHERE extra LIKE '%\"calls\"%'"
        ).fetchone()
    traced, untraced = found or (0, 0)
    return {
        "traced": traced,
        "untraced": untraced,
        "said": [{"text": text, "workers": count} for text, count in said],
        "summed_calls": summed[0] if summed else 0,
    }
