"""Metrics: samples of series, and descriptions of all series with the same name."""

from __future__ import annotations

from typing import NamedTuple

#: A series' labels, sorted by name. Together with the metric's name, they identify the series.
Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One value of one series. ``labels`` are sorted."""

    name: str
    labels: Labels
    value: float


class Family(NamedTuple):
    """The properties that all series with the same name share.

    Attributes:
        type: ``gauge``, ``counter``, ``histogram`` or ``unknown``.
        unit: ``""``, ``bytes``, ``percent``, ``s``, ``bytes/s`` or ``count``.
        collector: the collector that provides them, filled in by the store.
    """

    name: str
    type: str = "unknown"
    help: str = ""
    unit: str = ""
    collector: str = ""

    @property
    def is_cumulative(self) -> bool:
        """Whether the values only grow while the process that reports them runs."""
        return self.type in ("counter", "histogram")


class Matcher(NamedTuple):
    """A condition on a label. ``op``: ``=``, ``!=``, ``=~`` or ``!~``. An absent label equals ``""``."""

    label: str
    op: str
    value: str


def sample(name: str, value: float, **labels: str) -> Sample:
    """A sample, with sorted labels."""
    return Sample(name, tuple(sorted(labels.items())), float(value))
