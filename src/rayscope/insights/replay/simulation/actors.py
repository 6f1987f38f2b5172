"""The actors of a simulation and the queues of their calls."""

from __future__ import annotations

from collections import deque

from rayscope.insights.replay.program import CALL, CREATION, Programs, Wait
from rayscope.insights.replay.simulation.interface import Engine
from rayscope.insights.replay.simulation.pools import Pools

#: Added to the load of an actor whose running calls all wait for other calls of its class. Such an actor gets
#: a call only if the same is true of all other actors of the class.
_LENT = 1 << 40


class Actors:
    """The actors, with the number of calls that each runs, and the calls that wait for a turn.

    ``outstanding``: how many submitted calls of each actor have not ended. An actor keeps its resources until
    it is killed and all these calls have ended.
    """

    def __init__(self, engine: Engine, pools: Pools, programs: Programs) -> None:
        self._engine = engine
        self._pools = pools
        self._slots = programs.slots
        self._class_of = programs.actor_class
        self._is_call = bytearray(kind == CALL for kind in programs.kind)
        actors = range(len(programs.slots))
        self.outstanding = [0 for _ in actors]
        self._busy = [0 for _ in actors]
        self._calls: list[deque[int]] = [deque() for _ in actors]
        # The creation of an actor may not be recorded. Such an actor is alive from the beginning.
        created = {programs.actor[run] for run, kind in enumerate(programs.kind) if kind == CREATION}
        self._is_alive = bytearray(actor not in created for actor in actors)
        self._is_killed = bytearray(len(actors))
        self._creation = [-1 for _ in actors]
        #: For each actor, the actors that share its calls, or None.
        self._teams = [programs.shared.get(of_class) for of_class in programs.actor_class]
        #: The actor that runs each call.
        self._served_by = programs.actor.copy()
        #: Signals and counters of calls that several actors share -> the classes of these actors.
        self._of_signal: dict[int, int] = {}
        self._of_counter: dict[int, set[int]] = {}
        for run, kind in enumerate(programs.kind) if programs.shared else ():
            of_class = programs.actor_class[programs.actor[run]] if kind == CALL else -1
            signal = programs.signal[run]
            if signal >= 0 and of_class in programs.shared:
                self._of_signal[signal] = of_class
                self._of_counter.setdefault(programs.counted_by[signal], set()).add(of_class)
        #: Whether each call is lending its turn while it waits, and the number of such calls of each actor.
        self._is_lending = bytearray(len(programs.kind))
        self._lent = [0 for _ in actors]

    def enqueue(self, run: int, actor: int) -> None:
        """Let a call wait for a turn at its actor, or at one with a shorter queue that shares its calls."""
        team = self._teams[actor]
        if team is not None:
            for other in team:
                if self._load(other) < self._load(actor):
                    actor = other
            self._served_by[run] = actor
        self._calls[actor].append(run)
        self._serve(actor)

    def _load(self, actor: int) -> int:
        is_lent = self._lent[actor] > 0 and self._busy[actor] + self._lent[actor] >= self._slots[actor]
        load = 2 * (self._busy[actor] + len(self._calls[actor])) + (not self._is_alive[actor])
        return load + _LENT * is_lent

    def lend(self, run: int, wait: Wait) -> None:
        """Lend the turn of a blocked call that waits for other calls of its class, if several actors share
        these.

        The awaited calls may be queued at the same actor, or behind another call that also waits for calls of
        the class. Without lending, these calls would wait for each other forever.
        """
        if not self._of_signal or not self._is_call[run]:
            return
        actor = self._served_by[run]
        classes = {self._of_signal.get(signal) for signal in wait.signals}
        classes |= self._of_counter.get(wait.counter, set()) if wait.counter >= 0 else set()
        if self._class_of[actor] in classes:
            self._is_lending[run] = 1
            self._lent[actor] += 1
            self._busy[actor] -= 1
            self._engine.mark_room(run)
            self._serve(actor)

    def take_back(self, run: int) -> None:
        """Count a call that lent its turn as running again when it continues. Its actor may be running
        another call by then.
        """
        if self._is_lending[run]:
            self._is_lending[run] = 0
            self._lent[self._served_by[run]] -= 1
            self._busy[self._served_by[run]] += 1

    def _serve(self, actor: int) -> None:
        """Let an actor start as many calls as it has free slots."""
        calls, busy, slots = self._calls[actor], self._busy, self._slots[actor]
        while calls and self._is_alive[actor] and busy[actor] < slots:
            busy[actor] += 1
            self._engine.begin(calls.popleft())

    def leave(self, run: int) -> None:
        """Let the actor of a call that has ended run its next call."""
        actor = self._served_by[run]
        self._busy[actor] -= 1
        self._serve(actor)

    def create(self, run: int, actor: int) -> None:
        """Mark an actor as alive at the end of its creation."""
        self._is_alive[actor] = 1
        self._creation[actor] = run
        self._retire(actor)
        self._serve(actor)

    def kill(self, actor: int) -> None:
        """Let an actor end after its outstanding calls."""
        self._is_killed[actor] = 1
        self._retire(actor)

    def finish_call(self, actor: int) -> None:
        """Count a call that has ended."""
        self.outstanding[actor] -= 1
        self._retire(actor)

    def _retire(self, actor: int) -> None:
        """Release the resources of a killed actor that has no outstanding calls."""
        creation = self._creation[actor]
        if self._is_killed[actor] and self.outstanding[actor] == 0 and creation >= 0:
            self._pools.return_resources(creation)
            self._pools.where[creation] = -1
