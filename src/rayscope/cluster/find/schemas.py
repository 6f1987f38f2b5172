"""What a search over a whole session finds."""

from __future__ import annotations

from typing import Literal

from rayscope.api.schemas import Answer

FoundKind = Literal[
    "function",
    "task",
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
    "log_file",
    "metric",
]


class FoundItem(Answer):
    """One thing. ``id``: by which it is asked for: of a function, a log file and a metric their name.

    ``detail``: what tells it from others of the same name: class, address, entrypoint, help text.
    """

    id: str
    name: str | None
    detail: str | None
    state: str | None
    attempt: int | None
    node_id: str | None


class FoundGroup(Answer):
    """The first hits of a kind, the best ones first, and how many there are."""

    kind: FoundKind
    items: list[FoundItem]
    total: int


class FindAnswer(Answer):
    """Only kinds of which something was found."""

    session: str
    groups: list[FoundGroup]
