"""Let a driver's last events out before its cluster goes.

Workers send their task events once a second, and they die with their job: as soon as the driver
disconnects. A cluster that ``ray.init()`` started dies a moment later, with the events that its node's
agent still holds. So a driver waits twice, at most :data:`TOTAL_S` in all (longer only while one server
takes the place of another): one report interval before it disconnects, and for the recording server to say
that all has arrived before it stops its own processes.
Measured with Ray 2.60, 1,000 short tasks and ``ray.shutdown()`` at once: without the first wait the
executor's account (running, node, spans) of all but 3 was lost; with it none.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from rayscope.tracer.faults import run_safely
from rayscope.tracer.settings import DEFAULT_REPORT_INTERVAL_MS, DRAIN_URL, REPORT_INTERVAL_MS, RUN_PID

#: Bound on the server's answer, s.
DRAIN_S = 5.0
#: Bound on everything, s, unless the server is away.
TOTAL_S = 6.5
#: How long a server may be away while a `rayscope run` starts the next one, s. (Quiet: 2.)
_AWAY_S = 60.0
_AGAIN_S = 0.2
#: Bound on the answer of a server that was away, s: agents that met none pause for up to 6 s.
_AFTER_AWAY_S = 9.0
#: Added to the report interval for the worker's RPC to its node's agent, s.
_MARGIN_S = 0.15
_MARK = "_rayscope_wrapped"
#: Why a server does not say that all has arrived.
_AWAY, _BUSY = "away", "busy"


def install() -> None:
    """Wrap the two steps of Ray's shutdown in this process, once. No effect without the environment."""
    if not os.environ.get(DRAIN_URL):
        return
    from ray._private import node, worker

    disconnect = worker.disconnect
    if not hasattr(disconnect, _MARK):

        @functools.wraps(disconnect)
        def patient_disconnect(*args: Any, **kwargs: Any) -> Any:
            run_safely(_wait_for_workers, worker.global_worker)
            return disconnect(*args, **kwargs)

        setattr(patient_disconnect, _MARK, True)
        worker.disconnect = patient_disconnect

    kill = node.Node.kill_all_processes
    if not hasattr(kill, _MARK):

        @functools.wraps(kill)
        def patient_kill(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A node that is killed without grace plays a failure: it gets none from us either.
            if kwargs.get("allow_graceful", len(args) > 1 and args[1]):
                run_safely(_drain, self)
            return kill(self, *args, **kwargs)

        setattr(patient_kill, _MARK, True)
        node.Node.kill_all_processes = patient_kill


def report_interval_s() -> float:
    """How long a worker may keep its events to itself, s."""
    try:
        interval_ms = float(os.environ.get(REPORT_INTERVAL_MS, DEFAULT_REPORT_INTERVAL_MS))
    except ValueError:
        interval_ms = DEFAULT_REPORT_INTERVAL_MS
    return min(max(interval_ms, 0) / 1000, TOTAL_S - DRAIN_S - _MARGIN_S)


def _wait_for_workers(worker: Any) -> None:
    """Wait one report interval if ``worker`` is a connected driver (Ray's SCRIPT_MODE is 0)."""
    if worker.connected and worker.mode == 0:
        hooks = sys.modules.get("rayscope.tracer.hooks")
        if hooks is not None:
            hooks.last_words()
        time.sleep(report_interval_s() + _MARGIN_S)


def _drain(node: Any) -> None:
    """Ask the recording server to tell when it has all of this node's session."""
    url = os.environ.get(DRAIN_URL)
    if not url or not node.all_processes:  # a node that was only connected to has none of its own
        return
    session = getattr(node, "_session_name", None)
    began = time.monotonic()
    timeout_s = DRAIN_S
    while (problem := _ask(url, session, timeout_s)) is not None:
        left_s = began + (DRAIN_S if problem == _BUSY else _AWAY_S) - time.monotonic()
        if left_s <= 0 or (problem == _AWAY and not _runs()):
            return
        time.sleep(_AGAIN_S)
        timeout_s = min(left_s, DRAIN_S if problem == _BUSY else _AFTER_AWAY_S)


def _ask(url: str, session: str | None, timeout_s: float) -> str | None:
    """None if a server has answered, be it only at its time limit; else why to ask again."""
    body = json.dumps({"session": session, "timeout_s": timeout_s}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    # The server is on this machine: no proxy of the user's environment lies between.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s + 0.3) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        if error.code == 503:  # many programs end at once
            return _BUSY
        raise
    except (ConnectionError, urllib.error.URLError) as error:
        if isinstance(getattr(error, "reason", error), ConnectionError):
            return _AWAY
        raise
    return None


def _runs() -> bool:
    """Whether the `rayscope run` that started this program lives, and brings the server back."""
    try:
        os.kill(int(os.environ.get(RUN_PID, "")), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return True
