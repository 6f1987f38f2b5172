"""Objects: who holds how much of a live cluster's object stores."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.responses import Response

from rayscope.flow.memory import GROUPINGS, summarize
from rayscope.model.reference import NodeObjects, Reference
from rayscope.server import schemas_memory as schemas
from rayscope.server.hub import Hub
from rayscope.server.routes.common import ERRORS, Session, Text, answer
from rayscope.sources.gcs import GcsClient
from rayscope.sources.objects import read_objects
from rayscope.store import query
from rayscope.store.errors import BadQuery

#: References that are read of one node, and of all: a cluster can have millions.
_OF_NODE, _OF_ALL = 20_000, 100_000
#: An account holds for so long, whoever asks: to make one, every worker is asked.
_HOLDS_S = 5.0
_NS = 10**9


class _Accounts:
    """The last accounts: of whole clusters, and of single nodes."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._made: dict[tuple[str, str | None], tuple[float, int, list[NodeObjects]]] = {}

    def read(self, session: str, node_id: str | None) -> tuple[int, list[NodeObjects]] | None:
        """When it was made (ns), and what each node said; None where the cluster is gone. Raises GcsError."""
        gcs = self._hub.gcs_of(session)
        if gcs is None:
            return None
        with self._locks[session]:  # of a session: one with slow nodes does not hold up the others
            made = self._held(gcs, session, None)
            mine = next((node for node in made[2] if node.node_id == node_id), None)
            if mine is not None and len(mine.references) < mine.references_total:
                made = self._held(gcs, session, node_id)
        return made[1], made[2]

    def _held(self, gcs: GcsClient, session: str, only: str | None) -> tuple[float, int, list[NodeObjects]]:
        made = self._made.get((session, only))
        if made is None or time.monotonic() - made[0] > _HOLDS_S:
            nodes = read_objects(gcs, _OF_NODE, _OF_ALL, only=only)
            made = (time.monotonic(), time.time_ns(), nodes)
            for old in [key for key, (at, _, _) in self._made.copy().items() if made[0] - at > _HOLDS_S]:
                self._made.pop(old, None)
            self._made[session, only] = made
        return made


def add_memory(app: FastAPI, hub: Hub) -> None:
    """The memory of the object stores."""
    accounts = _Accounts(hub)

    @app.get("/api/memory", responses={**ERRORS, 200: {"model": schemas.MemoryAnswer}})
    def memory(
        session: Session = None,
        by: Annotated[str, Query(max_length=20, description=" | ".join(GROUPINGS))] = "function",
        type: Text = None,
        node_id: Text = None,
        job_id: Text = None,
        older_than_s: Annotated[float, Query(ge=0, le=10**7)] = 600,
    ) -> Response:
        """Who holds how much, by function, reference type, call site, process, node or job."""
        if by not in GROUPINGS:
            raise BadQuery(f"Objects cannot be grouped by {by!r}.", f"It is one of: {', '.join(GROUPINGS)}.")
        chosen = hub.resolve(session)
        account = accounts.read(chosen, node_id)
        if account is None:
            return answer({"session": chosen, "live": False, "time_ns": None, "nodes": []})
        time_ns, nodes = account
        references: list[Reference] = []
        for node in nodes:
            references += [
                ref
                for ref in node.references
                if (type is None or ref.type == type)
                and (node_id is None or ref.node_id == node_id)
                and (job_id is None or ref.job_id == job_id)
            ]
        ids = list({ref.object_id for ref in references})
        makers = hub.read(chosen, lambda file: query.makers(file, ids))
        return answer(
            {
                "session": chosen,
                "live": True,
                "time_ns": time_ns,
                "nodes": [_node(node) for node in nodes],
                "references_read": sum(len(node.references) for node in nodes),
                "references_total": sum(node.references_total for node in nodes),
                "call_sites": any(ref.call_site for node in nodes for ref in node.references),
                "by": by,
                **summarize(references, makers, by, now_ns=time_ns, older_than_ns=int(older_than_s * _NS)),
            }
        )


def _node(node: NodeObjects) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "used_bytes": node.used,
        "available_bytes": node.available,
        "primary_bytes": node.primary,
        "fallback_bytes": node.fallback,
        "objects": node.objects,
        "spilled_bytes_total": node.spilled_total,
        "restored_bytes_total": node.restored_total,
        "references": node.references_total,
        "error": node.error,
    }
