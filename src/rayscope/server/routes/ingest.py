"""What Ray's exporter and our own hook call, with the ingest key as their credential."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rayscope.server.hub import Hub
from rayscope.server.routes.common import answer, error
from rayscope.server.security import matches
from rayscope.sources.ray_events import MalformedBatch
from rayscope.store.errors import SpoolFull


class Drain(BaseModel):
    """Which session is about to end."""

    session: str = Field(max_length=200)
    timeout_s: float = Field(5.0, ge=0, le=60)


def add_ingest(app: FastAPI, hub: Hub) -> None:
    """Event batches, and the wait for the last of them."""

    @app.post("/api/ingest/{key}/ray-events", status_code=204, include_in_schema=False)
    async def ingest(key: str, request: Request) -> Response:
        if not matches(key, hub.key):
            return error(
                404, "bad_key", "This is not the ingest key.", "`rayscope env` prints the right URL."
            )
        limit = hub.settings.max_batch_bytes
        too_large = error(
            413,
            "too_large",
            f"A batch may have {limit} bytes.",
            "Lower Ray's send batch size, or raise the limit.",
        )
        if int(request.headers.get("content-length") or 0) > limit:
            return too_large
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                return too_large
            chunks.append(chunk)
        try:
            await asyncio.to_thread(hub.recorder.submit, b"".join(chunks))
        except MalformedBatch as problem:
            return error(400, "malformed", str(problem), "The batch is set aside in the folder `rejected`.")
        except SpoolFull as problem:
            return error(503, problem.code, problem.message, problem.remedy, {"Retry-After": "2"})
        return Response(status_code=204)

    @app.post("/api/drain/{key}", include_in_schema=False)
    def drain(key: str, what: Drain) -> Response:
        if not matches(key, hub.key):
            return error(
                404, "bad_key", "This is not the ingest key.", "`rayscope env` prints the right URL."
            )
        return answer({"drained": hub.drain(what.session, what.timeout_s)})
