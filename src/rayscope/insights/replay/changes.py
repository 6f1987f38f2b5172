"""Applies changes to the programs of a job, for what-if predictions."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from rayscope.errors import RayscopeError
from rayscope.insights.replay.program import (
    CALL,
    COMPUTE,
    CPU,
    CREATION,
    NORMAL,
    SUBMIT,
    UNIT,
    WAIT,
    YIELD,
    Programs,
    Wait,
)

#: A call that takes longer than this many times its function's median is a straggler.
STRAGGLER_RATIO = 1.5
#: At most this share of the calls that are alike, or one of them, are stragglers.
_MAX_STRAGGLER_SHARE = 0.2
#: The calls of an actor with at least this many are compared with each other only.
_MIN_RUNS = 8
#: Submitting a task is assumed to take at most this long, in ns.
_SUBMIT_NS = 1_000_000


class BadChange(RayscopeError):
    """A change that does not apply to this job."""

    remedy = "GET /api/v1/functions lists the functions, and GET /api/v1/actors the classes of the actors."
    code = "bad_change"
    status = 400


class Change(NamedTuple):
    """A change of one kind (see :data:`_KINDS`). ``name``: the function or class; ``amount``: the new number,
    or how much is added.
    """

    kind: str
    name: str = ""
    amount: float = 0.0


def apply_changes(base: Programs, changes: Sequence[Change]) -> Programs:
    """A copy of ``base`` with the changes. Raises BadChange if a function or class does not exist."""
    changed = base.copy()
    # Changes that rewrite programs come first. The others then apply to the results.
    for change in sorted(changes, key=lambda change: list(_KINDS).index(change.kind)):
        _KINDS[change.kind](changed, change)
    return changed


def runs_of(programs: Programs, name: str) -> list[int]:
    """The runs of a function. Raises BadChange if the job has no such function."""
    numbers = {number for number, function in enumerate(programs.functions) if function == name}
    found = [run for run, function in enumerate(programs.function) if function in numbers]
    if not found:
        raise BadChange(f"The job has no function {name[:80]!r}.", what="function", name=name[:80])
    return found


def _speed(p: Programs, change: Change) -> None:
    for run in runs_of(p, change.name):
        if p.has_begun[run]:
            p.factor[run] /= change.amount


def _no_stragglers(p: Programs, change: Change) -> None:
    of_function: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for run in runs_of(p, change.name) if change.name else range(len(p.kind)):
        if p.kind[run] in (NORMAL, CALL) and p.alone[run] < 1 << 59:
            of_function[p.function[run]].append((run, p.own_ns(run)))
    for found in of_function.values():
        for alike in [found] if change.name else _alike(p, found):
            median = statistics.median(own for _, own in alike)
            long = [one for one in alike if one[1] > (change.amount or STRAGGLER_RATIO) * median]
            # If many calls take long, that is usual for the function.
            if change.name or len(long) <= max(1, _MAX_STRAGGLER_SHARE * len(alike)):
                for run, own in long:
                    p.factor[run] *= median / own


def _alike(p: Programs, runs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Divide the runs of a function by actor. The runs of actors with few of them stay together."""
    of_actor: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one in runs:
        of_actor[p.actor[one[0]]].append(one)
    alike = [found for found in of_actor.values() if len(found) >= _MIN_RUNS]
    rest = [one for found in of_actor.values() if len(found) < _MIN_RUNS for one in found]
    return [*alike, rest] if rest else alike


def _no_startup(p: Programs, _: Change) -> None:
    p.delay = [delay - startup for delay, startup in zip(p.delay, p.startup, strict=True)]
    p.startup = [0] * len(p.startup)
    p.worker_starts = [[] for _ in p.worker_starts]
    p.usual_start = 0, 0


def _no_transfer(p: Programs, _: Change) -> None:
    p.delay = [delay - transfer for delay, transfer in zip(p.delay, p.transfer, strict=True)]
    p.transfer = [0] * len(p.transfer)
    p.waits = [
        replace(wait, after_ns=wait.after_ns - wait.transfer_ns, transfer_ns=0) if wait.transfer_ns else wait
        for wait in p.waits
    ]


def _no_retries(p: Programs, change: Change) -> None:
    retried = set(p.again) - {-1}
    for run in runs_of(p, change.name) if change.name else range(len(p.kind)):
        last = run
        while p.again[last] >= 0:
            last = p.again[last]
        if last != run and run not in retried:
            _leave_out_calls(p, run, last)
            for values in (
                p.first,
                p.alone,
                p.delay,
                p.startup,
                p.transfer,
                p.tail,
                p.signal,
                p.kind,
                p.demand,
            ):
                values[run] = values[last]
            p.again[run] = -1


def _leave_out_calls(p: Programs, run: int, last: int) -> None:
    """Remove the calls that only earlier attempts submit from the order of calls, so that no call waits for
    them.
    """
    kept = {number for step, number in p.steps_of(last) if step == SUBMIT}
    while run != last:
        for step, call in p.steps_of(run):
            if step == SUBMIT and call not in kept:
                before, after = p.before[call], p.after[call]
                if before >= 0:
                    p.after[before] = after
                if after >= 0:
                    p.before[after] = before
        run = p.again[run]


def _cpus(p: Programs, change: Change) -> None:
    largest = max(range(len(p.nodes)), key=lambda node: p.nodes[node][CPU])
    p.nodes[largest][CPU] += int(change.amount) * UNIT


def _nodes(p: Programs, change: Change) -> None:
    like = [
        0 if name.startswith("node:") else amount
        for name, amount in zip(p.resources, p.nodes[-1], strict=True)
    ]
    for _ in range(int(change.amount)):
        p.nodes.append(like.copy())
        p.node_from.append(0)
        p.node_until.append(-1)
        p.idle_workers.append(0)
        p.worker_starts.append([])
        p.start_slots.append(p.start_slots[-1])


def _num_cpus(p: Programs, change: Change) -> None:
    names = {change.name, f"{change.name}.__init__"}
    numbers = {number for number, function in enumerate(p.functions) if function in names}
    made: dict[int, int] = {}
    for run, function in enumerate(p.function):
        if function in numbers and p.kind[run] <= CREATION:
            before = p.demand[run]
            if before not in made:
                others = [one for one in (p.demands[before] if before >= 0 else ()) if one[0] != CPU]
                needs = round(change.amount * UNIT)
                made[before] = len(p.demands)
                p.demands.append(tuple([(CPU, needs)] * (needs > 0) + others))
            p.demand[run] = made[before]
    if not made:
        raise BadChange(
            f"The job has no task or actor {change.name[:80]!r} that asks for CPUs.",
            what="cpus",
            name=change.name[:80],
        )


def _submitters(p: Programs) -> dict[int, int]:
    """The run that submits each run."""
    return {
        number: run
        for run in range(len(p.kind))
        if p.first[run] >= 0
        for step, number in p.steps_of(run)
        if step == SUBMIT
    }


def _actors(p: Programs, change: Change) -> None:
    if change.name not in p.classes:
        raise BadChange(
            f"The job has no actor of class {change.name[:80]!r}.", what="class", name=change.name[:80]
        )
    of_class = p.classes.index(change.name)
    members = [actor for actor, its in enumerate(p.actor_class) if its == of_class]
    creations = [run for run, kind in enumerate(p.kind) if kind == CREATION and p.actor[run] in members]
    more = int(change.amount)
    p.shared[of_class] = [*members, *range(len(p.slots), len(p.slots) + more)]
    like = creations[-1] if creations else -1
    submitters = _submitters(p)
    new = []
    for _ in range(more):
        p.slots.append(p.slots[members[-1]])
        p.actor_class.append(of_class)
        if like >= 0:
            names = (
                "attempt",
                "lead",
                "delay",
                "startup",
                "transfer",
                "tail",
                "factor",
                "alone",
                "demand",
                "home",
                "group",
            )
            values = {name: getattr(p, name)[like] for name in names}
            new.append(p.add_run(CREATION, p.function[like], actor=len(p.slots) - 1, **values))
    if new and like in submitters:
        steps = p.steps_of(submitters[like])
        place = steps.index((SUBMIT, like)) + 1
        p.first[submitters[like]] = p.add_steps(
            [*steps[:place], *((SUBMIT, run) for run in new), *steps[place:]]
        )
    calls = {run for run, kind in enumerate(p.kind) if kind == CALL and p.actor[run] in members}
    for run in calls:
        p.before[run] = p.after[run] = -1
    for run in {submitters[call] for call in calls if call in submitters}:
        _pull_forward(p, run, calls, more)


def _pull_forward(p: Programs, run: int, calls: set[int], by: int) -> None:
    """Let a caller that submits a call whenever an earlier one is ready keep ``by`` more calls in flight."""
    steps = p.steps_of(run)
    places = [at for at, (step, number) in enumerate(steps) if step == SUBMIT and number in calls]
    first = next((at for at in places if any(_is_paced(p, one) for one in steps[places[0] : at])), None)
    if first is None:
        return
    paced = [at for at in places if at >= first]
    order = [steps[at] for at in paced]
    ahead, later = order[:by], order[by:]
    made: list[tuple[int, int]] = []
    begin = max(at for at in places if at < first) + 1
    for at, step in enumerate(steps):
        if at == begin:
            made.extend(ahead)
        if at in paced:
            if later:
                made.append(later.pop(0))
        else:
            made.append(step)
    p.first[run] = p.add_steps(made)


def _is_paced(p: Programs, step: tuple[int, int]) -> bool:
    return step[0] == WAIT and p.waits[step[1]].counter >= 0


def _one_get(p: Programs, change: Change) -> None:
    signals = {p.signal[run] for run in runs_of(p, change.name)} - {-1}
    is_changed = False
    for run in {by for number, by in _submitters(p).items() if p.signal[number] in signals}:
        steps = p.steps_of(run)
        made: list[tuple[int, int]] = []
        together: list[int] = []
        at_last = -1

        def close(new_steps: list[tuple[int, int]], together: list[int], at_last: int) -> bool:
            """Replace the waits with a single one, at the position of the last wait."""
            if not together:
                return False
            merged = [p.waits[number] for number in together]
            p.waits.append(
                Wait(
                    tuple(dict.fromkeys(signal for wait in merged for signal in wait.signals)),
                    max(wait.after_ns for wait in merged),
                    max(wait.transfer_ns for wait in merged),
                )
            )
            new_steps.insert(at_last, (WAIT, len(p.waits) - 1))
            return len(together) > 1

        for step, number in steps:
            wait = p.waits[number] if step == WAIT else None
            if wait is not None and wait.signals and signals.issuperset(wait.signals):
                together.append(number)
                at_last = len(made)
                continue
            if wait is not None and (wait.signals or wait.counter >= 0):
                is_changed |= close(made, together, at_last)
                together = []
            made.append((step, number))
        is_changed |= close(made, together, at_last)
        p.first[run] = p.add_steps(made)
    if not is_changed:
        raise BadChange(
            f"No loop gets the values of {change.name[:80]!r} one by one.", what="loop", name=change.name[:80]
        )


def _batch(p: Programs, change: Change) -> None:
    mergeable = {run for run in runs_of(p, change.name) if p.kind[run] in (NORMAL, CALL) and p.again[run] < 0}
    for by in {by for number, by in _submitters(p).items() if number in mergeable}:
        batches = _batches(p, p.steps_of(by), mergeable, int(change.amount))
        if batches:
            _submit_batches(p, by, batches)


def _batches(p: Programs, steps: list[tuple[int, int]], mergeable: set[int], size: int) -> list[list[int]]:
    """Groups of calls that can be merged, because nothing between them needs their values."""
    found: list[list[int]] = []
    #: The batch of each actor that is still growing, and the signals that these batches will set.
    growing: dict[int, list[int]] = {}
    coming: set[int] = set()
    signals = {p.signal[run] for run in mergeable}

    def close() -> None:
        found.extend(growing.values())
        growing.clear()
        coming.clear()

    for step, number in steps:
        if step == WAIT:
            wait = p.waits[number]
            if wait.counter >= 0 or not signals.issuperset(wait.signals):
                close()
        elif step == SUBMIT:
            if not coming.isdisjoint(p.arguments[number]):
                close()
            if number in mergeable:
                batch = growing.setdefault(p.actor[number], [])
                batch.append(number)
                coming.add(p.signal[number])
                if len(batch) == size:
                    found.append(growing.pop(p.actor[number]))
    close()
    return [batch for batch in found if len(batch) > 1]


def _submit_batches(p: Programs, by: int, batches: list[list[int]]) -> None:
    steps = p.steps_of(by)
    batch_of = {run: batch for batch in batches for run in batch}
    gaps = [
        steps[at][1]
        for at in range(1, len(steps) - 1)
        if steps[at][0] == COMPUTE
        and steps[at - 1][0] == steps[at + 1][0] == SUBMIT
        and steps[at - 1][1] in batch_of
        and steps[at + 1][1] in batch_of
    ]
    # The usual time between two submissions is the cost of submitting. Anything beyond that is the program's
    # own work.
    usual = min(int(statistics.median(gaps)), _SUBMIT_NS) if gaps else 0
    for batch in batches:
        _merge(p, batch)
    # The programs of the batches are ready. Now submit each where its last call was submitted.
    coming = {p.signal[run] for run in batch_of}
    late: dict[int, list[int]] = defaultdict(list)
    made: list[tuple[int, int]] = []
    for at, (step, number) in enumerate(steps):
        if step == SUBMIT and number in batch_of:
            batch = batch_of[number]
            if number != batch[-1]:
                continue
            made.append((SUBMIT, batch[0]))
            coming -= {p.signal[run] for run in batch}
            if late[batch[0]]:
                p.waits.append(Wait(tuple(late[batch[0]])))
                made.append((WAIT, len(p.waits) - 1))
        elif step == COMPUTE and at and steps[at - 1][0] == SUBMIT:
            before = steps[at - 1][1]
            is_inside = before in batch_of and before != batch_of[before][-1]
            left = number - min(number, usual) if is_inside else number
            if left:
                made.append((COMPUTE, left))
        elif step == WAIT and not coming.isdisjoint(p.waits[number].signals):
            wait = p.waits[number]
            for signal in wait.signals:
                if signal in coming:
                    late[_leader(p, batches, signal)].append(signal)
            p.waits.append(replace(wait, signals=tuple(one for one in wait.signals if one not in coming)))
            made.append((WAIT, len(p.waits) - 1))
        else:
            made.append((step, number))
    p.first[by] = p.add_steps(made)


def _leader(p: Programs, batches: list[list[int]], signal: int) -> int:
    return next(batch[0] for batch in batches if any(p.signal[run] == signal for run in batch))


def _merge(p: Programs, batch: list[int]) -> None:
    """Let the first run of a batch do the work of all of them."""
    leader, last = batch[0], batch[-1]
    steps = [step for run in batch for step in p.steps_of(run)]
    steps += [(YIELD, p.signal[run]) for run in batch[1:] if p.signal[run] >= 0]
    own = {p.signal[run] for run in batch}
    p.arguments[leader] = tuple(
        dict.fromkeys(one for run in batch for one in p.arguments[run] if one not in own)
    )
    p.first[leader] = p.add_steps(steps)
    p.transfer[leader] = sum(p.transfer[run] for run in batch)
    p.after[leader] = p.after[last]
    if p.after[last] >= 0:
        p.before[p.after[last]] = leader


#: The functions that make each kind of change. Those that rewrite programs come first.
_KINDS: dict[str, Callable[[Programs, Change], None]] = {
    "no_retries": _no_retries,
    "one_get": _one_get,
    "batch": _batch,
    "actors": _actors,
    "num_cpus": _num_cpus,
    "cpus": _cpus,
    "nodes": _nodes,
    "no_stragglers": _no_stragglers,
    "no_startup": _no_startup,
    "no_transfer": _no_transfer,
    "speed": _speed,
}
