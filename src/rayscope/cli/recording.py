"""The settings that make Ray record itself, with all names and values.

A setting reaches a Ray process in one of two ways. One is the environment, which a node's processes inherit
from the process that starts the node. The other is the system configuration, which a head node passes to
every raylet, worker, and driver.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rayscope.agent.settings import (
    EVENT_TYPES,
    EXPORT_ADDR,
    EXPOSABLE_TYPES,
    FAST_LANE,
    WATCH_EXITS,
    WATCH_GPUS,
)
from rayscope.tracer.settings import CHAINED_HOOK, DRAIN_URL, HOOK, MEMORY, RUNTIME_ENV_HOOK, SAMPLES, TRACE

# Read by workers and drivers. Sends task events to the node's agent as well as to the GCS.
WORKER_EVENTS = "enable_core_worker_ray_event_to_aggregator"
# Read by the GCS and raylets. Sends events of actors, nodes, jobs, and workers.
CLUSTER_EVENTS = "enable_ray_event"
# Read by drivers and workers at import. Records spans of ray.get, ray.put, and ray.wait. Only the presence of
# the variable counts: RAY_PROFILING=0 enables it, too.
PROFILING = "RAY_PROFILING"
# Maximum number of spans per task. Ray's default is 1,000. -1 (no limit) crashes the GCS of Ray 2.60.
MAX_SPANS = "task_events_max_num_profile_events_per_task"
MAX_SPANS_VALUE = 10_000
# Read by Ray Serve, which otherwise disables the task events of its own actors.
SERVE_EVENTS = "RAY_SERVE_ENABLE_TASK_EVENTS"
# Read by Ray Train in the driver. Without it, Train does not keep the state of its runs for the dashboard.
TRAIN_STATE = "RAY_TRAIN_ENABLE_STATE_TRACKING"
# Read by workers at import. Number of characters that Ray keeps from the end of an exception's text. With the
# default of 500, most exceptions raised by a library lose the line of the user's code.
ERROR_CHARS = "RAY_MAX_APPLICATION_ERROR_LENGTH"
ERROR_CHARS_VALUE = 20_000
# Prefix of the environment variable from which a value of the system configuration is read.
CONFIG_PREFIX = "RAY_"


def system_config(profile: bool = True) -> dict[str, Any]:
    """Return the ``--system-config`` that a head node needs."""
    config: dict[str, Any] = {WORKER_EVENTS: True, CLUSTER_EVENTS: True}
    if profile:
        config[MAX_SPANS] = MAX_SPANS_VALUE
    return config


class Parts(NamedTuple):
    """The enabled parts of the recording.

    ``profile``: spans of ray.get and similar calls. ``trace``: the tracer. ``serve_events``: the tasks of Ray
    Serve. ``train_state``: the state of Ray Train's runs. ``peak_memory``: that of attempts, by the tracer.
    ``exit_watch``: how processes end, by the nodes' agents. ``gpu_watch``: how busy GPUs are, by the same.
    ``samples_hz``: samples of stacks per second, by the tracer, or None for what the environment says.
    """

    profile: bool = True
    fast_lane: bool = True
    trace: bool = True
    serve_events: bool = True
    train_state: bool = True
    peak_memory: bool = True
    exit_watch: bool = True
    gpu_watch: bool = True
    samples_hz: float | None = None

    @classmethod
    def without(cls, *left_out: bool) -> Parts:
        """The parts of which ``left_out``, in the order of the fields, is false."""
        return cls(*(not each for each in left_out))


ALL_PARTS = Parts()


def node_env(ingest_url: str, parts: Parts = ALL_PARTS) -> dict[str, str]:
    """Return the environment variables for a node's processes. The tracer needs spans to report."""
    env = {
        EXPORT_ADDR: ingest_url,
        # Profile events are not among Ray's default types.
        EXPOSABLE_TYPES: ",".join(EVENT_TYPES),
        f"{CONFIG_PREFIX}{WORKER_EVENTS}": "1",
        f"{CONFIG_PREFIX}{CLUSTER_EVENTS}": "1",
        ERROR_CHARS: str(ERROR_CHARS_VALUE),
    }
    # Always set explicitly, because the inherited environment may enable it.
    env[FAST_LANE] = "1" if parts.fast_lane else "0"
    env[TRACE] = "1" if parts.trace and parts.profile else "0"
    if not parts.peak_memory:
        env[MEMORY] = "0"
    if parts.samples_hz is not None:
        env[SAMPLES] = f"{parts.samples_hz:g}"
    if not parts.exit_watch:
        env[WATCH_EXITS] = "0"
    if not parts.gpu_watch:
        env[WATCH_GPUS] = "0"
    if parts.profile:
        env[PROFILING] = "1"
        env[f"{CONFIG_PREFIX}{MAX_SPANS}"] = str(MAX_SPANS_VALUE)
    if parts.serve_events:
        env[SERVE_EVENTS] = "1"
    if parts.train_state:
        env[TRAIN_STATE] = "1"
    return env


def child_env(
    ingest_url: str,
    parts: Parts = ALL_PARTS,
    *,
    hook: bool = True,
    environ: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the complete environment for a program that may start its own cluster.

    The user's own limits on spans and errors are kept, unless they crash Ray. ``hook``: whether the program's
    interpreter can import our hook. ``ray.init()`` fails if it cannot import a hook.
    """
    base = dict(os.environ if environ is None else environ)
    env = {**base, **node_env(ingest_url, parts)}
    for limit in (f"{CONFIG_PREFIX}{MAX_SPANS}", ERROR_CHARS):
        if base.get(limit, "").isdigit():
            env[limit] = base[limit]
    if hook:
        before = base.get(RUNTIME_ENV_HOOK, "")
        if before and before != HOOK:
            env[CHAINED_HOOK] = before
        env[RUNTIME_ENV_HOOK] = HOOK
        env[DRAIN_URL] = drain_url(ingest_url)
    return env


def with_py_spy(env: Mapping[str, str]) -> dict[str, str]:
    """Return ``env`` with our py-spy at the end of PATH if PATH has none. A node's agent looks for it there.

    py-spy is next to our interpreter. That folder is not on PATH unless our environment is activated.
    """
    path = env.get("PATH", os.defpath)
    ours = os.path.dirname(sys.executable)
    if shutil.which("py-spy", path=path) or not shutil.which("py-spy", path=ours):
        return dict(env)
    return {**env, "PATH": f"{path}{os.pathsep}{ours}"}


def drain_url(ingest_url: str) -> str:
    """Return the URL that waits until all events have arrived, with the key from ``ingest_url``."""
    return ingest_url.replace("/api/ingest/", "/api/drain/", 1).removesuffix("/ray-events")


def program_end_url(ingest_url: str) -> str:
    """Return the URL to which the end of a program is reported, with the key from ``ingest_url``."""
    return f"{ingest_url.removesuffix('/ray-events')}/program-end"


def program_output_url(ingest_url: str) -> str:
    """Return the URL to which a program's output is sent, with the key from ``ingest_url``."""
    return f"{ingest_url.removesuffix('/ray-events')}/program-output"


def ingest_url(server: str, key: str) -> str:
    """Return the ingest URL of ``server``, which may already be an ingest URL."""
    if "/api/ingest/" in server:
        return server
    return f"{server.rstrip('/')}/api/ingest/{key}/ray-events"


def merge_system_config(args: Sequence[str], ours: Mapping[str, Any]) -> list[str]:
    """Return arguments of ``ray start`` with ``ours`` merged into ``--system-config``. The user's values win.

    Raises ValueError if ``--system-config`` is not a JSON object.
    """
    merged: dict[str, Any] = dict(ours)
    rest: list[str] = []
    remaining = iter(args)
    for argument in remaining:
        name, equals, value = argument.partition("=")
        if name != "--system-config":
            rest.append(argument)
            continue
        text = value if equals else next(remaining, "")
        theirs = json.loads(text)
        if not isinstance(theirs, dict):
            raise ValueError("it is not a JSON object")
        merged.update(theirs)
    return [*rest, f"--system-config={json.dumps(merged, separators=(',', ':'))}"]


def is_loopback_url(url: str) -> bool:
    """Return whether ``url`` can be reached only from this machine."""
    host = (urlsplit(url).hostname or "").lower()
    return host in ("localhost", "::1") or host.startswith("127.")
