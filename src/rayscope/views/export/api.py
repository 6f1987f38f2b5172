"""Exports of a session, and of samples of stacks, as files for other programs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Query
from fastapi.responses import Response

from rayscope.api.parameters import (
    AttemptNumber,
    CurrentCatalog,
    CurrentRecords,
    Filters,
    ProfileId,
    Session,
    Text,
)
from rayscope.api.responses import Stream, attachment
from rayscope.api.routes import Router
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.slots import Slots
from rayscope.views.critical_path.read import read_shared_path
from rayscope.views.export.export import MAX_EXPORTS, Export
from rayscope.views.export.format import FILES, Format
from rayscope.views.export.formats.stacks import FORMATS
from rayscope.views.export.lines import export_lines
from rayscope.views.lines.sql import read_samples

#: Maximum pause after each piece, in s. Making a piece blocks recording. So while a session is being
#: recorded, each piece is followed by a pause that is as long as it took to make the piece.
_MAX_PAUSE_S = 0.1
_SLOTS = Slots(MAX_EXPORTS, f"{MAX_EXPORTS} exports are already running.")
_CONTENT: dict[str, Any] = {media: {} for _, media in FILES.values()}
_LINES_CONTENT: dict[str, Any] = {media: {} for _, _, media in FORMATS.values()}


router = Router()


@router.get(
    "/api/v1/export",
    response_class=Response,
    responses={200: {"content": _CONTENT, "description": "The file, as a stream."}},
)
def export(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    filters: Filters,
    format: Annotated[
        Format,
        Query(description="perfetto, speedscope, parquet (in a ZIP), otlp (JSON lines) or ray-timeline"),
    ],
    session: Session = None,
) -> Response:
    """Export a session's attempts, or those that match the filters, in a format for other programs."""
    chosen = records.resolve(session)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_SLOTS.take())
        records.flush()
        file = stack.enter_context(catalog.reading(chosen))
        made = stack.enter_context(
            Export(
                file,
                format,
                filters,
                session=chosen,
                ray_version=catalog.about(chosen).ray_version,
                last_ns=records.last_ns(chosen),
                critical_path=lambda job: read_shared_path(records, chosen, file, job).path,
            )
        )
        ending, media_type = FILES[format]
        name = catalog.about(chosen).file_name + ending
        headers = {
            **attachment(name, chosen + ending),
            "X-Rayscope-Left-Out": msgspec.json.encode(made.left_out).decode(),
        }
        pieces = _pace(made.chunks, catalog, records)
        return Stream(pieces, stack.pop_all(), media_type=media_type, headers=headers)
    raise AssertionError  # unreachable: no context above suppresses an exception


@router.get(
    "/api/v1/lines/export",
    response_class=Response,
    responses={200: {"content": _LINES_CONTENT, "description": "The file."}},
)
def lines_file(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    filters: Filters,
    format: Annotated[
        Literal["collapsed", "speedscope", "pprof"],
        Query(description="collapsed stacks, speedscope, or pprof (compressed by gzip)"),
    ],
    session: Session = None,
    task_id: Text = None,
    attempt: AttemptNumber = None,
    profile: ProfileId = None,
) -> Response:
    """Export the samples of stacks that `/api/v1/lines` adds up, for programs that show profiles."""
    chosen = records.resolve(session)
    _, ending, media_type = FORMATS[format]
    headers = attachment(catalog.about(chosen).file_name + ending, chosen + ending)
    with _SLOTS.take():
        sampled = records.read(chosen, lambda file: read_samples(file, filters, task_id, attempt, profile))
        content = export_lines(sampled, chosen, format)
    return Response(content, media_type=media_type, headers=headers)


def _pace(pieces: Iterator[bytes], catalog: Catalog, records: SessionReader) -> Iterator[bytes]:
    """Yield the pieces. While a session is recorded, pause so that they take at most half of the time."""
    began = time.monotonic()
    for piece in pieces:
        took = time.monotonic() - began
        yield piece
        if any(records.is_live(name) for name in catalog.names()[:1]):
            time.sleep(min(_MAX_PAUSE_S, took))
        began = time.monotonic()
