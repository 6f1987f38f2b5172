"""Listening to a channel of the GCS's publisher, as Ray's own processes do (``ray/_private/gcs_pubsub.py``).

The GCS answers a question as soon as there is news. A subscriber that has not asked for five minutes is
forgotten, and so are all by a GCS that starts again: then :meth:`Subscriber.subscribe` is due once more.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import Any

from rayscope.ray.gcs.client import GcsClient, GcsError

#: The service of the channels for observers, the newest name first (Ray 2.56 split it from the other one).
_SERVICES = ("ObservabilityPubSubService", "InternalPubSubGcsService")
_ID_BYTES = 28


class Subscriber:
    """One subscription to ``channel`` (a name of ``pubsub.proto``'s ``ChannelType``). For one thread.

    Raises GcsError.
    """

    def __init__(self, client: GcsClient, channel: str) -> None:
        import grpc
        from ray.core.generated import gcs_service_pb2, pubsub_pb2

        self._grpc: Any = grpc
        self._messages: Any = gcs_service_pb2
        self._pubsub: Any = pubsub_pb2
        self._client = client
        self._channel = channel
        self._id = secrets.token_bytes(_ID_BYTES)
        self._publisher = b""
        self._seen = 0

    def subscribe(self) -> None:
        """Ask for all that is published from now on. Twice does no harm."""
        self._command("subscribe_message")

    def unsubscribe(self) -> None:
        """Say that it is over. Never raises: a GCS that is gone has forgotten it anyway."""
        with contextlib.suppress(GcsError):
            self._command("unsubscribe_message")

    def ask(self, timeout_s: float) -> Any:
        """Ask for news; the call that stands, which :meth:`take` waits for and ``cancel()`` withdraws."""
        request = self._messages.GcsSubscriberPollRequest(
            subscriber_id=self._id, max_processed_sequence_id=self._seen, publisher_id=self._publisher
        )
        try:
            return self._rpc("GcsSubscriberPoll").future(
                request, timeout=timeout_s, metadata=self._client.metadata
            )
        except ValueError as error:  # a closed channel
            raise GcsError(f"Could not subscribe to the GCS: {error}", "Open a new client.") from None

    def take(self, call: Any) -> list[Any]:
        """The ``PubMessage`` that the call gave, in order; none if nothing came in its time."""
        started = time.monotonic()
        try:
            reply = call.result()
        except self._grpc.FutureCancelledError:
            return []
        except self._grpc.RpcError as error:
            if error.code() is self._grpc.StatusCode.DEADLINE_EXCEEDED:
                return []
            raise self._client.explain(error, "GcsSubscriberPoll", time.monotonic() - started) from None
        if reply.publisher_id != self._publisher:
            self._publisher, self._seen = reply.publisher_id, 0
        fresh = [message for message in reply.pub_messages if message.sequence_id > self._seen]
        self._seen = max([self._seen, *(message.sequence_id for message in fresh)])
        return fresh

    def _command(self, what: str) -> None:
        command = self._pubsub.Command(channel_type=getattr(self._pubsub, self._channel), **{what: {}})
        request = self._messages.GcsSubscriberCommandBatchRequest(
            subscriber_id=self._id, sender_id=None, commands=[command]
        )
        started = time.monotonic()
        try:
            self._rpc("GcsSubscriberCommandBatch")(
                request, timeout=self._client.timeout_s, metadata=self._client.metadata
            )
        except self._grpc.RpcError as error:
            elapsed_s = time.monotonic() - started
            raise self._client.explain(error, "GcsSubscriberCommandBatch", elapsed_s) from None
        except ValueError as error:
            raise GcsError(f"Could not subscribe to the GCS: {error}", "Open a new client.") from None

    def _rpc(self, method: str) -> Any:
        for service in _SERVICES:
            with contextlib.suppress(AttributeError):
                return self._client.rpc(service, method)
        raise GcsError("The installed Ray has no service to subscribe to.", "Install Ray 2.50 or newer.")
