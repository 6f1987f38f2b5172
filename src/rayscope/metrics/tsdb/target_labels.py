"""Labels that Prometheus adds to the series of a node, and that are not stored: SessionName, instance, job.

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
NAMES = frozenset(("SessionName", "instance", "job"))
_NAMES = re.compile(rf"\b({'|'.join(sorted(NAMES))})\b")


class TargetLabels(NamedTuple):
    """Adds target labels. ``ports``: node ID -> metrics port of its agent."""

    session: str
    ports: Callable[[], Mapping[str, int]]

    def add(self, series: list[Labels], names: frozenset[str]) -> list[Labels]:
        """Add the labels listed in ``names`` that the series do not have yet."""
        ports = self.ports() if "instance" in names else {}
        added = []
        for labels in series:
            known = dict(labels)
            known.setdefault("SessionName", self.session)
            known.setdefault("job", _JOB)
            if host := known.get("node_ip"):
                port = ports.get(known.get("node_id", ""))
                known.setdefault("instance", f"{host}:{port}" if port else host)
            added.append(tuple(sorted(item for item in known.items() if item in labels or item[0] in names)))
        return added


def export_ports(file: SessionFile) -> dict[str, int]:
    """Node ID -> metrics port of its agent."""
    with file.reader() as reader:
        return dict(
            reader.execute(
                "SELECT id, metrics_export_port FROM node_rows WHERE metrics_export_port > 0"
            ).fetchall()
        )


def mentioned(expr: str) -> frozenset[str]:
    """The target labels used in an expression."""
    return frozenset(_NAMES.findall(expr))
