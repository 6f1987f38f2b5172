"""The shape of a topic's state by HTTP, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from rayscope.api.schemas import Answer


class TopicState(Answer):
    """What a topic tells of a session now; ``data`` is the topic's own."""

    topic: str
    session: str
    params: dict[str, str]
    kind: str
    seq: int
    time_ns: int
    data: dict[str, Any]
