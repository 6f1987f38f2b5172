"""Converts platform events: what Kubernetes reports about the pods and the KubeRay resources of a cluster.

Ray sends an event again whenever Kubernetes counts another occurrence, with a later time.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from rayscope.model import Entity
from rayscope.model.entity import Value
from rayscope.ray.common import redact_text
from rayscope.ray.events.json_types import Event
from rayscope.ray.timestamps import parse_ns

#: Maximum length of each text. Kubernetes limits messages to 1,024 bytes, and names to 253.
_MAX_CHARS = 1024
#: Ray's severities that are shown as something else.
_SEVERITIES = {"FATAL": "ERROR", "ERROR": "ERROR", "WARNING": "WARNING"}
_MAX_COUNT = 2**31


def platform_event(event: Event) -> Entity:
    """The platform event in an event of Ray.

    Its ID is Kubernetes' UID. The report with the latest time wins, then the one with the greatest count.
    """
    content: Mapping[str, Any] = event.platform_event or {}
    source, custom = content.get("source") or {}, content.get("customFields") or {}
    time_ns = parse_ns(event.timestamp) if event.timestamp else 0
    count = min(max(int(custom.get("count") or 1), 1), _MAX_COUNT)
    texts = {
        "component": source.get("component"),
        "object_kind": content.get("objectKind"),
        "object_name": content.get("objectName"),
        "reason": content.get("reason"),
        "namespace": (source.get("metadata") or {}).get("namespace"),
        "message": redact_text(str(content.get("message") or "")[:_MAX_CHARS]),
    }
    observed: dict[str, Value] = {name: str(text)[:_MAX_CHARS] for name, text in texts.items() if text}
    observed |= {"severity": _SEVERITIES.get(str(event.severity), "INFO"), "count": count}
    uid = b64decode(event.event_id or "").decode()[:_MAX_CHARS]
    if not uid:
        raise ValueError("a platform event without an ID")
    if time_ns:
        observed["last_ns"] = time_ns
    # Kubernetes' times are in seconds, so the count decides between two reports of the same second.
    return Entity(
        "platform_event",
        uid,
        fields={"start_ns": time_ns} if time_ns else {},
        observed_ns=time_ns + count,
        observed=observed,
    )
