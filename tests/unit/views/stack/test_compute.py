"""The prefix tree of what is in flight: nothing gets lost, and no order matters."""

from __future__ import annotations

from collections import defaultdict

import hypothesis.strategies as st
import msgspec
from hypothesis import given

from rayscope.views.stack.compute import Example, Stack, Unit, Wait, call_stack

_UNITS = st.integers(0, 14).flatmap(
    lambda size: st.tuples(
        *(
            st.builds(
                Unit,
                unit=st.just(number),
                task_id=st.sampled_from([None, f"t{number}"]),
                # Callers may be the task itself, one below it, or not on record.
                parent_id=st.sampled_from([None, "driver", "gone", *(f"t{other}" for other in range(size))]),
                name=st.sampled_from("fgh"),
                type=st.just("NORMAL_TASK"),
                situation=st.sampled_from(["running", "blocked", "queued", "waiting_args"]),
                count=st.integers(0, 5),
                oldest_ns=st.integers(1, 50),
                newest_ns=st.integers(50, 90),
                examples=st.lists(st.builds(Example, st.integers(1, 9), st.sampled_from("xyz"), st.just(0)))
                .map(lambda examples: sorted(examples, key=lambda e: e.order))
                .map(tuple),
            )
            for number in range(size)
        )
    )
)
_DRIVER = Unit(99, "driver", None, "driver", "DRIVER_TASK", "blocked", 0, 1)
_NUMBERS = st.sampled_from([*range(15), 99])
_WAITS = st.lists(st.builds(Wait, _NUMBERS, _NUMBERS, st.integers(1, 9), st.tuples(st.sampled_from("ab"))))


def _shape(stack: Stack) -> object:
    return msgspec.to_builtins(stack)


@given(_UNITS, _WAITS, st.randoms(use_true_random=False), st.integers(1, 12))
def test_every_attempt_is_counted_once_whatever_the_order(units, waits, random, room) -> None:
    everything = [*units, _DRIVER]
    stack = call_stack(everything, waits)
    below = defaultdict(int)
    ids = {node.id: node for node in stack.nodes}
    for node in stack.nodes:
        below[node.parent] += node.total
    for node in stack.nodes:
        assert node.total == node.count + below[node.id]
        assert 0 <= node.deepest <= node.count
        assert node.depth == (0 if node.parent is None else ids[node.parent].depth + 1)
    assert below[None] == stack.in_flight == sum(unit.count for unit in units)
    assert len(stack.chains) <= 20
    for chain in stack.chains:
        assert len({link["node"] for link in chain}) == len(chain)

    shuffled = [list(everything), list(waits)]
    for items in shuffled:
        random.shuffle(items)
    assert _shape(call_stack(*shuffled)) == _shape(stack)

    few = call_stack(everything, waits, room)
    kept = {node.id for node in few.nodes}
    assert len(few.nodes) <= room
    assert few.folded_nodes == len(stack.nodes) - len(few.nodes)
    assert all(node.parent is None or node.parent in kept for node in few.nodes)
    shown = sum(node.count + node.folded_count for node in few.nodes)
    assert shown == few.in_flight - sum(
        node.total for node in stack.nodes if node.parent is None and node.id not in kept
    )


def test_a_very_deep_recursion_does_no_harm() -> None:
    depth = 20_000
    units = [
        Unit(number, f"t{number}", f"t{number - 1}", "f", None, "blocked", 1, 0, 5, 5)
        for number in range(1, depth)
    ]
    waits = [Wait(number, number + 1, 1) for number in range(1, depth - 1)]
    stack = call_stack(units, waits)
    assert stack.in_flight == depth - 1
    assert stack.folded_nodes == depth - len(stack.nodes)
