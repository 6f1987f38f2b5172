"""References to objects as rows for lists: those of a live cluster, or of the last reading before its end."""

from __future__ import annotations

import pyarrow as pa

from rayscope.cluster.objects.references import ObjectReferences
from rayscope.cluster.objects.sql import object_table
from rayscope.ray.gcs.client import GcsError
from rayscope.ray_api.lists import Warnings

#: How long a request waits for the nodes to list their objects, in seconds.
_TIMEOUT_S = 5.0
_NO_CALL_SITES = (
    "Callsite is not being recorded. To record callsite information for each ObjectRef created, set env "
    "variable RAY_record_ref_creation_sites=1 during `ray start` and `ray.init`."
)
#: Columns of the table besides those of :func:`object_table`.
_COLUMNS = {
    "size": pa.int64(),
    "type": pa.string(),
    "call_site": pa.string(),
    "node_id": pa.string(),
    "pid": pa.int64(),
    "is_driver": pa.bool_(),
}


def read_references(objects: ObjectReferences, session: str) -> tuple[pa.Table, Warnings]:
    """The references of a session's processes to objects, and what is missing."""
    nodes, waiting, problem = [], 0, ""
    try:
        account = objects.read(session, timeout_s=_TIMEOUT_S)
    except GcsError as error:
        problem = str(error)
    else:
        if account is None:
            problem = "Rayscope did not read the objects of this cluster before it ended."
        else:
            nodes, waiting = account.nodes, len(account.waiting)
    unread = waiting + sum(node.error is not None for node in nodes)
    if unread:
        problem = f"{unread} nodes did not list their objects."
    references = [reference for node in nodes for reference in node.references]
    table = object_table([reference.object_id for reference in references])
    for name, kind in _COLUMNS.items():
        values = [getattr(reference, name) for reference in references]
        table = table.append_column(name, pa.array(values, kind))
    truncated = sum(max(0, node.references_total - len(node.references)) for node in nodes)
    has_sites = any(reference.call_site for reference in references)
    return table, Warnings(problem, () if has_sites else (_NO_CALL_SITES,), truncated)
