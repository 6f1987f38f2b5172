"""Reports that code of this process waits for a debugger, and connects debuggers to it.

Ray's ``breakpoint()`` opens debugpy's port and waits for a client without a time limit. While it does, a
thread of ours has a connection to the Rayscope server, so the server knows of the wait at once, and a
debugger that is connected to the server reaches debugpy even if no port of this machine can be reached. The
messages of debugpy's own protocol pass through unchanged.

If the server lets debuggers in, it sets a time limit. Then code continues once nobody has used the debugger
for this long, once the debugger has left, or once the server is gone. Otherwise Ray waits as it always does.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from rayscope.tracer import emit
from rayscope.tracer.emit import state
from rayscope.tracer.pause import Pause
from rayscope.tracer.relay import Relay, server_url


def _about() -> dict[str, Any]:
    """The IDs of this process and its node."""
    worker, core = state.worker.global_worker, state.core
    node = getattr(state.worker, "_global_node", None)
    return {
        "session": getattr(node, "session_name", None),
        "node_id": worker.current_node_id.hex(),
        "worker_id": core.get_worker_id().hex(),
        "job_id": core.get_current_job_id().hex(),
        "actor_id": worker.actor_id.hex() if not worker.actor_id.is_nil() else None,
        "pid": os.getpid(),
        "host": worker.node_ip_address,
        "is_driver": worker.mode == 0,
    }


#: The threads that are to continue at Ray's next attempt to stop them.
_passing: set[int] = set()
_MARK = "_rayscope_passes"


def _install_pass() -> None:
    """Let threads continue where Ray would stop them for a client, if there is none or they are released.

    Without a client, a thread would wait there for the next one.
    """
    import debugpy
    from ray.util import debugpy as rays

    stop, stop_at_error = rays._debugpy_breakpoint, rays._debugpy_excepthook
    if hasattr(rays, _MARK) or stop.__code__.co_argcount or stop_at_error.__code__.co_argcount:
        return
    setattr(rays, _MARK, True)

    def may_pass() -> bool:
        thread = threading.get_ident()
        is_released = thread in _passing
        _passing.discard(thread)
        return is_released or not debugpy.is_client_connected()

    def _debugpy_breakpoint() -> None:
        if not may_pass():
            import pydevd  # type: ignore[import-not-found]

            # As in Ray's function, which must be called by `set_trace` itself.
            pydevd.settrace(stop_at_frame=sys._getframe().f_back)

    def _debugpy_excepthook() -> None:
        if not may_pass():
            stop_at_error()

    rays._debugpy_breakpoint, rays._debugpy_excepthook = _debugpy_breakpoint, _debugpy_excepthook


_relay: Relay | None = None
_lock = threading.Lock()


def _reset_after_fork() -> None:
    """Forget the connection, whose thread a forked child does not have."""
    global _relay, _lock
    _relay = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_reset_after_fork)


def begin() -> Pause:
    """Report that the current thread waits for a debugger."""
    global _relay
    _passing.discard(threading.get_ident())
    pause = Pause()
    emit.report_always("rayscope.paused", {"text": pause.place}, pause.task)
    if server_url():
        _install_pass()
        about = _about()
        with _lock:
            if _relay is None or not _relay.add(pause):
                _relay = Relay(pause, about)
    return pause


def end(pause: Pause) -> None:
    """Report that the current thread no longer waits."""
    if pause.is_released:
        _passing.add(threading.get_ident())
    if _relay is not None:
        _relay.remove(pause)
