"""The summary of tasks by lineage: a tree in which each task is below the task or actor that called it."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import msgspec

from rayscope.ray_api.fields import TASKS, sql_of
from rayscope.ray_api.lists import ListRequest, total_by_type
from rayscope.storage.call_paths import DRIVER_PREFIX

#: Maximum number of attempts in a tree. Larger summaries have no tree, but a group for each name.
MAX_ATTEMPTS = 100_000
#: Maximum number of children of a node. The others are counted in a group.
_MAX_CHILDREN = 500
#: Maximum depth of a tree. Deeper tasks are counted with their caller.
_MAX_DEPTH = 40
_MAX_ACTORS = 100_000
_CREATION = "ACTOR_CREATION_TASK"
_RUNNING = ("RUNNING", "RUNNING_IN_RAY_GET", "RUNNING_IN_RAY_WAIT")
_PENDING = (
    "PENDING_ARGS_AVAIL",
    "PENDING_NODE_ASSIGNMENT",
    "PENDING_OBJ_STORE_MEM_AVAIL",
    "PENDING_ARGS_FETCH",
)
_COLUMNS = ("task_id", "name", "type", "state", "actor_id", "parent_task_id", "creation_time_ms")


class Node(msgspec.Struct):
    """A task, an actor, or a group of siblings with the same name. ``timestamp``: its first creation, ms."""

    name: str
    key: str
    type: str
    timestamp: int | None = None
    state_counts: dict[str, int] = {}
    children: list[Node] = []
    link: dict[str, str] | None = None

    def add(self, state_counts: Mapping[str, int]) -> None:
        """Add the counts of a child."""
        for state, number in state_counts.items():
            self.state_counts[state] = self.state_counts.get(state, 0) + number


def summarize_lineage(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> dict[str, object]:
    """Attempts by caller, as in Ray. Tasks whose caller is not recorded are at the top."""
    columns = ", ".join(sql_of(TASKS, name) for name in _COLUMNS)
    rows = reader.execute(
        f"SELECT {columns} FROM attempts{request.both.sql} ORDER BY task_hi, task_lo, attempt "
        f"LIMIT {MAX_ATTEMPTS + 1}",
        request.both.values,
    ).fetchall()
    summary = _tree(reader, rows) if len(rows) <= MAX_ATTEMPTS else _by_name(reader, request)
    types = reader.execute(
        f"SELECT type, count(*) FROM attempts{request.both.sql} GROUP BY 1", request.both.values
    ).fetchall()
    return {"summary": summary, **total_by_type(types), "summary_by": "lineage"}


def _by_name(reader: duckdb.DuckDBPyConnection, request: ListRequest) -> list[Node]:
    groups: dict[str, Node] = {}
    reader.execute(
        f"SELECT {sql_of(TASKS, 'name')}, {sql_of(TASKS, 'state')}, count(*), "
        f"min({sql_of(TASKS, 'creation_time_ms')}) FROM attempts{request.both.sql} GROUP BY 1, 2",
        request.both.values,
    )
    while rows := reader.fetchmany(1000):
        for name, state, number, created in rows:
            group = groups.setdefault(name, Node(name, name, "GROUP"))
            group.add({state: number})
            group.timestamp = _earlier(group.timestamp, created)
    return _cut(list(groups.values()))


def _tree(reader: duckdb.DuckDBPyConnection, rows: list[tuple[str | int | None, ...]]) -> list[Node]:
    nodes, callers = _nodes(reader, rows)
    top: list[Node] = []
    for key, node in nodes.items():
        caller = nodes.get(callers.get(key) or "")
        (top if caller is None else caller.children).append(node)
    # Each node comes after its caller. Callers that call each other are left out.
    order = [(node, 1) for node in top]
    for node, depth in order:
        order.extend((child, depth + 1) for child in node.children)
    for node, depth in reversed(order):
        node.children = _merge(node.children)
        for child in node.children:
            node.add(child.state_counts)
            node.timestamp = _earlier(node.timestamp, child.timestamp)
        if depth >= _MAX_DEPTH:
            node.children = []
    return _merge(top)


def _nodes(
    reader: duckdb.DuckDBPyConnection, rows: list[tuple[str | int | None, ...]]
) -> tuple[dict[str, Node], dict[str, str | None]]:
    """The tasks and actors by key, and the keys of their callers."""
    nodes: dict[str, Node] = {}
    callers: dict[str, str | None] = {}
    actors = reader.execute(
        f"SELECT id, coalesce(nullif(repr_name, ''), class_name) FROM actor_rows LIMIT {_MAX_ACTORS}"
    )
    names: dict[str, str | None] = dict(actors.fetchall())
    for task_id, name, kind, state, actor_id, parent_id, created in rows:
        key = str(task_id)
        node = nodes.setdefault(key, Node(str(name), key, str(kind), link={"type": "task", "id": key}))
        node.timestamp = _earlier(node.timestamp, None if created is None else int(created))
        node.add({str(state): 1})
        caller = None if parent_id is None or str(parent_id).startswith(DRIVER_PREFIX) else str(parent_id)
        if kind in ("ACTOR_TASK", _CREATION) and actor_id is not None:
            actor = f"actor:{actor_id}"
            if actor not in nodes:
                shown = names.get(str(actor_id)) or str(name).split(".")[0]
                nodes[actor] = Node(shown, actor, "ACTOR", link={"type": "actor", "id": str(actor_id)})
            if kind == _CREATION:
                callers[actor] = caller
            caller = actor
        callers[key] = caller
    return nodes, callers


def _merge(siblings: list[Node]) -> list[Node]:
    """Put siblings with the same name into a group."""
    by_name: dict[str, list[Node]] = {}
    for node in siblings:
        by_name.setdefault(node.name, []).append(node)
    groups = (nodes[0] if len(nodes) == 1 else _group(name, nodes) for name, nodes in by_name.items())
    return _cut(list(groups))


def _group(name: str, nodes: list[Node], *, key: str = "", is_open: bool = True) -> Node:
    """A group of nodes. They are its children if it is open."""
    group = Node(name, key or name, "GROUP")
    for node in nodes:
        group.add(node.state_counts)
        group.timestamp = _earlier(group.timestamp, node.timestamp)
    if is_open:
        group.children = _cut(nodes)
    return group


def _cut(nodes: list[Node]) -> list[Node]:
    """The nodes as Ray sorts them: running ones first, then pending and failed ones, and then by time."""
    nodes.sort(
        key=lambda node: (
            -sum(node.state_counts.get(state, 0) for state in _RUNNING),
            -sum(node.state_counts.get(state, 0) for state in _PENDING),
            -node.state_counts.get("FAILED", 0),
            node.timestamp or 2**63,
            node.type != _CREATION,
        )
    )
    rest = nodes[_MAX_CHILDREN:]
    if not rest:
        return nodes
    others = _group(f"{len(rest):,} more", rest, key="rayscope:more", is_open=False)
    return [*nodes[:_MAX_CHILDREN], others]


def _earlier(first: int | None, second: int | None) -> int | None:
    return min((time for time in (first, second) if time), default=None)
