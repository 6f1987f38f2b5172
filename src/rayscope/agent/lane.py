"""The fast lane: keeps and sends an agent's events in their original protobuf form.

``AddEvents`` (one gRPC call of a worker, the raylet, or the GCS) adds its events to :class:`Buffer` as one
chunk of bytes. :class:`Lane` joins chunks and posts them. Concatenated ``RayEventsData`` messages form one
valid ``RayEventsData``, so nothing needs to be decoded. Ray's own ring buffer of events and its JSON exporter
remain unchanged. They take over, with all buffered events, whenever something here is not as expected.
"""

from __future__ import annotations

import asyncio
import collections
import functools
import ipaddress
import logging
import os
import random
import sys
import time
import zlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rayscope.agent.report import Reporter, fault
from rayscope.agent.settings import BUFFER_BYTES, DEFAULT_BUFFER_BYTES

log = logging.getLogger("rayscope.agent")

#: How long events are collected before they are sent, in s. Ray's interval is 0.1; a longer one makes fewer,
#: larger bodies. At the end of a driver, the server expects no more events after half a second without any,
#: so the interval must be shorter than that.
INTERVAL_S = 0.25
#: Maximum size of a body, in bytes, unless a single piece is larger.
MAX_BODY_BYTES = 4 << 20
TIMEOUT_S = 15.0
_BACKOFF_S = (0.05, 5.0)
#: HTTP statuses which show that the server cannot read the format, so that retries are useless.
_NOT_UNDERSTOOD = frozenset({400, 405, 406, 415, 422, 501})
_TOO_LARGE = 413
_NOT_FOUND = 404
_MAX_BARE_BYTES = 1 << 20
_ATTRIBUTE = "_rayscope_lane"
#: Maximum number of events that Ray's publisher gets at once to convert to JSON. More would exceed its time
#: limit.
_HAND_OVER = 1000


@dataclass(frozen=True, slots=True)
class Piece:
    """Some events as one serialized ``RayEventsData``."""

    data: bytes
    events: int


class Buffer:
    """Pieces in order of arrival, up to ``limit`` bytes. Beyond that, the oldest are dropped, and their
    events are counted by kind.

    ``message`` is Ray's ``RayEventsData``, for decoding dropped pieces.
    """

    def __init__(self, limit: int, message: Any, reporter: Reporter) -> None:
        self._limit = limit
        self._message = message
        self._reporter = reporter
        self._pieces: collections.deque[Piece] = collections.deque()
        self.bytes = 0
        self.filled = asyncio.Event()

    def add(self, piece: Piece) -> None:
        """Add a piece. Drops the oldest pieces if the limit is exceeded."""
        self._pieces.append(piece)
        self.bytes += len(piece.data)
        self._keep_limit()

    def take(self, max_bytes: int) -> list[Piece]:
        """Remove and return the oldest pieces, up to ``max_bytes`` in total but at least one."""
        taken: list[Piece] = []
        size = 0
        while self._pieces and (not taken or size + len(self._pieces[0].data) <= max_bytes):
            piece = self._pieces.popleft()
            size += len(piece.data)
            taken.append(piece)
        self.bytes -= size
        if not self._pieces:
            self.filled.clear()
        return taken

    def restore(self, pieces: list[Piece]) -> None:
        """Put pieces that could not be sent back to the front."""
        self._pieces.extendleft(reversed(pieces))
        self.bytes += sum(len(piece.data) for piece in pieces)
        self._keep_limit()

    def _keep_limit(self) -> None:
        if self._pieces:
            self.filled.set()
        while self.bytes > self._limit and self._pieces:
            self._drop()

    def _drop(self) -> None:
        piece = self._pieces.popleft()
        self.bytes -= len(piece.data)
        for event in self._message.FromString(piece.data).events:
            kind = event.DESCRIPTOR.fields_by_name["event_type"].enum_type.values_by_number.get(
                event.event_type
            )
            time_ns = event.timestamp.seconds * 1_000_000_000 + event.timestamp.nanos
            self._reporter.lost(str(event.event_type) if kind is None else kind.name, time_ns)


class Lane:
    """Accepts events and sends them to ``endpoint``. Runs in the agent's event loop, except
    :class:`Reporter`.
    """

    def __init__(self, endpoint: str, limit: int, module: Any, reporter: Reporter) -> None:
        self._endpoint = endpoint
        self._message = module.events_event_aggregator_service_pb2.RayEventsData
        self._reporter = reporter
        self.buffer = Buffer(limit, self._message, reporter)
        self.open = True
        self._most = MAX_BODY_BYTES
        #: Names of dropped attempts that arrived without events. They are sent with the next events, because
        #: a body without events does not say which session it belongs to.
        self._bare = b""
        self._compress = not _is_local(endpoint)

    def take_in(self, request: Any) -> bool:
        """Buffer the events of one ``AddEventsRequest``. Returns False if Ray must handle them itself."""
        try:
            began = time.thread_time_ns()
            data = request.events_data
            dropped = len(data.task_events_metadata.dropped_task_attempts)
            if not self.open:  # Ray's exporter omits the names of dropped attempts, so count them
                self._reporter.came(0, dropped, 0)
                return False
            piece = Piece(self._bare + data.SerializeToString(), len(data.events))
            self._bare = b""
            if piece.events:
                self.buffer.add(piece)
            elif len(piece.data) < _MAX_BARE_BYTES:
                self._bare = piece.data
            self._reporter.came(piece.events, dropped, time.thread_time_ns() - began)
        except Exception as error:
            self.leave(fault(error))
            log.exception("the fast lane cannot take events in")
            return False
        return True

    def leave(self, reason: str) -> None:
        """Stop sending. From now on, Ray's exporter sends all events."""
        if self.open:
            self.open = False
            log.warning("Ray's JSON exporter takes over from Rayscope's fast lane: %s", reason)
            self._reporter.leave(reason)
        self.buffer.filled.set()

    async def send_forever(self, publisher: Any) -> None:
        """Post events until the lane is closed. Keeps the metrics of ``publisher``, Ray's own, up to date."""
        import aiohttp

        failures = 0
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session:
            while self.open:
                await self.buffer.filled.wait()
                if self.buffer.bytes < self._most and self.open:
                    await asyncio.sleep(INTERVAL_S)
                if not self.open:
                    return
                pieces = self.buffer.take(self._most)
                if not pieces:
                    continue
                try:
                    sent = await self._send(session, pieces, publisher)
                except BaseException:
                    self.buffer.restore(pieces)
                    raise
                if sent:
                    failures = 0
                    continue
                self.buffer.restore(pieces)
                if not self.open:
                    return
                if not failures:
                    log.warning("Events wait in this agent and are sent again: %s", self._reporter.trouble)
                failures += 1
                least, most = _BACKOFF_S
                spread = random.uniform(0.8, 1.2)  # noqa: S311 - spreads the nodes' retries
                await asyncio.sleep(min(most, least * 2 ** min(failures, 20)) * spread)

    async def _send(self, session: Any, pieces: list[Piece], publisher: Any) -> bool:
        """Post some pieces as one body. Returns whether the server accepted it."""
        import aiohttp

        began, at = time.thread_time_ns(), time.monotonic()
        body = pieces[0].data if len(pieces) == 1 else b"".join(piece.data for piece in pieces)
        headers = {"Content-Type": "application/x-protobuf"}
        raw, busy_ns = len(body), time.thread_time_ns() - began
        if self._compress:
            body, packing_ns = await asyncio.get_running_loop().run_in_executor(None, _pack, body)
            busy_ns += packing_ns
            headers["Content-Encoding"] = "deflate"
        try:
            async with session.post(self._endpoint, data=body, headers=headers) as response:
                status = response.status
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            self._reporter.refused(f"{type(error).__name__}: {error}")
            return False
        if 200 <= status < 300:
            events = sum(piece.events for piece in pieces)
            self._reporter.sent(events, raw, len(body), busy_ns)
            await _count(publisher, events, time.monotonic() - at)
            self._most = min(MAX_BODY_BYTES, self._most * 2)
            return True
        why = " (the ingest key in its URL is wrong)" if status == _NOT_FOUND else ""
        self._reporter.refused(f"the server answered {status}{why}")
        if status == _TOO_LARGE and len(pieces) > 1:
            self._most = max(1, raw // 2)
        elif status in _NOT_UNDERSTOOD or status == _TOO_LARGE:
            self.leave(f"the server answered {status} to the binary form")
        return False


def _pack(body: bytes) -> tuple[bytes, int]:
    """Return ``body`` deflated, and the CPU time it took (ns). Runs in a thread."""
    began = time.thread_time_ns()
    return zlib.compress(body, 1), time.thread_time_ns() - began


async def _count(publisher: Any, events: int, seconds: float) -> None:
    """Update Ray's metrics of published events."""
    try:
        await publisher._record_success(num_published=events, num_filtered=0, duration=seconds)
    except Exception as error:  # metrics are not important enough to stop for
        log.debug("Ray's publish metrics cannot be set: %r", error)


def _is_local(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class LanePublisher:
    """Replaces the agent's HTTP publisher: runs the lane, and Ray's publisher after it."""

    def __init__(self, theirs: Any, lane: Lane, batch: Any, message: Any) -> None:
        self._theirs = theirs
        self._lane = lane
        self._batch = batch
        self._message = message

    async def run_forever(self) -> None:
        """Run until cancelled, like Ray's. An error in Rayscope ends only the lane."""
        try:
            await self._lane.send_forever(self._theirs)
        except Exception as error:
            log.exception("the fast lane failed")
            self._lane.leave(fault(error))
        theirs = asyncio.ensure_future(self._theirs.run_forever())
        try:
            try:
                await self._hand_over()
            except Exception:
                log.exception("events that waited in the fast lane cannot be handed over")
            await theirs
        finally:
            theirs.cancel()

    async def _hand_over(self) -> None:
        """Send the buffered events with Ray's publisher, bypassing Ray's ring, which others read too."""
        while pieces := self._lane.buffer.take(1):
            events = list(self._message.FromString(pieces[0].data).events)
            for begin in range(0, len(events), _HAND_OVER):
                batch = self._batch(events=events[begin : begin + _HAND_OVER])
                await self._theirs._async_publish_with_retries(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)


def take_over(module: Any, reporter: Reporter) -> None:
    """Put the lane into the ``AggregatorAgent`` of ``module``, whose form :mod:`shape` has verified."""
    agent = module.AggregatorAgent
    service = module.events_event_aggregator_service_pb2
    their_add, their_run = agent.AddEvents, agent.run
    limit = _buffer_limit()

    @functools.wraps(their_add)
    async def add_events(self: Any, request: Any, context: Any) -> Any:
        lane: Lane | None = getattr(self, _ATTRIBUTE, None)
        if lane is None or not lane.take_in(request):
            return await their_add(self, request, context)
        if getattr(self._event_buffer, "_consumers", True):
            # Others (the GCS, the dashboard's head) read Ray's ring, so it is still filled.
            return await their_add(self, request, context)
        try:
            self._open_telemetry_metric_recorder.set_metric_value(
                self._events_received_metric_name, self._common_tags, len(request.events_data.events)
            )
        except Exception as error:
            log.debug("Ray's count of received events cannot be set: %r", error)
        return service.AddEventsReply()

    @functools.wraps(their_run)
    async def run(self: Any, server: Any) -> Any:
        try:
            theirs = self._http_endpoint_publisher
            if isinstance(theirs, module.RayEventPublisher):
                lane = Lane(theirs._publish_client._endpoint, limit, module, reporter)
                batch = sys.modules[module.AsyncHttpPublisherClient.__module__].PublishBatch
                self._http_endpoint_publisher = LanePublisher(theirs, lane, batch, service.RayEventsData)
                setattr(self, _ATTRIBUTE, lane)
                reporter.took_lane(limit)
            else:
                reporter.leave("the agent of this node posts no events")
        except Exception as error:
            log.exception("the fast lane cannot be taken")
            reporter.leave(fault(error))
        return await their_run(self, server)

    agent.AddEvents, agent.run = add_events, run


def _buffer_limit() -> int:
    text = os.environ.get(BUFFER_BYTES, "")
    return int(text) if text.isdigit() and int(text) > 0 else DEFAULT_BUFFER_BYTES
