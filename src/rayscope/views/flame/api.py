"""The flame graph: where time went, by call path."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, cast

import msgspec
from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Filters, Nanoseconds, Session, Text
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.records.rollups import Make, Rollups
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.filters import TaskFilters
from rayscope.storage.sql.origins import operators
from rayscope.views.critical_path.read import read_shared_path
from rayscope.views.flame import sql
from rayscope.views.flame.compute import WEIGHTS, Folded, Own, Path, flame, fold_libraries, sandwich
from rayscope.views.flame.on_path_sql import add_critical_path
from rayscope.views.flame.schemas import (
    FlameAnswer,
    FlameFrame,
    FlameTree,
    FoldedLibrary,
    SandwichAnswer,
    Weight,
)

router = Router()
_ROLLUP = msgspec.json.Decoder(sql.PathSums)
ROLLUPS: dict[str, Make] = {
    "flame": lambda file, last_ns: sql.path_sums(file, TaskFilters(), last_ns=last_ns, with_peaks=True)
}


@router.get(
    "/api/v1/flow/flame",
)
def flow_flame(
    records: CurrentRecords,
    rollups: Annotated[Rollups, provide(Rollups)],
    request: Request,
    filters: Filters,
    session: Session = None,
    weight: Annotated[str, Query(max_length=60, description=f"One of {', '.join(WEIGHTS)}")] = "executing",
    focus: Annotated[str | None, Query(max_length=2000, description="The id of a frame")] = None,
    of: Text = None,
    baseline_job_id: Text = None,
    baseline_since_ns: Nanoseconds = None,
    baseline_until_ns: Nanoseconds = None,
    baseline_rest: bool = False,
) -> Json[FlameAnswer | SandwichAnswer]:
    """Return sums over attempts as a tree of call paths, or with ``of`` a function's callers and callees.

    With ``only=mine``, consecutive calls of a library's operator are one frame. The weight ``critical_path``
    covers one job: ``job_id``, or else the longest one.
    """
    if weight not in WEIGHTS:
        raise BadQuery(f"Unknown weight {weight!r}.", f"One of: {', '.join(WEIGHTS)}.")
    is_folded, filters = filters.only is not None, filters.with_libraries()
    baseline = _baseline(baseline_job_id, baseline_since_ns, baseline_until_ns)
    if baseline_rest:
        if baseline:
            raise BadQuery(
                "baseline_rest cannot be combined with another baseline.", "Use only one baseline."
            )
        baseline = _rest(filters)
    _check(filters, baseline, weight=weight, focus=focus, of=of)
    chosen = records.resolve(session)

    def read_sums(file: SessionFile) -> _Sums:
        above = [] if focus is None else sql.paths_to(file, focus)
        last_ns = records.last_ns(chosen)
        sums = None
        if not filters.active() and not baseline:
            sums = rollups.read(file, chosen, "flame", _ROLLUP)
        if sums is None:
            sums = sql.path_sums(
                file, filters, last_ns=last_ns, baseline=baseline, with_peaks=weight == "memory_time"
            )
        rows = [Own(*row) for row in sums.rows]
        before = None if sums.baseline is None else [Own(*row) for row in sums.baseline]
        path_job = None
        if weight == "critical_path":
            on_path = read_shared_path(records, chosen, file, filters.job_id)
            rows, path_job = add_critical_path(file, rows, on_path.path), on_path.job_id
        paths = [Path(*path) for path in {*sums.paths, *above}]
        if not is_folded:
            return _Sums(Folded(rows, before, paths, {}, {}), path_job)
        with file.reader() as reader:
            return _Sums(fold_libraries(rows, before, paths, operators(reader)), path_job)

    def find(file: SessionFile) -> FlameAnswer | SandwichAnswer:
        sums = read_sums(file)
        return _sandwich(chosen, weight, of, sums) if of else _flame(chosen, weight, focus, sums)

    return answer_from_record(records, chosen, request, find)


class _Sums(NamedTuple):
    """Sums by call path, and the ID of the job whose critical path they include, if any."""

    folded: Folded
    path_job: str | None

    @property
    def libraries(self) -> list[FoldedLibrary]:
        """The libraries, each with its number of functions, in the format of the response."""
        return [{"library": name, "functions": count} for name, count in self.folded.functions.items()]


def _check(
    filters: TaskFilters, baseline: list[dict[str, Any]], *, weight: str, focus: str | None, of: str | None
) -> None:
    """Raise BadQuery if the parameters cannot be combined."""
    if of and (focus or baseline):
        raise BadQuery(
            "`of` cannot be combined with `focus` or a baseline.", "Use separate requests.", what="flame_diff"
        )
    if weight == "critical_path" and (baseline or filters.active().keys() - {"job_id"}):
        raise BadQuery(
            "The critical path is of a whole job, not of a part of it.",
            "Filter by job_id alone, or use another weight.",
            what="flame_path",
        )


def _sandwich(session: str, weight: Weight, of: str, sums: _Sums) -> SandwichAnswer:
    around = sandwich(sums.folded.rows, sums.folded.paths, of, weight)
    return {
        "session": session,
        "weight": weight,
        "of": of,
        "own": around.own,
        "value": around.value,
        "attempts": around.attempts,
        "total": around.total,
        "levels": around.levels,
        # Structs are encoded like dicts, so a copy, which would take time and memory, is not needed.
        "callers": cast(FlameTree, around.callers),
        "callees": cast(FlameTree, around.callees),
        "libraries": sums.libraries,
    }


def _flame(session: str, weight: Weight, focus: str | None, sums: _Sums) -> FlameAnswer:
    rows, before, paths, into, _ = sums.folded
    shown = None if focus is None else into.get(focus, focus)
    graph = flame(rows, paths, weight, baseline=before, focus=shown)
    if graph is None:
        raise NotFound(
            f"Frame {(focus or '')[:80]!r} not found in this session.",
            "/api/v1/flow/flame lists the frames.",
            what="frame",
            id=(focus or "")[:80],
        )
    return {
        "session": session,
        "weight": weight,
        "path_job_id": sums.path_job,
        "total": graph.total,
        "attempts": graph.attempts,
        "baseline_total": graph.baseline_total,
        "focus": shown,
        "ancestors": cast(list[FlameFrame], graph.ancestors),
        "frames": cast(list[FlameFrame], graph.tree.frames),
        "frames_total": graph.tree.frames_total,
        "folded": graph.tree.folded,
        "libraries": sums.libraries,
    }


def _rest(filters: TaskFilters) -> list[dict[str, Any]]:
    """Return the time ranges before and after that of the filters. Raises BadQuery if they have no range."""
    since, until = filters.since_ns, filters.until_ns
    found = []
    if since is not None:
        found.append({"since_ns": None, "until_ns": since})
    if until is not None:
        found.append({"since_ns": until, "until_ns": None})
    if not found:
        raise BadQuery("baseline_rest needs a time range.", "Give since_ns, until_ns or both.")
    return found


def _baseline(job: str | None, since_ns: int | None, until_ns: int | None) -> list[dict[str, Any]]:
    """Return the changes that the baseline makes to the filters, or an empty list without a baseline."""
    found: dict[str, Any] = {}
    if job:
        found["job_id"] = job
    if since_ns is not None or until_ns is not None:
        found |= {"since_ns": since_ns, "until_ns": until_ns}
    return [found] if found else []
