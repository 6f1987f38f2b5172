"""What a collector is, and what it is given: the door for plug-ins (``docs/reference/metrics.md``)."""

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
from rayscope.storage.session_file import SessionFile

GROUP = "rayscope.collectors"
#: What to do about a collector that cannot be loaded or made.
BROKEN_REMEDY = "Fix or uninstall the package that provides it, then restart the server."

__all__ = ["GROUP", "Cluster", "Collector", "CollectorError", "Family", "NotDue", "Sample", "load", "sample"]


class CollectorError(RayscopeError):
    """A collector cannot tell its figures now.

    ``code`` and ``params``, which the built-in ones give: the kind of error, and what ``message`` names.
    """

    remedy = "Rayscope keeps retrying."
    code = ""


class NotDue(Exception):
    """There is nothing newer yet: what was told the last time still holds."""


@dataclass
class Cluster:
    """What a collector may ask about the cluster whose figures it is to tell. Each call may raise.

    ``time_ns``: the time that the samples will have. ``nodes``: the GCS' node table; ``usage``: what each
    node's agent last published; ``resources``: what the GCS says is free and waits; ``text``: what the
    nodes' Prometheus endpoints say; ``figures``: our own. ``record(function)`` asks the session's record; a
    function's answer is shared, and at most a tenth of the time goes into each.
    """

    session: str
    time_ns: int
    nodes: Callable[[], Sequence[NodeAddress]]
    usage: Callable[[], Usage]
    resources: Callable[[], Resources | None]
    text: Callable[[], Texts]
    record: Callable[[Callable[[SessionFile], Any]], Any]
    figures: Callable[[], Mapping[str, float]]
    #: What the collector did not tell, as there was too much: it adds to this.
    left_out: int = 0
    #: What went wrong in part; the rest counts.
    warnings: list[str | CollectorError] = field(default_factory=list)


class Collector(Protocol):
    """Tells some figures of a cluster. One object serves one session, by one thread at a time.

    ``interval_s``: how often, at least each step of the server (``metrics_interval_s``); a collector that
    costs much is asked less often. ``timeout_s``: an answer that takes longer is not waited for.
    """

    interval_s: float
    timeout_s: float

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """All its samples now, and families that say what the names mean. May raise anything."""


class Broken:
    """Stands for a collector that could not be loaded, and says why."""

    interval_s = 60.0
    timeout_s = 1.0

    def __init__(self, message: str) -> None:
        self._message = message

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Raises CollectorError."""
        raise CollectorError(self._message, BROKEN_REMEDY, "collector_broken", reason=self._message)


def load(group: str = GROUP) -> dict[str, tuple[str, Callable[[], Collector]]]:
    """All installed collectors by name, the built-in ones too: (``module:Class``, how to make one)."""
    found: dict[str, tuple[str, Callable[[], Collector]]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        try:
            made = entry.load()
        except Exception as error:  # whatever a plug-in's module does at import
            text = f"Could not load {entry.value}: {type(error).__name__}: {error}"
            made = _broken(text)
        name = entry.name if entry.name not in found else f"{entry.name} ({entry.value})"
        found[name] = (entry.value, made)
    return found


def _broken(text: str) -> Callable[[], Collector]:
    return lambda: Broken(text[:500])
