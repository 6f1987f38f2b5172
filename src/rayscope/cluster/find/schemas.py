"""Schemas of a search over a session."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

#: Kinds of entities that can be found.
FoundEntity = Literal[
    "actor",
    "node",
    "worker",
    "job",
    "placement_group",
    "dataset",
    "serve_application",
    "train_run",
    "tune_experiment",
    "tune_trial",
]
FoundKind = Literal["function", "task", FoundEntity, "log_file", "metric"]


class FoundItem(TypedDict):
    """A hit. ``id``: its ID, or its name in the case of a function, a log file or a metric.

    ``detail``: what distinguishes it from others of the same name, such as a class, an address, or a help
    text.
    """

    id: str
    name: str | None
    detail: str | None
    state: str | None
    attempt: int | None
    node_id: str | None


class FoundGroup(TypedDict):
    """The best hits of a kind, the best one first, and the total number of hits."""

    kind: FoundKind
    items: list[FoundItem]
    total: int


class FindAnswer(TypedDict):
    """Hits by kind. Kinds without hits are left out."""

    session: str
    groups: list[FoundGroup]
