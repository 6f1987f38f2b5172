"""Lists log files and their nodes."""

from __future__ import annotations

from typing import NamedTuple, cast

from rayscope.cluster.logs import schemas, sql
from rayscope.cluster.logs.files import Logs
from rayscope.ray.agents.logs import USER_KINDS, LogName, read_name
from rayscope.records.reader import SessionReader
from rayscope.storage.log_archive import KeptFile, LogStore
from rayscope.storage.sql.entities import find_id
from rayscope.storage.sql.pages import Row, fields_of

#: If there are at most this many nodes, the files of all are listed even if no node was requested.
_MAX_NODES_UNASKED = 8
#: The sizes of at most this many files are requested for one answer.
_MAX_LOOK_UPS = 300


class ListedFile(NamedTuple):
    """A file: the parts of its name, its copy, and whether its node lists it now.

    ``size``: in bytes, or None if it is unknown. ``is_empty``: whether nothing was printed into it. False if
    that is unknown.
    """

    node_id: str
    name: str
    about: LogName
    kept: KeptFile | None
    live: bool
    size: int | None
    is_empty: bool

    @property
    def order(self) -> tuple[bool, int, str]:
        """A sort key: the output of users' code first, then the most recently written files."""
        return self.about.kind not in USER_KINDS, -self.kept.last_ns if self.kept else 0, self.name


def list_files(
    records: SessionReader, logs: Logs, session: str, node_id: str | None, *, every: bool
) -> tuple[list[schemas.LogNode], list[ListedFile]]:
    """All nodes, and the log files of the requested one (``node_id``: its ID or the beginning of it). Without
    a ``node_id``, the files of all nodes, but only if ``every`` is set or there are few nodes. Raises
    BadQuery for an ambiguous ID.
    """
    if node_id is not None:
        asked_id = node_id
        node_id = records.read(session, lambda file: find_id(file, "node", asked_id), flush=False)
    rows: list[Row] = records.read_cached(session, "nodes with logs", sql.log_nodes)
    store = logs.store(session)
    counts = store.counts() if store else {}
    known = {row["node_id"] for row in rows}
    absent = {"state": None, "node_ip": None, "hostname": None, "is_head": False}
    rows = rows + [{"node_id": node, **absent} for node in sorted(counts.keys() - known)]
    if node_id is not None:
        asked = [row["node_id"] for row in rows if row["node_id"] == node_id]
    else:
        asked = [row["node_id"] for row in rows] if every or len(rows) <= _MAX_NODES_UNASKED else []
    alive = {row["node_id"] for row in rows if row["state"] == "ALIVE"}
    listed_names = logs.list_nodes(session, [node for node in asked if node in alive])
    kept: dict[str, dict[str, KeptFile]] = {node: {} for node in asked}
    for each in store.files(node_id) if store and asked else ():
        kept.setdefault(each.node_id, {})[each.name] = each
    nodes: list[schemas.LogNode] = []
    files: list[ListedFile] = []
    for row in rows:
        node = row["node_id"]
        names, problem = listed_names.get(node, (None, None))
        count = counts.get(node)
        if node in kept:
            now, mine = frozenset(names or ()), kept[node]
            every_name = sorted(now | mine.keys())
            files += [
                _listed_file(logs, session, store, node, name, mine.get(name), name in now)
                for name in every_name
            ]
            count = len(every_name)
        item = {**fields_of(row, schemas.LogNode), "files": count, "problem": problem}
        nodes.append(cast(schemas.LogNode, item))
    return nodes, files


def with_sizes(logs: Logs, session: str, files: list[ListedFile]) -> list[ListedFile]:
    """The same files, after requesting unknown sizes. If too many are unknown, none is requested."""
    unknown = [(file.node_id, file.name) for file in files if file.size is None]
    if not 0 < len(unknown) <= _MAX_LOOK_UPS:
        return files
    logs.look_up_sizes(session, unknown)
    store = logs.store(session)
    return [
        _listed_file(logs, session, store, file.node_id, file.name, file.kept, file.live) for file in files
    ]


def _listed_file(
    logs: Logs,
    session: str,
    store: LogStore | None,
    node_id: str,
    name: str,
    copy: KeptFile | None,
    live: bool,
) -> ListedFile:
    size = logs.known_size(session, node_id, name) if live else None
    if copy is None or store is None:
        is_empty = size == 0
    else:
        is_empty = (size or 0) <= copy.seen and logs.marks.fill(session, store, copy)
        size = max(size or 0, copy.seen)
    return ListedFile(node_id, name, read_name(name), copy, live, size, is_empty)
