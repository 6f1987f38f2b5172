"""The Python frames of workers at one time, merged below the tree of :mod:`rayscope.views.stack.compute`.

The input is the output of ``py-spy dump`` for each process. The result has the frames of the user's code.
Frames of Ray around it are left out unless all frames are requested.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, groupby, zip_longest
from typing import NamedTuple

from rayscope.views.stack.compute import Node
from rayscope.views.stack.dump import Dump, Frame, Thread
from rayscope.views.stack.frames_schemas import MergedFrame, MergedFrameKind, NodeFrames

#: Maximum number of frames in a response.
MAX_FRAMES = 2000
#: Number of frames that are kept at each end of a deep stack. The frames in between are left out.
_ENDS = 60
#: If a frame is repeated more often than this, it is treated as a recursion, and the repetitions are left
#: out.
_REPEATED = 3
#: Maximum number of example workers per frame.
_EXAMPLES = 5

#: A frame of code.
CODE: MergedFrameKind = "code"
#: A thread that does not run tasks.
THREAD: MergedFrameKind = "thread"
#: A placeholder for frames that are left out.
CUT: MergedFrameKind = "cut"
#: An event loop that has nothing to run.
AWAIT: MergedFrameKind = "await"
#: A stack without user code.
NONE: MergedFrameKind = "none"

#: Code of Ray and Python that runs a task, an event loop, or a thread, as (end of the file's path, names of
#: functions or None for all).
_WRAPPERS: tuple[tuple[str, frozenset[str] | None], ...] = (
    ("ray/_private/workers/default_worker.py", None),
    ("ray/_private/worker.py", frozenset({"main_loop"})),
    ("ray/_private/function_manager.py", None),
    ("ray/_private/async_compat.py", None),
    ("_raylet.pyx", None),
    ("threading.py", frozenset({"run", "_bootstrap", "_bootstrap_inner"})),
    ("concurrent/futures/thread.py", None),
    ("ray/train/v2/_internal/execution/worker_group/thread_runner.py", None),
    ("ray/train/v2/_internal/execution/worker_group/worker.py", None),
    ("ray/train/v2/_internal/util.py", None),
    ("asyncio/base_events.py", None),
    ("asyncio/events.py", None),
    ("asyncio/runners.py", None),
    ("selectors.py", None),
)
#: Files of frames between the user's code and the code that it calls, at any depth of the stack.
_BETWEEN = re.compile(
    r"(^|/)(ray/_private/(client_mode_hook|auto_init_hook)\.py|ray/util/tracing/tracing_helper\.py"
    r"|rayscope/tracer/\w+\.py)$"
)
_OF_RAY = re.compile(r"(^|/)(ray/_private/|_raylet\.pyx)")
_RUNS_TASKS = ("ray/_private/worker.py", "ray/_private/function_manager.py")
#: Prefix of the titles of worker processes. A process whose title has another prefix is no longer a worker.
WORKER_TITLE = "ray::"
_LOOP = "AsyncIO Thread"
#: Prefix of the name of the thread in which a Ray Train worker runs the user's function.
_TRAINING = "TrainingThread("


class Stack(NamedTuple):
    """One thread as shown, the outermost frame first. ``own``: it runs tasks."""

    frames: tuple[Frame, ...]
    active: bool
    own: bool


class Place(NamedTuple):
    """A worker that runs attempts of a stack node. ``names`` are the possible names of their function.

    ``only``: the worker runs nothing else at that time (a task, not an actor).
    """

    node: str
    worker: str
    names: tuple[str, ...]
    only: bool


class Busy(NamedTuple):
    """A worker that runs attempts of a unit of :mod:`rayscope.views.stack.compute`, with its process ID.

    ``is_driver``: it is the driver of that unit.
    """

    unit: int
    worker: str
    node_id: str
    pid: int
    names: tuple[str, ...] = ()
    only: bool = False
    is_driver: bool = False


def choose(
    tree: Sequence[Node], of_unit: Mapping[int, str], busy: Iterable[Busy], root: str | None, limit: int
) -> tuple[dict[str, Busy], list[Place], int]:
    """Return the workers to sample by ID, their places, and how many workers are left out beyond ``limit``.

    With ``root``, these are the workers at that node and below it, those at the node first. Without ``root``,
    they are all workers of the ``tree``. Those that the job waits for come first, and blocked ones last.
    Among similar nodes, one worker of each is chosen in turn.
    """
    within = _below(tree, root)
    by_node: dict[str, dict[str, Busy]] = defaultdict(dict)
    places: list[Place] = []
    for one in busy:
        node = of_unit.get(one.unit)
        if node in within:
            by_node[node][one.worker] = one
            places.append(Place(node, one.worker, one.names, one.only))
    rank = {node.id: (node.id != root, node.deepest == 0, node.situation == "blocked") for node in tree}
    order = {node.id: number for number, node in enumerate(tree)}
    chosen: dict[str, Busy] = {}
    for _, alike in groupby(
        sorted(by_node, key=lambda node: (rank[node], order[node])), key=rank.__getitem__
    ):
        turns = zip_longest(*(by_node[node].values() for node in alike))
        for one in chain.from_iterable(turns):
            if one is not None and len(chosen) < limit:
                chosen.setdefault(one.worker, one)
    places.sort(key=lambda place: (rank[place.node], order[place.node]))
    everyone = {place.worker for place in places}
    return chosen, [place for place in places if place.worker in chosen], len(everyone) - len(chosen)


def _below(tree: Sequence[Node], root: str | None) -> set[str]:
    if root is None:
        return {node.id for node in tree}
    found = {root}
    for node in tree:  # each node comes after its parent
        if node.parent in found:
            found.add(node.id)
    return found & {node.id for node in tree}


def has_moved_on(place: Place, title: str) -> bool:
    """Return whether a process title shows that the worker no longer runs what it ran at ``place``.

    Ray names a worker's process ``ray::FUNCTION`` while a task runs, and ``ray::IDLE`` afterwards. An actor's
    title names only the call that began or ended last, so it proves nothing about other calls.
    """
    named = title.removeprefix(WORKER_TITLE)
    # Long titles are truncated.
    return place.only and not any(name.startswith(named) for name in place.names if named)


def stacks_of(dump: Dump, whole: bool = False) -> tuple[list[Stack], int]:
    """Return the stacks of a process to show, and how many idle threads of the user are left out.

    With ``whole``, the result has all threads with all of their frames, each under a frame for the thread.
    """
    shown: list[Stack] = []
    idle = 0
    for thread in dump.threads:
        own = _runs_tasks(thread)
        if whole:
            if thread.frames:
                shown.append(Stack((_named(thread), *_cut(thread.frames)), thread.active, own))
            continue
        frames = _of_user(thread.frames)
        if not frames or (not own and _OF_RAY.search(frames[0].file)):
            continue
        if own:
            shown.append(Stack(_cut(frames), thread.active, True))
        elif thread.active:
            shown.append(Stack((_named(thread), *_cut(frames)), True, False))
        else:
            idle += 1
    if not any(stack.own for stack in shown):
        kind = AWAIT if any(thread.name.startswith(_LOOP) for thread in dump.threads) else NONE
        shown.insert(0, Stack((Frame("", "", None, kind),), False, True))
    return shown, idle


def may_be_driver(dump: Dump) -> bool:
    """Return whether a process is one that has started Ray and is no worker."""
    return not dump.title.startswith(WORKER_TITLE) and any(
        _OF_RAY.search(frame.file) for thread in dump.threads for frame in thread.frames
    )


def _runs_tasks(thread: Thread) -> bool:
    return (
        thread.name == "MainThread"
        or thread.name.startswith((_LOOP, _TRAINING))
        or any(frame.file.endswith(_RUNS_TASKS) and _is_wrapper(frame) for frame in thread.frames)
    )


def _is_wrapper(frame: Frame) -> bool:
    name = frame.name.rpartition(".")[2]
    return _BETWEEN.search(frame.file) is not None or any(
        _is_file(frame.file, file) and (names is None or name in names) for file, names in _WRAPPERS
    )


def _is_file(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end)


def _of_user(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames of user code, without Ray's frames around it and between it and the code it calls."""
    start = next((at for at, frame in enumerate(frames) if not _is_wrapper(frame)), len(frames))
    return tuple(frame for frame in frames[start:] if not _BETWEEN.search(frame.file))


def _named(thread: Thread) -> Frame:
    """Return a frame for a thread. Threads of a pool, whose names differ only in numbers, share one frame."""
    return Frame(re.sub(r"\d+", "#", thread.name), "", None, THREAD)


def _cut(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames without the repetitions of a recursion and without the middle of a deep stack."""
    shown: list[Frame] = []
    for frame, run in groupby(frames):
        same = len(list(run))
        shown += [frame, _left_out(same - 2), frame] if same > _REPEATED else [frame] * same
    if len(shown) > 2 * _ENDS + 1:
        middle = sum(f.line or 0 if f.kind == CUT else 1 for f in shown[_ENDS:-_ENDS])
        shown[_ENDS:-_ENDS] = [_left_out(middle)]
    return tuple(shown)


def _left_out(number: int) -> Frame:
    return Frame("", "", number, CUT)


def merge(
    dumps: Mapping[str, Dump], places: Sequence[Place], whole: bool = False, max_frames: int = MAX_FRAMES
) -> tuple[list[NodeFrames], int]:
    """Return the frames below each node of ``places``, and how many frames are left out.

    ``dumps`` are by worker ID. If a worker is at several nodes (a threaded or async actor), each stack is put
    below the node whose function it begins with, or else below the first one. At most ``max_frames`` frames
    are kept: those that occur in the most stacks.
    """
    by_worker: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        if place.worker in dumps:
            by_worker[place.worker].append(place)
    trees: dict[str, _Tree] = {place.node: _Tree(place.node) for place in places if place.worker in dumps}
    for worker in sorted(by_worker):
        stacks, idle = stacks_of(dumps[worker], whole)
        at = by_worker[worker]
        for tree in {place.node: trees[place.node] for place in at}.values():
            tree.workers += 1
        trees[at[0].node].idle += idle
        for stack in stacks:
            trees[_belongs(stack, at).node].add(stack, worker)
    kept, folded = _keep(trees.values(), max_frames)
    return [
        {
            "node": tree.node,
            "workers": tree.workers,
            "idle_threads": tree.idle,
            "frames": tree.ordered(kept),
        }
        for tree in trees.values()
    ], folded


def _belongs(stack: Stack, places: Sequence[Place]) -> Place:
    if len(places) == 1 or not stack.own:
        return places[0]
    names = {frame.name.rpartition(".")[2] for frame in stack.frames}
    outermost = next((frame.name for frame in stack.frames if frame.kind == CODE), "")
    for wanted in ({outermost.rpartition(".")[2]}, names):
        for place in places:
            if any(name.rpartition(".")[2] in wanted for name in place.names):
                return place
    return places[0]


class _Tree:
    """The merged frames below one node of the call stack.

    In each frame, ``own`` counts the stacks that end there, and ``active`` the stacks that are on a CPU.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.workers = self.idle = 0
        self.frames: dict[str, MergedFrame] = {}
        self._seen: dict[str, set[str]] = defaultdict(set)

    def add(self, stack: Stack, worker: str) -> None:
        parent: MergedFrame | None = None
        for depth, frame in enumerate(stack.frames):
            identifier = _id(parent["id"] if parent else self.node, frame)
            at = self.frames.get(identifier)
            if at is None:
                at = self.frames[identifier] = {
                    "id": identifier,
                    "parent": parent["id"] if parent else None,
                    "depth": depth,
                    "kind": frame.kind,
                    "name": frame.name,
                    "file": frame.file,
                    "line": frame.line,
                    "count": 0,
                    "own": 0,
                    "active": 0,
                    "workers": 0,
                    "examples": [],
                }
            at["count"] += 1
            at["active"] += stack.active
            if worker not in self._seen[identifier]:
                self._seen[identifier].add(worker)
                at["workers"] += 1
                if len(at["examples"]) < _EXAMPLES:
                    at["examples"].append(worker)
            parent = at
        if parent is not None:
            parent["own"] += 1

    def ordered(self, kept_ids: set[str]) -> list[MergedFrame]:
        """Return the kept frames, parents before children, and siblings with more stacks first."""
        children: dict[str | None, list[MergedFrame]] = defaultdict(list)
        for frame in self.frames.values():
            if frame["id"] in kept_ids:
                children[frame["parent"]].append(frame)
        for below in children.values():
            below.sort(key=_order, reverse=True)  # reversed, because the last item is popped first
        todo = children[None]
        ordered = []
        while todo:
            ordered.append(todo.pop())
            todo.extend(children.get(ordered[-1]["id"], ()))
        return ordered


def _id(parent: str, frame: Frame) -> str:
    key = f"{parent}\0{frame.kind}\0{frame.name}\0{frame.file}\0{frame.line}"
    return blake2b(key.encode(errors="replace"), digest_size=8).hexdigest()


def _order(frame: MergedFrame) -> tuple[bool, int, str, str, int]:
    """Sort key: frames of task code before those of other threads, then the most stacks, then by name."""
    return frame["kind"] == THREAD, -frame["count"], frame["name"], frame["file"], frame["line"] or 0


def _keep(trees: Iterable[_Tree], max_frames: int) -> tuple[set[str], int]:
    """Return the IDs of the frames with the most stacks and of their ancestors, and how many are left out."""
    below: dict[str | None, list[MergedFrame]] = defaultdict(list)
    total = 0
    for tree in trees:
        total += len(tree.frames)
        for frame in tree.frames.values():
            below[frame["parent"]].append(frame)
    heap = [(-frame["count"], frame["depth"], frame["id"]) for frame in below[None]]
    heapq.heapify(heap)
    kept: set[str] = set()
    while heap and len(kept) < max_frames:
        _, _, identifier = heapq.heappop(heap)
        kept.add(identifier)
        for frame in below.get(identifier, ()):
            heapq.heappush(heap, (-frame["count"], frame["depth"], frame["id"]))
    return kept, total - len(kept)
