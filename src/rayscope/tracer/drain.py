"""Waits for a driver's last events before its cluster stops.

Workers send their task events once a second, and die as soon as their driver disconnects. A cluster started
by ``ray.init()`` stops a moment later, and the events buffered by its node's agent are lost. So a driver
waits twice:

- one report interval before it disconnects;
- before it stops its own processes, until the recording server has received everything.

Together, the two waits take at most :data:`TOTAL_S`, or longer while one server replaces another. Measured
with Ray 2.60, 1,000 short tasks and an immediate ``ray.shutdown()``: without the first wait, the workers'
reports (running, node, spans) were lost for all but 3 tasks. With it, none were lost.
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

#: Timeout for the server's response, in seconds.
DRAIN_S = 5.0
#: Time limit for both waits together, s, unless the server is away.
TOTAL_S = 6.5
#: How long to wait for a server that `rayscope run` is replacing, s. It takes about 2 s on an idle machine.
_AWAY_S = 60.0
#: Pause between two attempts, in seconds.
_RETRY_S = 0.2
#: Timeout for the response of a server that was away, s. Agents that could not reach it pause for up to 6 s.
_AFTER_AWAY_S = 9.0
#: Time added to the report interval to allow for the worker's RPC to its node's agent, in seconds.
_MARGIN_S = 0.15
_MARK = "_rayscope_wrapped"
#: Reason to retry: the server refused the connection.
_AWAY = "away"
#: Reason to retry: the server is already draining too many other programs.
_BUSY = "busy"


def install() -> None:
    """Wrap the two steps of Ray's shutdown in this process, once. Does nothing without ``DRAIN_URL``."""
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
            # An ungraceful kill of a node simulates a failure: do not wait in that case.
            if kwargs.get("allow_graceful", len(args) > 1 and args[1]):
                run_safely(_drain, self)
            return kill(self, *args, **kwargs)

        setattr(patient_kill, _MARK, True)
        node.Node.kill_all_processes = patient_kill


def report_interval_s() -> float:
    """The longest time for which a worker buffers its events, s."""
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
            hooks.flush_sums()
        time.sleep(report_interval_s() + _MARGIN_S)


def _drain(node: Any) -> None:
    """Wait until the recording server has received everything from this node's session."""
    url = os.environ.get(DRAIN_URL)
    if not url or not node.all_processes:  # we only connected to this node and have nothing to stop
        return
    session = getattr(node, "_session_name", None)
    began = time.monotonic()
    timeout_s = DRAIN_S
    while (problem := _request_drain(url, session, timeout_s)) is not None:
        left_s = began + (DRAIN_S if problem == _BUSY else _AWAY_S) - time.monotonic()
        if left_s <= 0 or (problem == _AWAY and not _is_run_alive()):
            return
        time.sleep(_RETRY_S)
        timeout_s = min(left_s, DRAIN_S if problem == _BUSY else _AFTER_AWAY_S)


def _request_drain(url: str, session: str | None, timeout_s: float) -> str | None:
    """Request a drain from the server. Returns the reason to retry, or None if the server responded.

    The server responds at its time limit even if it has not received everything.
    """
    body = json.dumps({"session": session, "timeout_s": timeout_s}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    # The server is on this machine, so ignore the user's proxy settings.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s + 0.3) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        if error.code == 503:  # many programs are ending at once
            return _BUSY
        raise
    except (ConnectionError, urllib.error.URLError) as error:
        if isinstance(getattr(error, "reason", error), ConnectionError):
            return _AWAY
        raise
    return None


def _is_run_alive() -> bool:
    """Whether the `rayscope run` that started this program is alive and will restart the server."""
    try:
        os.kill(int(os.environ.get(RUN_PID, "")), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return True
