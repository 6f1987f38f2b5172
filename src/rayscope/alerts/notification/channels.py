"""Notification channels: the plug-in interface, and the file with the configured channels.

A kind of channel is a class in the entry point group ``rayscope.channels``. The built-in kinds use the same
group. ``channels.yml`` in the data directory is the only place where channels are stored, with their
addresses and secrets. The API never returns secrets, and of an address only what :meth:`Channel.targets`
shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rayscope.alerts.notification import texts
from rayscope.alerts.notification.texts import Language
from rayscope.alerts.rules import duration_ns
from rayscope.alerts.state import Alert
from rayscope.alerts.yaml_text import BadYaml, parse_yaml, read_if_exists
from rayscope.api.responses import error_info
from rayscope.api.schemas import ErrorDetail
from rayscope.errors import RayscopeError
from rayscope.storage.errors import BadQuery, NotFound, StoreError

GROUP = "rayscope.channels"
_MAX_CHANNELS = 50
_ROUTE_KEYS = {"group_by", "group_wait", "group_interval", "repeat_interval"}


class ChannelError(RayscopeError):
    """A notification could not be delivered. The message gives the reason, without secrets."""

    code = "channel"


class Route(NamedTuple):
    """When notifications about a group of alerts are sent. Durations are in ns and mean the same as in
    Alertmanager.
    """

    group_by: tuple[str, ...] = ("alertname",)
    group_wait_ns: int = 10 * 10**9
    group_interval_ns: int = 60 * 10**9
    repeat_interval_ns: int = 4 * 3600 * 10**9


class Notification(NamedTuple):
    """One message to a channel: the firing alerts of a group, and those that ended since the last message."""

    session: str
    group: Mapping[str, str]
    firing: list[Alert]
    resolved: list[Alert]
    #: Address of the page with the alerts, or None if the server's public address is unknown.
    url: str | None
    now_ns: int
    is_test: bool = False
    language: Language = "en"

    @property
    def title(self) -> str:
        """One line: the summary of the alert or, if there are several, the names of their rules."""
        return texts.title(self.firing, self.resolved, self.language, self.is_test)

    @property
    def body(self) -> str:
        """Plain text with a paragraph for each alert."""
        return texts.body(self.firing, self.resolved, self.language, self.session, self.url)


class Channel(Protocol):
    """Interface of a kind of channel. ``config`` is the channel's mapping in ``channels.yml``.

    ``route`` sets when it is notified. None leaves that to the file.
    """

    route: Route | None

    def __init__(self, config: Mapping[str, Any]) -> None: ...

    def send(self, notification: Notification) -> None:
        """Deliver a notification. Runs in the channel's own thread. Raises ChannelError if that failed."""

    def targets(self) -> list[str]:
        """Return the channel's targets in readable form, without secrets."""


class ConfiguredChannel(NamedTuple):
    """A channel in the file. ``channel`` is None if it cannot be used.

    It is notified of alerts of these ``rules`` (all if empty) that have the labels ``match``. ``send_info``:
    whether alerts of severity ``info`` are included.
    """

    name: str
    kind: str
    match: Mapping[str, str]
    rules: tuple[str, ...]
    send_resolved: bool
    send_info: bool
    route: Route
    channel: Channel | None
    problem: ErrorDetail | None


class Config(NamedTuple):
    """The content of ``channels.yml``, with ``problem`` if it cannot be read."""

    channels: tuple[ConfiguredChannel, ...] = ()
    problem: ErrorDetail | None = None

    def named(self, name: str) -> ConfiguredChannel:
        """Return the channel of that name. Raises NotFound."""
        for each in self.channels:
            if each.name == name:
                return each
        raise no_channel(name)


def no_channel(name: str) -> NotFound:
    """The error for a channel that does not exist."""
    return NotFound(
        f"Channel {name[:60]!r} not found.",
        "GET /api/v1/alerts/channels lists them.",
        what="channel",
        id=name[:60],
    )


def kinds() -> list[str]:
    """Return the installed kinds of channels."""
    return sorted({each.name for each in entry_points(group=GROUP)})


def _kind(name: str) -> Any:
    for each in entry_points(group=GROUP, name=name):
        return each.load()
    raise BadQuery(
        f"Unknown channel type {name[:60]!r}.",
        f"Known types: {', '.join(kinds())}.",
        what="channel_type",
        type=name[:60],
        known=", ".join(kinds()),
    )


def channels_file(folder: Path) -> Path:
    """Return the path of the channels' file: ``channels.yml``, or ``channels.yaml`` if only that exists."""
    other = folder / "channels.yaml"
    path = folder / "channels.yml"
    return other if other.exists() and not path.exists() else path


def load_channels(path: Path) -> Config:
    """Read the channels' file. A problem with one channel does not affect the others."""
    try:
        document = parse_yaml(read_if_exists(path)) or {}
        if not isinstance(document, dict) or not set(document) <= {"route", "channels"}:
            raise BadQuery(
                "channels.yml must be a mapping with `channels` and `route`.",
                "See docs/reference/alerts.md.",
                what="channel_file",
            )
        route = _route(document.get("route") or {}, Route())
        entries = [] if document.get("channels") is None else document["channels"]
        if not isinstance(entries, list) or len(entries) > _MAX_CHANNELS:
            raise BadQuery(
                f"`channels` must be a list of at most {_MAX_CHANNELS} channels.",
                "See docs/reference/alerts.md.",
                what="channel_list",
                limit=_MAX_CHANNELS,
            )
        channels = tuple(_configured(each, number, route) for number, each in enumerate(entries))
        names = [each.name for each in channels]
        if len(set(names)) < len(names):
            raise BadQuery(
                "Two channels have the same name.", "Give each channel its own name.", what="channel_names"
            )
    except BadYaml:
        # The parser's message could quote a secret.
        refusal = BadQuery(
            "channels.yml is not valid YAML, or is too large or nested too deeply.",
            "Fix the file. Python's yaml module shows where the error is.",
            what="channel_yaml",
        )
        return Config(problem=error_info(refusal))
    except StoreError as problem:
        return Config(problem=error_info(problem))
    return Config(channels)


def _configured(entry: Any, number: int, route: Route) -> ConfiguredChannel:
    name, kind = f"channel-{number + 1}", ""
    match: dict[str, str] = {}
    rules: tuple[str, ...] = ()
    resolved, info = True, False
    try:
        if not isinstance(entry, dict):
            raise BadQuery(
                "A channel must be a mapping.", "Give at least `name` and `type`.", what="channel_entry"
            )
        name = str(entry.get("name") or name)[:100]
        kind = str(entry.get("type") or "")[:100]
        labels = entry.get("match") or {}
        if not isinstance(labels, dict):
            raise BadQuery(
                "`match` must map labels to values.",
                "For example match: {severity: critical}.",
                what="channel_match",
            )
        match = {str(label): str(value) for label, value in labels.items()}
        names = entry.get("rules") or []
        if not (isinstance(names, list) and all(isinstance(rule, str) for rule in names)):
            raise BadQuery(
                "`rules` must list names of rules.",
                "For example rules: [JobFailed, NodeDead].",
                what="channel_rules",
            )
        rules = tuple(names)
        resolved = bool(entry.get("send_resolved", True))
        info = bool(entry.get("send_info", match.get("severity") == "info"))
        channel: Channel = _kind(kind)(entry)
        route = channel.route or _route(entry, route)
        return ConfiguredChannel(name, kind, match, rules, resolved, info, route, channel, None)
    except BadQuery as problem:
        return ConfiguredChannel(name, kind, match, rules, resolved, info, route, None, error_info(problem))
    except Exception as error:  # raised by a plug-in, so its text could contain a secret
        said: ErrorDetail = {
            "code": "channel_plugin",
            "message": f"Could not create the channel: {type(error).__name__}.",
            "remedy": "See the plugin's documentation.",
            "params": {"error": type(error).__name__},
        }
        return ConfiguredChannel(name, kind, match, rules, resolved, info, route, None, said)


def _route(route: Mapping[str, Any], base: Route) -> Route:
    if not isinstance(route, Mapping):
        raise BadQuery(
            "`route` must be a mapping.",
            f"Its keys are {', '.join(sorted(_ROUTE_KEYS))}.",
            what="channel_route",
            keys=", ".join(sorted(_ROUTE_KEYS)),
        )
    by = route.get("group_by", base.group_by)
    if not isinstance(by, (list, tuple)) or not all(isinstance(each, str) for each in by):
        raise BadQuery(
            "`group_by` must be a list of labels.",
            "For example [alertname, node_id].",
            what="channel_group_by",
        )
    return Route(
        tuple(by),
        duration_ns(route["group_wait"]) if "group_wait" in route else base.group_wait_ns,
        duration_ns(route["group_interval"]) if "group_interval" in route else base.group_interval_ns,
        duration_ns(route["repeat_interval"]) if "repeat_interval" in route else base.repeat_interval_ns,
    )
