"""Labels that Prometheus adds to the series of a node, and that are not stored, such as SessionName.

They are added to the series that an expression selects, if the expression uses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rayscope.model.metric import Labels
from rayscope.storage.session_file import SessionFile

#: The label ``job``, as set by Ray's own service discovery and configuration for Prometheus.
_JOB = "ray"
NAMES = frozenset(("SessionName", "instance", "job", "ray_io_cluster"))
_NAMES = re.compile(rf"\b({'|'.join(sorted(NAMES))})\b")


class Targets(NamedTuple):
    """Facts on record about what Prometheus would scrape.

    ``ports``: node ID -> metrics port of its agent. ``ray_cluster``: the name of KubeRay's object for the
    cluster, or "" if it is unknown.
    """

    ports: Mapping[str, int]
    ray_cluster: str = ""


class TargetLabels(NamedTuple):
    """Adds target labels. ``read``: reads the targets of the session."""

    session: str
    read: Callable[[], Targets]

    def add(self, series: list[Labels], names: frozenset[str]) -> list[Labels]:
        """Add the labels listed in ``names`` that the series do not have yet."""
        targets = self.read() if names & {"instance", "ray_io_cluster"} else Targets({})
        added = []
        for labels in series:
            known = dict(labels)
            known.setdefault("SessionName", self.session)
            known.setdefault("job", _JOB)
            if targets.ray_cluster:
                known.setdefault("ray_io_cluster", targets.ray_cluster)
            if host := known.get("node_ip"):
                port = targets.ports.get(known.get("node_id", ""))
                known.setdefault("instance", f"{host}:{port}" if port else host)
            added.append(tuple(sorted(item for item in known.items() if item in labels or item[0] in names)))
        return added


def read_targets(file: SessionFile) -> Targets:
    """The targets of a session."""
    with file.reader() as reader:
        ports = reader.execute(
            "SELECT id, metrics_export_port FROM node_rows WHERE metrics_export_port > 0"
        ).fetchall()
        # Kubernetes' events about a cluster also concern the object that describes it.
        clusters = reader.execute(
            "SELECT DISTINCT object_name FROM platform_event_rows WHERE object_kind = 'RayCluster' LIMIT 2"
        ).fetchall()
    return Targets(dict(ports), clusters[0][0] if len(clusters) == 1 else "")


def mentioned(expr: str) -> frozenset[str]:
    """The target labels used in an expression."""
    return frozenset(_NAMES.findall(expr))
