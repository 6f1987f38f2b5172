"""Routes for runs: the list, one run, the trend of a group, and the operator's marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from fastapi import Query

from rayscope.api.parameters import CurrentCatalog, Cursor, Limit, Nanoseconds, Sort, Text
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.cluster.sessions.api import clean_tags
from rayscope.model.program import program_name
from rayscope.runs import schemas
from rayscope.runs.judge import Change, Judgment, counted, function_series, groups, series_of
from rayscope.runs.service import CurrentRuns, Runs
from rayscope.runs.summary import Marks, Run
from rayscope.runs.usual import Usual
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound
from rayscope.storage.sql.pages import decode_cursor, direction_of, encode_cursor

#: Field -> the values by which the list is sorted. Unknown values come first in ascending order.
_SORTS: Mapping[str, Callable[[Run], Any]] = {
    "begin_ns": lambda run: run.begin_ns,
    "duration_ns": lambda run: _sortable(run.summary.duration_ns),
    "tasks": lambda run: run.summary.tasks,
    "failed": lambda run: run.summary.failed,
    "cpu_ns": lambda run: _sortable(run.summary.cpu_ns),
    "gpu_ns": lambda run: _sortable(run.summary.gpu_ns),
    "peak_memory": lambda run: _sortable(run.summary.peak_memory),
    "script": lambda run: run.summary.script,
    "outcome": lambda run: run.summary.outcome,
}
#: Filters for runs without a variant. No variant has this name, because all have an equals sign.
_NO_VARIANT = "none"
_MAX_GROUPS = 200
#: Maximum number of runs in a trend.
_MAX_POINTS = 500

Tag = Annotated[str | None, Query(max_length=500, description="Whole tags, comma-separated: all of them.")]
Variant = Annotated[
    str,
    Query(max_length=1000, description="The tags of the group with an equals sign, comma-separated."),
]

router = Router()


def _sortable(value: int | None) -> int:
    return -1 if value is None else value


@router.get("/api/v1/runs")
def runs(
    catalog: CurrentCatalog,
    service: CurrentRuns,
    script: Text = None,
    variant: Annotated[
        str | None, Query(max_length=1000, description="As in the answer. `none`: without a variant.")
    ] = None,
    tag: Tag = None,
    cluster: Text = None,
    outcome: Text = None,
    verdict: Annotated[Literal["slower", "as_usual", "faster", "unknown"] | None, Query()] = None,
    in_session: Annotated[str | None, Query(max_length=500, description="Ray's name of a session.")] = None,
    q: Text = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
    sort: Sort = "-begin_ns",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Json[schemas.RunPage]:
    """The jobs that have ended, also those of deleted sessions. By default, the newest first.

    Each has a verdict on its duration, against the earlier runs of its script. `since_ns` and `until_ns` are
    about the start. `q` is a part of the command, a tag, the session, the job, the cluster, or the git
    commit, ignoring case.
    """
    name, descending = direction_of(sort, list(_SORTS))
    everything, judged = service.judged()
    tags = {one.strip() for one in tag.split(",")} - {""} if tag else set()
    outcomes = {one.strip().upper() for one in outcome.split(",")} - {""} if outcome else set()
    sought = q.casefold() if q else ""
    matching = [
        run
        for run in everything
        if script in (None, "", run.summary.script)
        and (variant is None or run.group[1] == ("" if variant == _NO_VARIANT else variant))
        and tags <= set(run.tags)
        and cluster in (None, "", run.summary.cluster)
        and (not outcomes or run.summary.outcome in outcomes)
        and verdict in (None, judged[run.key].verdict)
        and in_session in (None, "", run.summary.session)
        and (since_ns is None or run.begin_ns >= since_ns)
        and (until_ns is None or run.begin_ns <= until_ns)
        and sought in _searchable(run)
    ]
    value = _SORTS[name]
    matching.sort(key=lambda run: (value(run), *run.key), reverse=descending)
    page = matching
    if cursor:
        kind = str if name in ("script", "outcome") else int
        last = tuple(decode_cursor(cursor, sort, [kind, str, str])[1:])
        keys = ((value(run), *run.key) for run in matching)
        page = [
            run for run, key in zip(matching, keys, strict=True) if (key < last if descending else key > last)
        ]
    following = None
    if len(page) > limit:
        page = page[:limit]
        following = encode_cursor([sort, value(page[-1]), *page[-1].key])
    return answer(
        {
            "items": [_item(catalog, run, judged[run.key]) for run in page],
            "next": following,
            "total": len(matching),
            "groups": _groups(matching),
            "pending": service.pending(),
        }
    )


def _searchable(run: Run) -> str:
    one = run.summary
    texts = [one.entrypoint, *run.tags, one.session, one.job_id, one.cluster or "", one.git_commit or ""]
    return "\n".join(texts).casefold()


def _groups(matching: Sequence[Run]) -> list[schemas.RunGroup]:
    counts = Counter(run.group for run in matching)
    newest: dict[tuple[str, str], int] = {}
    for run in matching:
        newest[run.group] = max(newest.get(run.group, 0), run.begin_ns)
    ordered = sorted(counts, key=lambda group: (-counts[group], -newest[group], group))[:_MAX_GROUPS]
    return [
        {
            "script": group[0],
            "variant": group[1],
            "runs": counts[group],
            "newest_ns": newest[group] or None,
        }
        for group in ordered
    ]


def _item(catalog: Catalog, run: Run, judgment: Judgment) -> schemas.RunItem:
    one = run.summary
    return {
        "session": one.session,
        "job_id": one.job_id,
        "script": one.script,
        "variant": run.group[1],
        "name": program_name(one.entrypoint),
        "tags": list(run.tags),
        "metadata": one.metadata,
        "baseline": run.marks.is_baseline,
        "left_out": run.marks.is_left_out,
        "cluster": one.cluster,
        "nodes": one.nodes,
        "begin_ns": one.begin_ns,
        "end_ns": one.end_ns,
        "duration_ns": one.duration_ns,
        "outcome": one.outcome,
        "tasks": one.tasks,
        "attempts": one.attempts,
        "failed": one.failed,
        "cpu_ns": one.cpu_ns,
        "gpu_ns": one.gpu_ns,
        "peak_memory": one.peak_memory,
        "ray_version": one.ray_version,
        "git_commit": one.git_commit,
        "traced": one.is_traced,
        "recording": one.recording,
        "dropped": one.dropped,
        "has_record": _has_record(catalog, one.session),
        "verdict": judgment.verdict,
        "reason": judgment.reason,
        "ratio": judgment.ratio,
        "usual": _usual(judgment.usual),
        "comparable": judgment.comparable,
    }


def _has_record(catalog: Catalog, session: str) -> bool:
    try:
        catalog.about(session)
    except NotFound:
        return False
    return True


def _usual(usual: Usual | None) -> schemas.UsualRange | None:
    return None if usual is None else cast(schemas.UsualRange, usual._asdict())


@router.get("/api/v1/runs/trend")
def trend(
    catalog: CurrentCatalog,
    service: CurrentRuns,
    script: Annotated[str, Query(min_length=1, max_length=500, description="The script of the group.")],
    variant: Variant = "",
    function: Annotated[str | None, Query(max_length=1000, description="Its trend instead.")] = None,
    limit: Annotated[int, Query(ge=1, le=_MAX_POINTS, description="The newest runs.")] = 200,
) -> Json[schemas.TrendAnswer]:
    """How long the runs of a group took, what is usual, and since when they are slower or faster."""
    everything, judged = service.judged()
    group = groups(everything).get((script, variant), [])
    if not group:
        raise NotFound(
            f"No run of {script[:80]} is known.",
            "GET /api/v1/runs lists the groups.",
            what="run_group",
            script=script[:80],
        )
    shown = group[-limit:]
    is_counted = counted(shown)
    of_runs = service.store.functions([run.key for run in shown])
    functions = function_series(shown, of_runs, is_counted)
    if function is None:
        series = series_of(shown, [run.summary.duration_ns for run in shown], is_counted)
    else:
        means = [next((one.mean_ns for one in of_run if one.name == function), None) for of_run in of_runs]
        series = series_of(shown, means, is_counted)
    values = dict(zip((run.key for run in shown), series.values, strict=True))
    baseline = next((values[run.key] for run in shown if run.marks.is_baseline), None)
    return answer(
        {
            "script": script,
            "variant": variant,
            "function": function,
            "points": [
                _point(catalog, run, values[run.key], judged[run.key], counts=counts)
                for run, counts in zip(shown, is_counted, strict=True)
            ],
            "runs_left_out": len(group) - len(shown),
            "usual": _usual(series.usual),
            "changes": [_change(catalog, one) for one in series.changes],
            "baseline_ns": baseline,
            "functions": [
                {
                    "name": name,
                    "total_ns": total_ns,
                    "values_ns": one.values,
                    "changes": [_change(catalog, change) for change in one.changes],
                }
                for name, total_ns, one in functions
            ],
        }
    )


def _change(catalog: Catalog, change: Change) -> schemas.TrendChange:
    one, step = change.run.summary, change.step
    return {
        "session": one.session,
        "job_id": one.job_id,
        "has_record": _has_record(catalog, one.session),
        "begin_ns": one.begin_ns,
        "git_commit": one.git_commit,
        "before_ns": round(step.before),
        "after_ns": round(step.after),
        "ratio": step.after / step.before,
        "p": step.p,
    }


def _point(
    catalog: Catalog, run: Run, value_ns: int | None, judgment: Judgment, *, counts: bool
) -> schemas.TrendPoint:
    return {
        "session": run.summary.session,
        "job_id": run.summary.job_id,
        "has_record": _has_record(catalog, run.summary.session),
        "name": program_name(run.summary.entrypoint),
        "begin_ns": run.summary.begin_ns,
        "value_ns": value_ns,
        "counts": counts,
        "outcome": run.summary.outcome,
        "tags": list(run.tags),
        "git_commit": run.summary.git_commit,
        "baseline": run.marks.is_baseline,
        "verdict": judgment.verdict,
        "ratio": judgment.ratio,
    }


@router.get("/api/v1/runs/{session}/{job_id}")
def run(catalog: CurrentCatalog, service: CurrentRuns, session: str, job_id: str) -> Json[schemas.RunAnswer]:
    """A run with the figures of its functions: the 50 with the most time."""
    item = _get_item(catalog, service, session, job_id)
    (functions,) = service.store.functions([(session, job_id)])
    left_out = service.store.get(session, job_id).summary.functions_left_out
    # The structs are encoded like dicts.
    shown = cast(list[schemas.RunFunction], functions)
    return answer({"run": item, "functions": shown, "functions_left_out": left_out})


@router.put("/api/v1/runs/{session}/{job_id}", dependencies=OPERATOR_ONLY)
def mark(
    catalog: CurrentCatalog, service: CurrentRuns, session: str, job_id: str, marks: schemas.RunMarks
) -> Json[schemas.RunItem]:
    """Tag a run, make it the baseline of its group, or leave it out of what is usual."""
    tags = None if marks.tags is None else clean_tags(marks.tags)

    def change(before: Marks) -> Marks:
        return Marks(
            before.tags if tags is None else tags,
            before.is_baseline if marks.baseline is None else marks.baseline,
            before.is_left_out if marks.left_out is None else marks.left_out,
        )

    service.store.mark(session, job_id, change)
    return answer(_get_item(catalog, service, session, job_id))


def _get_item(catalog: Catalog, service: Runs, session: str, job_id: str) -> schemas.RunItem:
    _, judged = service.judged()
    run = service.store.get(session, job_id)
    return _item(catalog, run, judged[run.key])
