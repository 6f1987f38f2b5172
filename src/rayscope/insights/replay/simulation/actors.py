"""The actors of a simulation and the queues of their calls."""

from __future__ import annotations

from collections import deque

from rayscope.insights.replay.program import CREATION, Programs
from rayscope.insights.replay.simulation.interface import Engine
from rayscope.insights.replay.simulation.pools import Pools


class Actors:
    """The actors: how many calls each runs, and the calls that wait for a turn.

    ``outstanding``: how many submitted calls of each have not ended. An actor keeps its resources until it is
    killed and these have ended.
    """

    def __init__(self, engine: Engine, pools: Pools, programs: Programs) -> None:
        self._engine = engine
        self._pools = pools
        self._slots = programs.slots
        actors = range(len(programs.slots))
        self.outstanding = [0 for _ in actors]
        self._busy = [0 for _ in actors]
        self._calls: list[deque[int]] = [deque() for _ in actors]
        # The creation of an actor may not be recorded. Such an actor is alive from the beginning.
        created = {programs.actor[run] for run, kind in enumerate(programs.kind) if kind == CREATION}
        self._is_alive = bytearray(actor not in created for actor in actors)
        self._is_killed = bytearray(len(actors))
        self._creation = [-1 for _ in actors]
        #: The actors that share the calls of each.
        self._teams = [programs.shared.get(of_class) for of_class in programs.actor_class]
        #: The actor that runs each call.
        self._served_by = programs.actor.copy()

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
        return 2 * (self._busy[actor] + len(self._calls[actor])) + (not self._is_alive[actor])

    def _serve(self, actor: int) -> None:
        """Let an actor start as many calls as it has free slots."""
        calls, busy, slots = self._calls[actor], self._busy, self._slots[actor]
        while calls and self._is_alive[actor] and busy[actor] < slots:
            busy[actor] += 1
            self._engine.begin(calls.popleft())

    def leave(self, run: int) -> None:
        """Let the actor of an ended call run the next one."""
        actor = self._served_by[run]
        self._busy[actor] -= 1
        self._serve(actor)

    def create(self, run: int, actor: int) -> None:
        """Begin an actor's life at the end of its creation."""
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
