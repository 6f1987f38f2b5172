"""The merge rule: any order, any grouping and any duplication of partial accounts results in the same record.

For attempts, which merge in SQL, see ``tests/unit/storage/test_merge_sql.py``.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from functools import reduce
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayscope.model import STATES, Attempt, Entity, Kind, merge_entities
from rayscope.model.entity import FINAL_STATES

TEXTS = st.sampled_from(["", "a", "b", "é", "RUNNING"])
TIMES = st.integers(0, 4)

# 1, 1.0 and True are equal and differ in JSON: a field has one type, as in Ray's messages.
FIELDS = st.fixed_dictionaries(
    {},
    optional={"name": TEXTS, "pid": TIMES, "start_ns": TIMES, "end_ns": TIMES, "is_detached": st.booleans()},
)


@st.composite
def entities(draw: st.DrawFn) -> Entity:
    states = st.sampled_from(["PENDING", "ALIVE", "RESTARTING", "DEAD"])
    observed = draw(st.just({}) | st.builds(lambda state, rest: {**rest, "state": state}, states, FIELDS))
    return Entity(
        "actor",
        "ab",
        draw(FIELDS),
        draw(st.dictionaries(st.tuples(TIMES, states), FIELDS, max_size=3)),
        draw(TIMES) if observed else 0,
        observed,
    )


def merged(parts: Iterable[Entity]) -> Entity:
    return reduce(merge_entities, copy.deepcopy(list(parts)))


def test_the_state_is_the_last_in_rays_own_order() -> None:
    from ray.core.generated.common_pb2 import TaskStatus

    # ``protobuf_to_task_state_dict`` goes through the enum in its order; NIL is no state. The newest value
    # is the enum's last, though what it names comes before RUNNING: followed to the letter, an attempt that
    # was ever there would never be seen to run or end.
    late = "GETTING_AND_PINNING_ARGS"
    ordered = [name for name in TaskStatus.keys() if name != "NIL"]  # noqa: SIM118 no dict
    assert ordered[-1] == late
    assert ordered[:-1] == [state for state in STATES if state != late]
    assert STATES.index(late) == STATES.index("RUNNING") - 1
    for one, two in product(STATES, STATES):
        assert Attempt("a", states={one: 9, two: 1}).state == max(one, two, key=STATES.index)
    assert Attempt("a").state is None
    assert Attempt("a", states={"FROM_A_LATER_RAY": 9, "RUNNING": 1}).state == "RUNNING"


@given(parts=st.lists(entities(), min_size=1, max_size=5), seed=st.integers())
def test_entities_merge_alike_in_any_order_and_often(parts: list[Entity], seed: int) -> None:
    again = [*parts, *parts[: len(parts) // 2 + 1]]
    random.Random(seed).shuffle(again)
    assert merged(again) == merged(parts)


@given(entities(), entities(), entities())
def test_entities_merge_alike_in_any_grouping(first: Entity, second: Entity, third: Entity) -> None:
    left = merged([merged([first, second]), third])
    assert left == merged([first, merged([second, third])])


@given(st.lists(entities(), min_size=1, max_size=4))
def test_nothing_revives_what_has_died(parts: list[Entity]) -> None:
    result = merged(parts)
    states = {state for _, state in result.transitions} | {result.observed.get("state")}
    died = states & FINAL_STATES["actor"]
    assert (result.current().get("state") == "DEAD") == bool(died)


def test_a_snapshot_counts_where_it_is_newer_than_the_last_transition() -> None:
    alive = Entity("actor", "a", transitions={(10, "ALIVE"): {"pid": 1}})
    older = Entity("actor", "a", observed_ns=5, observed={"state": "PENDING_CREATION", "pid": 0})
    newer = Entity("actor", "a", observed_ns=20, observed={"state": "RESTARTING"})
    assert merged([alive, older]).current() == {"state": "ALIVE", "pid": 1}
    assert merged([alive, newer, older]).current() == {"state": "RESTARTING", "pid": 1}


@pytest.mark.parametrize("kind", ["actor", "node", "worker"])
def test_the_dead_keep_their_time_and_cause_of_death(kind: Kind) -> None:
    """When a job ends Ray marks all its actors dead, those too that died long before."""

    def snapshot(observed_ns: int, end_ns: int, reason: str) -> Entity:
        observed = {"state": "DEAD", "end_ns": end_ns, "death_reason": reason}
        return Entity(kind, "a", observed_ns=observed_ns, observed=observed)

    alive = Entity(kind, "a", observed_ns=1, observed={"state": "ALIVE", "pid": 7})
    crashed, again = snapshot(12, 10, "crashed"), snapshot(52, 50, "its owner has died")
    event = Entity(
        kind, "a", transitions={(50, "DEAD"): {"end_ns": 50, "death_reason": "its owner has died"}}
    )
    # The account of the crash may also be the one that arrives last.
    crashed_late = snapshot(60, 10, "crashed")
    for parts in [
        *permutations([alive, crashed, again, event]),
        *permutations([alive, again, crashed_late, event]),
    ]:
        current = merged(parts).current()
        assert (current["state"], current["end_ns"], current["death_reason"]) == ("DEAD", 10, "crashed")


def test_how_a_job_ended_is_what_was_learnt_last() -> None:
    ended = Entity("job", "01", transitions={(10, "SUCCEEDED"): {"end_ns": 10}})
    how = Entity("job", "01", observed_ns=12, observed={"state": "FAILED", "end_ns": 11, "exit_code": 3})
    for parts in permutations([ended, how]):
        assert merged(parts).current() == {"state": "FAILED", "end_ns": 11, "exit_code": 3}


def test_a_job_whose_drivers_connection_broke_is_no_success() -> None:
    ray = Entity("job", "01", observed_ns=99, observed={"state": "SUCCEEDED", "end_ns": 11})
    broke = Entity("job", "01", transitions={(10, "FINISHED"): {"end_ns": 10, "message": "unknown"}})
    stopped = Entity("job", "01", transitions={(5, "STOPPED"): {}})
    exited = Entity("job", "01", transitions={(9, "SUCCEEDED"): {"exit_code": 0}})
    for parts in permutations([ray, broke]):
        assert merged(parts).current() == {"state": "FINISHED", "end_ns": 10, "message": "unknown"}
    for parts in permutations([ray, broke, stopped]):
        assert merged(parts).current()["state"] == "STOPPED"
    for parts in permutations([ray, broke, stopped, exited]):
        assert merged(parts).current()["state"] == "SUCCEEDED"


def test_the_end_of_its_driver_does_not_make_a_submitted_job_a_success() -> None:
    job = Entity("job", "01", fields={"submission_id": "mine"})
    ended = Entity("job", "01", transitions={(10, "SUCCEEDED"): {"end_ns": 10}})
    running = Entity("job", "01", observed_ns=12, observed={"state": "RUNNING"})
    for parts in permutations([job, ended, running]):
        assert merged(parts).current()["state"] == "FINISHED"
    for outcome in ({"state": "STOPPED"}, {"state": "SUCCEEDED", "exit_code": 0}):
        known = Entity("job", "01", observed_ns=14, observed=dict(outcome))
        for parts in permutations([job, ended, running, known]):
            assert merged(parts).current()["state"] == outcome["state"]


def test_without_an_exit_code_the_last_end_of_a_job_counts() -> None:
    failed = Entity("job", "01", transitions={(10, "FAILED"): {"end_ns": 10}})
    stopped = Entity("job", "01", transitions={(20, "STOPPED"): {"end_ns": 20}})
    for parts in permutations([failed, stopped]):
        assert merged(parts).current() == {"state": "STOPPED", "end_ns": 20}


def test_an_entity_has_ended_once_any_account_says_so() -> None:
    actor = Entity("actor", "a", transitions={(1, "ALIVE"): {}})
    assert actor.has_ended is False
    dead = Entity("actor", "a", transitions={(2, "DEAD"): {}})
    assert dead.has_ended is merge_entities(dead, actor).has_ended is True
    assert Entity("actor", "a", observed_ns=3, observed={"state": "DEAD"}).has_ended is True


def test_of_two_values_of_a_constant_field_the_least_counts() -> None:
    for first, second in ((1, 2), (2, 1), (1, "0"), ("0", 1)):
        merged = merge_entities(Entity("node", "n", {"x": first}), Entity("node", "n", {"x": second}))
        assert merged.fields == {"x": 1}
