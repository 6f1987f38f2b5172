"""Looks up whether a server asks this process for a profile, in Ray's key-value store.

A server asks where it may not inspect processes. A request names the time, which lies far enough ahead for
all processes to read it before. So they need no connection to the server.
"""

from __future__ import annotations

import json
import random
import time

from rayscope.tracer.emit import state

#: Namespace of the requests, and the beginning of their keys. A request has the IDs of ``workers``, and its
#: ``begin`` and ``end`` as Unix time in seconds.
NAMESPACE, PREFIX = b"rayscope", b"profile:"
#: Samples per second while a profile is taken: as many as Ray lets py-spy take.
HZ = 100.0
#: Interval of the look-ups, that after one has failed, and the time limit of a call, in seconds.
EVERY_S = 5.0
_PAUSE_S = 15.0
_TIMEOUT_S = 0.5
#: Maximum number of requests that are read.
_MAX_REQUESTS = 10
#: Maximum length of a profile, and how far ahead it may be, in seconds.
_MAX_S = 120.0


class Demand:
    """When this process is to take a profile, by the monotonic clock (s).

    ``worker_id``: its ID (hex). ``end``: the end of the last profile.
    """

    def __init__(self, worker_id: str) -> None:
        self._worker_id = worker_id
        self._begin = self.end = 0.0
        # The processes of a cluster do not ask at the same moment.
        self._look_at = time.monotonic() + random.random() * EVERY_S  # noqa: S311 - no secret

    def is_on(self, now: float) -> bool:
        """Whether a profile is to be taken now. Looks it up from time to time, but not during a profile."""
        if now >= self._look_at and not self._begin <= now < self.end:
            self._look_at = now + (EVERY_S if self._look_up(now) else _PAUSE_S)
        return self._begin <= now < self.end

    def next_at(self, now: float) -> float:
        """When the answer of :meth:`is_on` may change."""
        return min((at for at in (self._begin, self.end, self._look_at) if at > now), default=now)

    def _look_up(self, now: float) -> bool:
        """Read the requests. Returns False if that failed."""
        try:
            store = state.worker.global_worker.gcs_client
            for key in store.internal_kv_keys(PREFIX, NAMESPACE, timeout=_TIMEOUT_S)[:_MAX_REQUESTS]:
                text = store.internal_kv_get(key, NAMESPACE, timeout=_TIMEOUT_S)
                request = json.loads(text or "{}")
                if self._worker_id not in request.get("workers", ()):
                    continue
                ahead, length = request["begin"] - time.time(), request["end"] - request["begin"]
                if -length < ahead <= _MAX_S and length <= _MAX_S:
                    self._begin, self.end = now + ahead, now + ahead + length
        except Exception:  # the GCS cannot be reached, or a request is of another version
            return False
        return True
