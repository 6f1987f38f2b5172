"""Alertmanager (v2) as a channel. It does its own grouping, silencing, and repeating.

As in Prometheus, all firing alerts are sent again every minute with an end time a few minutes ahead, so that
an alert ends if the server disappears. Resolved alerts are sent with their actual end time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from rayscope.alerts.notification.channels import ChannelError, Notification, Route
from rayscope.alerts.state import Alert
from rayscope.storage.errors import BadQuery

_RESEND_NS = 60 * 10**9
#: How long after being sent a firing alert ends, in ns. Like Prometheus, this is four times the interval.
_HOLDS_NS = 4 * _RESEND_NS


class AlertmanagerChannel:
    """Settings: ``url``, Alertmanager's web address, and ``username`` and ``password``, or ``token``, if
    required.
    """

    route: Route | None = Route((), 0, 0, _RESEND_NS)

    def __init__(self, config: Mapping[str, Any]) -> None:
        url = str(config.get("url") or "")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadQuery(
                "`url` must be the URL of Alertmanager and start with http.",
                "For example http://host:9093.",
                what="alertmanager_url",
            )
        if parts.query or parts.fragment:
            raise BadQuery(
                "`url` must have no query and no fragment.",
                "Remove everything from `?` or `#` on.",
                what="alertmanager_query",
            )
        self._host = parts.netloc.rpartition("@")[2]
        headers = {"Authorization": f"Bearer {config['token']}"} if config.get("token") else {}
        auth = (str(config["username"]), str(config.get("password", ""))) if config.get("username") else None
        self._client = httpx.Client(headers=headers, auth=auth, timeout=10)
        self._url = url.rstrip("/") + "/api/v2/alerts"

    def targets(self) -> list[str]:
        """Return Alertmanager's host and port."""
        return [self._host]

    def send(self, notification: Notification) -> None:
        """Post all alerts in one request. Raises ChannelError."""
        alerts = [_payload(alert, notification) for alert in notification.firing + notification.resolved]
        try:
            answer = self._client.post(
                self._url,
                content=msgspec.json.encode(alerts),
                headers={"Content-Type": "application/json"},
            )
        except httpx.HTTPError as error:
            raise ChannelError(
                f"Could not reach {self._host}: {type(error).__name__}.",
                what="unreachable",
                host=self._host,
                reason=type(error).__name__,
            ) from error
        if not answer.is_success:
            # Omit the body: users see this message, but the address may be one that only the server can
            # reach.
            raise ChannelError(
                f"{self._host} answered {answer.status_code}.",
                what="answer",
                host=self._host,
                status_code=answer.status_code,
            )


def _payload(alert: Alert, notification: Notification) -> dict[str, Any]:
    ends_ns = alert.resolved_ns or notification.now_ns + _HOLDS_NS
    return {
        "labels": {**alert.labels, "session": notification.session},
        "annotations": alert.annotations,
        "startsAt": _time(alert.fired_ns or notification.now_ns),
        "endsAt": _time(ends_ns),
        **({"generatorURL": notification.url} if notification.url else {}),
    }


def _time(ns: int) -> str:
    seconds, rest = divmod(ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest // 10**6:03d}Z"
