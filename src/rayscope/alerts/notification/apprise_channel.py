"""Notifications through Apprise: email, chat, webhooks, and about 130 more services, each given by a URL."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import apprise
from apprise.attachment.file import AttachFile
from apprise.common import ContentLocation

from rayscope.alerts.notification.channels import ChannelError, Notification, Route
from rayscope.storage.errors import BadQuery

log = logging.getLogger("rayscope.alerts")

_MAX_URLS = 20
_LOGGED_CHARS = 300
#: Finds the HTTP status of a response in Apprise's log messages.
_STATUS = re.compile(r"\b(?:error=|failed: |status=)(\d{3})\b")
_UNREACHABLE = re.compile(r"connection error|socket exception|timed? ?out", re.IGNORECASE)
#: URL arguments that name a local file. ``template`` is not among them, because it is an ID for some
#: services.
_FILE_ARGUMENTS = frozenset({"keyfile", "subfile", "pgpkey", "pgppub", "pgpprv"})
#: Services that write to a local log.
_LOCAL_LOGS = frozenset({"syslog"})
# Apprise must not read local files in this process, whatever new arguments its next version has.
AttachFile.location = ContentLocation.INACCESSIBLE


class _Asset(apprise.AppriseAsset):
    """Settings for all services: redirects are not followed."""

    http_redirects = False


class AppriseChannel:
    """Settings: ``urls``, a list of Apprise URLs."""

    route: Route | None = None

    def __init__(self, config: Mapping[str, Any]) -> None:
        urls = config.get("urls") or []
        if not isinstance(urls, list) or not urls or len(urls) > _MAX_URLS:
            raise BadQuery(
                f"`urls` must be a list of 1 to {_MAX_URLS} URLs.",
                "See the list of services in Apprise's documentation.",
                what="apprise_urls",
                limit=_MAX_URLS,
            )
        self._apprise = apprise.Apprise(asset=_Asset())
        for number, url in enumerate(urls, 1):
            self._add(url, number)
        self._urls = [str(url) for url in urls]

    def _add(self, url: Any, number: int) -> None:
        if isinstance(url, str):
            _refuse_local(url, number)
        service = self._apprise.instantiate(url, asset=self._apprise.asset) if isinstance(url, str) else None
        if service is None:
            raise BadQuery(
                f"URL number {number} is not supported by Apprise.",
                "See the list of services in Apprise's documentation.",
                what="apprise_url",
                number=number,
            )
        if _has_file(service):
            raise _file_refused(number)
        self._apprise.add(service)

    def targets(self) -> list[str]:
        """Return only the services' names, because their URLs mix addresses and secrets."""
        return [str(service.service_name or "apprise") for service in self._apprise]

    def send(self, notification: Notification) -> None:
        """Notify all services. Raises ChannelError, which contains only the status of the response.

        Apprise's log messages may contain the body of a response, possibly from an internal address, so they
        go only to the server's log.
        """
        kinds = {True: apprise.NotifyType.WARNING, False: apprise.NotifyType.SUCCESS}
        kind = kinds[bool(notification.firing)]
        if any(alert.labels.get("severity") == "critical" for alert in notification.firing):
            kind = apprise.NotifyType.FAILURE
        result = self._apprise.notify(title=notification.title, body=notification.body, notify_type=kind)
        failed = [one for one in result.results if one.status is not apprise.AppriseResultStatus.SUCCESS]
        for one in failed:
            log.warning("%s: %s", one.name, _redacted(_messages(one), self._urls))
        if not result:
            message = " ".join(_problem(one) for one in failed) or "Could not reach the service."
            services = ", ".join(_name(one) for one in failed) or "–"
            raise ChannelError(message, what="services", services=services)


def _refuse_local(url: str, number: int) -> None:
    """Raise BadQuery for a URL that makes Apprise use local files or logs, or follow redirects."""
    scheme, _, rest = url.partition("://")
    if scheme.strip().lower() in _LOCAL_LOGS:
        raise BadQuery(
            f"URL number {number} would write to the log of the server's machine.",
            "Use rsyslog:// for a syslog server.",
            what="apprise_log",
            number=number,
        )
    query = rest.partition("?")[2]
    names = {name.strip().lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    if names & _FILE_ARGUMENTS:
        raise _file_refused(number)
    if "redirect" in names:
        raise BadQuery(
            f"URL number {number} has the argument 'redirect'.",
            "Remove it: redirects are never followed.",
            what="apprise_redirect",
            number=number,
        )


def _has_file(service: object, depth: int = 3) -> bool:
    """Return whether a service would read a file or fetch another URL, such as a template, for its
    messages.
    """
    if isinstance(service, apprise.AppriseAttachment):
        return len(service) > 0
    is_ours = type(service).__module__.partition(".")[0] == "apprise" and hasattr(service, "__dict__")
    return is_ours and depth > 0 and any(_has_file(value, depth - 1) for value in vars(service).values())


def _file_refused(number: int) -> BadQuery:
    return BadQuery(
        f"URL number {number} names a file (a template or a key) that Apprise would read on the server.",
        f"Remove the argument ({', '.join(['template', *sorted(_FILE_ARGUMENTS)])}).",
        what="apprise_file",
        number=number,
    )


def _messages(result: apprise.NotifyResult) -> str:
    return " ".join(entry.message for attempt in result for entry in attempt.logs)


def _name(result: apprise.NotifyResult) -> str:
    status = _STATUS.search(_messages(result))
    return f"{result.name} ({status[1]})" if status else str(result.name)


def _problem(result: apprise.NotifyResult) -> str:
    text = _messages(result)
    if status := _STATUS.search(text):
        return f"{result.name} answered {status[1]}."
    if _UNREACHABLE.search(text):
        return f"{result.name} could not be reached."
    return f"{result.name} did not take the notification; the server's log says why."


def _redacted(text: str, urls: list[str]) -> str:
    """Return ``text`` without any part of the URLs except the name of the service."""
    parts: set[str] = set()
    for url in urls:
        rest = url.partition("://")[2]
        split = urlsplit(f"//{rest}")
        parts.update(re.split(r"[/@:?&=,]", rest))
        parts.update(value for _, value in parse_qsl(split.query))
    parts |= {unquote(part) for part in parts}
    for part in sorted((part for part in parts if len(part) > 2), key=len, reverse=True):
        text = text.replace(part, "***")
    return text[:_LOGGED_CHARS]
