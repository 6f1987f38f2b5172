"""Polls what Ray's libraries say of themselves, through the dashboard, for as long as a cluster lives."""

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
from rayscope.ray.dashboard import Dashboard
from rayscope.ray.gcs.change_filter import EntityChangeFilter
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.libraries import data, serve, train

log = logging.getLogger(__name__)

#: The least and the greatest pause between two turns.
_LEAST_S, _MOST_S = 2.0, 20.0

Read = Callable[[Dashboard, GcsClient, int], list[Entity]]


@dataclass(frozen=True)
class Library:
    """One of Ray's libraries.

    ``actor``: namespace and name of the actor that keeps its state: no question is asked without it, for the
    dashboard would start that actor. ``read`` gives all that is, as of a time (ns). ``gone``: by kind the
    state of what is no longer told of; a kind that is not in it is told of for ever. ``reason``: what goes
    with a change of state; as a record merges the fields of all changes, none may have a column's name.
    """

    actor: tuple[str, str]
    read: Read
    gone: Mapping[Kind, str] = field(default_factory=dict)
    reason: Callable[[Entity], dict[str, Value]] = lambda _: {}


LIBRARIES: dict[str, Library] = {
    "data": Library(data.ACTOR, data.read),
    "serve": Library(serve.ACTOR, serve.read, serve.GONE, serve.reason),
    "train": Library(train.ACTOR, train.read),
}


@dataclass(frozen=True)
class LibraryProblem:
    """Why a library's state cannot be read now."""

    message: str
    remedy: str


class LibraryPoller:
    """A thread that asks a cluster's dashboard for the state of the libraries that the cluster uses.

    What changed goes to ``on_batch``, as records of ``session``. Asks every 2 s, or less often where asking
    takes longer. ``dashboard`` gives the dashboard, None while there is none.
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
        #: By library why it cannot be read; of those that the cluster uses.
        self.problems: dict[str, LibraryProblem] = {}
        #: Turns that have begun and have ended.
        self._turns, self._begun, self._ended = threading.Condition(), 0, 0
        self._task = PeriodicTask("rayscope-libraries", _LEAST_S, self._turn)
        #: When the state of anything last changed (monotonic s).
        self._changed = time.monotonic()

    def start(self) -> LibraryPoller:
        """Begin to poll. Returns itself."""
        self._task.start()
        return self

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the thread, at the latest after the call in flight."""
        self._task.stop(timeout_s)

    def poll_now(self) -> None:
        """Read once, in the caller's thread. Raises GcsError."""
        used = self._client.named_actors()
        for name, library in self._libraries.items():
            states = self._states[name]
            if library.actor in used:
                self._read(name, library, states)
            else:
                self.problems.pop(name, None)
                if library.gone:
                    self._hand_on(states.changed([], time.time_ns()), states)

    def poll_once_more(self, timeout_s: float) -> None:
        """Wait for a turn that begins from now on, for so long at most: the cluster is about to go."""
        with self._turns:
            turn = self._begun + 1
            self._task.wake()
            self._turns.wait_for(lambda: self._ended >= turn or not self._task.is_alive, timeout_s)

    def _turn(self) -> float:
        began = time.monotonic()
        with self._turns:
            self._begun += 1
        try:
            self.poll_now()
        except GcsError as error:  # the poller of the GCS tells it
            log.debug("libraries of %s: %s", self._session, error)
        finally:
            with self._turns:
                self._ended = self._begun
                self._turns.notify_all()
        now = time.monotonic()
        return pause_s(now - began, now - self._changed)

    def _read(self, name: str, library: Library, states: _States) -> None:
        dashboard = self._dashboard()
        if dashboard is None:
            self.problems[name] = LibraryProblem(
                "The cluster has no dashboard, which is what knows the state of Ray's libraries.",
                "Install ray[default] on the head node, and do not start Ray with --include-dashboard=false.",
            )
            return
        try:
            dashboard.check()
            now_ns = time.time_ns()
            entities = library.read(dashboard, self._client, now_ns)
        except RayscopeError as error:
            self.problems[name] = LibraryProblem(error.message, error.remedy)
            return
        self.problems.pop(name, None)
        self._hand_on(states.changed(entities, now_ns), states)

    def _hand_on(self, entities: list[Entity], states: _States) -> None:
        if any(entity.transitions for entity in entities):
            self._changed = time.monotonic()
        if entities and not self._task.is_stopping:
            self._on_batch(RecordBatch(self._session, entities=entities))
        states.commit()


def pause_s(took_s: float, unchanged_s: float) -> float:
    """How long to wait after a turn that took so long, when no state changed for ``unchanged_s``.

    A slow dashboard is asked less often: at most half of the time. Where something just changed, more may
    follow soon, such as the start of training after it was scheduled: then at most four fifths of the time.
    """
    return min(_MOST_S, max(_LEAST_S, min(took_s, max(took_s, unchanged_s) / 4)))


class _States:
    """What was handed on of a library: only changes are, and a change of state with its time."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._changes = EntityChangeFilter()
        self._observed: dict[tuple[Kind, str], dict[str, Value]] = {}
        self._next = self._observed

    def changed(self, entities: list[Entity], now_ns: int) -> list[Entity]:
        """Of all that a library tells now, what differs from what was handed on last, and what is gone."""
        told = {_key(entity) for entity in entities}
        gone = [
            Entity(kind, identity, {}, {}, now_ns, {**observed, "state": state, "end_ns": now_ns})
            for (kind, identity), observed in self._observed.items()
            if (state := self._library.gone.get(kind)) is not None
            and (kind, identity) not in told
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
        """Take the last :meth:`changed` as handed on."""
        self._changes.commit()
        self._observed = self._next


def _key(entity: Entity) -> tuple[Kind, str]:
    return entity.kind, entity.id
