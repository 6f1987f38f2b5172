"""Live push: data that many clients watch is read, compared, and encoded once for all of them.

A *feed* is one topic of one session, or of one of its jobs. While it has clients, its provider is called once
per interval. The result is compared with the previous one, and encoded as a whole *state* and as a *change*
(RFC 7386). A client has one slot per feed instead of a queue, so a slow client gets only the newest version:
the change if it is one version behind, otherwise the state. Everything except the providers runs on the
server's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from rayscope.server.push import schemas
from rayscope.server.push.merge_patch import merge_patch
from rayscope.storage.errors import BadQuery, StoreError

log = logging.getLogger("rayscope.server")

#: A provider: takes the session and the topic's parameters (``job_id``), and returns the topic's data.
Look = Callable[[str, Mapping[str, str]], Mapping[str, Any]]

MAX_CLIENTS = 4_000
MAX_FEEDS = 500
#: Maximum number of feeds that one client watches.
MAX_SUBSCRIPTIONS = 32
#: Maximum size of a client's message, in bytes.
MAX_MESSAGE_BYTES = 64 << 10
#: Maximum number of unacknowledged messages sent to a client that acknowledges messages.
WINDOW = 2
#: Time without messages to a client after which it gets a sign of life, in seconds.
_ALIVE_S = 5.0
#: Maximum extra pause between two reads of a topic that is slow to read, in seconds.
_MAX_PAUSE_S = 5.0
_MAX_INTERVAL_S = 3600.0
#: A client that has sent no valid message this long (s) after connecting gets :data:`DEFAULT_TOPICS`.
_GREET_S = 2.0
DEFAULT_TOPICS = ("cluster", "metrics", "tasks", "actors")
#: Number of unreadable messages after which a connection is closed.
_MAX_UNREADABLE = 10
_FORM = """{"subscribe": [{"topic": "cluster"}, {"topic": "job", "job_id": "01000000"}]}"""


class FeedKey(NamedTuple):
    """The topic, session, and parameters of a feed."""

    topic: str
    session: str
    params: tuple[tuple[str, str], ...]


class Subscription(msgspec.Struct, frozen=True):
    """A topic that a client subscribes to or unsubscribes from."""

    topic: str
    session: str | None = None
    job_id: str | None = None

    def params(self) -> dict[str, str]:
        """Return the parameters of the topic other than the session."""
        return {} if self.job_id is None else {"job_id": self.job_id}


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client's message.

    ``interval_s`` is the minimum time between messages of a feed. With ``acks``, the client reports in
    ``ack`` how many messages it has received since its last report. The server sends at most :data:`WINDOW`
    messages that the client has not reported.
    """

    subscribe: list[Subscription] = []
    unsubscribe: list[Subscription] = []
    interval_s: float | None = None
    acks: bool | None = None
    ack: int = 0


_decode_ask = msgspec.json.Decoder(Ask).decode


def _is_ping(text: str) -> bool:
    """Return whether a message is a ping: the word alone, ``{"type": "ping"}``, or ``{"ping": ...}``."""
    if text.strip().strip('"').lower() == "ping":
        return True
    with contextlib.suppress(msgspec.DecodeError):
        message = msgspec.json.decode(text)
        return isinstance(message, dict) and (message.get("type") == "ping" or "ping" in message)
    return False


class Feed:
    """One topic of one session, with its last state and change, encoded. ``seq`` counts its changes."""

    def __init__(self, key: FeedKey) -> None:
        self.key = key
        self.seq = 0
        self.time_ns = 0
        self.watchers: set[Client] = set()
        self.looking = False
        self.next_look = 0.0
        self._data: Any = None
        self._encoded = b""
        self._error = b""
        self._state: str | None = None
        self._change: str | None = None

    def look(self, provider: Look) -> Callable[[], bool]:
        """Call the provider, in a thread. Returns a function that stores the result, to be called on the
        event loop.
        """
        time_ns = time.time_ns()
        try:
            encoded = msgspec.json.encode(provider(self.key.session, dict(self.key.params)))
        except StoreError as problem:
            said = {"code": problem.code, "message": problem.message, "remedy": problem.remedy}
            return lambda: self._fail(msgspec.json.encode(said), time_ns)
        if encoded == self._encoded and not self._error:
            return lambda: False
        data = msgspec.json.decode(encoded)
        change = b""
        if self._encoded and not self._error:
            patch = msgspec.json.encode(merge_patch(self._data, data))
            change = patch if len(patch) < len(encoded) else b""

        def take() -> bool:
            self._data, self._encoded, self._error = data, encoded, b""
            self._say(time_ns, change)
            return True

        return take

    def _fail(self, said: bytes, time_ns: int) -> bool:
        if said == self._error:
            return False
        self._error = said
        self._say(time_ns, b"")
        return True

    def _say(self, time_ns: int, change: bytes) -> None:
        self.seq += 1
        self.time_ns = time_ns
        self._state = None
        self._change = self._message("change", b"data", change) if change else None

    def message_after(self, seq: int) -> str | None:
        """Return the next message for a client at version ``seq`` (0: none), or None if it is current."""
        if seq == self.seq or not self.seq:
            return None
        if seq == self.seq - 1 and self._change is not None and seq:
            return self._change
        if self._state is None:
            kind, name, body = (
                ("error", b"error", self._error) if self._error else ("state", b"data", self._encoded)
            )
            self._state = self._message(kind, name, body)
        return self._state

    def _message(self, kind: str, name: bytes, body: bytes) -> str:
        topic, session, params = self.key
        head: dict[str, Any] = {"topic": topic, "session": session}
        if params:
            head["params"] = dict(params)
        head |= {"kind": kind, "seq": self.seq, "time_ns": self.time_ns}
        return (msgspec.json.encode(head)[:-1] + b',"' + name + b'":' + body + b"}").decode()


class Client:
    """One connection: the feeds that it watches, and one slot for each."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        #: Last version sent, by feed.
        self.heard: dict[Feed, int] = {}
        self.dirty: dict[Feed, None] = {}
        self.notes: list[str] = []
        self.wake = asyncio.Event()
        self.interval_s = 0.0
        self.acks = False
        self.unacknowledged = 0
        self.unreadable = 0
        self.last_sent = time.monotonic()

    def note(self, message: dict[str, Any]) -> None:
        """Send a message that belongs to no feed."""
        if len(self.notes) < MAX_SUBSCRIPTIONS:
            self.notes.append(msgspec.json.encode(message).decode())
        self.wake.set()

    def mark_dirty(self, feed: Feed) -> None:
        """Mark a feed as having a new version for this client."""
        self.dirty[feed] = None
        self.wake.set()

    async def run(self) -> None:
        """Send new versions at the client's own pace, until canceled or disconnected."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            began = time.monotonic()
            while self.notes:
                await self._say(self.notes.pop(0))
            while self.dirty and not (self.acks and self.unacknowledged >= WINDOW):
                feed = next(iter(self.dirty))
                del self.dirty[feed]
                before = self.heard.get(feed)
                if before is None or (text := feed.message_after(before)) is None:
                    continue
                self.heard[feed] = feed.seq
                self.unacknowledged += 1
                await self._say(text)
            rest = began + self.interval_s - time.monotonic()
            if self.interval_s and rest > 0:
                await asyncio.sleep(rest)

    async def _say(self, text: str) -> None:
        await self._send(text)
        self.last_sent = time.monotonic()


class Realtime:
    """All feeds and clients of a server."""

    def __init__(self, interval_s: float, resolve: Callable[[str | None], str]) -> None:
        self.interval_s = interval_s
        self._resolve = resolve
        self._providers: dict[str, Look] = {}
        self._feeds: dict[FeedKey, Feed] = {}
        self._clients: set[Client] = set()
        self._pool = ThreadPoolExecutor(2, "rayscope-push")
        self._ticker: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.looks = 0

    def provide(self, topic: str, look: Look) -> None:
        """Register the provider of a topic. It runs in a thread, and may raise StoreError."""
        self._providers[topic] = look

    @property
    def topics(self) -> list[str]:
        """The topics that can be subscribed to."""
        return sorted(self._providers)

    def stats(self) -> dict[str, int]:
        """Return the number of clients, of watched feeds, and of calls to providers."""
        return {"clients": len(self._clients), "feeds": len(self._feeds), "looks": self.looks}

    def close(self) -> None:
        """Stop calling the providers."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def once(self, subscription: Subscription) -> schemas.TopicState:
        """Return the current state of a topic, for clients without a WebSocket. Raises StoreError."""
        key = self._key(subscription)
        data = self._providers[key.topic](key.session, dict(key.params))
        return {
            "topic": key.topic,
            "session": key.session,
            "params": dict(key.params),
            "kind": "state",
            "seq": 0,
            "time_ns": time.time_ns(),
            "data": data,
        }

    def _key(self, subscription: Subscription) -> FeedKey:
        if subscription.topic not in self._providers:
            raise BadQuery(
                f"Unknown topic {subscription.topic[:60]!r}.", f"Topics: {', '.join(self.topics)}."
            )
        if (subscription.topic == "job") != (subscription.job_id is not None):
            raise BadQuery(
                "Only the topic `job` takes a job_id, and it requires one.", "Give the ID of a job."
            )
        if len(subscription.job_id or "") > 200 or len(subscription.session or "") > 200:
            raise BadQuery("The ID is too long.", "Use an ID of Ray's.")
        session = self._resolve(subscription.session)
        return FeedKey(subscription.topic, session, tuple(sorted(subscription.params().items())))

    # The following methods run on the event loop.

    async def serve(
        self, send: Callable[[str], Awaitable[None]], receive: Callable[[], Awaitable[str]]
    ) -> None:
        """Serve one connection until it ends.

        Raises ValueError after too many invalid messages, and any error of ``send`` and ``receive``.
        """
        client = Client(send)
        self._clients.add(client)
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._tick())
        sender = asyncio.create_task(client.run())
        greeter = asyncio.create_task(self._greet(client))
        # If a connection breaks while sending, the sender ends, and the reader must not wait any longer.
        reader = asyncio.create_task(self._read(client, receive, greeter))
        try:
            done, _ = await asyncio.wait((sender, reader), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (sender, reader, greeter):
                task.cancel()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await asyncio.gather(sender, reader, greeter, return_exceptions=True)
            self._forget(client)

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of clients is connected."""
        return len(self._clients) >= MAX_CLIENTS

    def _forget(self, client: Client) -> None:
        self._clients.discard(client)
        for feed in list(client.heard):
            self._leave(client, feed)
        if not self._clients and self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None

    async def _greet(self, client: Client) -> None:
        """Subscribe a client that sends nothing to topics of the newest session, once there is a session."""
        await asyncio.sleep(_GREET_S)
        while not await asyncio.get_running_loop().run_in_executor(self._pool, self._has_sessions):
            await asyncio.sleep(self.interval_s)
        for topic in DEFAULT_TOPICS:
            await self._change(client, Subscription(topic), self._subscribe)

    def _has_sessions(self) -> bool:
        try:
            return bool(self._resolve(None))
        except StoreError:
            return False

    async def _read(
        self, client: Client, receive: Callable[[], Awaitable[str]], greeter: asyncio.Task[None]
    ) -> None:
        is_first = True
        while True:
            text = await receive()
            if _is_ping(text):
                client.note({"kind": "pong", "time_ns": time.time_ns()})
                continue
            try:
                asked = _decode_ask(text)
                if len(asked.subscribe) + len(asked.unsubscribe) > 2 * MAX_SUBSCRIPTIONS:
                    raise ValueError("Too many topics in one message.")
            except ValueError as problem:  # includes DecodeError
                client.unreadable += 1
                if client.unreadable >= _MAX_UNREADABLE:
                    raise
                error = {"code": "bad_message", "message": str(problem)[:200], "remedy": f"Send {_FORM}."}
                client.note({"kind": "error", "error": error})
                continue
            if is_first:
                is_first = False
                greeter.cancel()
                for feed in list(client.heard):
                    self._leave(client, feed)
            if asked.acks is not None:
                client.acks, client.unacknowledged = asked.acks, 0
            if asked.ack:
                client.unacknowledged = max(0, client.unacknowledged - asked.ack)
                client.wake.set()
            if asked.interval_s is not None:
                # The server's own interval is the minimum. The maximum keeps clients from never waking up.
                pause_s = min(_MAX_INTERVAL_S, max(0.0, asked.interval_s))
                client.interval_s = pause_s if pause_s > self.interval_s else 0.0
            for subscription in asked.unsubscribe:
                await self._change(client, subscription, self._unsubscribe)
            for subscription in asked.subscribe:
                await self._change(client, subscription, self._subscribe)

    async def _change(
        self, client: Client, subscription: Subscription, do: Callable[[Client, FeedKey], None]
    ) -> None:
        try:
            # This runs in a thread because finding the session may wait for a file.
            key = await asyncio.get_running_loop().run_in_executor(self._pool, self._key, subscription)
            do(client, key)
        except StoreError as problem:
            error = {"code": problem.code, "message": problem.message, "remedy": problem.remedy}
            head = {
                "topic": subscription.topic[:60],
                "session": subscription.session,
                "params": subscription.params(),
            }
            client.note({**head, "kind": "error", "error": error})

    def _subscribe(self, client: Client, key: FeedKey) -> None:
        feed = self._feeds.get(key)
        if feed is not None and feed in client.heard:
            return
        if len(client.heard) >= MAX_SUBSCRIPTIONS:
            raise BadQuery(
                f"A client can watch at most {MAX_SUBSCRIPTIONS} topics.",
                "Unsubscribe from some, or open another connection.",
            )
        if feed is None:
            if len(self._feeds) >= MAX_FEEDS:
                raise BadQuery(
                    "The server's limit of watched topics is reached.",
                    "Use HTTP requests, or try again later.",
                )
            feed = self._feeds[key] = Feed(key)
        client.heard[feed] = 0
        feed.watchers.add(client)
        if feed.seq:
            client.mark_dirty(feed)
        else:
            self._start_look(feed)

    def _unsubscribe(self, client: Client, key: FeedKey) -> None:
        feed = self._feeds.get(key)
        if feed is not None:
            self._leave(client, feed)

    def _leave(self, client: Client, feed: Feed) -> None:
        client.heard.pop(feed, None)
        client.dirty.pop(feed, None)
        feed.watchers.discard(client)
        if not feed.watchers:
            self._feeds.pop(feed.key, None)

    async def _tick(self) -> None:
        """Read the watched feeds once per interval, and send signs of life."""
        while True:
            await asyncio.sleep(self.interval_s)
            now = time.monotonic()
            for feed in list(self._feeds.values()):
                if now >= feed.next_look:
                    self._start_look(feed)
            quiet = [client for client in self._clients if now - client.last_sent > _ALIVE_S]
            for client in quiet:
                if not client.dirty and not client.notes:
                    client.note({"kind": "alive", "time_ns": time.time_ns()})

    def _start_look(self, feed: Feed) -> None:
        if feed.looking:
            return
        feed.looking = True
        task = asyncio.create_task(self._look(feed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, feed: Feed) -> None:
        self.looks += 1
        pause_s = 0.0

        def look() -> tuple[Callable[[], bool], float]:
            began = time.monotonic()  # excludes the time spent waiting for a thread
            return feed.look(self._providers[feed.key.topic]), time.monotonic() - began

        try:
            take, took_s = await asyncio.get_running_loop().run_in_executor(self._pool, look)
            # Slow topics use at most a tenth of the time, unless the pause would be too long for that.
            pause_s = min(10 * took_s - self.interval_s, _MAX_PAUSE_S)
            if take():
                for client in feed.watchers:
                    client.mark_dirty(feed)
        except RuntimeError:  # the pool is closed because the server stops
            log.debug("%s is not looked at any more", feed.key)
        except Exception:  # an error of one topic must not affect the others
            log.exception("looking at %s", feed.key)
        finally:
            feed.looking = False
            feed.next_look = time.monotonic() + pause_s
