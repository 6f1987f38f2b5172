"""The route for workers that crashed."""

from __future__ import annotations

from typing import cast

from rayscope.api.parameters import CurrentRecords, Limit, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.crashes import schemas, sql
from rayscope.cluster.crashes.compute import Facts, Harm, harm_of
from rayscope.cluster.deaths.find import find_deaths
from rayscope.cluster.deaths.schemas import Subject
from rayscope.cluster.logs.crash_reports import LoggedCrash, last_lines, logged_crashes
from rayscope.cluster.logs.files import CurrentLogs, Logs
from rayscope.model.program import script_name
from rayscope.storage.sql.pages import Row, fields_of

router = Router()

_MAX_ITEMS = 100
_COUNTED = (
    *("worker_type", "exit_type", "job_had_ended", "attempts", "lost_attempts", "lost_calls"),
    *("failed_elsewhere", "lost_with_driver"),
)


@router.get("/api/v1/crashes")
def crashes(
    records: CurrentRecords, logs: CurrentLogs, session: Session = None, limit: Limit = 20
) -> Json[schemas.CrashesAnswer]:
    """Workers that crashed, newest first: what each did, the harm of the crash, and the worker's last log
    lines.
    """
    chosen = records.resolve(session)
    logged = logged_crashes(logs, chosen)
    (rows, workers), _ = records.read_with_age(
        chosen,
        f"/api/v1/crashes {hash(frozenset(logged))}",
        lambda file: sql.crashed_workers(file, logged),
    )
    harms = [harm_of(_facts(row)) for row in rows]
    shown = rows[: min(limit, _MAX_ITEMS)]
    subjects: list[tuple[Subject, str]] = [("worker", row["worker_id"]) for row in shown]
    deaths = records.read(chosen, lambda file: find_deaths(file, logs, chosen, subjects))
    total = rows[0]["crashes"] if rows else 0
    return answer(
        {
            "session": chosen,
            "workers": workers,
            "total": total,
            "harmed": sum(harm.harm == "harmed" for harm in harms),
            "unknown": sum(harm.harm == "unknown" for harm in harms) + total - len(rows),
            "in_race": sum(
                logged[row["worker_id"]].report.is_race for row in rows if row["worker_id"] in logged
            ),
            "left_out": total - len(shown),
            "items": [
                {
                    **_item(logs, chosen, row, harm, logged.get(row["worker_id"])),
                    "death": deaths.get(("worker", row["worker_id"])),
                }
                for row, harm in zip(shown, harms, strict=False)
            ],
        }
    )


def _facts(row: Row) -> Facts:
    return Facts(
        **{name: row[name] for name in _COUNTED},
        actors=tuple(row["actors"]),
        owned=row["owned"] if row["traced"] else row["owned"] or None,
    )


def _item(logs: Logs, session: str, row: Row, harm: Harm, crash: LoggedCrash | None) -> schemas.CrashedWorker:
    report = crash.report if crash else None
    item = {
        **fields_of(row, schemas.CrashedWorker),
        "script": script_name(row["entrypoint"]) if row["entrypoint"] else None,
        "signal": report.signal if report else None,
        "reason": report.reason if report else None,
        "is_race": report is not None and report.is_race,
        "harm": harm._asdict(),
        "file": crash.name if crash else None,
        "offset": report.begin if report else None,
        "lines": last_lines(logs, session, row, crash),
    }
    return cast(schemas.CrashedWorker, item)
