"""Reads memray's report about a process: a page of HTML with the tree of the stacks that hold memory.

The page comes from a node. Only its JSON is decoded, into numbers and texts.
The stacks are reduced to the user's code like those of py-spy.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Annotated, NamedTuple

import msgspec

from rayscope.ray.agents.client import AgentError
from rayscope.ray.agents.cpu_profiles import frame_text, may_idle, without_middle
from rayscope.ray.events.samples import MAX_MEMORY
from rayscope.tracer.sampler import PHASES, kind_of, user_stack

#: Maximum number of stacks that are read, those with the most bytes, and of frames in a stack.
_MAX_STACKS = 3000
_MAX_FRAMES = 1000
#: Maximum length of the name of a file or function, of which the end is kept.
_MAX_NAME = 500
#: The name of the frame that memray puts in place of those beyond its own limit.
_CUT_BY_MEMRAY = "..."
#: The statement in the page whose value is the JSON. Strings of the JSON have no line breaks.
_DATA = "const packed_data = "
_DATA_END = ";\n"
#: Folders before the name of a module, and before the files of a job.
_FOLDERS = re.compile(r"^.*/(?:(?:site|dist)-packages|lib/python3\.\d+t?|_ray_pkg_\w+)/")
_MEMRAY_FILES = re.compile(r"(?:^|/)(?:(?:site|dist)-packages/memray/|_memray_attach_hook\.py$)")
#: The kind of memray's own frames, of which the tracer has none.
_MEMRAY = -100
_RAYS_PHASE = PHASES.index("ray")
_PERMISSION_REMEDY = (
    "On the node, run: `sudo sysctl kernel.yama.ptrace_scope=0`. In a container, add SYS_PTRACE "
    "(docker run --cap-add=SYS_PTRACE; in Kubernetes, securityContext.capabilities.add)."
)

_Index = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
_Value = Annotated[int, msgspec.Meta(ge=0, le=MAX_MEMORY)]


class _Nodes(msgspec.Struct, gc=False):
    """The columns of the tree's nodes. The first node is the root. Values include those of the children."""

    children: list[list[_Index]]
    filename: list[_Index]
    function: list[_Index]
    lineno: list[_Index]
    value: list[_Value]
    n_allocations: list[_Value]


class _Report(msgspec.Struct, gc=False):
    nodes: _Nodes
    strings: list[str]


class HeldStack(NamedTuple):
    """The memory of a stack. ``frames``: the user's, the outermost first, each as ``FILE:LINE FUNCTION``."""

    frames: tuple[str, ...]
    size: int
    allocations: int


class MemoryProfile(NamedTuple):
    """The stacks of user code, those with the most bytes first. ``total``: bytes of the whole process."""

    stacks: list[HeldStack]
    total: int


_decode = msgspec.json.Decoder(_Report).decode


def read_memory_profile(page: str) -> MemoryProfile:
    """Read the page of ``memray flamegraph``. Raises AgentError if it is malformed."""
    begin = page.find(_DATA)
    end = page.find(_DATA_END, begin)
    if begin < 0 or end < 0:
        raise _unreadable()
    try:
        report = _decode(page[begin + len(_DATA) : end])
        nodes = report.nodes
        names = [html.unescape(text[-_MAX_NAME:]) for text in report.strings]
        parents = _parents(nodes)
        own, allocations = _own(nodes.value, parents), _own(nodes.n_allocations, parents)

        @cache
        def frame(file: int, line: int, function: int) -> tuple[int, str]:
            path, name = names[file], names[function]
            kind = _MEMRAY if _MEMRAY_FILES.search(path) else kind_of(path, name.rpartition(".")[2])
            return kind, frame_text(_FOLDERS.sub("", path), line, name)

        numbers = [number for number in range(1, len(parents)) if own[number] or allocations[number]]
        stacks = []
        for number in sorted(numbers, key=lambda number: -own[number])[:_MAX_STACKS]:
            path = []
            at = number
            while at:
                if names[nodes.filename[at]] != _CUT_BY_MEMRAY:
                    path.append(frame(nodes.filename[at], nodes.lineno[at], nodes.function[at]))
                at = parents[at]
            if path and (frames := _user_frames(path)):
                stacks.append(HeldStack(frames, own[number], allocations[number]))
    except (msgspec.MsgspecError, ValueError, IndexError, RecursionError):
        raise _unreadable() from None
    return MemoryProfile(stacks, nodes.value[0])


def _parents(nodes: _Nodes) -> list[int]:
    """Return the parent of each node. Raises ValueError if the nodes are no tree, or too deep."""
    count = len(nodes.children)
    columns = (nodes.filename, nodes.function, nodes.lineno, nodes.value, nodes.n_allocations)
    if not count or any(len(column) != count for column in columns):
        raise ValueError("columns of different lengths")
    parents, depths = [-1] * count, [0] * count
    for number, children in enumerate(nodes.children):
        for child in children:
            if not number < child < count or parents[child] >= 0 or depths[number] >= _MAX_FRAMES:
                raise ValueError("not a tree")
            parents[child], depths[child] = number, depths[number] + 1
    if parents.count(-1) > 1:
        raise ValueError("several roots")
    return parents


def _own(values: list[int], parents: list[int]) -> list[int]:
    """Return the value of each node without its children's. Raises ValueError if they have more."""
    own = values.copy()
    for number in range(1, len(parents)):
        own[parents[number]] -= values[number]
    if min(own) < 0:
        raise ValueError("more than its parent")
    return own


def _user_frames(path: list[tuple[int, str]]) -> tuple[str, ...]:
    """The user's frames of a stack, the outermost first. ``path``: all, the innermost first."""
    phase, frames = user_stack(path)
    if path[0][0] == _MEMRAY or (may_idle(path) and phase == _RAYS_PHASE):
        return ()
    return tuple(without_middle(frames[::-1]))


def _unreadable() -> AgentError:
    return AgentError(
        "memray's report cannot be read.",
        "Install the newest memray on the node, or profile for fewer seconds.",
        "failed",
        what="memray_report",
    )


def explain_memray(output: str) -> AgentError:
    """Return the error for a failed run of memray, given the output of Ray's agent."""
    if "memray is not installed" in output:
        return AgentError(
            "memray was not found on the node.",
            "Install it there in the Python environment of Ray (`pip install memray`), and start Ray with "
            "its folder on PATH (activate the environment, or use `rayscope start`).",
            "no_memray",
        )
    if "No module named 'memray'" in output:
        return AgentError(
            "The worker's Python environment has no memray.",
            'Add it to the runtime environment: `runtime_env={"pip": ["memray"]}`.',
            "no_memray",
            what="worker",
        )
    if "Cannot find a supported" in output:
        return AgentError(
            "memray needs gdb or lldb, and found neither on the node.",
            "Install one of them there, such as with `apt-get install gdb`.",
            "no_debugger",
        )
    if "permission to trace" in output or "owned by a different user" in output:
        return AgentError(
            "memray is not allowed to attach to processes on the node.",
            _PERMISSION_REMEDY,
            "no_permission",
            what="memray",
        )
    if "does not exist" in output:
        return AgentError(
            "The process has ended.", "Profile the workers that run now.", "gone", what="process"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("===")]
    # The first line is the command, and memray's message comes after it.
    reason = " ".join(lines[1:] or lines)[:200]
    return AgentError(
        f"memray failed: {reason}",
        "Try again, or see dashboard_agent.log there.",
        "failed",
        what="memray",
        reason=reason,
    )
