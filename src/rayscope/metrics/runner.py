"""Runs the collectors of one session, so that a collector that hangs does not block the others."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from rayscope.api.schemas import ErrorDetail
from rayscope.api.security import error_detail
from rayscope.metrics import schemas
from rayscope.metrics.collector import BROKEN_REMEDY, Cluster, Collector, CollectorError, NotDue
from rayscope.metrics.pool import CollectorPool
from rayscope.model.metric import Family, Labels, Sample
from rayscope.ray.gcs.client import GcsError
from rayscope.storage.errors import StoreError

log = logging.getLogger(__name__)

#: Maximum share of the time that a collector may use. Expensive collectors run less often.
LOAD = 0.1
_MAX_SAMPLES = 200_000
#: Time after which a running collector no longer counts as occupying a thread of the pool, in seconds.
_SLOW_S = 1.0
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,99}")
#: Maximum number of characters in a label's value.
_MAX_VALUE = 1000
#: A collector may run early by this fraction of a step, because the times of steps are not exact.
_SLACK = 0.5

#: A function that stores samples: (time in ns, samples, collector's name, families) -> number stored.
#: Without a name, other series of the collector do not end.
Append = Callable[[int, list[Sample], str | None, list[Family]], int]


class _Problem(NamedTuple):
    """An error of a collector, the remedy, and for our own errors a code with parameters.

    ``parts``: its errors if there are several.
    """

    error: str | None = None
    remedy: str | None = None
    code: str | None = None
    params: dict[str, str | int] | None = None
    parts: tuple[_Problem, ...] = ()

    def details(self) -> list[ErrorDetail]:
        """Each error as it is sent to clients."""
        if self.parts:
            return [detail for part in self.parts for detail in part.details()]
        if self.error is None:
            return []
        return [error_detail(self.code or "collector", self.error, self.remedy or "", self.params)]


@dataclass
class _State:
    name: str
    target: str
    collector: Collector
    ok: bool | None = None
    problem: _Problem = field(default_factory=_Problem)
    cost_s: float = 0.0
    took_s: float = 0.0
    last_ns: int = 0
    samples: int = 0
    left_out: int = 0
    due_ns: int = 0
    asked_ns: int = 0
    run: object | None = None
    began: float = 0.0
    late: bool = False
    known: set[tuple[str, Labels]] = field(default_factory=set)


class Runner:
    """The collectors of one session. Call :meth:`tick` at each step, and :meth:`check` in between."""

    def __init__(
        self,
        collectors: Iterable[tuple[str, str, Callable[[], Collector]]],
        step_s: float,
        append: Append,
        pool: CollectorPool,
    ) -> None:
        self._pool = pool
        self._step_s = step_s
        self._append = append
        self._lock = threading.Lock()
        self._states = []
        for name, target, make in collectors:
            try:
                self._states.append(_State(name, target, make()))
            except Exception as error:  # raised by a plug-in's constructor
                state = _State(name, target, _Never())
                text = f"{type(error).__name__}: {error}"[:500]
                state.ok = False
                state.problem = _Problem(text, BROKEN_REMEDY, "collector_broken", {"reason": text})
                self._states.append(state)

    def tick(self, cluster: Callable[[], Cluster], time_ns: int) -> None:
        """Start every collector that is due and not running. Does not wait for them."""
        self.check()
        for state in self._states:
            with self._lock:
                if state.run is not None or time_ns < state.due_ns:
                    continue
                run = state.run = object()
                state.began, state.late = float("inf"), False
                state.asked_ns = time_ns
            self._pool.submit(run, state.name, partial(self._collect, state, run, cluster(), time_ns))

    def check(self) -> None:
        """Abandon collectors that take too long. They are not started again until they have ended."""
        for state in self._states:
            with self._lock:
                took_s = time.monotonic() - state.began
                if state.run is None or took_s < min(_SLOW_S, state.collector.timeout_s):
                    continue
                self._pool.release(state.run)
                if took_s < state.collector.timeout_s:
                    continue
                newly, state.late = not state.late, True
                state.ok, state.took_s = False, took_s
                limit_s = f"{state.collector.timeout_s:g}"
                state.problem = _Problem(
                    f"Timed out: no answer for {took_s:.0f} s (the limit is {limit_s} s).",
                    "It is queried again once it has answered. Other collectors are not affected.",
                    "collector_late",
                    {"seconds": round(took_s), "limit": limit_s},
                )
            if newly:
                log.info("collector %s: %s", state.name, state.problem.error)
                self._append(state.asked_ns, [], state.name, [])

    def busy(self) -> bool:
        """Whether any collector is running within its time limit."""
        with self._lock:
            return any(state.run is not None and not state.late for state in self._states)

    def _collect(self, state: _State, run: object, cluster: Cluster, time_ns: int) -> None:
        samples: list[Sample] = []
        families: list[Family] = []
        began, cpu = time.monotonic(), time.thread_time()
        with self._lock:
            state.began = began
        problem, skipped = _Problem(), False
        try:
            for item in state.collector.collect(cluster):
                if isinstance(item, Family):
                    families.append(item)
                else:
                    samples.append(_checked(item, state.known))
                if len(samples) > _MAX_SAMPLES:
                    raise CollectorError(
                        f"More than {_MAX_SAMPLES} samples.",
                        "Make the collector return fewer samples.",
                        "collector_too_much",
                        limit=_MAX_SAMPLES,
                    )
        except NotDue:
            skipped = True
        except Exception as error:  # raised by a plug-in or the network
            problem = _problem(error)
        with self._lock:
            if state.run is not run:
                return
            state.took_s = time.monotonic() - began
            if skipped:
                state.run = None
                return
            state.cost_s = time.thread_time() - cpu
            interval_s = max(self._step_s, state.collector.interval_s, state.cost_s / LOAD)
            state.due_ns = time_ns + int((interval_s - _SLACK * self._step_s) * 1e9)
            if state.late:
                state.run = None
                return
            failed = problem.error is not None
            if failed and problem.error != state.problem.error:
                log.info("collector %s: %s", state.name, problem.error)
            state.ok = not failed
            state.problem = problem if failed else _warned(cluster.warnings)
            state.left_out = cluster.left_out
        taken = 0
        try:
            taken = self._append(time_ns, [] if failed else samples, state.name, families)
            if state.last_ns and not failed and cluster.starts:
                self._append(state.last_ns, cluster.starts, None, [])
        finally:
            with self._lock:
                state.run = None
        with self._lock:
            state.samples = taken
            if not failed:
                state.last_ns = time_ns
            if len(state.known) > 2 * len(samples) + 1000:
                state.known = set()

    def statuses(self) -> list[schemas.CollectorItem]:
        """The state of each collector: see ``docs/reference/metrics.md``."""
        with self._lock:
            return [
                {
                    "name": state.name,
                    "target": state.target,
                    "ok": state.ok,
                    "error": state.problem.error,
                    "remedy": state.problem.remedy,
                    "code": state.problem.code,
                    "params": state.problem.params,
                    "problems": state.problem.details(),
                    "cost_s": round(state.cost_s, 6),
                    "took_s": round(state.took_s, 6),
                    "last_ns": state.last_ns or None,
                    "samples": state.samples,
                    "left_out": state.left_out,
                    "interval_s": max(self._step_s, state.collector.interval_s, state.cost_s / LOAD),
                    "timeout_s": state.collector.timeout_s,
                }
                for state in self._states
            ]


def _problem(error: Exception) -> _Problem:
    """The error of a collector. Only our own exceptions have codes."""
    ours = error if isinstance(error, (CollectorError, GcsError, StoreError)) else None
    return _Problem(
        str(getattr(error, "message", "") or f"{type(error).__name__}: {error}")[:500],
        str(getattr(error, "remedy", "") or "Rayscope keeps retrying.")[:500],
        (ours.code or None) if ours else None,
        ours.params if ours else None,
    )


def _warned(warnings: Sequence[str | CollectorError]) -> _Problem:
    """Combine the warnings about partial failures. Several become one message without a code."""
    if len(warnings) == 1 and isinstance(warnings[0], CollectorError):
        return _problem(warnings[0])
    parts = tuple(_Problem(each[:500]) if isinstance(each, str) else _problem(each) for each in warnings)
    return _Problem("; ".join(str(part.error) for part in parts)[:500] or None, parts=parts)


class _Never:
    """Replaces a collector that could not be created."""

    interval_s = 1e9
    timeout_s = 1.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        raise NotDue


def _checked(item: Any, known: set[tuple[str, Labels]]) -> Sample:
    """Validate a sample from a plug-in. Raises CollectorError."""
    try:
        checked = Sample(*item)
        key = (checked.name, checked.labels)
        if key not in known:
            if not _NAME.fullmatch(checked.name) or any(
                not _LABEL.fullmatch(label) or not isinstance(text, str) or len(text) > _MAX_VALUE
                for label, text in checked.labels
            ):
                raise ValueError("a name or label is not valid in Prometheus")
            if list(checked.labels) != sorted(checked.labels):
                raise ValueError("its labels are not sorted")
            known.add(key)
        return Sample(checked.name, checked.labels, float(checked.value))
    except (TypeError, ValueError) as error:
        raise CollectorError(
            f"{item!r:.200} is not a sample: {error}.",
            "Create samples with rayscope.metrics.collector.sample().",
            "collector_no_sample",
            sample=f"{item!r:.200}",
            reason=str(error),
        ) from None
