"""The stacks of user code in what py-spy printed of real workers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rayscope.ray.agents.cpu_profiles import CpuProfile, read_profile
from rayscope.tracer.sampler import MAX_DEPTH, PHASES

_SAMPLES = Path(__file__).parent / "samples"
_MAIN = "<module> (ray/_private/workers/default_worker.py:323);Worker.main_loop (ray/_private/worker.py:1069)"
_TRAINS = "ThreadRunner.run.<locals>._run_target (ray/train/v2/_internal/execution/worker_group/thread_runner.py:46)"
_THREAD = "Thread._bootstrap (threading.py:1002);Thread._bootstrap_inner (threading.py:1045)"


def _read(kind: str) -> CpuProfile:
    return read_profile((_SAMPLES / f"py-spy-raw-{kind}.txt").read_text())


def _by_path(profile: CpuProfile) -> dict[str, int]:
    return {" > ".join(stack.frames): stack.samples for stack in profile.stacks}


def test_a_busy_function() -> None:
    profile = _read("busy")
    assert profile.taken == 199
    assert _by_path(profile) == {
        "exp.py:12 busy > exp.py:6 hot": 133,
        "exp.py:12 busy > exp.py:5 hot": 65,
        "exp.py:11 busy": 1,
    }
    assert {PHASES[stack.phase] for stack in profile.stacks} == {"executing"}


def test_a_function_that_sleeps() -> None:
    assert _by_path(_read("sleeper")) == {"exp.py:31 sleeper": 199}


def test_a_thread_of_user_code_counts_beside_its_task() -> None:
    profile = _read("threads")
    assert profile.taken == 199
    functions = Counter[str]()
    for stack in profile.stacks:
        functions[stack.frames[0].rpartition(" ")[2]] += stack.samples
    assert functions == {"threads.<locals>.loop": 199, "threads": 199}


def test_an_async_actor_while_its_coroutine_runs() -> None:
    profile = _read("A.work")
    assert profile.taken == 199
    assert _by_path(profile) == {
        "exp.py:28 A.work > exp.py:6 hot": 71,
        "exp.py:28 A.work > exp.py:5 hot": 35,
        "exp.py:27 A.work": 2,
        "exp.py:28 A.work": 1,
    }


@pytest.mark.parametrize(
    ("path", "phase", "frames"),
    [
        (f"{_MAIN};f (a.py:1);get (ray/_private/worker.py:2981)", "ray.get", ("a.py:1 f",)),
        (
            f"{_MAIN};f (a.py:1);wrapper (rayscope/tracer/calls.py:9);g (b.py:2)",
            "executing",
            ("a.py:1 f", "b.py:2 g"),
        ),
        (f"{_MAIN};f (a.py)", "executing", ("a.py:0 f",)),
        (f"{_MAIN}", "executing", None),
        (f"{_THREAD};Log.run (ray/_private/log.py:5);wait (grpc/_channel.py:7)", "ray", None),
        (f"{_THREAD};watch (a.py:1);Event.wait (threading.py:629)", "executing", None),
        (f"{_THREAD};watch (a.py:1);read (b.py:7)", "executing", ("a.py:1 watch", "b.py:7 read")),
        # A rank of Ray Train that waits, as in a collective, is no idle thread.
        (
            f"{_THREAD};{_TRAINS};train (a.py:1);Event.wait (threading.py:629)",
            "executing",
            ("a.py:1 train", "threading.py:629 Event.wait"),
        ),
        ("", "executing", None),
        # With native frames: those that the user's code calls count, whatever is around Python.
        (
            f"_start (python3.11);main (python3.11);{_MAIN};f (a.py:1);f(int, char) (lib.so);dot (numpy/_core.so)",
            "executing",
            ("a.py:1 f", "lib.so:0 f(int, char)", "numpy/_core.so:0 dot"),
        ),
        (
            f"_start (python3.11);{_MAIN};f (a.py:1);get (ray/_private/worker.py:2981);recv (libc.so.6)",
            "ray.get",
            ("a.py:1 f",),
        ),
        (
            f"clone3 (libc.so.6);{_THREAD};watch (a.py:1);Event.wait (threading.py:629);futex (libc.so.6)",
            "executing",
            None,
        ),
        ("clone3 (libc.so.6);run (libgrpc.so)", "executing", None),
    ],
)
def test_what_counts_as_user_code(path: str, phase: str, frames: tuple[str, ...] | None) -> None:
    stacks = [
        (PHASES[stack.phase], stack.frames, stack.samples) for stack in read_profile(f"{path} 3").stacks
    ]
    assert stacks == ([] if frames is None else [(phase, frames, 3)])


def test_malformed_lines_are_skipped_and_deep_stacks_are_cut() -> None:
    deep = ";".join(f"f{at} (a.py:{at})" for at in range(300))
    profile = read_profile(
        f"{_MAIN};{deep} 7\nnonsense\n{_MAIN};f (a.py:1) -5\n{_MAIN};f (a.py:1) 9999999999\n"
    )
    (stack,) = profile.stacks
    assert (profile.taken, stack.samples, len(stack.frames)) == (7, 7, MAX_DEPTH + 1)
    assert stack.frames[MAX_DEPTH // 2] == ":0 …"
    assert (stack.frames[0], stack.frames[-1]) == ("a.py:0 f0", "a.py:299 f299")
