"""Delivers the notifications of one channel, with a thread, a bounded queue, and retries."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

import msgspec

from rayscope.alerts.notification.channels import ChannelError, ConfiguredChannel, Notification
from rayscope.api.schemas import ErrorDetail
from rayscope.api.security import error_detail

log = logging.getLogger("rayscope.alerts")

MAX_WAITING = 100
#: Pauses before retries, in s. If the last retry fails, the notification is abandoned, and its group is
#: notified again later.
RETRY_S = (1.0, 5.0, 20.0, 60.0)


class DeliveryStatus(msgspec.Struct):
    """State of a channel's deliveries. ``last_*`` describe the last try. Times are in ns, or 0 if there is
    none.
    """

    sent: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    last_ns: int = 0
    last_ok: bool | None = None
    last_error: ErrorDetail | None = None
    last_title: str | None = None
    tries: int = 0
    next_try_ns: int = 0


class Delivery:
    """Sends a channel's notifications one by one. Calls ``given_up`` with those that could not be
    delivered.
    """

    def __init__(
        self,
        channel: ConfiguredChannel,
        given_up: Callable[[Notification], None],
        retry_s: tuple[float, ...] = RETRY_S,
    ) -> None:
        self.channel = channel
        self.status = DeliveryStatus()
        self._given_up = given_up
        self._retry_s = retry_s
        self._waiting: deque[Notification] = deque()
        self._wake = threading.Condition()
        #: The notification that failed and waits for a retry.
        self._again: Notification | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"rayscope-{channel.name}", daemon=True)
        self._thread.start()

    def put(self, notification: Notification) -> None:
        """Queue a notification. If the queue is full, the oldest one is dropped."""
        with self._wake:
            if len(self._waiting) >= MAX_WAITING:
                self._waiting.popleft()
                self.status.dropped += 1
            self._waiting.append(notification)
            self.status.waiting = len(self._waiting)
            self._wake.notify()

    def stop(self) -> list[Notification]:
        """Tell the thread to end. Returns the notifications that it has not sent and is not sending."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
            rest = [self._again] if self._again else []
            return rest + list(self._waiting)

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._stopping:
                    self._wake.wait()
                if self._stopping:
                    return
                notification = self._waiting.popleft()
                self.status.waiting = len(self._waiting)
            if not self._deliver(notification):
                return

    def _deliver(self, notification: Notification) -> bool:
        """Retry until the notification is delivered or abandoned. Returns False if the thread was stopped."""
        for number, pause in enumerate((*self._retry_s, None), 1):
            error = attempt(self.channel, notification)
            now_ns = time.time_ns()
            self.status.tries, self.status.last_ns, self.status.last_ok = number, now_ns, error is None
            self.status.last_error, self.status.last_title = error, notification.title
            self.status.next_try_ns = 0 if error is None or pause is None else now_ns + int(pause * 1e9)
            if error is None:
                self.status.sent += 1
                return True
            log.warning("channel %s, try %d: %s", self.channel.name, number, error["message"])
            if pause is None:
                break
            with self._wake:
                self._again = notification
                if self._wake.wait_for(lambda: self._stopping, pause):
                    return False
                self._again = None
        self.status.failed += 1
        self._given_up(notification)
        return True


def attempt(channel: ConfiguredChannel, notification: Notification) -> ErrorDetail | None:
    """Try once to send a notification. Returns the error, or None if it was sent."""
    if channel.channel is None:
        return channel.problem
    try:
        channel.channel.send(notification)
    except ChannelError as problem:
        return error_detail(problem.code, str(problem)[:500], "", problem.params)
    except Exception as error:  # raised by a plug-in, so its text could contain a secret
        log.exception("channel %s", channel.name)
        name = type(error).__name__
        return {
            "code": "channel_failed",
            "message": f"The channel failed: {name}.",
            "remedy": "",
            "params": {"error": name},
        }
    return None
