"""Polls the state of Ray's libraries through the dashboard, for as long as a cluster is alive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rayscope.errors import RayscopeError
from rayscope.model import Entity, Kind, RecordBatch
from rayscope.model.entity import Value
from rayscope.periodic import PeriodicTask
from rayscope.ray.dashboard import Dashboard, DashboardError
from rayscope.ray.gcs.change_filter import EntityChangeFilter
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.libraries import data, serve, train

log = logging.getLogger(__name__)

#: Bounds of the pause between two turns, in seconds.
_MIN_S = 2.0
_MAX_S = 20.0

Read = Callable[[Dashboard, GcsClient, int], list[Entity]]


@dataclass(frozen=True)
class Library:
    """One of Ray's libraries.

    Attributes:
        actor: namespace and name of the actor that keeps its state. Nothing is requested while the actor does
            not exist, because the dashboard would start it.
        read: returns all entities as of a time (ns).
        removed_states: kind -> the state recorded for entities that are no longer listed. Entities of other
            kinds stay in the list forever.
        reason: returns the fields stored with a change of state. A record merges the fields of all changes,
            so none may have the name of a column.
    """

    actor: tuple[str, str]
    read: Read
    removed_states: Mapping[Kind, str] = field(default_factory=dict)
    reason: Callable[[Entity], dict[str, Value]] = lambda _: {}


LIBRARIES: dict[str, Library] = {
    "data": Library(data.ACTOR, data.read),
    "serve": Library(serve.ACTOR, serve.read, serve.REMOVED_STATES, serve.reason),
    "train": Library(train.ACTOR, train.read),
}


class LibraryPoller:
    """A thread that polls a cluster's dashboard for the state of the libraries in use.

    It passes changes to ``on_batch``, as records of ``session``. It polls every 2 s, or less often if a poll
    takes longer. ``dashboard`` returns the dashboard, or None while there is none.
    """

    def __init__(
        self,
        client: GcsClient,
        dashboard: Callable[[], Dashboard | None],
        session: str,
        on_batch: Callable[[RecordBatch], None],
        libraries: Mapping[str, Library] = LIBRARIES,
    ) -> None:
        self._client = client
        self._dashboard = dashboard
        self._session = session
        self._on_batch = on_batch
        self._libraries = libraries
        self._states = {name: _States(library) for name, library in libraries.items()}
        #: Library in use -> why its state cannot be read.
        self.problems: dict[str, RayscopeError] = {}
        #: A lock for the next two numbers: turns that have started, and turns that have ended.
        self._turns, self._started, self._ended = threading.Condition(), 0, 0
        self._task = PeriodicTask("rayscope-libraries", _MIN_S, self._turn)
        #: When any state last changed (monotonic, s).
        self._changed = time.monotonic()

    def start(self) -> LibraryPoller:
        """Start polling. Returns itself."""
        self._task.start()
        return self

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stop the thread after the call in flight."""
        self._task.stop(timeout_s)

    def poll_now(self) -> None:
        """Poll once in the caller's thread. Raises GcsError."""
        used = self._client.named_actors()
        for name, library in self._libraries.items():
            states = self._states[name]
            if library.actor in used:
                self._read(name, library, states)
            else:
                self.problems.pop(name, None)
                if library.removed_states:
                    self._pass_on(states.changed([], time.time_ns()), states)

    def poll_once_more(self, timeout_s: float) -> None:
        """Start a turn and wait for its end, at most ``timeout_s``. Used before the cluster goes away."""
        with self._turns:
            turn = self._started + 1
            self._task.wake()
            self._turns.wait_for(lambda: self._ended >= turn or not self._task.is_alive, timeout_s)

    def _turn(self) -> float:
        began = time.monotonic()
        with self._turns:
            self._started += 1
        try:
            self.poll_now()
        except GcsError as error:  # reported by the GCS poller
            log.debug("libraries of %s: %s", self._session, error)
        finally:
            with self._turns:
                self._ended = self._started
                self._turns.notify_all()
        now = time.monotonic()
        return pause_s(now - began, now - self._changed)

    def _read(self, name: str, library: Library, states: _States) -> None:
        dashboard = self._dashboard()
        if dashboard is None:
            self.problems[name] = DashboardError(
                "The cluster has no dashboard, which is what knows the state of Ray's libraries.",
                "Install ray[default] on the head node, and do not start Ray with --include-dashboard=false.",
                "no_dashboard",
            )
            return
        try:
            dashboard.check()
            now_ns = time.time_ns()
            entities = library.read(dashboard, self._client, now_ns)
        except RayscopeError as error:
            self.problems[name] = error.with_traceback(None)
            return
        self.problems.pop(name, None)
        self._pass_on(states.changed(entities, now_ns), states)

    def _pass_on(self, entities: list[Entity], states: _States) -> None:
        if any(entity.transitions for entity in entities):
            self._changed = time.monotonic()
        if entities and not self._task.is_stopping:
            self._on_batch(RecordBatch(self._session, entities=entities))
        states.commit()


def pause_s(took_s: float, unchanged_s: float) -> float:
    """Pause after a turn that took ``took_s``, when no state has changed for ``unchanged_s``; all in s.

    Requests take at most half of the time, to spare a slow dashboard. If a state has just changed, more
    changes may follow soon, such as the start of training after its scheduling. Then requests may take up to
    four fifths of the time.
    """
    return min(_MAX_S, max(_MIN_S, min(took_s, max(took_s, unchanged_s) / 4)))


class _States:
    """Finds changes since the state of a library was last passed on. Adds the time to changes of state."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._changes = EntityChangeFilter()
        self._observed: dict[tuple[Kind, str], dict[str, Value]] = {}
        self._next = self._observed

    def changed(self, entities: list[Entity], now_ns: int) -> list[Entity]:
        """Entities that differ from those passed on last, including those that are no longer listed."""
        listed_keys = {_key(entity) for entity in entities}
        gone = [
            Entity(kind, identity, {}, {}, now_ns, {**observed, "state": state, "end_ns": now_ns})
            for (kind, identity), observed in self._observed.items()
            if (state := self._library.removed_states.get(kind)) is not None
            and (kind, identity) not in listed_keys
            and observed.get("state") != state
        ]
        found = self._changes.changed([*entities, *gone])
        for entity in found:
            state = str(entity.observed.get("state", ""))
            if state and state != self._observed.get(_key(entity), {}).get("state"):
                entity.transitions[now_ns, state] = self._library.reason(entity)
        self._next = {_key(entity): dict(entity.observed) for entity in [*entities, *gone]}
        return found

    def commit(self) -> None:
        """Remember that the result of the last :meth:`changed` was passed on."""
        self._changes.commit()
        self._observed = self._next


def _key(entity: Entity) -> tuple[Kind, str]:
    return entity.kind, entity.id
