"""Dumps of real workers of Ray 2.60, and that merging loses no stack."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from rayscope.views.stack.compute import Unit, call_stack, nodes_of
from rayscope.views.stack.dump import Dump, Frame, Thread, parse_dump
from rayscope.views.stack.frames import Busy, Place, choose, has_moved_on, merge, stacks_of

_SAMPLES = Path(__file__).parent / "samples"


def _dump(name: str) -> Dump:
    return parse_dump((_SAMPLES / f"py-spy-{name}.txt").read_text())


_CALL = ("outer", "inner")


@pytest.mark.parametrize(
    ("name", "stacks", "active", "idle"),
    [
        ("task", [("outer_task", *_CALL)], 0, 0),
        ("spinning", [("spin",)], 1, 0),
        ("actor", [("Plain.work", *_CALL)], 0, 0),
        ("actor_init", [("Slow.__init__", *_CALL)], 0, 0),
        ("threaded_actor", [("Threaded.work", *_CALL)] * 3, 0, 0),
        ("concurrency_group", [("Grouped.io", *_CALL)] * 2, 0, 0),
        ("async_actor_busy", [("Async.busy", *_CALL)], 0, 0),
        ("async_actor_waiting", [("await",)], 0, 0),
        ("generator", [("gen", "inner")], 0, 0),
        ("blocked_in_get", [("waiter", "get", "Worker.get_objects")], 0, 0),
        ("own_thread", [("with_thread", "Thread.join", "Thread._wait_for_tstate_lock")], 0, 1),
        ("idle", [("none",)], 0, 0),
    ],
)
def test_of_a_worker_the_users_frames_are_shown(name, stacks, active, idle) -> None:
    found, left_out = stacks_of(_dump(name))
    assert [tuple(f.name or f.kind for f in stack.frames) for stack in found] == stacks
    assert (sum(stack.active for stack in found), left_out) == (active, idle)


def test_a_frame_has_its_place_in_the_source() -> None:
    (stack,), _ = stacks_of(_dump("lambda"))
    assert stack.frames[-2:] == (
        Frame("multiline_lambda.<locals>.<lambda>.<locals>.<listcomp>", "job.py", 49),
        Frame("inner", "job.py", 9),
    )


def test_the_whole_has_every_thread_with_frames() -> None:
    stacks, left_out = stacks_of(_dump("threaded_actor"), whole=True)
    assert [stack.frames[0].name for stack in stacks] == [
        "MainThread",
        "PythonGCThread",
        "Dummy-#",
        "Dummy-#",
        "Dummy-#",
    ]
    assert "Worker.main_loop" in [frame.name for frame in stacks[0].frames]
    assert left_out == 0


def test_values_that_a_dump_carries_are_passed_over() -> None:
    text = (_SAMPLES / "py-spy-task.txt").read_text()
    secret = '    inner (job.py:9)\n        Arguments:\n            password: "hunter2 (x.py:1)"\n'
    assert parse_dump(text.replace("    inner (job.py:9)\n", secret)) == parse_dump(text)


@pytest.mark.parametrize("text", ["", "Thread 1 (idle)\n    f (x.py:1)", "\0", "Process x: y"])
def test_texts_that_are_no_dump_are_refused(text) -> None:
    with pytest.raises(ValueError):
        parse_dump(text)


@given(st.text(alphabet='Process Thread12:()"\n x.py\x1b[0m+idle', max_size=300))
def test_no_text_breaks_the_parser(text) -> None:
    dump = parse_dump("Process 7: ray::f\n" + text)
    assert dump.pid == 7
    stacks_of(dump)


def test_names_with_brackets_and_colours() -> None:
    dump = parse_dump(
        'Process 7: ray::f\nThread 0x7F00AA (active): "a "b" (c)"\n'
        "    \x1b[32m<lambda>\x1b[0m (my dir (copy)/x.py:3)\n    native (libc.so)\n"
    )
    thread = Thread(
        'a "b" (c)', True, (Frame("native", "libc.so", None), Frame("<lambda>", "my dir (copy)/x.py", 3))
    )
    assert dump.threads == (thread,)


@pytest.mark.parametrize("end", ["", ")", " ()"])
def test_an_endless_line_does_not_lose_the_rest(end: str) -> None:
    dump = parse_dump(
        f'Process 7: python {"x" * 200_000}\nThread 1 (idle): "a"\n    inner (x.py:1)\n'
        f"    a{' (a' * 66_666}{end}\n    outer (x.py:2)\n"
    )
    assert (dump.pid, dump.title[:8]) == (7, "python x")
    (thread,) = dump.threads
    assert thread.frames == (Frame("outer", "x.py", 2), Frame("inner", "x.py", 1))


_FRAMES = st.lists(st.sampled_from("fgh").map(lambda name: Frame(name, "x.py", 1)), max_size=5).map(tuple)
_DUMPS = st.dictionaries(
    st.sampled_from([f"worker{number}" for number in range(6)]),
    st.lists(st.builds(Thread, st.sampled_from(["MainThread", "pool-1"]), st.booleans(), _FRAMES)).map(
        lambda threads: Dump(1, "ray::f", tuple(threads))
    ),
)


@given(_DUMPS, st.booleans(), st.randoms(use_true_random=False))
def test_every_stack_is_in_the_tree_once(dumps, whole, random) -> None:
    places = [Place(f"node{int(worker[-1]) % 2}", worker, ("f",), True) for worker in dumps]
    trees, folded = merge(dumps, places, whole)
    assert folded == 0
    stacks: Counter[tuple[tuple[str, str], ...]] = Counter()
    for dump in dumps.values():
        shown, _ = stacks_of(dump, whole)
        stacks.update(tuple((f.kind, f.name) for f in stack.frames) for stack in shown)
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    for tree in trees:
        paths: dict[str, tuple[tuple[str, str], ...]] = {}
        below: dict[str | None, int] = defaultdict(int)
        for frame in tree["frames"]:
            above = paths[frame["parent"]] if frame["parent"] is not None else ()
            paths[frame["id"]] = (*above, (frame["kind"], frame["name"]))
            assert frame["depth"] == len(above)
            assert 0 <= frame["active"] <= frame["count"]
            assert 1 <= frame["workers"] <= frame["count"]
            below[frame["parent"]] += frame["count"]
            found[paths[frame["id"]]] += frame["own"]
        for frame in tree["frames"]:
            assert frame["count"] == frame["own"] + below[frame["id"]]
    assert +found == stacks
    shuffled = list(dumps.items())
    random.shuffle(shuffled)
    assert merge(dict(shuffled), places, whole) == (trees, folded)
    few, left = merge(dumps, places, whole, max_frames=3)
    kept = [frame for tree in few for frame in tree["frames"]]
    assert len(kept) == min(3, len(kept) + left)
    ids = {frame["id"] for frame in kept}
    assert all(frame["parent"] is None or frame["parent"] in ids for frame in kept)


def test_a_deep_recursion_is_shown_by_its_ends() -> None:
    deep = tuple(Frame("f", "x.py", line) for line in range(900))
    (stack,), _ = stacks_of(Dump(1, "ray::f", (Thread("MainThread", True, deep),)))
    assert len(stack.frames) == 121
    assert stack.frames[60] == Frame("", "", 780, "cut")
    assert (stack.frames[0].line, stack.frames[-1].line) == (0, 899)
    same = (Frame("g", "x.py", 1), *[Frame("f", "x.py", 7)] * 300, Frame("f", "x.py", 8))
    (stack,), _ = stacks_of(Dump(1, "ray::g", (Thread("MainThread", True, same),)))
    assert [(f.name, f.line) for f in stack.frames] == [("g", 1), ("f", 7), ("", 298), ("f", 7), ("f", 8)]


def test_of_an_actor_at_two_nodes_each_has_its_own_calls() -> None:
    threads = tuple(
        Thread(
            f"Dummy-{n}", False, (Frame("_run", "ray/_private/function_manager.py", 1), Frame(f, "x.py", n))
        )
        for n, f in enumerate(["Pool.read", "Pool.write", "Pool.read", "helper"])
    )
    places = [Place("a", "w", ("Pool.read",), False), Place("b", "w", ("Pool.write",), False)]
    trees, _ = merge({"w": Dump(1, "ray::Pool", threads)}, places)
    names = {tree["node"]: sorted(frame["name"] for frame in tree["frames"]) for tree in trees}
    assert names == {"a": ["Pool.read", "Pool.read", "helper"], "b": ["Pool.write"]}


@pytest.mark.parametrize(
    ("title", "only", "moved"),
    [
        ("ray::work", True, False),
        ("ray::IDLE", True, True),
        ("ray::wor", True, False),
        ("ray::other", True, True),
        ("ray::other", False, False),
    ],
)
def test_a_worker_that_does_something_else_is_recognized_by_its_title(title, only, moved) -> None:
    assert has_moved_on(Place("n", "w", ("work", "module.work"), only), title) == moved


def test_workers_that_the_job_waits_for_are_sampled_first_and_each_line_has_its_turn() -> None:
    units = [
        Unit(1, "d", None, "driver", "DRIVER_TASK", "running", 0, 1),
        Unit(2, None, "d", "many", "NORMAL_TASK", "running", 90),
        Unit(3, None, "d", "few", "NORMAL_TASK", "running", 2),
        Unit(4, None, "d", "blocked", "NORMAL_TASK", "blocked", 5),
    ]
    tree = call_stack(units, ()).nodes
    of_unit = nodes_of(units)
    assert {node.id for node in tree} == set(of_unit.values())
    sizes = {2: 90, 3: 2, 4: 5}
    busy = [Busy(u, f"{u}-{n}", "n", 1, ("x",), True) for u, size in sizes.items() for n in range(size)]
    chosen, places, left_out = choose(tree, of_unit, busy, None, 10)
    assert Counter(name[0] for name in chosen) == {"2": 8, "3": 2}
    assert left_out == 97 - 10
    assert {place.worker for place in places} == set(chosen)
    below, _, left_out = choose(tree, of_unit, busy, of_unit[4], 10)
    assert (len(below), left_out) == (5, 0)
