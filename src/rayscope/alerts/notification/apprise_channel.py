"""Notifications through apprise: mail, chat, web hooks and some 130 more services, each by its URL."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import apprise

from rayscope.alerts.notification.channels import ChannelError, Notification, Route
from rayscope.storage.errors import BadQuery

_MAX_URLS = 20
_SAID_CHARS = 300


class AppriseChannel:
    """``urls``: a list of apprise's URLs."""

    route: Route | None = None

    def __init__(self, config: Mapping[str, Any]) -> None:
        urls = config.get("urls") or []
        if not isinstance(urls, list) or not urls or len(urls) > _MAX_URLS:
            raise BadQuery(
                f"`urls` must be a list of 1 to {_MAX_URLS} URLs.",
                "See the list of services in Apprise's documentation.",
            )
        self._apprise = apprise.Apprise()
        for number, url in enumerate(urls, 1):
            if not isinstance(url, str) or not self._apprise.add(url):
                raise BadQuery(
                    f"URL number {number} is not supported by Apprise.",
                    "See the list of services in Apprise's documentation.",
                )
        self._urls = [str(url) for url in urls]

    def targets(self) -> list[str]:
        """The services' names: addresses and secrets stand in one text in such URLs."""
        return [str(service.service_name or "apprise") for service in self._apprise]

    def send(self, notification: Notification) -> None:
        """Tell all services; raises ChannelError with what apprise said, without anything of the URLs."""
        kinds = {True: apprise.NotifyType.WARNING, False: apprise.NotifyType.SUCCESS}
        kind = kinds[bool(notification.firing)]
        if any(alert.labels.get("severity") == "critical" for alert in notification.firing):
            kind = apprise.NotifyType.FAILURE
        with _Listening() as said:
            delivered = self._apprise.notify(
                title=notification.title, body=notification.body, notify_type=kind
            )
        if not delivered:
            raise ChannelError(_redacted(" ".join(said) or "Could not reach the service.", self._urls))


class _Listening(logging.Handler):
    """What apprise logs as warnings and errors in this thread, while it is entered."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: list[str] = []
        self._thread = 0

    def __enter__(self) -> list[str]:
        import threading

        self._thread = threading.get_ident()
        logging.getLogger("apprise").addHandler(self)
        return self._said

    def __exit__(self, *_: object) -> None:
        logging.getLogger("apprise").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread and len(self._said) < 5:
            self._said.append(record.getMessage())


def _redacted(text: str, urls: list[str]) -> str:
    """``text`` without any part of the URLs but the name of the service."""
    parts: set[str] = set()
    for url in urls:
        rest = url.partition("://")[2]
        split = urlsplit(f"//{rest}")
        parts.update(re.split(r"[/@:?&=,]", rest))
        parts.update(value for _, value in parse_qsl(split.query))
    parts |= {unquote(part) for part in parts}
    for part in sorted((part for part in parts if len(part) > 2), key=len, reverse=True):
        text = text.replace(part, "***")
    return text[:_SAID_CHARS]
