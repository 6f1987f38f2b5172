"""Figures over time: a sample of one series, and what is known of the series of one name."""

from __future__ import annotations

from typing import NamedTuple

#: A series' labels, sorted by name: with the metric's name its identity.
Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One value of one series. ``labels`` are sorted."""

    name: str
    labels: Labels
    value: float


class Family(NamedTuple):
    """What all series of a name share.

    ``type``: ``gauge``, ``counter``, ``histogram`` or ``unknown``; ``unit``: ``""``, ``bytes``, ``percent``,
    ``s``, ``bytes/s`` or ``count``; ``collector``: who tells them, which the store fills in.
    """

    name: str
    type: str = "unknown"
    help: str = ""
    unit: str = ""
    collector: str = ""


class Matcher(NamedTuple):
    """A condition on a label. ``op``: ``=``, ``!=``, ``=~`` or ``!~``; an absent label reads as ``""``."""

    label: str
    op: str
    value: str


def sample(name: str, value: float, **labels: str) -> Sample:
    """A sample with its labels put in order."""
    return Sample(name, tuple(sorted(labels.items())), float(value))
