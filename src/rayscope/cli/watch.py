"""Finds the sessions of a running program, and attaches to clusters that were started without recording."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import say, warn
from rayscope.cli.recording import is_loopback_url
from rayscope.periodic import PeriodicTask

#: Interval at which Watch polls, in seconds.
PERIOD_S = 2.0
#: If a session of the program sends nothing for this long, in seconds, it is treated as unrecorded.
SILENT_TIMEOUT_S = 3.0

#: How long to wait for the cluster of an ended program to shut down, in seconds.
_GOING_S = 3.0

#: Returns the GCS address of each session.
FindClusters = Callable[[], dict[str, str]]
#: Takes a GCS address and a time (ms). Returns the process IDs of drivers that are alive or started after
#: that.
FindDrivers = Callable[[str, int], set[int]]


def clusters_in_reach() -> dict[str, str]:
    """Return the GCS address of each session on this machine.

    The cluster in RAY_ADDRESS is included, with its address in place of the session.
    """
    from rayscope.ray.address import AddressError, resolve
    from rayscope.ray.discovery import local_gcs_addresses

    found = local_gcs_addresses()
    named = os.environ.get("RAY_ADDRESS", "").strip()
    if named and named not in ("auto", "local"):
        try:
            address = resolve(named)
        except AddressError:
            return found
        if not _is_one_of(address, found.values()):
            found[address] = address
    return found


def _is_one_of(address: str, local: Iterable[str]) -> bool:
    """Whether an address is that of a cluster on this machine, perhaps by its loopback interface."""
    port = address.rpartition(":")[2]
    is_loopback = is_loopback_url(f"http://{address}")
    return any(one == address or (is_loopback and one.rpartition(":")[2] == port) for one in local)


def drivers_of(address: str, since_ms: int) -> set[int]:
    """Return the process IDs of a cluster's drivers that are alive or started at ``since_ms`` or later.

    The result is empty if the GCS cannot be reached.
    """
    from rayscope.ray.auth import ray_token
    from rayscope.ray.gcs.client import GcsClient, GcsError

    try:
        with GcsClient(address, ray_token(), timeout_s=3) as client:
            return {
                int(job.driver_pid) for job in client.jobs() if not job.is_dead or job.start_time >= since_ms
            }
    except GcsError:
        return set()


class Watch:
    """Polls every :data:`PERIOD_S` in a thread. Use it as a context manager.

    ``announce`` is called once for each session of the program, as soon as the server knows the session.
    """

    def __init__(
        self,
        api: Api,
        family: Callable[[], set[int]],
        before: Mapping[str, Mapping[str, Any]],
        find_clusters: FindClusters = clusters_in_reach,
        find_drivers: FindDrivers = drivers_of,
        announce: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._api = api
        self._family = family
        self._before = before
        self._find_clusters = find_clusters
        self._find_drivers = find_drivers
        self._announce = announce
        self._announced: set[str] = set()
        self._since_ms = int(time.time() * 1000)
        self._seen: dict[str, float] = {}
        #: process IDs of the program and all its known descendants
        self.pids: set[int] = set()
        self._settled: set[str] = set()
        self._task = PeriodicTask("rayscope-watch", PERIOD_S, self._look_or_end)
        #: session -> GCS address, for every cluster seen while the program ran
        self.clusters: dict[str, str] = {}
        #: sessions to which we attached because they were started without recording
        self.attached: set[str] = set()
        #: reasons why clusters that the program used could not be attached
        self.refused: list[str] = []

    def __enter__(self) -> Watch:
        self._task.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._task.stop(10)

    def _look_or_end(self) -> None:
        try:
            self.look_and_announce()
        except Exception as error:  # the program continues without the watch
            self.refused.append(f"Looking for clusters failed: {error}")
            self._task.stop()

    def look(self, timeout_s: float = SILENT_TIMEOUT_S) -> None:
        """Poll once. Attaches to unrecorded clusters that have sent nothing for ``timeout_s``.

        With 0, it attaches immediately, because the program has ended and nothing more will arrive.
        """
        self.pids |= self._family()
        self.clusters.update(self._find_clusters())
        open_questions = {s: a for s, a in self.clusters.items() if s not in self._settled}
        if not open_questions:
            return
        try:
            recorded = self._api.by_name()
        except RayscopeError:
            return
        now = time.monotonic()
        for session, address in open_questions.items():
            if sends_events(recorded.get(session)) or has_grown(session, self._before, recorded):
                self._settled.add(session)
                continue
            if not self._find_drivers(address, self._since_ms) & self.pids:
                continue
            if now - self._seen.setdefault(session, now) >= timeout_s:
                self._attach(session, address)

    def look_and_announce(self) -> None:
        """Poll once, and announce the program's sessions that the server has come to know."""
        self.look()
        found = [s for s, a in self.clusters.items() if s not in self._announced and self._is_ours(s, a)]
        with contextlib.suppress(RayscopeError):
            recorded = self._api.by_name() if found else {}
            for session in filter(recorded.__contains__, found):
                self._announced.add(session)
                self._announce(session)

    def _is_ours(self, session: str, address: str) -> bool:
        """Return whether the cluster belongs to the program.

        It does if the program started it or, as long as no session was announced, has a driver there.
        """
        if _has_pid_of(session, self.pids):
            return True
        return not self._announced and bool(self._find_drivers(address, self._since_ms) & self.pids)

    def choose(self, pid: int, sessions: Sequence[str]) -> Sequence[str]:
        """Return which of ``sessions`` belong to the program ``pid``.

        It started their clusters, had a driver there, or may have submitted jobs: nobody else had a driver
        there in the meantime. Returns all of them if none belongs to it by these signs.
        """
        pids = {pid, *self.pids}
        return [s for s in sessions if _has_pid_of(s, pids) or self._may_be_ours(s, pids)] or sessions

    def _may_be_ours(self, session: str, pids: set[int]) -> bool:
        since_ns = self._since_ms * 10**6
        drivers = [job for job in self._api.jobs(session=session) if job["submission_id"] is None]
        lately = [job for job in drivers if job["end_ns"] is None or job["end_ns"] >= since_ns]
        ours = [job for job in drivers if job["driver_pid"] in pids and (job["start_ns"] or 0) >= since_ns]
        return bool(ours) or not lately

    def ended_with(self, pid: int, sessions: Iterable[str]) -> set[str]:
        """Return which of ``sessions`` had clusters on this machine that ended with the program ``pid``."""
        ours = {
            session
            for session in sessions
            if session in self.clusters or _has_pid_of(session, {pid, *self.pids})
        }
        deadline = time.monotonic() + _GOING_S
        while left := ours & set(self._find_clusters()):
            # A cluster that the program did not shut down dies a moment later.
            if time.monotonic() > deadline or not any(name.endswith(f"_{pid}") for name in left):
                break
            time.sleep(0.1)
        return ours - left

    def _attach(self, session: str, address: str) -> None:
        self._settled.add(session)
        try:
            name = self._api.attach_cluster(address)
        except RayscopeError as error:
            self.refused.append(f"{error.message} {error.remedy}")
            warn(f"could not record the cluster at {address}: {error.message} {error.remedy}")
            return
        self.attached.add(name)
        say(f"{name} was started without recording: recording snapshots instead (its GCS is polled)")


def _has_pid_of(session: str, pids: set[int]) -> bool:
    """Return whether one of the processes started the cluster. `ray.init()` adds its PID to the session."""
    return session.rpartition("_")[2] in map(str, pids)


def sends_events(about: Mapping[str, Any] | None) -> bool:
    """Return whether a session (an item of ``/api/v1/sessions``) was started with recording."""
    return about is not None and "events" in str(about.get("recording"))


def has_grown(
    session: str, before: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether ``session`` is new in ``now``, or has more data there than in ``before``.

    A recent sign of life is not enough, since a server polls every cluster that it knows.
    """
    if session not in now:
        return False
    if session not in before:
        return True
    keys = ("attempts", "tasks", "actors", "jobs")
    return any(now[session].get(key) != before[session].get(key) for key in keys)
