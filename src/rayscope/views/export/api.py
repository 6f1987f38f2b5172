"""Exports of a session as files for other programs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from fastapi import Query
from fastapi.responses import Response

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Filters, Session
from rayscope.api.responses import Stream, attachment
from rayscope.api.routes import Router
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.slots import Slots
from rayscope.views.export.export import MAX_EXPORTS, Export
from rayscope.views.export.format import FILES, Format

#: Maximum pause after each piece, in s. Making a piece blocks recording. So while a session is being
#: recorded, each piece is followed by a pause that is as long as it took to make the piece.
_MAX_PAUSE_S = 0.1
_SLOTS = Slots(MAX_EXPORTS, f"{MAX_EXPORTS} exports are already running.")
_CONTENT: dict[str, Any] = {media: {} for _, media in FILES.values()}


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
    format: Annotated[Format, Query(description="perfetto, speedscope or parquet (in a ZIP)")],
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


def _pace(pieces: Iterator[bytes], catalog: Catalog, records: SessionReader) -> Iterator[bytes]:
    """Yield the pieces. While a session is recorded, pause so that they take at most half of the time."""
    began = time.monotonic()
    for piece in pieces:
        took = time.monotonic() - began
        yield piece
        if any(records.is_live(name) for name in catalog.names()[:1]):
            time.sleep(min(_MAX_PAUSE_S, took))
        began = time.monotonic()
