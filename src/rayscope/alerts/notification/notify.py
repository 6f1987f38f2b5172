"""Decides when to notify channels of alerts: grouping, waiting, repeating, silences, and acknowledgements.

Each channel has groups: the alerts of a session with the same values of the labels in ``group_by``. The first
notification about a group is sent after ``group_wait``, and a notification about changes at least
``group_interval`` after the previous one. If alerts keep firing, it is repeated every ``repeat_interval``
unless all of them are acknowledged. The state survives restarts.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from rayscope.alerts.files import load, save
from rayscope.alerts.notification.channels import (
    Config,
    ConfiguredChannel,
    Notification,
    Route,
    channels_file,
    load_channels,
)
from rayscope.alerts.notification.delivery import RETRY_S, Delivery, DeliveryStatus, attempt
from rayscope.alerts.notification.texts import Language
from rayscope.alerts.state import OVER, Alert, State
from rayscope.api.schemas import ErrorDetail

log = logging.getLogger("rayscope.alerts")

#: Time after which the state of a group without alerts is deleted, in ns.
_FORGET_NS = 7 * 86400 * 10**9
_MAX_GROUPS = 5000

Silencing = Callable[[Mapping[str, str]], list[str]]


class Group(msgspec.Struct):
    """A channel's state for a group: when the group began, when it was last notified, and of which alerts."""

    first_ns: int
    sent_ns: int = 0
    #: Fingerprints of the alerts that the last notification reported as firing.
    notified: list[str] = []


_GROUPS = msgspec.json.Decoder(dict[str, Group])
_decode_key = msgspec.json.Decoder(tuple[str, str, dict[str, str]]).decode


class Notifier:
    """All channels of a server, driven by repeated calls of :meth:`tick`."""

    def __init__(
        self,
        folder: Path,
        link: Callable[[str], str | None],
        retry_s: tuple[float, ...] = RETRY_S,
        language: Language = "en",
    ) -> None:
        self._file = channels_file(folder)
        self._state = folder / "notified.json"
        self._link = link
        self._retry_s = retry_s
        self.language = language
        self._lock = threading.RLock()
        self._deliveries: dict[str, Delivery] = {}
        self._stamp: float | None = -1
        self.config = Config()
        self.reload()

    @cached_property
    def _groups(self) -> dict[str, Group]:
        """The state of all groups. It is read on first use. If that fails, the next use tries again."""
        return load(self._state, _GROUPS, {})

    def reload(self) -> None:
        """Read the channels' file again if it has changed. Queued notifications move to the new channel of
        the same name.
        """
        try:
            stamp: float | None = self._file.stat().st_mtime_ns
        except OSError:
            stamp = None
        with self._lock:
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self.config = load_channels(self._file)
            before, self._deliveries = self._deliveries, {}
            waiting = {name: delivery.stop() for name, delivery in before.items()}
            for channel in self.config.channels:
                made = self._deliveries[channel.name] = Delivery(channel, self._given_up, self._retry_s)
                if channel.name in before:
                    made.status = before[channel.name].status
                    for notification in waiting[channel.name]:
                        made.put(notification)

    def stop(self) -> None:
        """End the threads of the channels."""
        with self._lock:
            for delivery in self._deliveries.values():
                delivery.stop()

    def status(self, channel: str) -> DeliveryStatus:
        """Return the state of a channel's deliveries."""
        with self._lock:
            delivery = self._deliveries.get(channel)
        return delivery.status if delivery else DeliveryStatus()

    def test(self, name: str, notification: Notification) -> ErrorDetail | None:
        """Send a test notification through a channel now. Returns the error, or None if it was sent. Raises
        NotFound.
        """
        channel = self.config.named(name)
        error = attempt(channel, notification)
        status = self.status(name)
        status.last_ns, status.last_ok, status.last_error = notification.now_ns, error is None, error
        status.last_title, status.tries, status.next_try_ns = notification.title, 1, 0
        return error

    def tick(self, alerts: Mapping[str, Sequence[Alert]], silencing: Silencing, now_ns: int) -> None:
        """Notify channels of ``alerts`` if due. ``alerts``: session -> its firing and ended alerts. Raises
        StoreError.
        """
        with self._lock:
            changed = False
            seen: set[str] = set()
            for channel in self.config.channels:
                if channel.channel is None:
                    continue
                for session, all_of_it in alerts.items():
                    for key, labels, members in _grouped(channel, session, all_of_it):
                        seen.add(key)
                        changed |= self._group(channel, session, key, labels, members, silencing, now_ns)
            for key, group in list(self._groups.items()):
                if key not in seen and now_ns - max(group.sent_ns, group.first_ns) > _FORGET_NS:
                    del self._groups[key]
                    changed = True
            if changed:
                save(self._state, self._groups)

    def _group(
        self,
        channel: ConfiguredChannel,
        session: str,
        key: str,
        labels: Mapping[str, str],
        members: Sequence[Alert],
        silencing: Silencing,
        now_ns: int,
    ) -> bool:
        """Notify a channel of one group if that is due. Returns whether the group's state has changed."""
        loud = [alert for alert in members if not silencing({**alert.labels, "session": session})]
        group = self._groups.get(key)
        notified = set(group.notified) if group else set()
        firing = [alert for alert in loud if alert.state is State.FIRING]
        over = [alert for alert in loud if alert.state in OVER and alert.fingerprint in notified]
        resolved = over if channel.send_resolved else []
        if group is None:
            if not firing or len(self._groups) >= _MAX_GROUPS:
                return False
            group = self._groups[key] = Group(now_ns)
        if not firing and not over:
            if not members or not group.sent_ns:
                del self._groups[key]
                return True
            return False
        unacknowledged = [alert for alert in firing if alert.ack is None]
        fresh = [alert for alert in unacknowledged if alert.fingerprint not in notified]
        if not self._is_due(group, channel.route, bool(fresh or over), bool(unacknowledged), now_ns):
            return False
        if firing or resolved:
            link = self._link(session)
            notification = Notification(
                session, dict(labels), firing, resolved, link, now_ns, language=self.language
            )
            log.info("notify channel %s: %r", channel.name, notification.title)
            self._deliveries[channel.name].put(notification)
        group.sent_ns, group.notified = now_ns, [alert.fingerprint for alert in firing]
        if not firing:
            del self._groups[key]
        return True

    @staticmethod
    def _is_due(group: Group, route: Route, news: bool, has_unacknowledged: bool, now_ns: int) -> bool:
        if not group.sent_ns:
            return has_unacknowledged and now_ns - group.first_ns >= route.group_wait_ns
        since_ns = now_ns - group.sent_ns
        if news:
            return since_ns >= route.group_interval_ns
        return has_unacknowledged and since_ns >= route.repeat_interval_ns

    def _given_up(self, notification: Notification) -> None:
        """Note that a notification could not be delivered, so that its group is notified again after
        ``group_interval``.
        """
        with self._lock:
            for key, group in self._groups.items():
                _, session, labels = _decode_key(key)
                if session == notification.session and labels == notification.group:
                    group.notified = []


def _grouped(
    channel: ConfiguredChannel, session: str, alerts: Sequence[Alert]
) -> list[tuple[str, dict[str, str], list[Alert]]]:
    """Group a session's alerts for a channel. Returns (key, labels, alerts) of each group."""
    groups: dict[str, tuple[dict[str, str], list[Alert]]] = {}
    for alert in alerts:
        if any(alert.labels.get(name, "") != value for name, value in channel.match.items()):
            continue
        if channel.rules and alert.rule not in channel.rules:
            continue
        if alert.labels.get("severity") == "info" and not channel.send_info:
            continue
        labels = {name: alert.labels.get(name, "") for name in channel.route.group_by}
        key = msgspec.json.encode((channel.name, session, labels)).decode()
        groups.setdefault(key, (labels, []))[1].append(alert)
    return [(key, labels, members) for key, (labels, members) in groups.items()]
