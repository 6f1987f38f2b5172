"""Looks up whether a server asks this process for a profile, in Ray's key-value store.

A server asks where it may not inspect processes. The request names the time, which lies far enough ahead for
all processes to read it before. So they need no connection to the server.
"""

from __future__ import annotations

import json
import random
import time

from rayscope.tracer.emit import state

#: Where the request is: key and namespace. Its fields: worker IDs, and begin and end as Unix time in seconds.
KEY, NAMESPACE = b"profile", b"rayscope"
#: Samples per second while a profile is taken: as many as Ray lets py-spy take.
HZ = 100.0
#: Interval of the look-ups, that after one has failed, and their time limit, in seconds.
EVERY_S = 5.0
_PAUSE_S = 60.0
_TIMEOUT_S = 2.0
#: Maximum length of a profile, and how far ahead it may be, in seconds.
_MAX_S = 120.0


class Demand:
    """When this process is to take a profile, by the monotonic clock (s)."""

    def __init__(self) -> None:
        self._begin = self._end = 0.0
        # The processes of a cluster do not ask at the same moment.
        self._look_at = time.monotonic() + random.random() * EVERY_S  # noqa: S311 - no secret

    def is_on(self, now: float) -> bool:
        """Whether a profile is to be taken now. Looks it up from time to time."""
        if now >= self._look_at:
            self._look_at = now + (EVERY_S if self._look_up(now) else _PAUSE_S)
        return self._begin <= now < self._end

    def next_at(self, now: float) -> float:
        """When the answer of :meth:`is_on` may change."""
        return min(at for at in (self._begin, self._end, self._look_at) if at > now)

    def _look_up(self, now: float) -> bool:
        """Read the request. Returns False if that failed."""
        try:
            text = state.worker.global_worker.gcs_client.internal_kv_get(KEY, NAMESPACE, timeout=_TIMEOUT_S)
            if text is not None:
                request = json.loads(text)
                if state.core.get_worker_id().hex() in request["workers"]:
                    ahead, length = request["begin"] - time.time(), request["end"] - request["begin"]
                    if max(ahead, length) <= _MAX_S:
                        self._begin, self._end = now + ahead, now + ahead + length
        except Exception:  # the GCS cannot be reached, or the request is of another version
            return False
        return True
