"""The product's SQL and column code in plain Python: slow, and so short that it is obviously right."""

from __future__ import annotations

from rayscope.model import Attempt, TaskError
from rayscope.model.attempt import SCALARS


def merge_attempts(into: Attempt, other: Attempt) -> Attempt:
    """Merge ``other`` into ``into`` (changed and returned): of each part the least known value holds."""
    assert (into.task_id, into.attempt) == (other.task_id, other.attempt)
    for name in SCALARS:
        known = [v for v in (getattr(into, name), getattr(other, name)) if v is not None]
        setattr(into, name, (max if name == "peak_memory" else min)(known, default=None))
    for state, time_ns in other.states.items():
        into.states[state] = min(time_ns, into.states.get(state, time_ns))
    for phase, interval in other.phases.items():
        into.phases[phase] = min(interval, into.phases.get(phase, interval))
    into.error = min((e for e in (into.error, other.error) if e is not None), key=_order, default=None)
    into.returned = min((r for r in (into.returned, other.returned) if r is not None), default=None)
    return into


def _order(error: TaskError) -> tuple[bool, int, str, str]:
    """If a worker died, its task's owner reports only that; a second later the GCS reports the cause."""
    return (not error.message, *error)
