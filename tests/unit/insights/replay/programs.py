"""Programs made by hand, each in a few lines. Times are ms."""

from __future__ import annotations

from rayscope.insights.replay.program import (
    CALL,
    COMPUTE,
    CREATION,
    FREE,
    NORMAL,
    SUBMIT,
    UNIT,
    UNLIMITED,
    WAIT,
    Programs,
    Wait,
)
from rayscope.insights.replay.simulation.engine import Replayed, replay

MS = 1_000_000


class JobBuilder:
    """Builds the programs of a job. ``cpus``: the CPUs of each node."""

    def __init__(self, *cpus: float) -> None:
        self.programs = Programs()
        self.programs.nodes = [[round(one * UNIT)] for one in cpus]
        self.programs.node_from, self.programs.node_until = [0] * len(cpus), [-1] * len(cpus)
        self.programs.start_slots = [UNLIMITED] * len(cpus)
        self.programs.idle_workers, self.programs.worker_starts = [0] * len(cpus), [[] for _ in cpus]

    def _function(self, name: str) -> int:
        if name not in self.programs.functions:
            self.programs.functions.append(name)
        return self.programs.functions.index(name)

    def task(
        self,
        name: str,
        ms: float | list[tuple[int, float]],
        *,
        needs: tuple[int, ...] = (),
        cpus: float = 1,
        actor: int = -1,
        kind: int = NORMAL,
        **more: int,
    ) -> int:
        """A task that computes for so long, or has these steps, and needs the values of others."""
        p = self.programs
        if cpus and kind <= CREATION:
            p.demands.append(((0, round(cpus * UNIT)),))
            more["demand"] = p.demands.index(p.demands[-1])
        run = p.add_run(
            kind,
            self._function(name),
            actor=actor,
            arguments=tuple(p.signal[one] for one in needs),
            signal=p.add_signal(),
            **more,
        )
        if isinstance(ms, list):
            self.program(run, ms)
        else:
            p.alone[run] = round(ms * MS)
        return run

    def program(self, run: int, steps: list[tuple[int, float]]) -> None:
        self.programs.first[run] = self.programs.add_steps(
            [(step, round(number * MS) if step == COMPUTE else int(number)) for step, number in steps]
        )

    def actor(self, name: str, *, slots: int = 1, cpus: float = 0, ms: float = 0) -> tuple[int, int]:
        """An actor, and its creation."""
        p = self.programs
        if name not in p.classes:
            p.classes.append(name)
        p.slots.append(slots)
        p.actor_class.append(p.classes.index(name))
        actor = len(p.slots) - 1
        return actor, self.task(f"{name}.__init__", ms, actor=actor, cpus=cpus, kind=CREATION)

    def call(self, name: str, ms: float, actor: int, *, needs: tuple[int, ...] = ()) -> int:
        return self.task(name, ms, actor=actor, needs=needs, kind=CALL)

    def get(self, *runs: int) -> tuple[int, int]:
        """A step that waits for all of these runs."""
        self.programs.waits.append(Wait(tuple(self.programs.signal[run] for run in runs)))
        return WAIT, len(self.programs.waits) - 1

    def some(self, counter: int, needed: int) -> tuple[int, int]:
        """A step that waits until a counter reaches ``needed``."""
        self.programs.waits.append(Wait((), counter=counter, needed=needed))
        return WAIT, len(self.programs.waits) - 1

    def count(self, *runs: int) -> int:
        """A counter of these."""
        for run in runs:
            self.programs.counted_by[self.programs.signal[run]] = self.programs.counters
        self.programs.counters += 1
        return self.programs.counters - 1

    def driver(self, steps: list[tuple[int, float]]) -> int:
        run = self.programs.add_run(FREE, self._function("driver"))
        self.program(run, steps)
        self.programs.roots.append(run)
        self.programs.root_begins.append(0)
        return run

    def submit_and_get(self, *runs: int) -> int:
        return self.driver([*((SUBMIT, run) for run in runs), self.get(*runs)])

    def replay(self) -> Replayed:
        return replay(self.programs)

    def ms(self) -> float:
        """How long it takes."""
        replayed = self.replay()
        assert not replayed.is_stuck
        return replayed.duration_ns / MS
