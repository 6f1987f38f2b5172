"""The shape of a topic's state as returned by HTTP, for the OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict


class TopicState(TypedDict):
    """The current state of a session's topic. ``data`` contains the topic's own fields."""

    topic: str
    session: str
    params: dict[str, str]
    kind: str
    seq: int
    time_ns: int
    data: Mapping[str, Any]
