"""The memory of user code in what memray reported of real workers, and reports that are malformed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rayscope.ray.agents import memory_profiles
from rayscope.ray.agents.client import AgentError
from rayscope.ray.agents.memory_profiles import MemoryProfile, explain_memray, read_memory_profile
from rayscope.tracer.sampler import MAX_DEPTH

_SAMPLES = Path(__file__).parent / "samples"


def _page(kind: str) -> str:
    return (_SAMPLES / f"memray-{kind}.html").read_text()


def _largest(profile: MemoryProfile) -> dict[str, float]:
    """The megabytes of each stack of at least 1 MB and few frames."""
    return {
        " > ".join(stack.frames).replace("/home/ray/", ""): round(stack.size / 2**20, 1)
        for stack in profile.stacks
        if stack.size >= 2**20 and len(stack.frames) < MAX_DEPTH
    }


def test_what_is_held_at_the_peak() -> None:
    """A stack has only the user's frames, also of threads that the user's code starts."""
    profile = read_memory_profile(_page("peak"))
    assert _largest(profile) == {
        "exp.py:32 holder > exp.py:8 hold": 50,
        "exp.py:41 holder > exp.py:12 free": 30,
        "exp.py:26 beside > exp.py:8 hold": 7,
        "exp.py:40 holder > exp.py:40 <listcomp>": 6.8,
        "exp.py:39 holder": 3,
        "exp.py:34 holder > exp.py:22 fill > numpy/_core/numeric.py:232 ones": 3,
    }
    assert profile.total == 107_353_982
    (deep,) = [stack for stack in profile.stacks if len(stack.frames) > MAX_DEPTH]
    assert (deep.frames[0], deep.frames[32], deep.frames[-1], deep.size) == (
        "/home/ray/exp.py:32 holder",
        ":0 …",
        "/home/ray/exp.py:8 hold",
        2 * 2**20 + 1,
    )


def test_what_is_not_freed() -> None:
    profile = read_memory_profile(_page("leaks"))
    assert _largest(profile) == {
        "exp.py:32 holder > exp.py:8 hold": 50,
        "exp.py:26 beside > exp.py:8 hold": 7,
        "exp.py:40 holder > exp.py:40 <listcomp>": 5.9,
        "exp.py:34 holder > exp.py:22 fill > numpy/_core/numeric.py:232 ones": 3,
        "exp.py:39 holder": 2.8,
    }
    (texts,) = [stack for stack in profile.stacks if stack.frames[-1].endswith("<listcomp>")]
    assert texts.allocations == 100_001
    assert not [stack for stack in profile.stacks if "memray" in str(stack.frames)]


def _tree(**changed: Any) -> str:
    """A page about two nodes, `f` and the `g` that it calls."""
    nodes = {
        "children": [[1], [2], []],
        "filename": [0, 1, 1],
        "function": [0, 2, 3],
        "lineno": [0, 10, 20],
        "value": [9, 7, 4],
        "n_allocations": [3, 2, 1],
    }
    strings = ["root", "a.py", "f", "&lt;g&gt;"]
    data = json.dumps({"nodes": {**nodes, **changed}, "strings": changed.pop("strings", strings)})
    return f"<script>\n    const packed_data = {data};\n    var more = 1;</script>"


def test_nodes_without_their_children() -> None:
    profile = read_memory_profile(_tree())
    assert profile.total == 9
    assert profile.stacks == [
        (("a.py:10 f", "a.py:20 <g>"), 4, 1),
        (("a.py:10 f",), 3, 1),
    ]


def test_what_memray_cut_off_counts_at_the_last_line_that_is_known() -> None:
    texts = ["root", "/home/a/memray/a.py", "f", "..."]
    page = _tree(strings=texts, filename=[0, 1, 3], function=[0, 2, 3], lineno=[0, 10, 0])
    assert read_memory_profile(page).stacks == [
        (("/home/a/memray/a.py:10 f",), 4, 1),
        (("/home/a/memray/a.py:10 f",), 3, 1),
    ]


def test_huge_names_are_cut() -> None:
    texts = ["root", "/" + "a" * 4_000_000 + "/b.py", "f" * 4_000_000, "g"]
    count = 3000
    page = _tree(
        strings=texts,
        filename=[1] * count,
        function=[2] * count,
        lineno=list(range(count)),
        value=[count, *[1] * (count - 1)],
        n_allocations=[count, *[1] * (count - 1)],
        children=[list(range(1, count)), *[[]] * (count - 1)],
    )
    frames = {stack.frames for stack in read_memory_profile(page).stacks}
    assert len(frames) == count - 1
    assert max(len(frame) for (frame,) in frames) < 400


def test_only_the_largest_stacks_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_profiles, "_MAX_STACKS", 1)
    assert [stack.size for stack in read_memory_profile(_tree()).stacks] == [4]


@pytest.mark.parametrize(
    "page",
    [
        "",
        "const packed_data = ",
        "const packed_data = {};\n",
        "const packed_data = " + "[" * 100_000 + ";\n",
        'const packed_data = {"x":' + "[" * 100_000 + ";\n",
        "const packed_data = alert(1);\n",
        _tree(children=[[1], [2], [0]]),
        _tree(children=[[1], [1, 2], []]),
        _tree(children=[[1, 2], [2], []]),
        _tree(children=[[1], [], []]),
        _tree(children=[[1], [2], [3]]),
        _tree(children=[[], [], []], value=[]),
        _tree(children=[]),
        _tree(value=[9, 7, 8]),
        _tree(value=[9, 7, -1]),
        _tree(value=[9, 7, 2**60]),
        _tree(value=[9, 7, 1e300]),
        _tree(value=[9, 7, "4"]),
        _tree(filename=[0, 1, 9]),
        _tree(filename=[0, 1, -1]),
        _tree(lineno=[0, 1]),
        _tree(strings=[1, 2, 3, 4]),
        _tree(strings=["a"]),
        _tree().replace("a.py", "\\ud800"),
        # A stack of 2,000 frames.
        _tree(
            **dict.fromkeys(("filename", "function", "lineno"), [0] * 2000),
            **dict.fromkeys(("value", "n_allocations"), [1] * 2000),
            children=[*([number] for number in range(1, 2000)), []],
        ),
    ],
)
def test_a_malformed_report(page: str) -> None:
    with pytest.raises(AgentError) as caught:
        read_memory_profile(page)
    assert (caught.value.code, caught.value.params["what"]) == ("failed", "memray_report")


_FAILED = "Failed to execute `['/venv/bin/memray', 'attach', '7', '-o', '7.bin']`.\n\n=== stderr ===\n{}\n\n=== stdout ===\n\n"


@pytest.mark.parametrize(
    ("output", "code", "remedy"),
    [
        ("Failed to execute: memray is not installed", "no_memray", "pip install memray"),
        (
            "Failed to start tracking in remote process: ModuleNotFoundError(\"No module named 'memray'\")",
            "no_memray",
            "runtime_env",
        ),
        (
            "Cannot find a supported lldb or gdb executable and sys.remote_exec is not available.",
            "no_debugger",
            "apt-get install gdb",
        ),
        (
            "Failed to attach a debugger to the process.\n"
            "You most likely do not have permission to trace the process.",
            "no_permission",
            "SYS_PTRACE",
        ),
        (
            "Failed to attach a debugger to the process.\nThe given process ID is owned by a different user.",
            "no_permission",
            "SYS_PTRACE",
        ),
        (
            "Failed to attach a debugger to the process.\nThe given process ID does not exist.",
            "gone",
            "Profile the workers that run now.",
        ),
    ],
)
def test_failures_that_memray_reports(output: str, code: str, remedy: str) -> None:
    error = explain_memray(output if "not installed" in output else _FAILED.format(output))
    assert error.code == code
    assert remedy in error.remedy


def test_a_failure_that_is_unknown() -> None:
    error = explain_memray(_FAILED.format("Timed out waiting for connection from pid 7"))
    assert error.message == "memray failed: Timed out waiting for connection from pid 7"
    assert len(explain_memray("x" * 10_000).message) < 300
    assert explain_memray("").code == "failed"
