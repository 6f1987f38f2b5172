"""Routes for Ray's agents and Rayscope's hook, authenticated by the ingest key."""

from __future__ import annotations

import asyncio
import zlib
from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.requests import ClientDisconnect

from rayscope.api.parameters import CurrentSecrets, CurrentSettings
from rayscope.api.provide import provide
from rayscope.api.responses import answer, error
from rayscope.api.schemas import Body
from rayscope.ingest.agent_reports import AgentReports
from rayscope.ingest.bodies import SMALL_BYTES, Busy, CurrentBodies, cut_off
from rayscope.ingest.session_end import SessionEnds
from rayscope.ingest.writer import Writer
from rayscope.model import AgentReport
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.ray.events.batch import BatchTooLarge, Format, MalformedBatch
from rayscope.storage.errors import SpoolFull, StoreError, no_memory

_FORMATS = {
    "application/json": Format.JSON,
    "application/x-protobuf": Format.BINARY,
    "application/protobuf": Format.BINARY,
}
_REPORTS = msgspec.json.Decoder(AgentReport)
CurrentEnds = Annotated[SessionEnds, provide(SessionEnds)]


class Drain(Body):
    """A session that is about to end."""

    session: str = Field(max_length=200)
    timeout_s: float = Field(5.0, ge=0, le=60)


class ProgramEnd(Body):
    """How a program ended, and its versions. It may have been a driver of a session."""

    session: str = Field(max_length=200)
    pid: int = Field(ge=0, lt=2**31)
    began_ns: int = Field(ge=0, lt=2**63)
    ended_ns: int = Field(ge=0, lt=2**63)
    exit_code: int = Field(ge=0, lt=256)
    cluster_is_gone: bool = False
    versions: dict[Annotated[str, Field(max_length=200)], Annotated[str, Field(max_length=200)]] = Field(
        {}, max_length=2_000
    )


class _TooLarge(Exception):
    """An uncompressed body exceeds the limit."""


router = APIRouter()


@router.post("/api/ingest/{key}/ray-events", status_code=204, include_in_schema=False)
async def ingest(
    secrets: CurrentSecrets,
    settings: CurrentSettings,
    bodies: CurrentBodies,
    writer: Annotated[Writer, provide(Writer)],
    key: str,
    request: Request,
) -> Response:
    secrets.check_key(key)
    limit = settings.max_batch_bytes
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    form, packing = _FORMATS.get(kind), request.headers.get("content-encoding", "identity").lower()
    if form is None or packing not in ("identity", "deflate"):
        return error(
            415,
            "unknown_form",
            f"Unsupported batch type {kind[:100]!r} ({packing[:100]}).",
            "Send application/json or application/x-protobuf, plain or deflated.",
        )
    try:
        # No slot is held while a body arrives, because it may never be complete.
        async with bodies.read(request) as body:
            is_packed = packing == "deflate"
            try:
                async with bodies.small:
                    await asyncio.to_thread(_submit, writer, body, form, is_packed, min(limit, SMALL_BYTES))
            except _TooLarge:
                async with bodies.large:
                    await asyncio.to_thread(_submit, writer, body, form, is_packed, limit)
    except _TooLarge:
        return error(
            413,
            "too_large",
            f"A batch may have at most {limit} bytes.",
            "Lower Ray's send batch size, or raise the limit.",
        )
    except Busy:
        return error(503, "busy", "Too many batches at once.", "Send it again.", {"Retry-After": "2"})
    except ClientDisconnect:
        return cut_off()
    except BatchTooLarge as problem:
        return error(413, "too_large", str(problem), "Lower Ray's send batch size.")
    except zlib.error as problem:
        return error(400, "malformed", f"Could not decompress the batch: {problem}.", "Send it again.")
    except MalformedBatch as problem:
        return error(400, "malformed", str(problem), "The batch was moved to the folder `rejected`.")
    return Response(status_code=204)


@router.post("/api/ingest/{key}/agent", status_code=204, include_in_schema=False)
async def agent(
    secrets: CurrentSecrets,
    reports: Annotated[AgentReports, provide(AgentReports)],
    key: str,
    request: Request,
) -> Response:
    secrets.check_key(key)
    try:
        report = _REPORTS.decode(await request.body())
        await asyncio.to_thread(reports.take, report)
    except ClientDisconnect:
        return cut_off()
    except DECODE_ERRORS as problem:
        return error(
            400, "malformed", f"This is not an agent's report: {problem}", "See docs/reference/api.md."
        )
    except SpoolFull as problem:
        return error(503, problem.code, problem.message, problem.remedy, {"Retry-After": "10"})
    except StoreError as problem:
        return error(400, problem.code, problem.message, problem.remedy)
    return Response(status_code=204)


@router.post("/api/drain/{key}", include_in_schema=False)
def drain(secrets: CurrentSecrets, ends: CurrentEnds, key: str, what: Drain) -> Response:
    secrets.check_key(key)
    with ends.slots.take():
        return answer({"drained": ends.drain(what.session, what.timeout_s)})


@router.post("/api/ingest/{key}/program-end", status_code=204, include_in_schema=False)
def program_end(secrets: CurrentSecrets, ends: CurrentEnds, key: str, what: ProgramEnd) -> Response:
    secrets.check_key(key)
    with ends.slots.take():
        ends.end_program(**what.model_dump())
    return Response(status_code=204)


def _submit(writer: Writer, body: bytes, form: Format, is_packed: bool, limit: int) -> None:
    """Make a batch durable. Raises the errors of :meth:`Writer.submit` and of :func:`_unpack`."""
    if is_packed:
        body = _unpack(body, limit)
    elif len(body) > limit:
        raise _TooLarge
    writer.submit(body, form)


def _unpack(body: bytes, limit: int) -> bytes:
    """Return the decompressed body.

    Raises :class:`_TooLarge`, SpoolFull if there is not enough memory, or zlib.error if the body is invalid.
    """
    unpack = zlib.decompressobj()
    try:
        unpacked = unpack.decompress(body, limit + 1)
    except MemoryError as error:
        raise no_memory("A batch cannot be unpacked") from error
    if len(unpacked) > limit:
        raise _TooLarge
    if not unpack.eof or unpack.unused_data:
        raise zlib.error("it ends too early" if not unpack.eof else "something follows it")
    return unpacked
