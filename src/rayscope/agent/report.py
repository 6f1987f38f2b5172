"""An agent's reports: its lane and the reason for it, counts of events, including lost ones, the ends of
processes of its node, and samples of its GPUs.

It runs in its own thread, because it must work when the lane does not. Counts are totals since the agent
started, so duplicate or missing reports do no harm. Ends of processes and batches of samples are repeated
until a report with them was accepted.
"""

from __future__ import annotations

import collections
import importlib.metadata
import itertools
import json
import logging
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from rayscope.agent.settings import EXPORT_ADDR, NODE_ID
from rayscope.version import __version__

log = logging.getLogger("rayscope.agent")

#: Interval between reports if there is no news, in seconds.
EVERY_S = 5.0
#: Minimum interval between reports if there is news, in seconds.
AT_MOST_EVERY_S = 0.5
_TIMEOUT_S = 5.0
#: Maximum number of ends of processes that wait to be sent, and that one report has.
MAX_ENDS = 1000
_ENDS_PER_REPORT = 50
#: The same for batches of samples of GPUs: half an hour of 8 GPUs.
MAX_GPU_BATCHES = 500
_GPU_BATCHES_PER_REPORT = 8
#: HTTP statuses of a report that will never be accepted.
_REFUSED = frozenset({400, 413})


class Reporter:
    """Counts events, and posts the counts to ``POST /api/ingest/{key}/agent``. Its methods never raise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._lane = "starting"
        self._reason = ""
        self._since_ns = time.time_ns()
        self._limit = 0
        self._received = self._sent = self._raw_bytes = self._sent_bytes = self._bodies = self._busy_ns = 0
        self._refused = self._dropped_attempts = 0
        self._trouble = ""
        self._lost: dict[str, list[int]] = {}
        self._ended: collections.deque[dict[str, Any]] = collections.deque(maxlen=MAX_ENDS)
        self._ends_dropped = 0
        self._gpu_batches: dict[tuple[str, int], dict[str, Any]] = {}
        #: CPU time for watching the ends of processes, and for watching GPUs, in ns.
        self.watch_ns = 0
        self.gpus_ns = 0
        self._about = {
            "session": argument("--session-name"),
            "node_id": os.environ.get(NODE_ID) or argument("--node-id"),
            "pid": os.getpid(),
            "ray_version": _version("ray"),
            "rayscope_version": __version__,
        }
        self._thread = threading.Thread(target=self._run, name="rayscope-report", daemon=True)

    def start(self) -> None:
        """Start reporting if the settings contain the address of a Rayscope server."""
        if report_url(os.environ.get(EXPORT_ADDR, "")):
            self._thread.start()

    def took_lane(self, limit: int) -> None:
        """Note that the fast lane is used, with a buffer of up to ``limit`` bytes."""
        with self._lock:
            self._lane, self._reason, self._limit = "fast", "", limit
            self._since_ns = time.time_ns()
        self._news.set()

    def leave(self, reason: str) -> None:
        """Note that Ray's JSON exporter is used, and why."""
        with self._lock:
            self._lane, self._reason, self._since_ns = "json", without_key(reason)[:500], time.time_ns()
            self._trouble = ""
        self._news.set()

    def came(self, events: int, dropped_attempts: int, busy_ns: int) -> None:
        """Count received events, and attempts whose events workers dropped because their buffer was full."""
        self._received += events
        self._dropped_attempts += dropped_attempts
        self._busy_ns += busy_ns

    def sent(self, events: int, raw: int, size: int, busy_ns: int) -> None:
        """Count a body that the server accepted. ``raw``: its bytes before compression; ``size``: on the
        wire.
        """
        self._sent += events
        self._raw_bytes += raw
        self._sent_bytes += size
        self._bodies += 1
        self._busy_ns += busy_ns
        self._trouble = ""

    def refused(self, why: str) -> None:
        """Count a body that the server refused and that will be sent again."""
        self._refused += 1
        self._trouble = without_key(why)[:300]

    @property
    def trouble(self) -> str:
        """Why the server refused the last body, or "" if it did not."""
        return self._trouble

    def lost(self, kind: str, time_ns: int) -> None:
        """Count an event that was dropped from the buffer before it was sent."""
        with self._lock:
            known = self._lost.get(kind)
            if known is None:
                self._lost[kind] = [1, time_ns, time_ns]
            else:
                known[0] += 1
                known[1] = min(known[1], time_ns)
                known[2] = max(known[2], time_ns)
        self._news.set()

    def process_ended(self, end: dict[str, Any]) -> None:
        """Note the end of a process: values of ``process_ends``. Drops the oldest if too many wait."""
        with self._lock:
            self._ends_dropped += len(self._ended) == MAX_ENDS
            self._ended.append(end)
        self._news.set()

    def forget(self, ends: list[dict[str, Any]], *, is_lost: bool = False) -> None:
        """Remove the oldest ends, because the server accepted them, or never will (``is_lost``)."""
        with self._lock:
            for end in ends:
                if self._ended and self._ended[0] is end:
                    self._ended.popleft()
                    self._ends_dropped += is_lost
            if self._ended:
                self._news.set()

    def gpu_sampled(self, batch: dict[str, Any]) -> None:
        """Note samples of a GPU. They replace an earlier state of the same batch."""
        with self._lock:
            self._gpu_batches[batch["gpu_uuid"], batch["begin_ns"]] = batch
            if len(self._gpu_batches) > MAX_GPU_BATCHES:
                del self._gpu_batches[next(iter(self._gpu_batches))]

    def forget_gpus(self, batches: list[dict[str, Any]]) -> None:
        """Remove batches that the server accepted, or never will, unless they have grown meanwhile."""
        with self._lock:
            for batch in batches:
                key = batch["gpu_uuid"], batch["begin_ns"]
                if self._gpu_batches.get(key) is batch:
                    del self._gpu_batches[key]
            if self._gpu_batches:
                self._news.set()

    def report(self) -> dict[str, Any]:
        """Return the report to post (docs/reference/api.md describes it)."""
        with self._lock:
            lost = [
                {"event_type": kind, "count": count, "first_ns": first, "last_ns": last}
                for kind, (count, first, last) in sorted(self._lost.items())
            ]
            lane, reason, since_ns = self._lane, self._reason, self._since_ns
            ended, ends_dropped = list(itertools.islice(self._ended, _ENDS_PER_REPORT)), self._ends_dropped
            gpus = list(itertools.islice(self._gpu_batches.values(), _GPU_BATCHES_PER_REPORT))
        return {
            **self._about,
            "lane": lane,
            "reason": reason,
            "since_ns": since_ns,
            "time_ns": time.time_ns(),
            "buffer_limit": self._limit,
            "received": self._received,
            "sent": self._sent,
            "raw_bytes": self._raw_bytes,
            "sent_bytes": self._sent_bytes,
            "bodies": self._bodies,
            "refused": self._refused,
            "trouble": self._trouble,
            "busy_s": (self._busy_ns + self.watch_ns + self.gpus_ns) / 1e9,
            "cpu_s": time.process_time(),
            "dropped_attempts": self._dropped_attempts,
            "lost": lost,
            "ended": ended,
            "ends_dropped": ends_dropped,
            "gpus": gpus,
        }

    def _run(self) -> None:
        url = report_url(os.environ.get(EXPORT_ADDR, ""))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while True:
            self._news.wait(EVERY_S)
            self._news.clear()
            try:
                if self._lane != "starting":
                    report = self.report()
                    try:
                        _post(opener, url, report)
                    except urllib.error.HTTPError as error:
                        if error.code in _REFUSED:
                            self.forget(report["ended"], is_lost=True)
                            self.forget_gpus(report["gpus"])
                        raise
                    self.forget(report["ended"])
                    self.forget_gpus(report["gpus"])
            except (OSError, urllib.error.URLError, ValueError) as error:
                log.debug("the server cannot be told about this agent: %r", error)
                time.sleep(EVERY_S - AT_MOST_EVERY_S)
                self._news.set()
            except Exception as error:  # such as a truncated response: the next report may succeed
                log.warning("this agent's report failed: %r", error)
                time.sleep(EVERY_S - AT_MOST_EVERY_S)
            time.sleep(AT_MOST_EVERY_S)


def _post(opener: urllib.request.OpenerDirector, url: str, report: dict[str, Any]) -> None:
    body = json.dumps(report).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    with opener.open(request, timeout=_TIMEOUT_S) as reply:
        reply.read()


def fault(error: Exception) -> str:
    """Return the reason for closing the fast lane after an error in Rayscope."""
    return f"a fault of Rayscope: {type(error).__name__}: {error}"


def without_key(text: str) -> str:
    """Return ``text`` without the ingest key. HTTP clients' errors contain it, because they quote the URL."""
    return re.sub(r"(/api/ingest/)[^/\s'\"]+", r"\1...", text)


def report_url(ingest_url: str) -> str:
    """Return the address for reports next to ``ingest_url``, or "" if that is not a Rayscope server's."""
    base, found, _ = ingest_url.partition("/ray-events")
    return f"{base}/agent" if found and "/api/ingest/" in base and ingest_url.startswith("http") else ""


def argument(name: str) -> str:
    """Return the value of an argument of this process. Ray starts its agent with the session's name."""
    for argument in sys.argv:
        key, equals, value = argument.partition("=")
        if equals and key == name:
            return value
    return ""


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
