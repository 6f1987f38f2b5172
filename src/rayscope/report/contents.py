"""Collects the answers to the requests that the UI's pages send when they are opened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import msgspec

from rayscope.report.recorder import Extent, Recorder

#: The pages of a session's report, in the order of web/src/base/url.ts.
View = Literal[
    "overview",
    "insights",
    "tasks",
    "functions",
    "failures",
    "logical",
    "physical",
    "gantt",
    "flame",
    "stack",
    "actors",
    "workers",
    "nodes",
    "jobs",
    "placement-groups",
    "memory",
    "events",
    "metrics",
    "data",
    "train",
    "tune",
    "serve",
]
#: The pages of Ray's libraries, and the key of their items.
_LIBRARIES = {"data": "dataset_id", "train": "run_id", "tune": "experiment_id", "serve": "name"}
_TOPICS = ("cluster", "alerts", "metrics", "debugger")
_WEIGHTS = ("critical_path", "executing", "duration", "cpu", "count", "awaiting")
#: Width in pixels and number of lanes of each Gantt chart. The first is drawn sharply when zoomed in.
_GANTT = {
    "worker": (8192, 200),
    "node": (2048, 64),
    "function": (4096, 100),
    "actor": (4096, 100),
    "path": (4096, 100),
}
_BUCKETS = 400
_MAX_JOBS = 20
#: Number of functions whose callers and callees are included.
_MAX_CALLERS = 10
_MAX_TASKS = 20
#: Number of actors, workers, and nodes with details, dead ones first.
_MAX_ENTITIES = 10
#: Number of items with details of each library.
_MAX_OF_LIBRARY = 20
_MAX_MOMENTS = 24
#: Number of points of a chart's line.
_POINTS = 240
_MARGIN_NS = 10 * 10**9
_MAX_ROWS = 200
#: Number of lines of code of a function or an attempt.
_MAX_LINES = 20
_MAX_CHOICES = 1000


class Contents(msgspec.Struct):
    """A report, as web/src/base/report.ts reads it."""

    start: str
    made_ns: int
    version: str
    views: Sequence[str]
    parts: Sequence[Extent]
    moments: Sequence[str]
    answers: Sequence[Any]


async def add_sessions(recorder: Recorder, sessions: Iterable[str]) -> list[Any]:
    """Add the list of sessions with these alone, and return them."""
    answer = await recorder.need("/sessions", limit=_MAX_CHOICES)
    wanted = set(sessions)
    items = [item for item in answer["items"] if item["session"] in wanted]
    await recorder.put("/sessions", {**answer, "items": items, "total": len(items)}, limit=_MAX_CHOICES)
    return items


async def add_session(recorder: Recorder, session: str) -> tuple[Sequence[str], Sequence[str]]:
    """Add what the pages of a session show, the most important first.

    Returns the views and the moments that the report contains.
    """
    of: dict[str, Any] = {"session": session}
    items = await add_sessions(recorder, [session])
    await recorder.add("/summary", **of)
    for topic in _TOPICS:
        await recorder.add("/realtime", topic=topic, **of)
    jobs = await recorder.add("/jobs", limit=_MAX_CHOICES, **of)
    await recorder.add("/nodes", limit=_MAX_CHOICES, **of)
    await recorder.add("/insights", **of)
    path = await recorder.add("/flow/critical-path", **of)
    failures = await recorder.add("/failures", **of)
    await recorder.add("/crashes", limit=8, **of)
    await recorder.add("/cluster/status", **of)
    activity = await recorder.add("/flow/activity", buckets=_BUCKETS, **of)
    functions = await recorder.add("/scheduling", limit=_MAX_CHOICES, **of)
    await recorder.add("/functions", only="mine", **of)
    await _add_flow(recorder, of, functions)
    unused = [library for library in _LIBRARIES if not await _add_library(recorder, of, library)]
    for view in ("stack", "physical", "transfers"):  # as they are now, if the session is live
        await recorder.add(f"/flow/{view}", **of)
    await _add_lists(recorder, of)
    await _add_charts(recorder, of, activity)
    moments = await _add_moments(recorder, of, activity)
    shown = [await _add_job(recorder, of, job) for job in _rows(jobs)[:_MAX_JOBS]]
    recorder.count("job_details", sum(shown), len(_rows(jobs)))
    shown = [await _add_task(recorder, of, *task) for task in _chosen_tasks(path, failures)[:_MAX_TASKS]]
    recorder.count("task_details", sum(shown), sum(item["tasks"] for item in items))
    return [view for view in get_args(View) if view not in unused], moments


async def add_pictures(recorder: Recorder, runs: Iterable[Any]) -> None:
    """Add what the pictures of a comparison show of its two runs."""
    for run in runs:
        of = {"session": run["session"], "job_id": run["job_id"] or None}
        for weight in ("executing", "critical_path"):
            await recorder.add("/flow/flame", weight=weight, **of)
        await recorder.add("/flow/logical", **of)
        for by in ("worker", "node"):
            width, lanes = _GANTT[by]
            await recorder.add("/flow/gantt", by=by, lanes_from=0, lanes=lanes, width=width, **of)
        await recorder.add("/insights", **of)  # marks lanes with findings
        await recorder.add("/jobs", limit=_MAX_CHOICES, session=run["session"])
        await recorder.add("/realtime", topic="debugger", session=run["session"])


async def _add_flow(recorder: Recorder, of: dict[str, Any], functions: Any) -> None:
    for only in ("mine", None):
        await recorder.add("/flow/logical", only=only, **of)
        for weight in _WEIGHTS:
            await recorder.add("/flow/flame", only=only, weight=weight, **of)
    for by, (width, lanes) in _GANTT.items():
        answer = await recorder.add("/flow/gantt", by=by, lanes_from=0, lanes=lanes, width=width, **of)
        if by == "worker" and answer is not None:
            recorder.count("lanes", len(answer["lanes"]), answer["lanes_total"])
    for row in _rows(functions)[:_MAX_CALLERS]:
        named = {"only": "mine", "weight": "critical_path", "of": row["func_name"]}
        await recorder.add("/flow/flame", **named, **of)
        await _add_lines(recorder, of, func_name=row["func_name"])


async def _add_lines(recorder: Recorder, of: dict[str, Any], **attempts: Any) -> None:
    """Add the hottest lines of attempts, without their stacks: the flame graph of a report has no lines."""
    await recorder.add("/lines", shorten=_hottest, **attempts, **of)


def _hottest(answer: Any) -> Any:
    lines = [line for line in answer["lines"] if line["self_samples"]]
    return {**answer, "frames": [], "lines": lines[:_MAX_LINES]}


async def _add_library(recorder: Recorder, of: dict[str, Any], library: str) -> bool:
    """Add the page of one of Ray's libraries, and return whether the session used it."""
    answer = await recorder.add(f"/{library}", limit=_MAX_CHOICES, **of)
    names = [str(item[_LIBRARIES[library]]) for item in _rows(answer)]
    shown = 0
    for name in names[:_MAX_OF_LIBRARY]:
        if {".", ".."} & {*name.split("/")}:  # a name must not lead to another path
            continue
        shown += await recorder.add(f"/{library}/{name}", **of) is not None
        for order in ("slowest", "newest", "failed") if library == "serve" else ():
            await recorder.add(f"/serve-requests/{name}", order=order, limit=50, **of)
    recorder.count(f"{library}_details", shown, len(names))
    return bool(names)


async def _add_lists(recorder: Recorder, of: dict[str, Any]) -> None:
    for order in ("-created_ns", "-duration_ns"):
        _count_rows(recorder, "tasks", await recorder.add("/tasks", sort=order, limit=_MAX_ROWS, **of))
    found = {}
    for name in ("actors", "workers", "jobs", "nodes"):
        found[name] = await recorder.add(f"/{name}", sort="-start_ns", limit=_MAX_ROWS, **of)
        _count_rows(recorder, name, found[name])
    await recorder.add("/placement-groups", sort="-created_ns", limit=_MAX_ROWS, **of)
    _count_rows(recorder, "events", await recorder.add("/events", limit=_MAX_ROWS, **of))
    await recorder.add("/events", limit=8, **of)
    await recorder.add("/events", kind="job,node", limit=500, **of)
    await recorder.add("/alerts/history", limit=_MAX_ROWS, **of)
    await recorder.add("/memory", by="function", older_than_s=600, **of)
    await recorder.add("/jobs", sort="-start_ns", limit=8, **of)
    await recorder.add("/jobs", state="FAILED", limit=1, **of)
    await recorder.add("/jobs", state="RUNNING,PENDING", sort="-start_ns", limit=8, **of)
    await recorder.add("/nodes", state="DEAD", limit=_MAX_ROWS, **of)
    for kind in ("actor", "worker"):
        await recorder.add("/deaths", kind=kind, limit=500, **of)
    for kind in ("actor", "worker", "node"):
        rows = sorted(_rows(found[f"{kind}s"]), key=lambda row: row["state"] != "DEAD")
        shown = [await _add_entity(recorder, of, kind, row[f"{kind}_id"]) for row in rows[:_MAX_ENTITIES]]
        total = (found[f"{kind}s"] or {"total": None})["total"]
        recorder.count(f"{kind}_details", sum(shown), len(rows) if total is None else total)


async def _add_entity(recorder: Recorder, of: dict[str, Any], kind: str, id_: str) -> bool:
    """Add the details of an actor, a worker, or a node, and return whether they are in the report."""
    found = await recorder.add("/deaths", kind=kind, id=id_, **of)
    if kind == "node":
        found = await recorder.add(f"/nodes/{id_}", **of)
        return found is not None
    await _add_log(recorder, of, **{f"{kind}_id": id_})
    if kind == "actor":
        found = await recorder.add(f"/actors/{id_}", **of)
        await recorder.add(f"/actors/{id_}/progress", **of)
    return found is not None


async def _add_log(recorder: Recorder, of: dict[str, Any], **owner: Any) -> None:
    """Add the last lines of an owner's log."""
    await recorder.add("/logs/of", limit=_MAX_ROWS, **owner, **of)


def _count_rows(recorder: Recorder, what: str, rows: Any) -> None:
    if rows is not None and rows["total"] is not None:
        recorder.count(what, len(rows["items"]), rows["total"])


async def _add_charts(recorder: Recorder, of: dict[str, Any], activity: Any) -> None:
    """Add the charts of the cluster, which have no variables, and the peaks of the overview."""
    catalogue = await recorder.add("/metrics/charts")
    for name in ("ray_node_gpus", "ray_node_cpu_utilization"):
        await recorder.add("/metrics/names", q=name, **of)
    if catalogue is None or activity is None or activity["begin_ns"] is None:
        return
    since, until = activity["begin_ns"] - _MARGIN_NS, activity["end_ns"] + _MARGIN_NS
    step_s = max(5, math.ceil((until - since) / 1e9 / _POINTS))
    period = {"since_ns": since, "until_ns": until, "step_ns": step_s * 10**9}
    window = f"[{max(step_s, 15)}s]"
    for peak in (
        f"max(max_over_time(ray_node_cpu_utilization{window}))",
        f"max(max_over_time(ray_node_mem_used{window}))",
        f"sum(max_over_time(ray_object_store_memory{window}))",
    ):
        await recorder.add("/metrics/query", expr=peak, limit=1, **period, **of)
    for page in catalogue["pages"]:
        if page["name"] != "cluster":
            continue
        for query in (query for chart in page["charts"] for query in chart["queries"]):
            await recorder.add("/metrics/query", expr=query["expr"], limit=20, **period, **of)


async def _add_moments(recorder: Recorder, of: dict[str, Any], activity: Any) -> Sequence[str]:
    """Add the stack and the physical view at moments that cover the session, the busiest among them."""
    if activity is None or activity["begin_ns"] is None:
        return ()
    begin, bucket = activity["begin_ns"], activity["bucket_ns"]
    running = activity["running"]
    busiest = max(range(len(running)), key=running.__getitem__)
    step = -(-len(running) // (_MAX_MOMENTS - 1))
    chosen = sorted({busiest, *range(0, len(running), step)})
    moments = [str(begin + bucket * at + bucket // 2) for at in chosen]
    kept = []
    for at in sorted(moments, key=lambda at: abs(int(at) - int(moments[chosen.index(busiest)]))):
        answers = [
            await recorder.add("/flow/stack", at_ns=at, **of),
            await recorder.add("/flow/physical", at_ns=at, **of),
            await recorder.add("/flow/transfers", until_ns=at, **of),
        ]
        if None not in answers:
            kept.append(at)
    recorder.count("moments", len(kept), len(running))
    return sorted(kept, key=int)


async def _add_job(recorder: Recorder, of: dict[str, Any], job: Any) -> bool:
    """Add the page of a job, and return whether it is in the report."""
    job_id = job["job_id"]
    found = await recorder.add(f"/jobs/{job_id}", **of)
    await recorder.add(f"/jobs/{job_id}/progress", **of)
    await recorder.add("/realtime", topic="job", job_id=job_id, **of)
    await recorder.add("/deaths", kind="job", id=job_id, **of)
    await _add_log(recorder, of, job_id=job_id)
    for path in ("/failures", "/flow/critical-path"):
        await recorder.add(path, job_id=job_id, **of)
    await _add_insights(recorder, of, job_id)
    await recorder.add("/flow/activity", buckets=_BUCKETS, job_id=job_id, **of)
    await recorder.add("/actors", job_id=job_id, limit=_MAX_CHOICES, **of)
    if job["start_ns"] is not None and job["end_ns"] is not None:
        # The page rounds to ms.
        since, until = (round(job[name] / 1e6) * 10**6 for name in ("start_ns", "end_ns"))
        await recorder.add("/events", kind="platform", limit=20, since_ns=since, until_ns=until, **of)
    return found is not None


async def _add_insights(recorder: Recorder, of: dict[str, Any], job_id: str) -> None:
    insights = await recorder.add("/insights", job_id=job_id, **of)
    findings = [] if insights is None else insights["findings"]
    for function in {finding["function"] for finding in findings} - {None}:
        await _add_lines(recorder, of, func_name=function, job_id=job_id)


def _chosen_tasks(path: Any, failures: Any) -> list[tuple[str, list[int]]]:
    """The tasks that failed, with the attempts that did, and those that took long on the critical path."""
    chosen: dict[str, list[int]] = {}
    for failed in (attempt for group in _rows(failures) for attempt in group["latest"]):
        chosen.setdefault(failed["task_id"], []).append(failed["attempt"])
    links = sorted((path or {"links": []})["links"], key=lambda link: link["begin_ns"] - link["end_ns"])
    for link in links:
        if not link["task_id"].startswith("f" * 32):  # a driver
            chosen.setdefault(link["task_id"], [])
    return list(chosen.items())


async def _add_task(recorder: Recorder, of: dict[str, Any], task_id: str, attempts: list[int]) -> bool:
    """Add the details of a task, and return whether they are in the report."""
    task = await recorder.add(f"/tasks/{task_id}", **of)
    if task is None:
        return False
    last = [task["attempts"][-1]["attempt"]] if task["attempts"] else []
    for attempt in {*attempts, *last}:
        await _add_log(recorder, of, task_id=task_id, attempt=attempt)
        await _add_lines(recorder, of, task_id=task_id, attempt=attempt)
    return True


def _rows(answer: Any) -> list[Any]:
    """The rows of a list, none if it is not in the report."""
    return [] if answer is None else list(answer["items"])
