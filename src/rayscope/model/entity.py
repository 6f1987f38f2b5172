"""Actors, nodes, workers, jobs, datasets and the like: things with an identity and a life.

All merge in the same way (see :mod:`rayscope.storage.sql.merge` for why): fixed fields keep the least
known value, transitions are a set keyed by (time, state), and a snapshot, which says what something is
*now* and not when it became so, is a register that keeps the newest observation. What has died is dead
from then on, so of several accounts of a death the earliest holds: Ray marks all actors of a job dead once
more, with a new time and reason, when the job ends.
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
]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: States that nothing follows: they win over any other account, however late that one is.
#: (None of their ids is ever re-used. A Serve application that was deleted can be deployed again by its name,
#: so nothing is final for it, its deployments, and the proxy of a node. A trial that failed may be retried.)
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
}

#: The states of these kinds, in the order of a life. All but ``CUT_OFF`` are Ray's.
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
    """One actor, node, worker, job, dataset or the like.

    ``fields``: what never changes (class name, pid of a worker, ...), JSON texts for structures.
    ``transitions``: (time_ns, state) -> what came with it (node_id, pid, death cause, ...).
    ``observed_ns``, ``observed``: the newest snapshot; ``observed["state"]`` where it tells one.
    """

    kind: Kind
    id: str
    fields: dict[str, Value] = field(default_factory=dict)
    transitions: dict[tuple[int, str], dict[str, Value]] = field(default_factory=dict)
    observed_ns: int = 0
    observed: dict[str, Value] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether it has reached a state that nothing follows."""
        states = {state for _, state in self.transitions} | {self.observed.get("state")}
        return not FINAL_STATES[self.kind].isdisjoint(states)

    def current(self) -> dict[str, Value]:
        """Everything known, latest account on top; ``state`` is present once any is known.

        The order of accounts: fixed fields, then transitions and the snapshot by time; and a final state
        stays, see :func:`_rank`.
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
        return merged


#: How much an account knows of a job's end, by its state. The GCS calls every driver that ended SUCCEEDED; a
#: broken connection (FINISHED) rules that out. An exit code is worth most (``KNOWS_EXIT_CODE``).
CERTAINTY_OF_END: Mapping[str, int] = {"SUCCEEDED": 0, "FINISHED": 1, "FAILED": 2, "STOPPED": 2}
KNOWS_EXIT_CODE = 3

_Rank = tuple[bool, int, int, str]


def _rank(kind: Kind, time_ns: int, account: Mapping[str, Value]) -> _Rank:
    """The account with the greatest rank holds: a final state, so that a late or clock-skewed report revives
    nobody, and then the newest; but of deaths the earliest. Of jobs, the account that knows most of the end.
    """
    state = str(account.get("state", ""))
    is_final = state in FINAL_STATES[kind]
    if not is_final or kind != "job":
        return is_final, 0, -time_ns if is_final else time_ns, state
    certainty = KNOWS_EXIT_CODE if "exit_code" in account else CERTAINTY_OF_END[state]
    return True, certainty, time_ns, state


def _rank_observed(entity: Entity) -> _Rank:
    # A death was before it was observed, where Ray says when.
    died_ns = entity.observed.get("end_ns") if entity.kind != "job" else None
    time_ns = died_ns if isinstance(died_ns, int) and died_ns else entity.observed_ns
    return _rank(entity.kind, time_ns, entity.observed)


def _least(into: dict[str, Value], other: Mapping[str, Value]) -> None:
    for name, new in other.items():
        old = into.get(name)
        if old is None or _order(new) < _order(old):
            into[name] = new


def _order(value: Value) -> tuple[str, Value]:
    """A total order over mixed values (numbers before texts)."""
    return ("", value) if isinstance(value, (int, float)) else ("s", value)


def merge_entities(into: Entity, other: Entity) -> Entity:
    """Merge ``other`` into ``into`` (changed in place and returned) by the merge rule."""
    _least(into.fields, other.fields)
    for key, extra in other.transitions.items():
        seen = into.transitions.get(key)
        if seen is None:
            into.transitions[key] = dict(extra)
        else:
            _least(seen, extra)
    if other.observed and (not into.observed or order_observed(other) > order_observed(into)):
        into.observed_ns = other.observed_ns
        into.observed = dict(other.observed)
    return into


def order_observed(entity: Entity) -> tuple[_Rank, int, str]:
    """Of two snapshots the one for which this is greater holds."""
    return _rank_observed(entity), entity.observed_ns, _canonical(entity.observed)


def _canonical(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, default=str)
