"""Whatever overlaps in a record, the slices of a track are apart or inside each other, and none is lost."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.traces import Trace, read_perfetto

from rayscope.views.export.formats import Attempt, Lane, PerfettoTrace, Span, Speedscope, draw
from rayscope.views.export.formats.protobuf import varint
from rayscope.views.export.timeline_sql import Packing
from rayscope.views.flame.compute import Frame

LANES = [Lane(0, "a" * 56, "one", True, "b" * 56, 10), Lane(1, None, job_id="01000000")]
TIMES = st.tuples(st.integers(0, 40), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))
#: (lane, waited, (begin, end), where it executed, spans)
ATTEMPTS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 10),
        TIMES,
        st.none() | TIMES,
        st.lists(st.tuples(st.sampled_from(["ray.get", "mine", "submit_task"]), TIMES), max_size=5),
    ),
    max_size=12,
)
#: Times are moved by this amount so that none is negative.
ORIGIN = 1_760_000_000_000_000_000


def timeline(intervals: list[Any], by_lane: bool) -> tuple[list[Attempt], list[Span]]:
    """The rows as the store returns them: packed, numbered, in order."""
    intervals = sorted(intervals, key=lambda one: ((one[0],) if by_lane else ()) + one[2])
    rows = {lane: Packing() for lane in (0, 1)}
    waits = Packing(3)
    in_wait = {}
    for at, (_, waited, (begin, _), _, _) in sorted(
        enumerate(intervals), key=lambda one: one[1][2][0] - one[1][1]
    ):
        row = waits.place(begin - waited, begin) if waited else -1
        in_wait[at] = None if row < 0 else row
    attempts, spans = [], []
    for at, (lane, waited, (begin, end), ran, inner) in enumerate(intervals):
        attempts.append(
            Attempt(
                at + 1,
                lane,
                rows[lane].place(begin, end),
                in_wait[at],
                ORIGIN + begin - waited,
                ORIGIN + begin,
                ORIGIN + end,
                f"{at:048x}",
                name=f"task {at}",
                execute_begin_ns=None if ran is None else ORIGIN + ran[0],
                execute_end_ns=None if ran is None else ORIGIN + ran[1],
                caller_lane=0 if at else None,
                caller_row=0 if at else None,
            )
        )
        for name, (since, until) in sorted(inner, key=lambda one: (one[1][0], -one[1][1])):
            spans.append(Span(at + 1, name, ORIGIN + since, ORIGIN + until, ""))
    return attempts, spans


def check(trace: Trace, attempts: list[Attempt], spans: list[Span]) -> None:
    shown = Counter((s.name, s.begin, s.end) for s in trace.slices)
    for one in attempts:
        assert (one.name, one.begin_ns, one.end_ns) in shown
        if one.wait_row is not None and one.begin_ns != one.created_ns:
            assert shown[one.name, one.created_ns, one.begin_ns]
    expected = Counter((s.name, s.begin_ns, s.end_ns) for s in spans)
    assert {key: shown[key] for key in expected} == expected
    of = {one.name: one for one in attempts}
    for s in trace.slices:
        if s.category == "task":
            inside = [o for o in trace.slices if o.track == s.track and o.begin < s.end and s.begin < o.end]
            others = [o for o in inside if o.category == "task" and o is not s]
            assert not others, "two attempts on a row at a time"
            assert of[s.name].end_ns == s.end


@given(ATTEMPTS)
def test_slices_of_a_track_nest_and_none_is_lost(intervals: list[Any]) -> None:
    attempts, spans = timeline(intervals, by_lane=False)
    sink = PerfettoTrace("s")
    sink.start(ORIGIN - 10, {})
    parts = list(draw(LANES, attempts, spans, sink))
    # The reader fails where slices cross or an end has no begin.
    check(read_perfetto(b"".join([*parts, sink.take()])), attempts, spans)


@given(ATTEMPTS)
def test_a_speedscope_profile_opens_and_closes_in_order(intervals: list[Any]) -> None:
    attempts, spans = timeline(intervals, by_lane=True)
    sink = Speedscope("s")
    sink.start(ORIGIN, [], 0)
    parts = list(draw(LANES, attempts, spans, sink, by_lane=True))
    sink.finish({"exporter": "test"})
    file = json.loads(b"".join([*parts, sink.take()]))
    names = [frame["name"] for frame in file["shared"]["frames"]]
    seen: Counter[tuple[str, int, int]] = Counter()
    for profile in file["profiles"][1:]:
        open_frames: list[tuple[int, int]] = []
        last = profile["startValue"]
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                open_frames.append((event["frame"], last))
            else:
                frame, since = open_frames.pop()
                assert frame == event["frame"]
                seen[names[frame], since, last] += 1
        assert not open_frames
    for one in attempts:
        assert one.begin_ns is not None
        assert seen[one.name, one.begin_ns - ORIGIN, one.end_ns - ORIGIN] == 1
    expected = Counter((s.name, s.begin_ns - ORIGIN, s.end_ns - ORIGIN) for s in spans)
    assert {key: seen[key] for key in expected} == expected


def test_deep_call_paths_do_not_grow_a_profile_with_their_square() -> None:
    """A call chain 1,000 deep, and a root beside it that has the least time of all."""
    frames = [
        Frame(str(depth), str(depth - 1) if depth else None, f"f{depth}", "call", depth, own=2000 - depth)
        for depth in range(1000)
    ]
    frames.append(Frame("beside", None, "beside", "call", 0, own=1))
    for most, shown in ((600_000, 1001), (100, 14)):
        sink = Speedscope("s")
        assert sink.start(ORIGIN, frames, most) == len(frames) - shown
        sink.finish({"exporter": "test"})
        file = json.loads(sink.take())
        names = [frame["name"] for frame in file["shared"]["frames"]]
        (summed,) = file["profiles"]
        stacks = [[names[frame] for frame in stack] for stack in summed["samples"]]
        assert len(stacks) == len(summed["weights"]) == shown
        assert sum(map(len, stacks)) <= most
        assert stacks[12] == [f"f{depth}" for depth in range(13)]
        assert summed["weights"][12] == 1988
        assert stacks[-1] == ["beside"]
        assert summed["endValue"] == sum(summed["weights"])


@given(st.integers(-(2**63), 2**64 - 1))
def test_varints(number: int) -> None:
    value = 0
    for at, byte in enumerate(varint(number)):
        value |= (byte & 0x7F) << 7 * at
    assert value == number % 2**64
