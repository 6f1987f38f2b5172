"""Call paths in the order of the call tree, folded."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rayscope.storage.sql.call_lanes import call_lanes


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from("abc")), max_size=40), st.integers(1, 6))
def test_every_path_has_a_lane_behind_that_of_its_caller(drawn: list[tuple[int, str]], levels: int) -> None:
    # The caller of each is one before it, or the driver (0).
    paths = [(number, at % number, name) for number, (at, name) in enumerate(drawn, 1)]
    lanes = call_lanes(paths[::-1], levels)
    assert set(lanes) == {path for path, _, _ in paths}
    for path, parent, name in paths:
        one = lanes[path]
        assert one.depth <= levels
        above = lanes.get(parent)
        if one.lane == path:
            assert one.name == name
            assert above is None or (above.lane == parent and above.rank < one.rank)
            assert one.depth == (1 if above is None else above.depth + 1)
        else:
            assert one == above
    # Lanes below a lane come before the next lane of the same depth.
    order = sorted({one.rank: one for one in lanes.values()}.values(), key=lambda one: one.rank)
    for before, after in pairwise(order):
        assert after.depth <= before.depth + 1
