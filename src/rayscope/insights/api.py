"""The routes for insights and what-if, which predict by replay what would make a job faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any

import msgspec
from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Session
from rayscope.api.responses import Json, answer, answer_from_record
from rayscope.api.routes import Router
from rayscope.insights import detect, gains, schemas, verdict
from rayscope.insights.finding import Facts
from rayscope.insights.gains import Check
from rayscope.insights.not_recorded import find_missing
from rayscope.insights.replay import read
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.recorded import Recorded
from rayscope.insights.replays import CurrentReplays, Replays
from rayscope.insights.series import series_reader
from rayscope.metrics.service import CurrentMetrics, Metrics
from rayscope.records.reader import SessionReader
from rayscope.storage.interruption import current_work
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id
from rayscope.views.critical_path import compute
from rayscope.views.critical_path.read import (
    describe_causes,
    is_driver,
    ns_by_task,
    read_path,
    read_shared_path,
)
from rayscope.views.critical_path.sql import Extent

JobId = Annotated[
    str | None, Query(max_length=200, description="Job ID (default: the longest one that ran tasks).")
]

Long = Annotated[
    bool,
    Query(
        description="Replay also a job of more than 100,000 attempts, which takes a minute or more. "
        "`GET /api/v1/insights/progress` reports its progress."
    ),
]

router = Router()


def _check(_: float) -> None:
    """Raise Abandoned if nobody is waiting for the answer any more."""
    work = current_work()
    if work is not None:
        work.check()


def _record(
    session: str, file: SessionFile, job_id: str, attempts: int, until_ns: int
) -> tuple[schemas.JobAnswer, Recorded | None]:
    """The fields common to both answers, and the job's record, or None if it is too large to read."""
    recorded = read.read(file, job_id, until_ns) if attempts <= gains.MAX_READ else None
    if recorded is None:
        begin_ns, end_ns, has_ended = read.extent(file, job_id, until_ns)
    else:
        (begin_ns, end_ns), has_ended = recorded.extent_ns, recorded.has_ended
    about: schemas.JobAnswer = {
        "session": session,
        "job_id": job_id,
        "attempts": attempts,
        "so_far": not has_ended,
        "end_ns": end_ns,
        "calibration": {
            "recorded_ns": end_ns - begin_ns,
            "replayed_ns": None,
            "error": None,
            "ray_ns": None,
        },
        "withheld": None,
    }
    _check(0.0)
    return about, recorded


@contextmanager
def _replaying(
    records: SessionReader,
    replays: Replays,
    session: str,
    file: SessionFile,
    job: str | None,
    *,
    long: bool,
    max_replays: int | None,
) -> Iterator[tuple[schemas.JobAnswer, Recorded | None, Check]]:
    """Yields the results of :func:`_record` and the function that the job's replays call to report progress,
    once the server's limits allow these replays.

    ``max_replays``: the maximum number of replays that the answer needs; None for as many as insights need.
    Raises Busy.
    """
    last_ns = records.last_ns(session)
    job_id, attempts = read.find_job(file, find_id(file, "job", job) if job else None, last_ns)
    with ExitStack() as stack:
        check: Check = _check
        if gains.MAX_ATTEMPTS < attempts <= gains.MAX_READ and long:
            total = max_replays or gains.replays(attempts)
            check = stack.enter_context(replays.waiting_turn(session, job_id, total, _check))
        stack.enter_context(replays.slots.take(lambda: _check(0.0)))
        until_ns = last_ns if records.is_live(session) else 0
        yield *_record(session, file, job_id, attempts, until_ns), check


def _baseline(
    about: schemas.JobAnswer, recorded: Recorded | None, check: Check, *, long: bool
) -> gains.Baseline | None:
    """The replay of the unchanged record, or None if the record is too large to replay. Adds the calibration,
    and the reason if predictions are withheld, to ``about``.
    """
    if recorded is None or (about["attempts"] > gains.MAX_ATTEMPTS and not long):
        about["withheld"] = gains.too_large(about["attempts"])
        return None
    base = gains.baseline(recorded, check)
    about["calibration"] = base.calibration
    about["withheld"] = base.withheld
    return base


def insights_finder(
    records: SessionReader,
    metrics: Metrics,
    replays: Replays,
    chosen: str,
    job_id: str | None,
    *,
    long: bool = False,
) -> Callable[[SessionFile], schemas.InsightsAnswer]:
    """Return the function that finds what would make a job faster in the record of the session ``chosen``."""
    losses = records.dropped(chosen)

    def find(file: SessionFile) -> schemas.InsightsAnswer:
        with _replaying(records, replays, chosen, file, job_id, long=long, max_replays=None) as (
            about,
            recorded,
            check,
        ):
            base = _baseline(about, recorded, check, long=long)
            found: schemas.InsightsAnswer = {
                **about,
                "utilisation": None,
                "functions": [],
                "functions_total": 0,
                "options": [],
                "findings": [],
                "silent": [],
                "not_recorded": find_missing(recorded, losses) if recorded is not None else [],
                "verdict": None,
                "causes": [],
            }
            methods: set[str] = set()
            path = _path(records, chosen, file, about["job_id"], recorded)
            if recorded is not None:
                facts = Facts(recorded, series_reader(metrics, chosen, recorded), ns_by_task(path))
                methods = facts.methods
                found["findings"], found["silent"] = detect.detect(facts, base, detect.load(), check)
                if base is not None and base.withheld is None:
                    found["utilisation"] = gains.utilisation(base.programs, base.replayed)
                    found["functions"], found["functions_total"], found["options"] = gains.gains(
                        base, check, facts.origin
                    )
            _judge(file, path, found, methods)
        return found

    return find


@router.get("/api/v1/insights")
def insights(
    records: CurrentRecords,
    metrics: CurrentMetrics,
    replays: CurrentReplays,
    request: Request,
    session: Session = None,
    job_id: JobId = None,
    long: Long = False,
) -> Json[schemas.InsightsAnswer]:
    """Explains what slowed a job down and what to optimize first: the findings of the detectors, and how much
    time the job would save if each function took half as long, or with other changes. Savings are predicted
    by replaying its record.
    """
    chosen = records.resolve(session)
    find = insights_finder(records, metrics, replays, chosen, job_id, long=long)
    return answer_from_record(records, chosen, request, find)


@router.get("/api/v1/insights/progress")
def progress(
    records: CurrentRecords, replays: CurrentReplays, job_id: JobId = None, session: Session = None
) -> Json[schemas.ProgressAnswer]:
    """Progress of a long-running request to `GET /api/v1/insights` or `POST /api/v1/what-if`."""
    chosen = records.resolve(session)
    return answer({"share": replays.share(chosen, job_id or "")})


def _path(
    records: SessionReader, session: str, file: SessionFile, job_id: str, recorded: Recorded | None
) -> compute.Path:
    """The critical path. If the job's record was read, the path covers the same time as the record."""
    if recorded is None:
        return read_shared_path(records, session, file, job_id).path
    extent = Extent(recorded.has_ended, *recorded.extent_ns)
    return read_path(file, extent.end_ns, job_id, live=records.is_live(session), extent=extent).path


def _judge(file: SessionFile, path: compute.Path, result: schemas.InsightsAnswer, methods: set[str]) -> None:
    """Add the causes of the job's duration, and the verdict, to ``result``."""
    causes, whole = compute.causes(path, is_driver), path.end_ns - path.begin_ns
    result["causes"] = [
        {**item, "text": verdict.explain(cause, whole, so_far=result["so_far"])}
        for item, cause in zip(describe_causes(file, path, causes), causes, strict=False)
    ]
    result["verdict"] = verdict.judge(
        whole,
        causes,
        methods,
        result["findings"],
        result["functions"],
        result["options"],
        {item["name"]: item["actor"] for item in result["causes"] if item["actor"]},
        so_far=result["so_far"],
    )


@router.post("/api/v1/what-if")
def whatif(
    records: CurrentRecords, replays: CurrentReplays, body: schemas.WhatIfBody
) -> Json[schemas.WhatIfAnswer]:
    """How long a job would have taken with some changes, predicted by replaying its record with them."""
    chosen = records.resolve(body.session)

    def find(file: SessionFile) -> schemas.WhatIfAnswer:
        max_replays = gains.BASELINE_REPLAYS + 1
        with _replaying(records, replays, chosen, file, body.job_id, long=True, max_replays=max_replays) as (
            about,
            recorded,
            check,
        ):
            baseline_ns = about["calibration"]["recorded_ns"]
            base = _baseline(about, recorded, check, long=True)
            found: schemas.WhatIfAnswer = {
                **about,
                "predicted_ns": None,
                "saving_ns": None,
                "saving_low_ns": None,
                "saving_high_ns": None,
                "speedup": None,
                "utilisation_before": None,
                "utilisation": None,
                "baseline_ns": baseline_ns,
                "path": [],
                "functions": [],
            }
            if base is not None and base.withheld is None:
                _predict(base, [_change(item) for item in body.changes], found, check)
        return found

    question = f"/api/v1/what-if {body.model_dump_json(exclude={'session'})}"
    encoded, age_s = records.read_with_age(chosen, question, lambda file: msgspec.json.encode(find(file)))
    return Json(encoded, headers={"Age": str(int(age_s))})


def _change(item: schemas.Changes) -> Change:
    fields: dict[str, Any] = {**item}
    name = fields.get("function") or fields.get("class_name", "").rpartition("<locals>.")[2]
    amount = next((fields[key] for key in ("times", "count", "num_cpus", "size") if key in fields), 0)
    return Change(fields["kind"], name, float(amount))


def _predict(base: gains.Baseline, changes: list[Change], result: schemas.WhatIfAnswer, check: Check) -> None:
    """Replay the changed programs and add the prediction to ``result``."""
    programs, replayed = gains.predict(base, changes, check)
    if replayed.is_stuck:
        message = "With these changes the replay came to a point where everything waits for something."
        result["withheld"] = {"code": "stuck", "message": message}
        return
    predicted = gains.scaled(base, replayed.duration_ns)
    saving = base.saving_fields(base.recorded_ns - predicted)
    path, functions = gains.path_of(base, programs, replayed)
    result |= {
        "predicted_ns": predicted,
        "saving_ns": saving["saving_ns"],
        "saving_low_ns": saving["saving_low_ns"],
        "saving_high_ns": saving["saving_high_ns"],
        "speedup": base.recorded_ns / max(1, predicted),
        "utilisation_before": gains.utilisation(base.programs, base.replayed),
        "utilisation": gains.utilisation(programs, replayed),
        "path": path,
        "functions": functions,
    }
