"""The requests to a server. Each is described once, for both the synchronous and the asynchronous client."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal

from rayscope.client import filters as f
from rayscope.client.api_logs import LogsApi
from rayscope.client.calls import Call, Listing, Time, params, part
from rayscope.client.methods import paged, request
from rayscope.client.sql_result import SqlResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rayscope.client import types as t
    from rayscope.client.filters import EntityFilters, EventFilters, JobOptions, TaskFilters

#: Timeout of an export, in seconds.
EXPORT_S = 3600.0
#: Timeout of a SQL query, in seconds.
_SQL_S = 120.0
#: Timeout of a replay, in seconds.
_REPLAY_S = 120.0
#: Timeout of the replay of a large job, in seconds.
_LONG_S = 1800.0


def _name_of_rule(answer: t.RuleChanged) -> str:
    for warning in answer["warnings"]:
        warnings.warn(f"{warning['message']} {warning['remedy']}", stacklevel=2)
    return answer["name"]


class Api(LogsApi):
    """Requests to a server, most of them about one session.

    ``session`` is an ID, the beginning of an ID, or a display name. If it is None, the client's session is
    used, or else the one with the latest data. Times are ns since the epoch or datetimes. Every method raises
    RayscopeError when it is called.
    """

    def _flow(self, view: str, session: str | None, filters: Mapping[str, Any], **more: Any) -> Call[Any]:
        query = params(f.TaskFilters, filters, session=self._of(session), **more)
        return Call("GET", f"/api/v1/flow/{view}", query)

    def _entities(
        self, path: str, shape: str, session: str | None, filters: Mapping[str, Any], **more: Any
    ) -> Listing[Any]:
        limit = more.pop("limit")
        query = params(f.EntityFilters, filters, session=self._of(session), **more)
        return Listing(f"/api/v1/{path}", query, shape, limit)

    # Sessions.

    @request
    def health(self) -> Call[t.HealthAnswer]:
        """Return the state of the server, its version, and the number of batches waiting to be merged."""
        return Call("GET", "/api/health", timeout_s=5)

    @paged
    def sessions(
        self, limit: int | None = None, name: str | None = None, q: str | None = None
    ) -> Listing[t.SessionItem]:
        """Return the recorded sessions, the most recently active ones first.

        ``name``: only the session with this ID, beginning of an ID, or display name. ``q``: only sessions
        with this text in their name, script, host, tags, note, or Ray's name.
        """
        return Listing("/api/v1/sessions", params(name=name, q=q), "SessionItem", limit, of_session=False)

    @request
    def find(self, text: str, session: str | None = None) -> Call[t.FindAnswer]:
        """Return functions, tasks, actors, nodes, jobs and others with this name or beginning of an ID."""
        return Call("GET", "/api/v1/find", params(session=self._of(session), q=text))

    @request
    def summary(self, session: str | None = None) -> Call[t.Summary]:
        """Return a session at a glance: states, functions by time, latest failures, and missing data."""
        return Call("GET", "/api/v1/summary", params(session=self._of(session)))

    @request
    def cluster(self, session: str | None = None) -> Call[t.ClusterAnswer]:
        """Return the number of entities by state, and the total resources."""
        return Call("GET", "/api/v1/cluster", params(session=self._of(session)))

    @request
    def recording(self, session: str | None = None) -> Call[t.RecordingAnswer]:
        """Return how a session is recorded, node by node (docs/reference/api.md)."""
        return Call("GET", "/api/v1/recording", params(session=self._of(session)))

    @request
    def attach(self, address: str, ray_token: str | None = None) -> Call[str]:
        """Start snapshots of the cluster whose GCS is at ``address``. Returns the session's name.

        Requires the operator token.
        """
        body = {"address": address, "ray_token": ray_token}
        return Call(
            "POST",
            "/api/v1/clusters",
            body=body,
            needs_operator=True,
            pick=lambda answer: str(answer["session"]),
        )

    # Lists, and the details of single entities.

    @paged
    def tasks(
        self,
        *,
        session: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Listing[t.TaskItem]:
        """Return attempts of tasks, the newest first unless ``sort`` is set."""
        query = params(f.TaskFilters, filters, session=self._of(session), sort=sort)
        return Listing("/api/v1/tasks", query, "TaskItem", limit)

    @paged
    def actors(
        self,
        *,
        session: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Unpack[EntityFilters],
    ) -> Listing[t.Actor]:
        """Return actors, both alive and dead."""
        return self._entities("actors", "Actor", session, filters, sort=sort, limit=limit)

    @paged
    def nodes(
        self,
        *,
        session: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Unpack[EntityFilters],
    ) -> Listing[t.Node]:
        """Return nodes with their usage."""
        return self._entities("nodes", "Node", session, filters, sort=sort, limit=limit)

    @paged
    def workers(
        self,
        *,
        session: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Unpack[EntityFilters],
    ) -> Listing[t.Worker]:
        """Return worker processes."""
        return self._entities("workers", "Worker", session, filters, sort=sort, limit=limit)

    @paged
    def jobs(
        self,
        *,
        session: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Unpack[EntityFilters],
    ) -> Listing[t.Job]:
        """Return drivers and submitted jobs, with their attempts by state."""
        return self._entities("jobs", "Job", session, filters, sort=sort, limit=limit)

    @paged
    def placement_groups(
        self,
        *,
        session: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Unpack[EntityFilters],
    ) -> Listing[t.PlacementGroup]:
        """Return placement groups."""
        shape = "PlacementGroup"
        return self._entities("placement-groups", shape, session, filters, sort=sort, limit=limit)

    @paged
    def events(
        self, *, session: str | None = None, limit: int | None = None, **filters: Unpack[EventFilters]
    ) -> Listing[t.Event]:
        """Return events, the newest first."""
        query = params(f.EventFilters, filters, session=self._of(session))
        return Listing("/api/v1/events", query, "Event", limit)

    @request
    def failures(
        self,
        *,
        outcome: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Call[t.FailuresAnswer]:
        """Return failed attempts, grouped by function, error, message, and line. Final failures come first.

        ``limit``: maximum number of groups. ``outcome``: only tasks whose failure is ``final``, ``retrying``,
        or ``recovered``.
        """
        more: dict[str, Any] = {"outcome": outcome, "limit": limit, "session": self._of(session)}
        return Call("GET", "/api/v1/failures", params(f.TaskFilters, filters, **more))

    @request
    def crashes(self, *, session: str | None = None, limit: int | None = None) -> Call[t.CrashesAnswer]:
        """Return crashed workers, the newest first, with the harm done. ``limit`` is at most 100."""
        return Call("GET", "/api/v1/crashes", params(limit=limit, session=self._of(session)))

    @request
    def deaths(
        self,
        kind: t.Subject,
        entity_id: str | None = None,
        *,
        class_name: str | None = None,
        session: str | None = None,
        limit: int | None = None,
    ) -> Call[t.DeathsAnswer]:
        """Return why workers, actors, nodes or jobs ended, the newest first.

        ``kind``: ``worker``, ``actor``, ``node`` or ``job``. ``entity_id``: only this one.
        ``class_name``: only actors of this class, or the workers in which they ran.
        """
        more = params(kind=kind, id=entity_id, class_name=class_name, limit=limit, session=self._of(session))
        return Call("GET", "/api/v1/deaths", more)

    @request
    def paused_tasks(self, session: str | None = None) -> Call[t.PausedTasks]:
        """Return the tasks that wait for a debugger or have one attached, the longest wait first."""
        return Call("GET", "/api/v1/paused-tasks", params(session=self._of(session)))

    @request
    def functions(
        self, *, session: str | None = None, limit: int | None = None, **filters: Unpack[TaskFilters]
    ) -> Call[t.FunctionsAnswer]:
        """Return functions by the total time of their attempts. ``limit`` is 50 by default."""
        more: dict[str, Any] = {"limit": limit, "session": self._of(session)}
        return Call("GET", "/api/v1/functions", params(f.TaskFilters, filters, **more))

    @request
    def scheduling(
        self,
        *,
        session: str | None = None,
        job_id: str | None = None,
        limit: int | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
    ) -> Call[t.SchedulingAnswer]:
        """Return the time of each function's attempts by phase, the longest total first."""
        session = self._of(session)
        return Call(
            "GET",
            "/api/v1/scheduling",
            params(session=session, job_id=job_id, limit=limit, since_ns=since_ns, until_ns=until_ns),
        )

    @request
    def task(self, task_id: str, session: str | None = None) -> Call[t.TaskDetail]:
        """Return a task with all details: attempts, errors, call path, children, spans, and data."""
        return Call("GET", f"/api/v1/tasks/{part(task_id)}", params(session=self._of(session)))

    @request
    def one(self, kind: str, entity_id: str, session: str | None = None) -> Call[dict[str, Any]]:
        """Return a single entity with its history.

        ``kind`` is ``actors``, ``nodes``, ``workers``, ``jobs``, or ``placement_groups``.
        """
        return Call(
            "GET",
            f"/api/v1/{part(kind.replace('_', '-'))}/{part(entity_id)}",
            params(session=self._of(session)),
        )

    @request
    def progress(self, job_id: str, session: str | None = None) -> Call[t.Progress]:
        """Return how many attempts of a job there are by state and by function."""
        return Call("GET", f"/api/v1/jobs/{part(job_id)}/progress", params(session=self._of(session)))

    @request
    def memory(
        self,
        *,
        by: str = "function",
        session: str | None = None,
        type: str | None = None,
        node_id: str | None = None,
        job_id: str | None = None,
        older_than_s: float | None = None,
    ) -> Call[t.MemoryAnswer]:
        """Return the usage of a live cluster's object stores, by what holds the objects."""
        more: dict[str, Any] = {
            "type": type,
            "node_id": node_id,
            "job_id": job_id,
            "older_than_s": older_than_s,
        }
        return Call("GET", "/api/v1/memory", params(session=self._of(session), by=by, **more))

    @request
    def datasets(self, *, session: str | None = None, limit: int | None = None) -> Call[t.DatasetPage]:
        """Return the datasets that Ray Data executed, the newest first, with their operators."""
        return Call("GET", "/api/v1/data", params(session=self._of(session), limit=limit))

    @request
    def dataset(self, dataset_id: str, session: str | None = None) -> Call[t.DatasetAnswer]:
        """Return a dataset with the tasks of its operators, and the slowest operator, which sets the pace."""
        return Call("GET", f"/api/v1/data/{part(dataset_id)}", params(session=self._of(session)))

    @request
    def serve_applications(self, session: str | None = None) -> Call[t.ServePage]:
        """Return the applications of Ray Serve with their deployments, and Serve's proxies and controller."""
        return Call("GET", "/api/v1/serve", params(session=self._of(session)))

    @request
    def serve_application(
        self, application: str, session: str | None = None
    ) -> Call[t.ServeApplicationAnswer]:
        """Return an application of Ray Serve with its deployments, replicas, and changes of state."""
        return Call("GET", f"/api/v1/serve/{part(application)}", params(session=self._of(session)))

    @request
    def train_runs(self, *, session: str | None = None, limit: int | None = None) -> Call[t.TrainRunPage]:
        """Return the runs of Ray Train, the newest first."""
        return Call("GET", "/api/v1/train", params(session=self._of(session), limit=limit))

    @request
    def train_run(
        self, run_id: str, *, attempt: str | None = None, session: str | None = None
    ) -> Call[t.TrainRunAnswer]:
        """Return a run of Ray Train with the reports of an attempt's workers (by default, the last one's)."""
        return Call(
            "GET", f"/api/v1/train/{part(run_id)}", params(session=self._of(session), attempt=attempt)
        )

    @request
    def tune_experiments(
        self, *, session: str | None = None, limit: int | None = None
    ) -> Call[t.TuneExperimentPage]:
        """Return the experiments of Ray Tune, newest first, with the number of trials in each state and the
        best trial so far.
        """
        return Call("GET", "/api/v1/tune", params(session=self._of(session), limit=limit))

    @request
    def tune_experiment(
        self,
        experiment_id: str,
        *,
        metric: str | None = None,
        mode: Literal["min", "max"] | None = None,
        session: str | None = None,
    ) -> Call[t.TuneExperimentAnswer]:
        """Return an experiment of Ray Tune with its trials, compared by ``metric`` (by default, its own)."""
        asked_for = params(session=self._of(session), metric=metric, mode=mode)
        return Call("GET", f"/api/v1/tune/{part(experiment_id)}", asked_for)

    @request
    def alerts(self, session: str | None = None) -> Call[t.AlertsAnswer]:
        """Return the alerts that are firing, are pending, or were resolved recently."""
        return Call("GET", "/api/v1/alerts", params(session=self._of(session)))

    @request
    def latest_metrics(
        self,
        collector: str | None = None,
        *,
        name: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        session: str | None = None,
    ) -> Call[t.LatestAnswer]:
        """Return the latest value of each series, Rayscope's own series first.

        ``collector``: only its series (such as ``tasks``). ``name``: only this metric, or all with a prefix
        (``ray_node_*``). ``cursor``: ``next`` of the previous page.
        """
        more: dict[str, Any] = {"collector": collector, "name": name, "limit": limit, "cursor": cursor}
        return Call("GET", "/api/v1/metrics", params(session=self._of(session), **more))

    @request
    def metrics(
        self,
        expr: str | None = None,
        *,
        collector: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        step_s: float | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        session: str | None = None,
    ) -> Call[t.QueryAnswer]:
        """Return the values of a PromQL expression, or of a collector's series, over a range of time.

        The range is the last hour by default. ``limit``: maximum number of series (20 for an expression, 500
        for a collector by default). ``left_out`` in the response is the number of other series. ``cursor``:
        ``next`` of the previous page of a collector's series.
        """
        step_ns = None if step_s is None else int(step_s * 1e9)
        more: dict[str, Any] = {"since_ns": since, "until_ns": until, "step_ns": step_ns, "limit": limit}
        more |= {"collector": collector, "cursor": cursor}
        asked_for = params(session=self._of(session), expr=expr, **more)
        return Call("GET", "/api/v1/metrics/query", asked_for)

    @request
    def sql(self, query: str, *, session: str | None = None, limit: int = 1000) -> Call[SqlResult]:
        """Return the rows of one SELECT over the views in docs/reference/sql.md."""
        body = params(sql=query, limit=limit, session=self._of(session))
        return Call("POST", "/api/v1/sql", body=body, timeout_s=_SQL_S, pick=SqlResult)

    # Views of an execution. docs/reference/api.md describes the responses.

    @request
    def logical(
        self,
        *,
        expand: Sequence[str] = (),
        fold: Sequence[str] = (),
        unfold: Sequence[str] = (),
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Call[t.LogicalAnswer]:
        """Return a graph of the calls and the data flow between functions."""
        call = self._flow("logical", session, filters)
        names = {"expand": list(expand), "fold": list(fold), "unfold": list(unfold)}
        return Call(call.method, call.path, {**call.params, **names})

    @request
    def gantt(
        self,
        *,
        by: str | None = None,
        width: int | None = None,
        lanes_from: int | None = None,
        lanes: int | None = None,
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Call[t.GanttAnswer]:
        """Return attempts as bars on lanes."""
        return self._flow("gantt", session, filters, by=by, width=width, lanes_from=lanes_from, lanes=lanes)

    @request
    def flame(
        self,
        *,
        weight: str | None = None,
        focus: str | None = None,
        of: str | None = None,
        baseline_job_id: str | None = None,
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Call[t.FlameAnswer | t.SandwichAnswer]:
        """Return the time of all attempts by call path."""
        more: dict[str, Any] = {
            "weight": weight,
            "focus": focus,
            "of": of,
            "baseline_job_id": baseline_job_id,
        }
        return self._flow("flame", session, filters, **more)

    @request
    def lines(
        self,
        *,
        task_id: str | None = None,
        attempt: int | None = None,
        profile: str | None = None,
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Call[t.LinesAnswer]:
        """Return the lines of code with the most samples, the phases, and the tree of stacks.

        ``profile``: only the samples of the profile with this ID.
        """
        more = {"task_id": task_id, "attempt": attempt, "profile": profile, "session": self._of(session)}
        return Call("GET", "/api/v1/lines", params(f.TaskFilters, filters, **more))

    @request
    def profiles(self, session: str | None = None) -> Call[t.ProfilesAnswer]:
        """Return the profiles of a session, the newest first."""
        return Call("GET", "/api/v1/profiles", params(session=self._of(session)))

    @request
    def memory_lines(self, profile: str, session: str | None = None) -> Call[t.MemoryLinesAnswer]:
        """Return the lines of code that hold the memory of a profile."""
        return Call("GET", "/api/v1/memory-lines", params(profile=profile, session=self._of(session)))

    @request
    def start_profile(
        self,
        *,
        seconds: int = 10,
        native: bool = False,
        memory: t.MemoryKind | None = None,
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Call[t.ProfileItem]:
        """Start to profile the workers that run matching attempts now. Requires the operator token.

        ``native``: with frames of C and C++. ``memory``: instead of CPU time, profile the memory that is
        held at its ``"peak"``, or that is not freed until the end (``"leaks"``). :meth:`profiles` shows when
        the profile has finished. :meth:`lines` returns its lines, or :meth:`memory_lines` for memory.
        """
        query = params(f.TaskFilters, filters, session=self._of(session))
        return Call(
            "POST",
            "/api/v1/profiles",
            query,
            {"seconds": seconds, "native": native, "memory": memory},
            needs_operator=True,
            pick=lambda answer: answer["profile"],
        )

    @request
    def stack(
        self, *, at: Time | None = None, session: str | None = None, **filters: Unpack[TaskFilters]
    ) -> Call[t.StackAnswer]:
        """Return the attempts in flight at one time, by callers, and what they are blocked on."""
        return self._flow("stack", session, filters, at_ns=at)

    @request
    def physical(
        self, *, at: Time | None = None, session: str | None = None, **filters: Unpack[TaskFilters]
    ) -> Call[t.PhysicalAnswer]:
        """Return the state of the cluster at one time: nodes, workers, actors, and placement groups."""
        return self._flow("physical", session, filters, at_ns=at)

    @request
    def critical_path(
        self, job_id: str | None = None, session: str | None = None
    ) -> Call[t.CriticalPathAnswer]:
        """Return the chain of work and waits that determined how long a job took."""
        return Call("GET", "/api/v1/flow/critical-path", params(session=self._of(session), job_id=job_id))

    @request
    def compare(
        self,
        a: str | Sequence[str] | None,
        b: str | Sequence[str],
        *,
        margin: float | None = None,
        skip_first: int | None = None,
        functions_by: Literal["name", "path"] | None = None,
    ) -> Call[t.CompareAnswer]:
        """Return how the runs ``b`` differ from the runs ``a``: whether they are slower, where the time went,
        which functions changed, and what else differs. If ``a`` is None, the earlier runs of the same
        script are taken.

        A run is ``SESSION`` for its longest job, or ``SESSION/JOB``. ``tag:TAG`` stands for the newest
        sessions with this tag. ``margin`` is the change of the duration
        that matters, 0.05 (5 %) by default. ``skip_first`` is the number of runs that each side leaves out,
        because they warmed up caches. With ``functions_by="path"``, the functions are compared by call path.
        """
        query = params(a=a, b=b, margin=margin, skip_first=skip_first, functions_by=functions_by)
        return Call("GET", "/api/v1/compare", query, timeout_s=_REPLAY_S)

    @request
    def compare_findings(self, a: str, b: str) -> Call[t.ComparedFindings]:
        """Return which findings about the run ``b`` are new, which ones of ``a`` are gone, and which ones
        stayed. A run is ``SESSION`` for its longest job, or ``SESSION/JOB``.
        """
        return Call("GET", "/api/v1/compare/findings", params(a=a, b=b), timeout_s=_LONG_S)

    @request
    def compare_lines(
        self,
        a: str | Sequence[str],
        b: str | Sequence[str],
        function: str,
        renamed_from: str | None = None,
    ) -> Call[t.ComparedLines]:
        """Return the lines of a function whose share of its samples changed the most between the runs ``a``
        and ``b``. ``renamed_from``: the function's name in ``a``.
        """
        query = params(a=a, b=b, function=function, renamed_from=renamed_from)
        return Call("GET", "/api/v1/compare/lines", query, timeout_s=_LONG_S)

    # Runs of all sessions.

    @paged
    def runs(
        self,
        limit: int | None = None,
        *,
        script: str | None = None,
        variant: str | None = None,
        tag: str | Sequence[str] | None = None,
        cluster: str | None = None,
        outcome: str | Sequence[str] | None = None,
        verdict: str | None = None,
        in_session: str | None = None,
        q: str | None = None,
        since_ns: Time | None = None,
        until_ns: Time | None = None,
        sort: str | None = None,
    ) -> Listing[t.RunItem]:
        """Return the jobs that have ended, of all sessions, with a verdict on their durations, newest first.

        ``variant``: the tags with an equals sign, ``none`` for runs without any. ``tag``: whole tags, of
        which a run has all. ``in_session``: Ray's name of a session. ``verdict``: ``slower``, ``as_usual``,
        ``faster`` or ``unknown``.
        """
        query = params(
            script=script,
            variant=variant,
            tag=tag,
            cluster=cluster,
            outcome=outcome,
            verdict=verdict,
            in_session=in_session,
            q=q,
            since_ns=since_ns,
            until_ns=until_ns,
            sort=sort,
        )
        return Listing("/api/v1/runs", query, "RunItem", limit, of_session=False)

    @request
    def run(self, session: str, job_id: str) -> Call[t.RunAnswer]:
        """Return a run with the figures of its functions."""
        return Call("GET", f"/api/v1/runs/{part(session)}/{part(job_id)}")

    @request
    def trend(
        self, script: str, variant: str = "", *, function: str | None = None, limit: int | None = None
    ) -> Call[t.TrendAnswer]:
        """Return how long the runs of a script took, what is usual, and since when they are slower or faster.

        ``variant``: the tags with an equals sign that the runs share. ``function``: the mean times of this
        function instead. ``limit``: the number of newest runs, 200 by default.
        """
        query = params(script=script, variant=variant, function=function, limit=limit)
        return Call("GET", "/api/v1/runs/trend", query)

    @request
    def mark_run(
        self,
        session: str,
        job_id: str,
        *,
        tags: Sequence[str] | None = None,
        baseline: bool | None = None,
        left_out: bool | None = None,
    ) -> Call[t.RunItem]:
        """Tag a run, make it the baseline of its group, or leave it out of what is usual.

        None leaves a field unchanged.
        """
        fields = {"tags": None if tags is None else list(tags), "baseline": baseline, "left_out": left_out}
        body = {key: value for key, value in fields.items() if value is not None}
        path = f"/api/v1/runs/{part(session)}/{part(job_id)}"
        return Call("PUT", path, body=body, needs_operator=True)

    # Possible improvements of a job.

    @request
    def insights(
        self, job_id: str | None = None, session: str | None = None, *, long: bool = False
    ) -> Call[t.InsightsAnswer]:
        """Return how much time faster functions and other changes would save, as predicted by replay.

        ``long``: also replay a job of more than 100,000 attempts, which takes a minute or more.
        """
        query = params(session=self._of(session), job_id=job_id, long=long or None)
        return Call("GET", "/api/v1/insights", query, timeout_s=_LONG_S if long else _REPLAY_S)

    @request
    def insights_progress(self, job_id: str, session: str | None = None) -> Call[t.ProgressAnswer]:
        """Return the progress of a long-running ``insights`` (with ``long``) or ``whatif`` request."""
        return Call("GET", "/api/v1/insights/progress", params(session=self._of(session), job_id=job_id))

    @request
    def whatif(
        self, changes: Sequence[t.Changes], *, job_id: str | None = None, session: str | None = None
    ) -> Call[t.WhatIfAnswer]:
        """Return the predicted duration of a job with all ``changes`` (see docs/reference/api.md)."""
        body = {**params(session=self._of(session), job_id=job_id), "changes": list(changes)}
        return Call("POST", "/api/v1/what-if", body=body, timeout_s=_LONG_S)

    # Actions that require the operator token.

    @request
    def label_session(
        self,
        session: str,
        *,
        name: str | None = None,
        note: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Call[t.SessionItem]:
        """Name or annotate a session. None leaves a field unchanged, and an empty name removes the name."""
        fields = {"name": name, "note": note, "tags": None if tags is None else list(tags)}
        body = {key: value for key, value in fields.items() if value is not None}
        return Call("PATCH", f"/api/v1/sessions/{part(session)}", body=body, needs_operator=True)

    @request
    def delete_session(self, session: str, *, force: bool = False) -> Call[str]:
        """Delete a session's record, with ``force`` even while it is recorded. Returns the session's name."""
        path, query = f"/api/v1/sessions/{part(session)}", params(force=force or None)
        return Call("DELETE", path, query, needs_operator=True, pick=lambda answer: str(answer["session"]))

    @request
    def release(self, pause_id: str) -> Call[None]:
        """Let a paused task continue. A debugger that is attached to its process is detached.

        ``pause_id``: as in :meth:`paused_tasks`.
        """
        path = f"/api/v1/paused-tasks/{part(pause_id)}/release"
        return Call("POST", path, needs_operator=True, pick=lambda _: None)

    @request
    def add_rule(
        self,
        name: str,
        expr: str,
        *,
        for_s: float = 0,
        keep_firing_for_s: float = 0,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Call[str]:
        """Add an alert rule, or replace the rule that has this name. Returns the rule's name.

        ``expr`` is PromQL. ``labels`` are, for example, ``severity``. ``annotations`` are ``summary`` and
        ``description``. If no series has a name that the rule uses, this is reported as a UserWarning.
        """
        rule = {
            "expr": expr,
            "for_s": for_s,
            "keep_firing_for_s": keep_firing_for_s,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        }
        path = f"/api/v1/alerts/rules/{part(name)}"
        return Call("PUT", path, body=rule, needs_operator=True, pick=_name_of_rule)

    @request
    def submit_job(
        self, entrypoint: str, *, session: str | None = None, **options: Unpack[JobOptions]
    ) -> Call[str]:
        """Submit a job (a shell command) through Ray's job API. Returns its submission ID."""
        return Call(
            "POST",
            "/api/v1/jobs",
            params(session=self._of(session)),
            {"entrypoint": entrypoint, **options},
            timeout_s=120,
            needs_operator=True,
            pick=lambda answer: str(answer["submission_id"]),
        )

    @request
    def stop_job(self, job_id: str, session: str | None = None) -> Call[bool]:
        """Stop a submitted job. Returns whether it was still running. ``job_id`` may be its submission ID."""
        path, of = f"/api/v1/jobs/{part(job_id)}/stop", params(session=self._of(session))
        return Call(
            "POST", path, of, timeout_s=120, needs_operator=True, pick=lambda answer: bool(answer["stopped"])
        )

    @request
    def delete_job(self, job_id: str, session: str | None = None) -> Call[bool]:
        """Delete a submitted job that has ended from Ray. The job's record is kept."""
        path, of = f"/api/v1/jobs/{part(job_id)}", params(session=self._of(session))
        return Call(
            "DELETE",
            path,
            of,
            timeout_s=120,
            needs_operator=True,
            pick=lambda answer: bool(answer["deleted"]),
        )

    def _report(
        self,
        session: str | None,
        view: str | None,
        a: str | None,
        b: str | None,
        margin: float | None,
        skip_first: int | None,
    ) -> Call[None]:
        of = None if b is not None else self._of(session)
        query = params(session=of, view=view, a=a, b=b, margin=margin, skip_first=skip_first)
        return Call("GET", "/api/v1/report", query, timeout_s=EXPORT_S)

    def _export(self, form: str, session: str | None, filters: Mapping[str, Any]) -> Call[None]:
        query = params(f.TaskFilters, filters, session=self._of(session), format=form)
        return Call("GET", "/api/v1/export", query, timeout_s=EXPORT_S)

    def _export_lines(
        self,
        form: str,
        task_id: str | None,
        attempt: int | None,
        profile: str | None,
        session: str | None,
        filters: Mapping[str, Any],
    ) -> Call[None]:
        more = {"task_id": task_id, "attempt": attempt, "profile": profile, "session": self._of(session)}
        query = params(f.TaskFilters, filters, **more, format=form)
        return Call("GET", "/api/v1/lines/export", query, timeout_s=EXPORT_S)

    def _export_session(self, session: str | None, anonymise: bool) -> Call[None]:
        query = params(session=self._of(session), anonymise=anonymise or None)
        return Call("GET", "/api/v1/sessions/file", query, timeout_s=EXPORT_S)

    def _open_session_file(self, content: IO[bytes] | AsyncIterable[bytes]) -> Call[str]:
        return Call(
            "POST",
            "/api/v1/sessions/file",
            content=content,
            timeout_s=EXPORT_S,
            needs_operator=True,
            pick=lambda answer: str(answer["session"]),
        )
