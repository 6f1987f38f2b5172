"""The interface of collectors, which plug-ins implement (``docs/reference/metrics.md``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol

from rayscope.errors import RayscopeError
from rayscope.metrics.ray_text import Texts
from rayscope.model.metric import Family, Sample, sample
from rayscope.model.usage import Resources, Usage
from rayscope.ray.gcs.node_table import NodeAddress

GROUP = "rayscope.collectors"
#: Remedy for a collector that cannot be loaded or created.
BROKEN_REMEDY = "Fix or uninstall the package that provides it, then restart the server."

__all__ = ["GROUP", "Cluster", "Collector", "CollectorError", "Family", "NotDue", "Sample", "load", "sample"]


class CollectorError(RayscopeError):
    """A collector cannot provide its metrics at the moment.

    Built-in collectors set ``code``, the kind of error, and ``params``, the values in ``message``.
    """

    remedy = "Rayscope keeps retrying."
    code = ""


class NotDue(Exception):
    """There are no newer values, so the last ones remain valid."""


@dataclass
class Cluster:
    """Data about a cluster for its collectors. Each function may raise any exception.

    Attributes:
        time_ns: timestamp of the samples.
        nodes: returns the GCS's node table.
        usage: returns the latest report of each node's agent.
        resources: returns free resources and pending demand, from the GCS.
        text: returns the nodes' Prometheus texts.
        record: calls a function with the session's record. Its result is cached, so that each function uses
            at most a tenth of the time. Functions with the same ``key``, if one is given, share a result.
        figures: returns our own metrics.
    """

    session: str
    time_ns: int
    nodes: Callable[[], Sequence[NodeAddress]]
    usage: Callable[[], Usage]
    resources: Callable[[], Resources | None]
    text: Callable[[], Texts]
    record: Callable[..., Any]
    figures: Callable[[], Mapping[str, float]]
    #: Number of series that the collector dropped. The collector increases it.
    left_out: int = 0
    #: Counters that began since the collector's last call, with the value that they had then: 0. Without it,
    #: the first increase of a counter would not be visible.
    starts: list[Sample] = field(default_factory=list)
    #: Partial failures. The samples that the collector returns are still used.
    warnings: list[str | CollectorError] = field(default_factory=list)


class Collector(Protocol):
    """Provides metrics of a cluster. Each object serves one session, and is called by one thread at a time.

    ``interval_s``: minimum interval, at least the server's ``metrics_interval_s``; expensive collectors are
    called less often. ``timeout_s``: longer calls are abandoned.
    """

    interval_s: float
    timeout_s: float

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Return all current samples, and the families that describe their names. May raise any exception."""


class Broken:
    """Replaces a collector that could not be loaded, and reports the error."""

    interval_s = 60.0
    timeout_s = 1.0

    def __init__(self, message: str) -> None:
        self._message = message

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Always raises CollectorError."""
        raise CollectorError(self._message, BROKEN_REMEDY, "collector_broken", reason=self._message)


def load(group: str = GROUP) -> dict[str, tuple[str, Callable[[], Collector]]]:
    """All installed collectors, including built-in ones: name -> (``module:Class``, factory)."""
    found: dict[str, tuple[str, Callable[[], Collector]]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        try:
            made = entry.load()
        except Exception as error:  # importing a plug-in may raise anything
            text = f"Could not load {entry.value}: {type(error).__name__}: {error}"
            made = _broken(text)
        name = entry.name if entry.name not in found else f"{entry.name} ({entry.value})"
        found[name] = (entry.value, made)
    return found


def _broken(text: str) -> Callable[[], Collector]:
    return lambda: Broken(text[:500])
