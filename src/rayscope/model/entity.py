"""Entities: actors, nodes, workers, jobs, datasets and others with an identity and a lifetime.

All are merged in the same way (:mod:`rayscope.storage.sql.merge` explains why). Constant fields keep the
least known value. Transitions are a set keyed by (time, state). A snapshot describes an entity at the time of
observation, and the newest one wins. Death is final, so the earliest account of a death wins: when a job
ends, Ray reports all its actors as dead again, with a new time and reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Kind = Literal[
    "actor",
    "node",
    "worker",
    "job",
    "placement_group",
    "dataset",
    "dataset_operator",
    "serve_application",
    "serve_deployment",
    "serve_replica",
    "serve_proxy",
    "serve_controller",
    "train_run",
    "train_attempt",
    "train_worker",
    "tune_experiment",
    "tune_trial",
    "platform_event",
    "process_end",
    "gpu_sample",
    "profile",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Final states. They win over all other accounts, even later ones, because IDs of these kinds are never
#: reused. Some kinds have none: a deleted Serve application can be deployed again under its name, and the
#: same goes for its deployments and a node's proxy. A failed trial may be retried.
FINAL_STATES: Mapping[Kind, frozenset[str]] = {
    "actor": frozenset({"DEAD"}),
    "node": frozenset({"DEAD"}),
    "worker": frozenset({"DEAD"}),
    "job": frozenset({"FINISHED", "SUCCEEDED", "FAILED", "STOPPED"}),
    "placement_group": frozenset({"REMOVED"}),
    "dataset": frozenset({"FINISHED", "FAILED"}),
    "dataset_operator": frozenset({"FINISHED", "FAILED"}),
    "serve_application": frozenset(),
    "serve_deployment": frozenset(),
    "serve_replica": frozenset({"STOPPED"}),
    "serve_proxy": frozenset(),
    "serve_controller": frozenset({"STOPPED"}),
    "train_run": frozenset({"FINISHED", "ERRORED", "ABORTED"}),
    "train_attempt": frozenset({"FINISHED", "ERRORED", "ABORTED"}),
    "train_worker": frozenset({"DEAD"}),
    "tune_experiment": frozenset({"FINISHED", "ERRORED", "INTERRUPTED"}),
    "tune_trial": frozenset({"TERMINATED"}),
    "platform_event": frozenset(),
    "process_end": frozenset(),
    "gpu_sample": frozenset(),
    "profile": frozenset(),
}

#: The states of these kinds, in the order of a lifetime. All but ``CUT_OFF`` are Ray's.
STATES_OF: Mapping[Kind, tuple[str, ...]] = {
    "actor": ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE", "RESTARTING", "DEAD"),
    "node": ("ALIVE", "DEAD"),
    "worker": ("ALIVE", "DEAD"),
    "job": ("PENDING", "RUNNING", "FINISHED", "SUCCEEDED", "FAILED", "STOPPED", "CUT_OFF"),
    "placement_group": ("PENDING", "PREPARED", "CREATED", "RESCHEDULING", "REMOVED"),
}

Value = str | int | float | bool


@dataclass(slots=True)
class Entity:
    """An actor, node, worker, job, dataset, or similar.

    Attributes:
        fields: constant properties (class name, PID of a worker, ...), as JSON if structured.
        transitions: (time_ns, state) -> further fields of that change (node_id, pid, death cause, ...).
        observed_ns: time of the newest snapshot.
        observed: the newest snapshot. It may have a ``state``.
    """

    kind: Kind
    id: str
    fields: dict[str, Value] = field(default_factory=dict)
    transitions: dict[tuple[int, str], dict[str, Value]] = field(default_factory=dict)
    observed_ns: int = 0
    observed: dict[str, Value] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether the entity has reached a final state."""
        states = {state for _, state in self.transitions} | {self.observed.get("state")}
        return not FINAL_STATES[self.kind].isdisjoint(states)

    def current(self) -> dict[str, Value]:
        """All known values. Later accounts override earlier ones. ``state`` is present if any state is known.

        Accounts are applied in this order: constant fields, then transitions and the snapshot by time. A
        final state is never overridden, see :func:`_rank`.
        """
        accounts: list[tuple[_Rank, dict[str, Value]]] = [
            (_rank(self.kind, time_ns, {**extra, "state": state}), {**extra, "state": state})
            for (time_ns, state), extra in self.transitions.items()
        ]
        if self.observed:
            accounts.append((_rank_observed(self), self.observed))
        merged: dict[str, Value] = dict(self.fields)
        for _, account in sorted(accounts, key=lambda item: item[0]):
            merged.update(account)
        if is_unproven_success(self.kind, merged):
            merged["state"] = "FINISHED"
        return merged


#: State of a job -> how reliable an account of its end is. The GCS reports SUCCEEDED for every driver that
#: ended, but a broken connection (FINISHED) contradicts that. An exit code is the most reliable
#: (``KNOWS_EXIT_CODE``).
CERTAINTY_OF_END: Mapping[str, int] = {"SUCCEEDED": 0, "FINISHED": 1, "FAILED": 2, "STOPPED": 2}
KNOWS_EXIT_CODE = 3


def is_unproven_success(kind: Kind, current: Mapping[str, Value]) -> bool:
    """Whether only the end of its driver makes a submitted job a success. The driver of a stopped or failed
    one ends, too, before Ray's job API reports the outcome. A success has an exit code there.
    """
    is_submission = kind == "job" and "submission_id" in current
    return is_submission and current.get("state") == "SUCCEEDED" and "exit_code" not in current


_Rank = tuple[bool, int, int, str]


def _rank(kind: Kind, time_ns: int, account: Mapping[str, Value]) -> _Rank:
    """The rank of an account. The account with the greatest rank wins.

    A final state outranks all others, so that late or clock-skewed reports cannot revive an entity. Among
    final states, the earliest wins, and for jobs the most reliable account of the end. Among other states,
    the newest wins.
    """
    state = str(account.get("state", ""))
    is_final = state in FINAL_STATES[kind]
    if not is_final or kind != "job":
        return is_final, 0, -time_ns if is_final else time_ns, state
    certainty = KNOWS_EXIT_CODE if "exit_code" in account else CERTAINTY_OF_END[state]
    return True, certainty, time_ns, state


def _rank_observed(entity: Entity) -> _Rank:
    # If Ray reports the time of death, use it: the snapshot was taken later.
    died_ns = entity.observed.get("end_ns") if entity.kind != "job" else None
    time_ns = died_ns if isinstance(died_ns, int) and died_ns else entity.observed_ns
    return _rank(entity.kind, time_ns, entity.observed)


def _merge_least(into: dict[str, Value], other: Mapping[str, Value]) -> None:
    for name, new in other.items():
        old = into.get(name)
        if old is None or _order(new) < _order(old):
            into[name] = new


def _order(value: Value) -> tuple[str, Value]:
    """A total order over values of mixed types: numbers before strings."""
    return ("", value) if isinstance(value, (int, float)) else ("s", value)


def merge_entities(into: Entity, other: Entity) -> Entity:
    """Merge ``other`` into ``into`` by the merge rule. Changes and returns ``into``."""
    _merge_least(into.fields, other.fields)
    for key, extra in other.transitions.items():
        seen = into.transitions.get(key)
        if seen is None:
            into.transitions[key] = dict(extra)
        else:
            _merge_least(seen, extra)
    if other.observed and (not into.observed or order_observed(other) > order_observed(into)):
        into.observed_ns = other.observed_ns
        into.observed = dict(other.observed)
    return into


def order_observed(entity: Entity) -> tuple[_Rank, int, str]:
    """Sort key of snapshots: the greatest one wins."""
    return _rank_observed(entity), entity.observed_ns, _canonical(entity.observed)


def _canonical(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, default=str)
