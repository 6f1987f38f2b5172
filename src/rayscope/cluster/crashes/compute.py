"""Judges from the record whether the crash of a worker did any harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True)
class Facts:
    """The recorded facts about a crashed worker.

    ``exit_type``: Ray's exit type, None until Ray reports the end. ``lost_attempts``: attempts on the worker
    that failed or were cut off by its death. ``lost_calls``: tasks that it had submitted and that were lost.
    ``failed_elsewhere``: attempts on other workers whose error names this one. ``lost_with_driver``: attempts
    of a job that were cut off when its driver died. ``actors``: the states of the actors that it ran.
    ``owned``: number of objects that it put and of tasks that it submitted, None if the worker was not traced
    and none are recorded.
    """

    worker_type: str | None = None
    exit_type: str | None = None
    job_had_ended: bool = False
    attempts: int = 0
    lost_attempts: int = 0
    lost_calls: int = 0
    failed_elsewhere: int = 0
    lost_with_driver: int = 0
    actors: tuple[Literal["ended", "died", "restarted", "open"], ...] = ()
    owned: int | None = 0


class Harm(NamedTuple):
    """A verdict. ``code``: see docs/reference/faults.md. ``number``: the count that the code refers to."""

    harm: Literal["none", "harmed", "unknown"]
    code: str
    number: int
    message: str


def harm_of(facts: Facts) -> Harm:
    """The harm of a crash. Known losses take precedence over possible ones."""
    return _lost(facts) or _unknown(facts) or _harmless(facts)


def _lost(facts: Facts) -> Harm | None:
    def lost(code: str, number: int, message: str) -> Harm:
        return Harm("harmed", code, number, message)

    if facts.lost_with_driver:
        message = f"Task attempts cut off with their job: {facts.lost_with_driver:,}."
        return lost("driver", facts.lost_with_driver, message)
    if facts.lost_attempts:
        return lost("attempts", facts.lost_attempts, f"Task attempts lost: {facts.lost_attempts:,}.")
    if "died" in facts.actors:
        return lost("actor_died", 1, "Its actor died.")
    if "restarted" in facts.actors:
        return lost("actor_restarted", 1, "Its actor had to be restarted.")
    if facts.lost_calls:
        return lost("calls", facts.lost_calls, f"Tasks lost that it had submitted: {facts.lost_calls:,}.")
    if facts.failed_elsewhere:
        message = f"Attempts that failed because they needed its objects: {facts.failed_elsewhere:,}."
        return lost("objects", facts.failed_elsewhere, message)
    return None


def _unknown(facts: Facts) -> Harm | None:
    def because(code: str, why: str, number: int = 0) -> Harm:
        return Harm("unknown", code, number, f"Unknown whether anything was lost, because {why}.")

    if _was_released(facts):
        return None
    if facts.worker_type == "DRIVER":
        return because("driver_open", "the record does not show what the driver still had to do")
    if facts.worker_type not in (None, "WORKER"):
        return because("io_worker", "what Ray's spill and restore workers do is not recorded")
    if facts.exit_type is None:
        return because("no_end", "Ray has not reported how the worker ended")
    if "open" in facts.actors:
        return because("actor_open", "the end of its actor is not recorded")
    if facts.owned is None and facts.attempts:
        return because("untraced", "the worker was not traced, so the objects that it owned are not recorded")
    if facts.owned:
        why = f"the record does not show whether objects that it owned ({facts.owned:,}) were still needed"
        return because("owned", why, facts.owned)
    return None


def _was_released(facts: Facts) -> bool:
    """Whether Ray, or the end of the worker's actor or job, had ended the worker before it crashed."""
    is_intended = facts.exit_type is not None and facts.exit_type.startswith("INTENDED")
    if facts.worker_type == "DRIVER":
        return is_intended  # the job ends with its driver
    return is_intended or facts.job_had_ended or (bool(facts.actors) and set(facts.actors) == {"ended"})


def _harmless(facts: Facts) -> Harm:
    if facts.job_had_ended and facts.worker_type != "DRIVER":
        return Harm("none", "job_ended", 0, "No harm: its job had ended.")
    if _was_released(facts):
        return Harm("none", "released", 0, "No harm: Ray had already ended this worker.")
    return Harm("none", "idle", 0, "No harm: it was idle, and no object was lost.")
