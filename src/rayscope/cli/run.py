"""``rayscope run``: run a Ray program unmodified and record it."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rayscope.cli import recording, summary
from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.child import Child
from rayscope.cli.console import fail, say, stderr, warn
from rayscope.cli.options import (
    DataDir,
    Debugger,
    GenerateToken,
    Host,
    NoExitWatch,
    NoFastLane,
    NoGpuWatch,
    NoPeakMemory,
    NoProfile,
    NoServeEvents,
    NoTrace,
    NoTrainState,
    Port,
    Samples,
    Token,
    settings_from,
)
from rayscope.cli.output import Output, Sender
from rayscope.cli.serving import Serving, any_server, problem_of, serve_until_stopped, warn_of_problem
from rayscope.cli.takeover import Takeover
from rayscope.cli.target import TargetError, can_import_hook, command_for, ray_version, unused_environment
from rayscope.cli.versions import git_versions, python_versions
from rayscope.cli.watch import Watch, clusters_in_reach, has_grown
from rayscope.ray.versions import version_note

if TYPE_CHECKING:
    from rayscope.client.types import InsightsAnswer, Job

T = TypeVar("T")
#: How long to wait for the last events of clusters that are still running, in seconds.
_DRAIN_S = 5.0
#: How long to wait until the server has merged all events, in seconds.
_MERGE_S = 10.0
#: Number of times that a request is sent if the server ends while handling it.
_TRIES = 3
#: Error codes that mean that the server is gone.
_SERVER_GONE = ("unreachable", "broke_off")
_FAILED_EARLY = "The script failed (exit status {status}) before it reached Ray."
#: How long the insights into all sessions together may delay the end of a run, in seconds.
_INSIGHTS_S = 1.5
#: Maximum length of a tag, as in the API.
_MAX_TAG = 40


def _check_tags(tags: list[str] | None) -> list[str] | None:
    for tag in tags or []:
        if not tag.strip() or "," in tag or len(tag) > _MAX_TAG:
            raise typer.BadParameter(f"a tag has 1 to {_MAX_TAG} characters and no comma.")
    return tags


def run(
    target: Annotated[
        list[str],
        typer.Argument(
            metavar="SCRIPT [ARGS]...",
            help="Python file, -m MODULE, or command (such as `ray job submit`), with its arguments.",
            show_default=False,
        ),
    ],
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    token: Token = None,
    generate_token: GenerateToken = False,
    debugger: Debugger = False,
    leave: Annotated[
        bool, typer.Option("--exit", help="Exit when the script ends instead of serving until Ctrl-C.")
    ] = False,
    no_profile: NoProfile = False,
    no_fast_lane: NoFastLane = False,
    no_trace: NoTrace = False,
    no_peak_memory: NoPeakMemory = False,
    samples: Samples = None,
    no_exit_watch: NoExitWatch = False,
    no_gpu_watch: NoGpuWatch = False,
    no_serve_events: NoServeEvents = False,
    no_train_state: NoTrainState = False,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", callback=_check_tags, help="Tag of the session, such as main (repeatable)."),
    ] = None,
    no_output: Annotated[
        bool,
        typer.Option("--no-output", help="Do not keep what the script prints as the log of its driver."),
    ] = False,
) -> None:
    """Run any Ray program unmodified and record it. Put Rayscope's options before SCRIPT."""
    try:
        command = command_for(target)
    except TargetError as error:
        fail(error.message, error.remedy)
    settings = settings_from(data_dir, host, port, token, generate_token, debugger=debugger or None)
    # The program's environment. It is copied first, because a server in this process may change its own.
    environ = dict(os.environ)
    with (
        any_server(settings) as serving,
        Takeover(settings, serving) as takeover,
        Api(serving.url, settings.token, folder=settings.folder) as api,
    ):
        stderr().print(f"Rayscope: {serving.url}")
        warn_of_problem(api)
        status, terminated = _record(
            command,
            environ,
            serving,
            takeover,
            api,
            recording.Parts.without(
                no_profile,
                no_fast_lane,
                no_trace,
                no_serve_events,
                no_train_state,
                no_peak_memory,
                no_exit_watch,
                no_gpu_watch,
            )._replace(samples_hz=samples),
            Output() if not no_output else None,
            tags or [],
        )
        if (serving.own or takeover.has_server) and not leave and not terminated:
            serve_until_stopped(f"serving {serving.url} until Ctrl-C")
    raise typer.Exit(status)


def _record(
    command: list[str],
    environ: Mapping[str, str],
    serving: Serving,
    takeover: Takeover,
    api: Api,
    parts: recording.Parts,
    output: Output | None,
    tags: Sequence[str],
) -> tuple[int, bool]:
    """Run ``command`` to its end and print a summary.

    Returns the command's exit status, and whether a signal asked us to stop.
    """
    if (active := unused_environment(command)) is not None:
        warn(
            f"this runs with Rayscope's own Python, not with that of the active environment {active}. "
            "To use that one: rayscope run python SCRIPT"
        )
    if note := version_note(ray_version(command)):
        warn(note)
    hook = can_import_hook(command)
    if not hook:
        warn(
            f"the Python of {command[0]} has no rayscope-agent, so the last second of a cluster that it "
            "starts may be lost. To avoid this, run pip install rayscope-agent there."
        )
    env = recording.child_env(serving.ingest_url, parts, hook=hook, environ={**environ, **takeover.environ()})
    env = recording.with_py_spy(env)
    try:
        before = _retry(takeover, api.by_name)
    except RayscopeError as error:
        fail(error.message, error.remedy)
    versions = git_versions(command)  # before the program changes its files
    began_ns = time.time_ns()
    try:
        child = Child(command, env, output)
    except OSError as error:
        fail(f"Could not run {command[0]}: {error.strerror}.", "Check that it is executable.")
    with contextlib.ExitStack() as stack:
        watch = stack.enter_context(
            Watch(
                api,
                child.family,
                before,
                announce=lambda session: say(f"this run: {summary.session_url(serving.url, session)}"),
            )
        )
        sender = None
        if output is not None:
            url = recording.program_output_url(serving.ingest_url)
            sender = Sender(api, url, output, began_ns, watch)
            stack.enter_context(sender)
        status = child.wait()
    end = {"pid": child.pid, "began_ns": began_ns, "ended_ns": time.time_ns(), "exit_code": status}
    versions |= python_versions(command)
    try:
        _retry(takeover, lambda: _conclude(api, serving, before, watch, end, versions, sender, tags))
    except RayscopeError as error:
        warn(f"no summary: {error.message} {error.remedy}")
    return status, child.terminated


def _retry(takeover: Takeover, ask: Callable[[], T]) -> T:
    """Call ``ask``, and call it again if the server is gone. Raises RayscopeError."""
    for left in reversed(range(_TRIES)):
        takeover.await_server()
        try:
            return ask()
        except RayscopeError as error:
            if error.code not in _SERVER_GONE or not left:
                raise
    raise AssertionError("unreachable")


def _conclude(
    api: Api,
    serving: Serving,
    before: Mapping[str, Mapping[str, Any]],
    watch: Watch,
    end: Mapping[str, int],
    versions: Mapping[str, str],
    sender: Sender | None,
    tags: Sequence[str],
) -> None:
    """Wait for pending events, tag each session that the program used, and print a summary of it.

    ``end`` is how the program ended. With ``versions``, it is recorded for the jobs whose driver was the
    program.
    """
    _drain(api, serving, clusters_in_reach())
    watch.look(timeout_s=0)
    if watch.attached:
        _drain(api, serving, watch.attached)
    _await_merge(api)
    now = api.by_name()
    used = watch.choose(end["pid"], [name for name in now if has_grown(name, before, now)])
    if not used:
        _explain_nothing(watch, problem_of(api), end["exit_code"])
        return
    if sender is not None:
        sender.send(used)
    ended_sessions = watch.ended_with(end["pid"], used)
    for session in used:
        url = recording.program_end_url(serving.ingest_url)
        is_gone = session in ended_sessions
        api.tell_program_end(url, session=session, cluster_is_gone=is_gone, versions=versions, **end)
        if tags:
            _tag(api, session, [*now[session]["tags"], *tags])
    if end["exit_code"] and not any(_has_jobs(api, session) for session in used):
        warn(_FAILED_EARLY.format(status=end["exit_code"]))
        return
    known = api.by_name()
    deadline = time.monotonic() + _INSIGHTS_S
    summaries: list[Callable[[], None]] = []
    for session in reversed(used):  # the newest session comes last, next to the prompt
        waited = (
            api.get("/api/v1/cluster/status", session=session)["pending"] if session in ended_sessions else []
        )
        failures = api.failures(session=session, limit=summary.FAILURES)
        ended = api.summary(session)
        shown = {**ended, "never_placed": waited, "failures": failures}
        for note in ended["lanes"]["versions"]:
            if not (serving.own and note["code"] == "untested_ray"):  # our own server has already logged it
                warn(f"{note['message']} {note['remedy']}")
        if session in known:
            shown["title"] = summary.session_title(known[session])
        job_id = _longest_job(api, session, end["began_ns"])
        path = _critical_path(api, session, job_id)
        insights = _insights(api, session, job_id, deadline)
        crashes = api.crashes(session=session, limit=1)
        summaries.append(partial(summary.show, stderr(), shown, serving.url, path, insights, crashes))
    # Print only now, because everything above is repeated if the server ends in the meantime.
    for show in summaries:
        show()


def _tag(api: Api, session: str, tags: Sequence[str]) -> None:
    try:
        api.label_session(session, tags=tags)
    except RayscopeError as error:
        if error.code in _SERVER_GONE:
            raise
        warn(f"{session} could not be tagged: {error.message} {error.remedy}")


def _has_jobs(api: Api, session: str) -> bool:
    return bool(api.jobs(session=session, limit=1).to_list())


def _longest_job(api: Api, session: str, since_ns: int) -> str | None:
    """Return the longest job that ran tasks and began after ``since_ns``, or None if there is none."""

    def took_ns(job: Job) -> float:
        return (job["end_ns"] or math.inf) - (job["start_ns"] or 0)

    began = [job for job in api.jobs(session=session) if (job["start_ns"] or 0) >= since_ns and job["tasks"]]
    return max(began, key=took_ns)["job_id"] if began else None


def _critical_path(api: Api, session: str, job_id: str | None) -> Mapping[str, Any] | None:
    with contextlib.suppress(RayscopeError):  # the job ran no tasks
        return api.critical_path(job_id, session)
    return None


def _insights(api: Api, session: str, job_id: str | None, deadline: float) -> InsightsAnswer | None:
    """Return the insights into a job, or None if they are not available by the deadline (for a large job)."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        return None
    call = replace(Api.insights(api, job_id, session), timeout_s=left_s)
    with contextlib.suppress(RayscopeError):
        return api.ask(call)
    return None


def _drain(api: Api, serving: Serving, alive: Iterable[str]) -> None:
    """Wait for the last events of running clusters. Those of ended clusters have already arrived."""
    url = recording.drain_url(serving.ingest_url)
    for session in set(alive) & set(api.by_name()):
        if not api.drain(url, session, _DRAIN_S):
            warn(f"{session}: some events may not have arrived yet, so the summary may be incomplete")


def _await_merge(api: Api) -> None:
    deadline = time.monotonic() + _MERGE_S
    while api.health().get("pending_batches") and time.monotonic() < deadline:
        time.sleep(0.05)


def _explain_nothing(watch: Watch, problem: str | None, status: int) -> None:
    """Explain why nothing was recorded.

    ``problem`` is what keeps the server from recording, and ``status`` is the program's exit status.
    """
    if problem is not None:
        warn(f"no session was recorded: {problem}")
    elif watch.refused:
        warn("no session was recorded: " + " ".join(watch.refused))
    elif status:
        warn(f"{_FAILED_EARLY.format(status=status)} No session was recorded.")
    elif watch.clusters:
        clusters = ", ".join(f"{address} ({session})" for session, address in sorted(watch.clusters.items()))
        warn(
            "no session was recorded: the program had no driver in the clusters running here "
            f"({clusters}). To inspect one of them: rayscope attach ADDRESS."
        )
    else:
        warn(
            "no session was recorded: the program did not start or join a Ray cluster on this machine. "
            "If it should have, check that it calls ray.init() and that `ray[default]` is installed "
            "where it runs. For a cluster elsewhere: rayscope attach HOST:PORT."
        )
