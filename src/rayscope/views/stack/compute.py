"""The distributed call stack: the attempts in flight at one time, merged into a prefix tree.

It does for Ray what LLNL's STAT does for the processes of an MPI job. Attempts of the same function, in the
same situation, under the same chain of callers become one node with a count.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from rayscope.cluster.placement.schemas import Situation
from rayscope.views.stack.schemas import StackBlockedOn, StackLink

#: Maximum number of nodes in a response.
MAX_NODES = 2000
#: Maximum number of chains in a response.
MAX_CHAINS = 20
#: Maximum number of wait targets listed per node.
_NAMED = 10
#: Maximum number of examples per node.
_EXAMPLES = 5
#: In a tree with more nodes than this, each node has only one example and the first ``_FEW`` targets of its
#: waits.
_LARGE_TREE_NODES = 500
#: Maximum number of wait targets per node in such a large tree.
_FEW = 3
#: Maximum number of steps in the search for chains of waits.
_STEPS = 20_000
#: Maximum number of links in a chain.
_LINKS = 200

_DRIVER = "DRIVER_TASK"


class Example(msgspec.Struct, frozen=True):
    """One attempt, the Ray node that it is on, and the time since which it has been in its situation (ns)."""

    since_ns: int
    task_id: str
    attempt: int
    node_id: str | None = None
    worker_pid: int | None = None

    @property
    def order(self) -> tuple[int, str, int]:
        """Sort key that puts the oldest first."""
        return self.since_ns, self.task_id, self.attempt


class Unit(msgspec.Struct, frozen=True):
    """Similar attempts with the same parent, or a single task (``task_id``) that is the parent of others.

    ``unit`` is the number by which a :class:`Wait` refers to it. ``count`` is the number of matching attempts
    in flight. ``others`` counts those that are included only for their descendants: a driver, an ended
    attempt, or one that the filters exclude. The oldest of ``examples`` comes first.
    """

    unit: int
    task_id: str | None
    parent_id: str | None
    name: str
    type: str | None
    situation: Situation
    count: int
    others: int = 0
    oldest_ns: int | None = None
    newest_ns: int | None = None
    examples: tuple[Example, ...] = ()


class Wait(msgspec.Struct, frozen=True):
    """Attempts of ``waiter`` wait for attempts of ``target``, in ``count`` pairs. ``examples``: targets."""

    waiter: int
    target: int
    count: int
    examples: tuple[str, ...] = ()


class Node(msgspec.Struct):
    """Attempts of the same function in the same situation under the same chain of callers.

    ``count`` of them are in flight, and ``total`` includes all nodes below. ``others`` are included only
    because of attempts below them. ``awaited`` is true if the job waits for some of them, directly or
    indirectly. ``deepest`` counts those that the job waits for and that wait for nothing themselves.
    ``folded_nodes`` nodes below (with ``folded_count`` attempts) are left out.
    """

    id: str
    parent: str | None
    depth: int
    name: str
    type: str | None
    situation: Situation
    count: int = 0
    others: int = 0
    total: int = 0
    oldest_ns: int | None = None
    newest_ns: int | None = None
    deepest: int = 0
    awaited: bool = False
    examples: list[Example] = msgspec.field(default_factory=list)
    blocked_on: list[StackBlockedOn] = msgspec.field(default_factory=list)
    folded_nodes: int = 0
    folded_count: int = 0


class Stack(msgspec.Struct):
    """The tree, each node after its parent. ``in_flight`` counts all attempts, including those left out."""

    in_flight: int
    nodes: list[Node]
    chains: list[list[StackLink]]
    folded_nodes: int = 0


def _id(parent: str, name: str, situation: str) -> str:
    return blake2b(f"{parent}\0{name}\0{situation}".encode(), digest_size=8).hexdigest()


class _Tree:
    """All nodes by ID, and the ID of each unit's node."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.nodes: dict[str, Node] = {}
        self.of_unit: dict[int, str] = {}
        self._by_task = {unit.task_id: unit for unit in units if unit.task_id is not None}
        for unit in units:
            self._place(unit)
        for unit in units:
            self._add(self.nodes[self.of_unit[unit.unit]], unit)

    def _place(self, unit: Unit) -> None:
        """Find or create the nodes of a unit and its callers, the outermost first."""
        climbed: list[Unit] = []
        seen: set[int] = set()
        at: Unit | None = unit
        while at is not None and at.unit not in self.of_unit and at.unit not in seen:
            seen.add(at.unit)
            climbed.append(at)
            at = self._by_task.get(at.parent_id) if at.parent_id is not None else None
        for one in reversed(climbed):
            above = self._by_task.get(one.parent_id) if one.parent_id is not None else None
            if above is not None and above.unit in self.of_unit:
                parent: Node | None = self.nodes[self.of_unit[above.unit]]
            elif one.type == _DRIVER:
                parent = None
            else:
                # Its parent is unknown or not in the record, or the parents form a cycle.
                parent = self._node(None, "", None, "unknown")
            # Drivers of different jobs have separate stacks.
            key = one.name if one.type != _DRIVER else f"{one.name}\0{one.task_id}"
            self.of_unit[one.unit] = self._node(parent, one.name, one.type, one.situation, key).id

    def _node(
        self,
        parent: Node | None,
        name: str,
        kind: str | None,
        situation: Situation,
        key: str | None = None,
    ) -> Node:
        identifier = _id(parent.id if parent else "", name if key is None else key, situation)
        node = self.nodes.get(identifier)
        if node is None:
            node = Node(
                identifier,
                parent.id if parent else None,
                parent.depth + 1 if parent else 0,
                name,
                kind,
                situation,
            )
            self.nodes[identifier] = node
        return node

    def _add(self, node: Node, unit: Unit) -> None:
        node.count += unit.count
        node.others += unit.others
        node.type = min(filter(None, (node.type, unit.type)), default=None)
        for time_ns in (unit.oldest_ns, unit.newest_ns):
            if time_ns is not None:
                node.oldest_ns = time_ns if node.oldest_ns is None else min(node.oldest_ns, time_ns)
                node.newest_ns = time_ns if node.newest_ns is None else max(node.newest_ns, time_ns)
        worst = node.examples[-1] if len(node.examples) == _EXAMPLES else None
        if unit.examples and (worst is None or unit.examples[0].order < worst.order):
            node.examples = heapq.nsmallest(
                _EXAMPLES, [*node.examples, *unit.examples], key=lambda e: e.order
            )


def call_stack(units: Iterable[Unit], waits: Iterable[Wait], max_nodes: int = MAX_NODES) -> Stack:
    """Return the prefix tree of ``units`` and their waits. The order of the arguments' items does not matter.

    At most ``max_nodes`` nodes are kept: first those that the job waits for, then the largest. The others are
    counted in ``folded_nodes`` of their nearest ancestor that is kept. Units whose parents are unknown or
    form a cycle are placed under a node that has no name and the situation ``unknown``.
    """
    units = sorted(units, key=lambda unit: unit.unit)
    tree = _Tree(units)
    known = [wait for wait in waits if wait.waiter in tree.of_unit and wait.target in tree.of_unit]
    _mark(tree, units, known)
    edges = _block(tree, known)
    for node in sorted(tree.nodes.values(), key=lambda node: -node.depth):
        node.total += node.count
        if node.parent is not None:
            tree.nodes[node.parent].total += node.total
    chains = _chains(tree, edges)
    nodes, folded = _keep(tree, max_nodes)
    if len(nodes) > _LARGE_TREE_NODES:
        for node in nodes:
            del node.examples[1:], node.blocked_on[_FEW:]
            for on in node.blocked_on:
                del on["examples"][1:]
    in_flight = sum(unit.count for unit in units)
    return Stack(in_flight, nodes, chains, folded)


def nodes_of(units: Iterable[Unit]) -> dict[int, str]:
    """Return the ID of the node in which :func:`call_stack` puts each unit."""
    return _Tree(sorted(units, key=lambda unit: unit.unit)).of_unit


def _mark(tree: _Tree, units: Sequence[Unit], waits: Sequence[Wait]) -> None:
    """Mark everything that the job waits for, which is all direct and indirect targets of blocked drivers.

    If a job's driver is running or was not traced, it is not known to be blocked, and nothing is marked.
    """
    targets: dict[int, list[int]] = defaultdict(list)
    for wait in waits:
        targets[wait.waiter].append(wait.target)
    drivers = [unit.unit for unit in units if unit.type == _DRIVER and unit.unit in targets]
    reached = set(drivers)
    todo = list(drivers)
    while todo:
        for target in targets.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    for unit in units:
        if unit.unit not in reached:
            continue
        node = tree.nodes[tree.of_unit[unit.unit]]
        node.awaited = True
        if unit.situation != "blocked" and unit.unit not in targets:
            node.deepest += unit.count


class _Edge(msgspec.Struct, frozen=True):
    count: int
    examples: list[str]


def _block(tree: _Tree, waits: Sequence[Wait]) -> dict[str, dict[str, _Edge]]:
    """Return the waits between nodes, and list each node's most frequent ones in its ``blocked_on``."""
    edges: dict[str, dict[str, _Edge]] = defaultdict(dict)
    for wait in waits:
        into = edges[tree.of_unit[wait.waiter]]
        target = tree.of_unit[wait.target]
        before = into.get(target, _Edge(0, []))
        examples = heapq.nsmallest(_EXAMPLES, {*before.examples, *wait.examples})
        into[target] = _Edge(before.count + wait.count, examples)
    for waiter, into in edges.items():
        named = heapq.nsmallest(_NAMED, into.items(), key=lambda item: (-item[1].count, item[0]))
        for target, edge in named:
            node = tree.nodes[target]
            tree.nodes[waiter].blocked_on.append(
                {
                    "node": target,
                    "name": node.name,
                    "type": node.type,
                    "situation": node.situation,
                    "count": edge.count,
                    "examples": edge.examples,
                }
            )
    return edges


def _chains(tree: _Tree, edges: dict[str, dict[str, _Edge]]) -> list[list[StackLink]]:
    """Return the chains of waits, from nodes that no other node waits for to nodes that wait for none.

    Chains that begin with a driver come first, then the largest. If a graph has very many paths, some are
    skipped.
    """
    waited_for = {target for into in edges.values() for target in into}
    starts = sorted(node for node in edges if node not in waited_for)
    chains: list[list[StackLink]] = []
    steps = 0
    visited: set[str] = set()

    def link(node_id: str) -> StackLink:
        node = tree.nodes[node_id]
        return {
            "node": node_id,
            "name": node.name,
            "type": node.type,
            "situation": node.situation,
            "count": node.count or node.others,
        }

    def search(start: str) -> None:
        nonlocal steps
        todo: list[list[StackLink]] = [[link(start)]]
        while todo and steps < _STEPS:
            steps += 1
            chain = todo.pop()
            visited.add(chain[-1]["node"])
            on_it = {step["node"] for step in chain}
            targets = edges.get(chain[-1]["node"], {})
            following = [(to, edge.count) for to, edge in targets.items() if to not in on_it]
            if not following or len(chain) == _LINKS:
                if any(tree.nodes[step["node"]].total for step in chain):
                    chains.append(chain)
                continue
            # The largest one goes last, so that it is searched first.
            for to, _ in heapq.nlargest(_EXAMPLES * _NAMED, following, key=lambda f: (f[1], f[0]))[::-1]:
                todo.append([*chain, link(to)])

    for start in starts:
        search(start)
    # A cycle of waits has no first node, so search from any node that was not visited.
    for start in sorted(edges):
        if start not in visited:
            search(start)

    def order(chain: list[StackLink]) -> tuple[bool, int, int, list[str]]:
        of_driver = tree.nodes[chain[0]["node"]].type == _DRIVER
        return not of_driver, -chain[-1]["count"], len(chain), [step["node"] for step in chain]

    return heapq.nsmallest(MAX_CHAINS, chains, key=order)


def _keep(tree: _Tree, max_nodes: int) -> tuple[list[Node], int]:
    """Return the kept nodes in the order of the tree, and how many nodes with attempts were left out."""
    children: dict[str | None, list[Node]] = defaultdict(list)
    for node in tree.nodes.values():
        if node.total:
            children[node.parent].append(node)
    for below in children.values():
        below.sort(key=lambda node: (-node.total, node.name, node.situation, node.id))
    kept: set[str] = set()
    heap = [(not node.awaited, -node.total, node.id) for node in children[None]]
    heapq.heapify(heap)
    while heap and len(kept) < max_nodes:
        _, _, identifier = heapq.heappop(heap)
        kept.add(identifier)
        for node in children.get(identifier, ()):
            heapq.heappush(heap, (not node.awaited, -node.total, node.id))
    nodes: list[Node] = []
    folded = 0
    # nodes still to visit, each with its nearest kept ancestor
    todo: list[tuple[Node, Node | None]] = [(node, None) for node in children[None][::-1]]
    while todo:
        node, above = todo.pop()
        if node.id in kept:
            nodes.append(node)
            above = node
        else:
            folded += 1
            if above is not None:
                above.folded_nodes += 1
                above.folded_count += node.count
        todo.extend((child, above) for child in children.get(node.id, ())[::-1])
    return nodes, folded
