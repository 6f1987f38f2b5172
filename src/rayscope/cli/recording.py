"""The settings that make Ray record itself: all names and values.

A setting reaches a Ray process in one of two ways: through the environment, which a node's processes inherit
from the process that starts the node, and through the system configuration, which a head node passes to every
raylet, worker and driver.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rayscope.agent.settings import EVENT_TYPES, EXPORT_ADDR, EXPOSABLE_TYPES, FAST_LANE
from rayscope.tracer.settings import CHAINED_HOOK, DRAIN_URL, HOOK, RUNTIME_ENV_HOOK, TRACE

# Read by workers and drivers: send task events to the node's agent as well as the GCS.
WORKER_EVENTS = "enable_core_worker_ray_event_to_aggregator"
# Read by the GCS and raylets: send events of actors, nodes, jobs and workers.
CLUSTER_EVENTS = "enable_ray_event"
# Read by drivers and workers at import: record spans of ray.get, ray.put and ray.wait. Only its presence
# counts: RAY_PROFILING=0 switches it on too.
PROFILING = "RAY_PROFILING"
# Maximum number of spans of one task, 1,000 by default. -1 (no limit) crashes the GCS of Ray 2.60.
MAX_SPANS = "task_events_max_num_profile_events_per_task"
MAX_SPANS_VALUE = 10_000
# Read by Ray Serve, which otherwise switches off the task events of its own actors.
SERVE_EVENTS = "RAY_SERVE_ENABLE_TASK_EVENTS"
# Read by Ray Train in the driver, which otherwise does not keep the state of its runs for the dashboard.
TRAIN_STATE = "RAY_TRAIN_ENABLE_STATE_TRACKING"
# Read by workers at import: the number of characters that Ray keeps from the end of an exception's text. The
# default of 500 loses the user's line of most exceptions that a library raises.
ERROR_CHARS = "RAY_MAX_APPLICATION_ERROR_LENGTH"
ERROR_CHARS_VALUE = 20_000
# A system configuration value ``x`` is read from the environment variable ``RAY_x``.
CONFIG_PREFIX = "RAY_"


def system_config(profile: bool = True) -> dict[str, Any]:
    """The ``--system-config`` that a head node needs."""
    config: dict[str, Any] = {WORKER_EVENTS: True, CLUSTER_EVENTS: True}
    if profile:
        config[MAX_SPANS] = MAX_SPANS_VALUE
    return config


class Parts(NamedTuple):
    """The enabled parts of the recording: spans of ray.get and similar calls, the fast lane, the tracer, the
    tasks of Ray Serve, and the state of Ray Train's runs.
    """

    profile: bool = True
    fast_lane: bool = True
    trace: bool = True
    serve_events: bool = True
    train_state: bool = True


ALL_PARTS = Parts()


def node_env(ingest_url: str, parts: Parts = ALL_PARTS) -> dict[str, str]:
    """The environment variables of a node's processes. The tracer reports in spans, so it requires them."""
    env = {
        EXPORT_ADDR: ingest_url,
        # Ray's default omits profile events.
        EXPOSABLE_TYPES: ",".join(EVENT_TYPES),
        f"{CONFIG_PREFIX}{WORKER_EVENTS}": "1",
        f"{CONFIG_PREFIX}{CLUSTER_EVENTS}": "1",
        ERROR_CHARS: str(ERROR_CHARS_VALUE),
    }
    # Always set explicitly, because the inherited environment may enable it.
    env[FAST_LANE] = "1" if parts.fast_lane else "0"
    env[TRACE] = "1" if parts.trace and parts.profile else "0"
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
    """The complete environment of a program that may start its own cluster.

    Limits on spans and errors that the user set are kept, unless they crash Ray. ``hook``: whether the
    program's interpreter can import our hook; ``ray.init()`` fails on a hook that it cannot import.
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
    """``env`` with our py-spy at the end of PATH if there is none, because a node's agent looks for it there.

    It is next to our interpreter, which is not on PATH unless its environment is activated.
    """
    path = env.get("PATH", os.defpath)
    ours = os.path.dirname(sys.executable)
    if shutil.which("py-spy", path=path) or not shutil.which("py-spy", path=ours):
        return dict(env)
    return {**env, "PATH": f"{path}{os.pathsep}{ours}"}


def drain_url(ingest_url: str) -> str:
    """The URL that waits for all events to arrive, with the key of ``ingest_url``."""
    return ingest_url.replace("/api/ingest/", "/api/drain/", 1).removesuffix("/ray-events")


def program_end_url(ingest_url: str) -> str:
    """The URL that receives how a program ended, with the key of ``ingest_url``."""
    return f"{ingest_url.removesuffix('/ray-events')}/program-end"


def program_output_url(ingest_url: str) -> str:
    """The URL that receives a program's output, with the key of ``ingest_url``."""
    return f"{ingest_url.removesuffix('/ray-events')}/program-output"


def ingest_url(server: str, key: str) -> str:
    """The ingest URL of ``server``, which may already be an ingest URL."""
    if "/api/ingest/" in server:
        return server
    return f"{server.rstrip('/')}/api/ingest/{key}/ray-events"


def merge_system_config(args: Sequence[str], ours: Mapping[str, Any]) -> list[str]:
    """``ray start`` arguments with ``ours`` merged into ``--system-config``. The user's own values win.

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
    """Whether ``url`` is reachable only from this machine."""
    host = (urlsplit(url).hostname or "").lower()
    return host in ("localhost", "::1") or host.startswith("127.")
