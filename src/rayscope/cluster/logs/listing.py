"""Which log files there are, and on which nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

from rayscope.cluster.logs import sql
from rayscope.ray.agents.logs import LogName, read_name
from rayscope.server.services import Services
from rayscope.storage.log_archive import KeptFile

#: Of so many nodes the files are told unasked.
_FEW_NODES = 8


class ListedFile(NamedTuple):
    """A file, what its name tells, what is kept of it, and whether its node lists it now."""

    node_id: str
    name: str
    about: LogName
    kept: KeptFile | None
    live: bool

    def has(self, text: str) -> bool:
        """Whether what the filter box looks at has a text, in lower case."""
        about = self.about
        told = (self.name, about.worker_id, about.job_id, about.pid, about.submission_id)
        return any(text in str(each or "").lower() for each in told)


def list_files(
    services: Services, session: str, node_id: str | None, *, every: bool
) -> tuple[list[dict[str, Any]], list[ListedFile]]:
    """All nodes, and the files of the one asked for, of ``every`` one, or of all if they are few."""
    rows: list[dict[str, Any]] = services.records.read_cached(session, sql.log_nodes)
    store = services.logs.store(session)
    counts = store.counts() if store else {}
    known = {row["node_id"] for row in rows}
    absent = {"state": None, "node_ip": None, "hostname": None, "is_head": False}
    rows = rows + [{"node_id": node, **absent} for node in sorted(counts.keys() - known)]
    if node_id is not None:
        asked = [row["node_id"] for row in rows if row["node_id"] == node_id]
    else:
        asked = [row["node_id"] for row in rows] if every or len(rows) <= _FEW_NODES else []
    alive = {row["node_id"] for row in rows if row["state"] == "ALIVE"}
    listed = services.logs.listed(session, [node for node in asked if node in alive])
    kept: dict[str, dict[str, KeptFile]] = {node: {} for node in asked}
    for each in store.files(node_id) if store and asked else ():
        kept.setdefault(each.node_id, {})[each.name] = each
    nodes, files = [], []
    for row in rows:
        node = row["node_id"]
        names, problem = listed.get(node, (None, None))
        count = counts.get(node)
        if node in kept:
            now, mine = frozenset(names or ()), kept[node]
            every_name = sorted(now | mine.keys())
            files += [
                ListedFile(node, name, read_name(name), mine.get(name), name in now) for name in every_name
            ]
            count = len(every_name)
        told = {k: row[k] for k in ("node_id", "state", "node_ip", "hostname", "is_head")}
        nodes.append({**told, "files": count, "problem": None if problem is None else problem._asdict()})
    return nodes, files
