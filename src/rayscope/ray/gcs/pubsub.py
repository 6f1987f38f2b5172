"""Subscribes to a channel of the GCS, like Ray's own processes (``ray/_private/gcs_pubsub.py``).

The GCS answers a long poll as soon as there is a message. It forgets subscribers that have not polled for
five minutes, and all subscribers when it restarts. Call :meth:`Subscriber.subscribe` again then.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import Any

from rayscope.ray.gcs.client import GcsClient, GcsError

#: Names of the service for observers' channels, newest first. It is a separate service since Ray 2.56.
_SERVICES = ("ObservabilityPubSubService", "InternalPubSubGcsService")
_ID_BYTES = 28


class Subscriber:
    """A subscription to ``channel``, a name in ``ChannelType`` of ``pubsub.proto``. Not thread-safe.

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
        """Receive everything published from now on. Idempotent."""
        self._command("subscribe_message")

    def unsubscribe(self) -> None:
        """End the subscription. Never raises, because a GCS that is gone has forgotten it anyway."""
        with contextlib.suppress(GcsError):
            self._command("unsubscribe_message")

    def poll(self, timeout_s: float) -> Any:
        """Start a long poll. Returns the call, to pass to :meth:`receive` or to ``cancel()``."""
        request = self._messages.GcsSubscriberPollRequest(
            subscriber_id=self._id, max_processed_sequence_id=self._seen, publisher_id=self._publisher
        )
        try:
            return self._rpc("GcsSubscriberPoll").future(
                request, timeout=timeout_s, metadata=self._client.metadata
            )
        except ValueError as error:  # the channel is closed
            raise _closed(error) from None

    def receive(self, call: Any) -> list[Any]:
        """Wait for a long poll. Returns its ``PubMessage`` objects in order, or none after a timeout."""
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
            raise _closed(error) from None

    def _rpc(self, method: str) -> Any:
        for service in _SERVICES:
            with contextlib.suppress(AttributeError):
                return self._client.rpc(service, method)
        raise GcsError(
            "The installed Ray has no service to subscribe to.",
            "Install Ray 2.50 or newer.",
            what="gcs_no_pubsub",
        )


def _closed(error: ValueError) -> GcsError:
    """The error for a call on a closed channel."""
    return GcsError(
        f"Could not subscribe to the GCS: {error}",
        "Open a new client.",
        what="gcs_subscribe",
        reason=str(error),
    )
