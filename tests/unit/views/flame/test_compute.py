"""Trees of any shape: widths add up, nothing is lost, and limits are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rayscope.views.flame.compute import (
    MAX_CALLER_FRAMES,
    MAX_CALLERS,
    ROOT,
    Own,
    Path,
    Tree,
    flame,
    sandwich,
)

NAMES = "abc"


@st.composite
def _trees(draw: st.DrawFn) -> tuple[list[Own], list[Path]]:
    """Paths, each under one before it, no two alike, with something on some of them."""
    paths: dict[tuple[str, str], Path] = {}
    rows = []
    for number in range(1, draw(st.integers(1, 40))):
        parent = draw(st.sampled_from([ROOT, *(path.path for path in paths.values())]))
        path = Path(str(number), parent, draw(st.sampled_from(NAMES)))
        if paths.setdefault((path.parent, path.name), path) is path and draw(st.booleans()):
            rows.append(Own(path.path, attempts=1, executing_ns=draw(st.integers(0, 50))))
    rows += [Own(None, draw(st.sampled_from([None, "a"])), 1, executing_ns=draw(st.integers(0, 9)))]
    return rows, draw(st.permutations(list(paths.values())))


def _adds_up(tree: Tree) -> None:
    for frame in tree.frames:
        below = sum(one.value for one in tree.frames if one.parent == frame.id)
        assert frame.value == frame.own + below


@given(_trees(), st.integers(2, 60))
def test_widths_add_up_however_few_frames_are_given(known: tuple[list[Own], list[Path]], limit: int) -> None:
    rows, paths = known
    found = flame(rows, paths, limit=limit)
    assert found is not None
    frames = found.tree.frames
    assert len(frames) <= limit
    assert (
        found.total == sum(row.executing_ns for row in rows) == frames[0].value == sum(f.own for f in frames)
    )
    assert found.attempts == len(rows) == sum(frame.attempts for frame in frames)
    _adds_up(found.tree)
    seen: set[str | None] = {None}
    for frame in frames:
        assert frame.parent in seen
        seen.add(frame.id)
    merged = sum(frame.folded for frame in frames)
    assert merged == found.tree.folded
    assert found.tree.frames_total == sum(frame.kind != "other" for frame in frames) + merged


@given(_trees(), st.sampled_from(NAMES))
def test_a_sandwich_counts_every_attempt_once(known: tuple[list[Own], list[Path]], name: str) -> None:
    rows, paths = known
    by_id = {path.path: path for path in paths}

    def line(row: Own) -> list[str]:
        names, at = ([] if row.path or row.name is None else [row.name]), row.path
        while at in by_id:
            names.append(by_id[at].name)
            at = by_id[at].parent
        return names

    found = sandwich(rows, paths, name)
    assert found.value == sum(row.executing_ns for row in rows if name in line(row))
    assert found.own == sum(row.executing_ns for row in rows if line(row)[:1] == [name])
    assert found.callers.frames[0].value == found.callees.frames[0].value == found.value
    _adds_up(found.callees)
    # All callers come from a driver, so what came through a frame came through those above it.
    for frame in found.callers.frames:
        above = [one for one in found.callers.frames if one.parent == frame.id]
        assert frame.kind == "driver" or frame.value == sum(one.value for one in above)


def test_very_many_calls_show_fewer_levels_of_callers() -> None:
    deep = 3000
    paths = [Path(str(level), str(level - 1), "f") for level in range(1, deep + 1)]
    rows = [Own(path.path, attempts=1, executing_ns=1) for path in paths]
    found = sandwich(rows, paths, "f")
    assert found.levels * deep <= MAX_CALLER_FRAMES
    assert (found.value, found.attempts) == (deep, deep)
    assert max(frame.depth for frame in found.callers.frames) == found.levels
    assert sandwich(rows[:10], paths[:10], "f").levels == MAX_CALLERS
