"""The logical graph: functions and actor classes with their calls and the data passed between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from rayscope.views.logical.schemas import LogicalFolded, LogicalLibrary

#: Maximum number of nodes and edges. Beyond that, the smallest functions are merged into one node.
MAX_ELEMENTS = 500
#: Maximum number of drivers that have nodes of their own. The others share one.
MAX_DRIVERS = 20
UNKNOWN = "unknown"
OTHER = "other"
OTHER_DRIVERS = "drivers"
_LARGEST = 2**63 - 1
_SUMS = ("attempts", "failed", "duration_ns", "executing_ns", "awaiting_ns", "blocked_ns", "output_bytes")
_QUANTILES = ("total_p50_ns", "total_p95_ns", "p50_ns", "p95_ns")
_MOVED = ("arguments", "argument_bytes", "gets", "get_bytes")

Row = Mapping[str, Any]
E = TypeVar("E")


class Node(msgspec.Struct):
    """A box of the graph.

    ``kind`` is ``driver``, ``function``, ``call``, ``class``, ``instance``, ``method``, ``unknown``,
    ``library``, ``other``, or ``drivers``. ``parent`` is the ID of the box around it. The figures cover the
    node's own matching attempts, or those of the nodes inside it. A node that is included only because it
    calls something or passes a value has no figures. ``actors`` counts instances. ``library`` is the library
    to which the code belongs, or None for the user's own code.
    """

    id: str
    kind: str
    name: str | None = None
    parent: str | None = None
    class_name: str | None = None
    actor_id: str | None = None
    task_id: str | None = None
    job_id: str | None = None
    library: str | None = None
    actors: int | None = None
    is_expanded: bool = False
    attempts: int = 0
    failed: int = 0
    states: dict[str, int] = {}
    duration_ns: int = 0
    executing_ns: int = 0
    awaiting_ns: int = 0
    blocked_ns: int = 0
    output_bytes: int = 0
    total_p50_ns: int | None = None
    total_p95_ns: int | None = None
    p50_ns: int | None = None
    p95_ns: int | None = None


class Call(msgspec.Struct):
    """Attempts of ``target`` that ``source`` submitted. ``total_*`` cover the time from submission to end."""

    id: str
    source: str
    target: str
    attempts: int = 0
    failed: int = 0
    duration_ns: int = 0
    executing_ns: int = 0
    awaiting_ns: int = 0
    blocked_ns: int = 0
    output_bytes: int = 0
    total_p50_ns: int | None = None
    total_p95_ns: int | None = None
    p50_ns: int | None = None
    p95_ns: int | None = None


class Data(msgspec.Struct):
    """Objects that ``source`` produced and ``target`` received as arguments or fetched, with their bytes."""

    id: str
    source: str
    target: str
    objects: int = 0
    bytes: int = 0
    arguments: int = 0
    argument_bytes: int = 0
    gets: int = 0
    get_bytes: int = 0


class Graph(msgspec.Struct):
    """The graph. ``attempts`` is the sum over all calls. Boxes come before their contents."""

    attempts: int
    nodes: list[Node]
    calls: list[Call]
    data: list[Data]
    folded: LogicalFolded
    libraries: list[LogicalLibrary]


def class_of(name: str) -> str | None:
    """Return the class that a method's name contains, or None if there is none."""
    return name.rpartition(".")[0] or None


def logical_graph(
    functions: Iterable[Row],
    calls: Iterable[Row],
    data: Iterable[Row],
    methods: Collection[str],
    instances: Mapping[str, int],
    names: Mapping[str, str],
    libraries: Mapping[str, str] | None = None,
    *,
    unfolded: Collection[str] = (),
    limit: int = MAX_ELEMENTS,
) -> Graph:
    """Build a graph of at most ``limit`` nodes and edges, not counting drivers.

    ``functions`` have ``func``, ``box``, and the figures of :class:`Node`. ``calls`` also have
    ``caller_kind`` (driver, function, unknown), ``caller``, and ``caller_box``. ``data`` has the same columns
    for ``producer`` and ``consumer``, and the figures of :class:`Data`. A box is the actor of an unfolded
    class or the task of an unfolded function, or '' if that actor or task is not shown. ``methods`` contains
    the names of methods, ``instances`` the number of actors by class, and ``names`` the actors' names.
    ``libraries`` maps functions to libraries. The functions of a library become one node unless the library
    is in ``unfolded``.
    """
    building = _Building(methods, libraries or {})
    # The database returns groups in any order, but the layout must be the same when a request is repeated.
    for row in _sorted(functions, "func", "box"):
        node = building.function(row["func"], row["box"])
        _take(node, row, _SUMS, _QUANTILES)
        for state, number in (row["states"] or {}).items():
            node.states[state] = node.states.get(state, 0) + number
    called: list[tuple[str, str, Row]] = []
    for row in _sorted(calls, "caller_kind", "caller", "caller_box", "func", "box"):
        source = building.end(row["caller_kind"], row["caller"], row["caller_box"])
        called.append((source, building.function(row["func"], row["box"]).id, row))
    moved: list[tuple[str, str, Row]] = []
    ends = ("producer_kind", "producer", "producer_box", "consumer_kind", "consumer", "consumer_box")
    for row in _sorted(data, *ends):
        source = building.end(row["producer_kind"], row["producer"], row["producer_box"])
        moved.append((source, building.end(row["consumer_kind"], row["consumer"], row["consumer_box"]), row))
    nodes = building.nodes
    into = _drivers_folded(nodes, called)
    folded: LogicalFolded = {
        "functions": 0,
        "attempts": 0,
        "duration_ns": 0,
        "drivers": len(into),
        "instances": {},
        "calls": {},
    }
    shown_libraries = _libraries(nodes.values(), unfolded)
    into |= {
        node.id: f"l:{node.library}"
        for node in nodes.values()
        if node.library and node.library not in unfolded
    }
    pairs = ({(s, t) for s, t, _ in called}, {(s, t) for s, t, _ in moved})
    smallest = _fold(nodes, pairs, into, limit)
    for identifier in smallest:
        folded["functions"] += 1
        folded["attempts"] += nodes[identifier].attempts
        folded["duration_ns"] = min(folded["duration_ns"] + nodes[identifier].duration_ns, _LARGEST)
        into[identifier] = OTHER
    shown = _merged(nodes, into)
    boxed = _boxed(shown, instances, folded)
    for node in boxed:
        if node.kind == "instance":
            node.name = names.get(node.actor_id or "")
    return Graph(
        sum(row["attempts"] for _, _, row in called),
        boxed,
        _edges(called, into, Call, "call", _SUMS, _QUANTILES),
        [_summed(edge) for edge in _edges(moved, into, Data, "data", _MOVED, ())],
        folded,
        shown_libraries,
    )


def _sorted(rows: Iterable[Row], *by: str) -> list[Row]:
    return sorted(rows, key=lambda row: tuple(row[name] or "" for name in by))


class _Building:
    """Nodes by ID, created on first use. Boxes around them are added later."""

    def __init__(self, methods: Collection[str], libraries: Mapping[str, str]) -> None:
        self.nodes: dict[str, Node] = {}
        self._methods = methods
        self._libraries = libraries

    def _node(self, node: Node) -> Node:
        node.library = self._libraries.get(node.name or "")
        return self.nodes.setdefault(node.id, node)

    def function(self, name: str | None, box: str | None) -> Node:
        """Return the node of a function or method. ``box`` is a method's actor or a function's task."""
        cls = class_of(name) if name is not None and name in self._methods else None
        if cls is None and box is not None:
            return self._node(Node(f"f:{name}@{box}", "call", name, f"f:{name}", task_id=box or None))
        if cls is None:
            return self._node(Node(f"f:{name or ''}", "function", name))
        if box is None:
            return self._node(Node(f"m:{name}", "method", name, f"c:{cls}", cls))
        return self._node(Node(f"m:{name}@{box}", "method", name, f"i:{cls}@{box}", cls, box or None))

    def end(self, kind: str, name: str | None, box: str | None) -> str:
        """Return the ID of the node at one end of an edge."""
        if kind == "driver":
            return self._node(Node(f"driver:{name}", "driver", job_id=name)).id
        if kind == "unknown":
            return self._node(Node(UNKNOWN, UNKNOWN)).id
        return self.function(name, box).id


def _take(into: Any, row: Row, sums: Iterable[str], quantiles: Iterable[str]) -> None:
    """Add a row's figures to ``into``. Quantiles of several rows cannot be added, so they become None."""
    alone = all(not getattr(into, name) for name in sums)
    for name in quantiles:
        setattr(into, name, row[name] if alone else None)
    for name in sums:
        setattr(into, name, min(getattr(into, name) + (row[name] or 0), _LARGEST))


def _drivers_folded(nodes: Mapping[str, Node], called: Iterable[tuple[str, str, Row]]) -> dict[str, str]:
    """Map the drivers beyond MAX_DRIVERS, those with the fewest calls, to the node that replaces them."""
    calls = {identifier: 0 for identifier, node in nodes.items() if node.kind == "driver"}
    for source, _, row in called:
        if source in calls:
            calls[source] += row["attempts"]
    ranked = sorted(calls, key=lambda identifier: (-calls[identifier], identifier))
    return dict.fromkeys(ranked[MAX_DRIVERS:], OTHER_DRIVERS)


def _libraries(nodes: Iterable[Node], unfolded: Collection[str]) -> list[LogicalLibrary]:
    """Return the libraries to which the nodes belong, ordered by name."""
    functions: dict[str, set[str | None]] = {}
    for node in nodes:
        if node.library is not None:
            functions.setdefault(node.library, set()).add(node.name)
    return [
        {"library": name, "functions": len(functions[name]), "is_folded": name not in unfolded}
        for name in sorted(functions)
    ]


def _fold(
    nodes: Mapping[str, Node],
    pairs: Iterable[set[tuple[str, str]]],
    into: Mapping[str, str],
    limit: int,
) -> list[str]:
    """Return the smallest functions, only as many as must be merged into one node to make the graph fit."""
    ranked = sorted(
        (
            node
            for node in nodes.values()
            if node.kind in ("function", "method", "call") and node.id not in into
        ),
        key=lambda node: (node.duration_ns, node.attempts, node.id),
    )

    def size(count: int) -> int:
        merged = {**into, **{node.id: OTHER for node in ranked[:count]}}
        found: set[str] = set()
        for node in nodes.values():
            found.add(merged.get(node.id, node.id))
            if node.id not in merged:
                found.update(_around(node))
        return len(found) + sum(len({_ends(pair, merged) for pair in each}) for each in pairs)

    if size(0) <= limit or not ranked:
        return []
    # Merging a single function saves nothing, because the merged node counts as well.
    low, high = 1, len(ranked)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if size(middle) <= limit else (middle + 1, high)
    return [node.id for node in ranked[:low]]


def _ends(pair: tuple[str, str], into: Mapping[str, str]) -> tuple[str, str]:
    return into.get(pair[0], pair[0]), into.get(pair[1], pair[1])


def _around(node: Node) -> list[str]:
    """Return the IDs of the boxes around a node, the outermost first."""
    if node.parent is None:
        return []
    if node.kind == "call":
        return [node.parent]
    outer = f"c:{node.class_name}"
    return [outer] if node.parent == outer else [outer, node.parent]


def _merged(nodes: Mapping[str, Node], into: Mapping[str, str]) -> list[Node]:
    """Return the nodes that remain after merging, including the merged nodes."""
    found: dict[str, Node] = {}
    for node in nodes.values():
        target = into.get(node.id)
        if target is None:
            found[node.id] = node
            continue
        _add(found.setdefault(target, _merged_node(target, node)), node)
    return list(found.values())


def _merged_node(identifier: str, node: Node) -> Node:
    """Return the node, still without figures, that will replace ``node`` and others."""
    if identifier == f"l:{node.library}":
        return Node(identifier, "library", node.library, library=node.library)
    return Node(identifier, identifier)


def _add(whole: Node, part: Node) -> None:
    for name in _SUMS:
        setattr(whole, name, min(getattr(whole, name) + getattr(part, name), _LARGEST))
    for state, number in part.states.items():
        whole.states[state] = whole.states.get(state, 0) + number


def _boxed(nodes: Iterable[Node], instances: Mapping[str, int], folded: LogicalFolded) -> list[Node]:
    """Return the nodes, each after the boxes around it. The figures of a box are the sums of its contents."""
    found: dict[str, Node] = {}
    shown: dict[str, set[str]] = {}
    for node in nodes:
        for identifier in _around(node):
            box = found.get(identifier) or _box_around(node, identifier, instances)
            found[identifier] = box
            if box.kind == "instance":
                found[f"c:{box.class_name}"].is_expanded = True
                shown.setdefault(box.class_name or "", set()).update([node.actor_id] if node.actor_id else [])
            _add(box, node)
        if node.kind == "call" and node.task_id is None:
            folded["calls"][node.name or ""] = node.attempts
        found[node.id] = node
    for cls, actors in shown.items():
        rest = instances.get(cls, 0) - len(actors)
        if rest > 0:
            folded["instances"][cls] = rest
            if f"i:{cls}@" in found:
                found[f"i:{cls}@"].actors = rest
    return list(found.values())


def _box_around(node: Node, identifier: str, instances: Mapping[str, int]) -> Node:
    """Return the box of :func:`_around` that has this ID."""
    if node.kind == "call":
        return Node(identifier, "function", node.name, library=node.library, is_expanded=True)
    cls = node.class_name or ""
    outer = f"c:{cls}"
    if identifier == outer:
        actors = instances.get(cls, 0)
        return Node(identifier, "class", cls, class_name=cls, library=node.library, actors=actors)
    return Node(identifier, "instance", None, outer, cls, node.actor_id, library=node.library)


def _edges(
    rows: Iterable[tuple[str, str, Row]],
    into: Mapping[str, str],
    make: Callable[[str, str, str], E],
    prefix: str,
    sums: Collection[str],
    quantiles: Collection[str],
) -> list[E]:
    """Return one edge per pair of nodes."""
    found: dict[tuple[str, str], E] = {}
    for source, target, row in rows:
        pair = _ends((source, target), into)
        edge = found.get(pair)
        if edge is None:
            edge = found[pair] = make(f"{prefix}:{pair[0]}>{pair[1]}", *pair)
        _take(edge, row, sums, quantiles)
    return list(found.values())


def _summed(edge: Data) -> Data:
    edge.objects = edge.arguments + edge.gets
    edge.bytes = min(edge.argument_bytes + edge.get_bytes, _LARGEST)
    return edge
