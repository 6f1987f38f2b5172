"""Live push: what many clients watch is looked at, compared and encoded once for all of them.

A *feed* is one topic of one session (and one job). While anybody watches it, its provider is asked once an
interval; what it says is compared with what it said before and encoded as a whole *state* and as a *change*
(RFC 7386). A client has one slot for each feed, not a queue: whoever reads slowly finds the newest in it, the
change where it is one behind, else the state. All of it but the providers runs on the server's event loop.
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

from rayscope.server.push.merge_patch import merge_patch
from rayscope.storage.errors import BadQuery, StoreError

log = logging.getLogger("rayscope.server")

#: What a provider is asked: the session, and the parameters of the topic (``job_id``).
Look = Callable[[str, Mapping[str, str]], Any]

MAX_CLIENTS = 4_000
MAX_FEEDS = 500
#: Feeds that one client watches, and the bytes of one message of it.
MAX_SUBSCRIPTIONS = 32
MAX_MESSAGE_BYTES = 64 << 10
#: A client that acknowledges has at most so many messages on the way.
WINDOW = 2
#: Whoever has heard nothing for so long is told that we live, s.
_ALIVE_S = 5.0
#: s; news of a topic that costs much to look at is not kept back for longer.
_MAX_PAUSE_S = 5.0
_MAX_INTERVAL_S = 3600.0
#: A client that has sent no message of ours so long after it connected gets :data:`DEFAULT_TOPICS`, s.
_GREET_S = 2.0
DEFAULT_TOPICS = ("cluster", "metrics", "tasks", "actors")
#: Unreadable messages after which a connection is closed.
_MAX_UNREADABLE = 10
_FORM = """{"subscribe": [{"topic": "cluster"}, {"topic": "job", "job_id": "01000000"}]}"""


class FeedKey(NamedTuple):
    """What a feed tells of."""

    topic: str
    session: str
    params: tuple[tuple[str, str], ...]


class Wanted(msgspec.Struct, frozen=True):
    """A topic in a client's message."""

    topic: str
    session: str | None = None
    job_id: str | None = None

    def params(self) -> dict[str, str]:
        """The parameters of the topic beside the session."""
        return {} if self.job_id is None else {"job_id": self.job_id}


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client's message.

    ``interval_s``: not more often than that. ``acks``: it will say with ``ack`` how many messages it has
    taken since it said so last, and gets no more than :data:`WINDOW` ahead of that.
    """

    subscribe: list[Wanted] = []
    unsubscribe: list[Wanted] = []
    interval_s: float | None = None
    acks: bool | None = None
    ack: int = 0


_decode_ask = msgspec.json.Decoder(Ask).decode


def _is_ping(text: str) -> bool:
    """Whether a message is a ping: the word alone, ``{"type": "ping"}`` or ``{"ping": ...}``."""
    if text.strip().strip('"').lower() == "ping":
        return True
    with contextlib.suppress(msgspec.DecodeError):
        message = msgspec.json.decode(text)
        return isinstance(message, dict) and (message.get("type") == "ping" or "ping" in message)
    return False


class Feed:
    """What is known of one topic, encoded. ``seq`` counts its changes."""

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
        """Ask the provider (in a thread); what it gives takes the news over on the loop: is there any?"""
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
        """What a client that has heard number ``seq`` (0: nothing yet) is to be sent; None: nothing."""
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
    """One connection: what it watches, and one slot for each of these."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        #: Feed -> the number of what was sent of it last.
        self.heard: dict[Feed, int] = {}
        self.dirty: dict[Feed, None] = {}
        self.notes: list[str] = []
        self.wake = asyncio.Event()
        self.interval_s = 0.0
        self.acks = False
        self.unacknowledged = 0
        self.unreadable = 0
        self.last_sent = time.monotonic()
        #: Messages sent, and versions of feeds that it never saw since newer ones were there.
        self.sent = 0
        self.skipped = 0

    def note(self, message: dict[str, Any]) -> None:
        """Send something that is of no feed."""
        if len(self.notes) < MAX_SUBSCRIPTIONS:
            self.notes.append(msgspec.json.encode(message).decode())
        self.wake.set()

    def tell(self, feed: Feed) -> None:
        """There is news of a feed."""
        self.dirty[feed] = None
        self.wake.set()

    async def run(self) -> None:
        """Send what is new, at the client's own pace, until cancelled or the connection ends."""
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
                self.skipped += max(0, feed.seq - before - 1) if before else 0
                self.heard[feed] = feed.seq
                self.unacknowledged += 1
                await self._say(text)
            rest = began + self.interval_s - time.monotonic()
            if self.interval_s and rest > 0:
                await asyncio.sleep(rest)

    async def _say(self, text: str) -> None:
        await self._send(text)
        self.sent += 1
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
        """Have a topic told by ``look``; it runs in a thread, and may raise StoreError."""
        self._providers[topic] = look

    @property
    def topics(self) -> list[str]:
        """The topics that can be subscribed to."""
        return sorted(self._providers)

    def stats(self) -> dict[str, int]:
        """Clients, feeds that are watched, and how often a provider was asked."""
        return {"clients": len(self._clients), "feeds": len(self._feeds), "looks": self.looks}

    def close(self) -> None:
        """Ask no provider any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def once(self, wanted: Wanted) -> bytes:
        """The state of a topic now, for those who cannot hold a connection. Raises StoreError."""
        key = self._key(wanted)
        data = self._providers[key.topic](key.session, dict(key.params))
        head = {"topic": key.topic, "session": key.session, "params": dict(key.params), "kind": "state"}
        return msgspec.json.encode({**head, "seq": 0, "time_ns": time.time_ns(), "data": data})

    def _key(self, wanted: Wanted) -> FeedKey:
        if wanted.topic not in self._providers:
            raise BadQuery(f"Unknown topic {wanted.topic[:60]!r}.", f"Topics: {', '.join(self.topics)}.")
        if (wanted.topic == "job") != (wanted.job_id is not None):
            raise BadQuery(
                "Only the topic `job` takes a job_id, and it requires one.", "Give the ID of a job."
            )
        if len(wanted.job_id or "") > 200 or len(wanted.session or "") > 200:
            raise BadQuery("The ID is too long.", "Use an ID of Ray's.")
        session = self._resolve(wanted.session)
        return FeedKey(wanted.topic, session, tuple(sorted(wanted.params().items())))

    # On the event loop from here on.

    async def serve(
        self, send: Callable[[str], Awaitable[None]], receive: Callable[[], Awaitable[str]]
    ) -> None:
        """Serve one connection until it ends.

        Raises ValueError after too many messages that are none of ours, and whatever ``send`` and
        ``receive`` raise.
        """
        client = Client(send)
        self._clients.add(client)
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._tick())
        sender = asyncio.create_task(client.run())
        greeter = asyncio.create_task(self._greet(client))
        # A connection that breaks while we send ends the sender: then nobody is to wait for a message of it.
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
        """Whether there are as many clients as there may be."""
        return len(self._clients) >= MAX_CLIENTS

    def _forget(self, client: Client) -> None:
        self._clients.discard(client)
        for feed in list(client.heard):
            self._leave(client, feed)
        if not self._clients and self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None

    async def _greet(self, client: Client) -> None:
        """Subscribe a client that stays silent to the newest session, as soon as there is one."""
        await asyncio.sleep(_GREET_S)
        while not await asyncio.get_running_loop().run_in_executor(self._pool, self._has_sessions):
            await asyncio.sleep(self.interval_s)
        for topic in DEFAULT_TOPICS:
            await self._change(client, Wanted(topic), self._subscribe)

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
            except ValueError as problem:  # DecodeError is one too
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
                # A faster one than ours there is not; nor does anybody sleep for good.
                pause_s = min(_MAX_INTERVAL_S, max(0.0, asked.interval_s))
                client.interval_s = pause_s if pause_s > self.interval_s else 0.0
            for wanted in asked.unsubscribe:
                await self._change(client, wanted, self._unsubscribe)
            for wanted in asked.subscribe:
                await self._change(client, wanted, self._subscribe)

    async def _change(self, client: Client, wanted: Wanted, do: Callable[[Client, FeedKey], None]) -> None:
        try:
            # Finding the session may wait for a file.
            key = await asyncio.get_running_loop().run_in_executor(self._pool, self._key, wanted)
            do(client, key)
        except StoreError as problem:
            error = {"code": problem.code, "message": problem.message, "remedy": problem.remedy}
            head = {"topic": wanted.topic[:60], "session": wanted.session, "params": wanted.params()}
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
            client.tell(feed)
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
        """Look at what is watched, once an interval, and let nobody think that we are gone."""
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
            began = time.monotonic()  # what it waits for a thread before costs nothing
            return feed.look(self._providers[feed.key.topic]), time.monotonic() - began

        try:
            take, took_s = await asyncio.get_running_loop().run_in_executor(self._pool, look)
            # What costs much is looked at for a tenth of the time, unless that keeps news back too long.
            pause_s = min(10 * took_s - self.interval_s, _MAX_PAUSE_S)
            if take():
                for client in feed.watchers:
                    client.tell(feed)
        except RuntimeError:  # the pool is closed: the server stops
            log.debug("%s is not looked at any more", feed.key)
        except Exception:  # one topic's fault must not be the end of the others
            log.exception("looking at %s", feed.key)
        finally:
            feed.looking = False
            feed.next_look = time.monotonic() + pause_s
