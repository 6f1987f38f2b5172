"""Routes for session files: one file with a whole ended session."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import Query, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, CurrentSecrets, Session
from rayscope.api.provide import provide
from rayscope.api.responses import Json, Stream, answer, attachment
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorAnswer
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.archive import schemas
from rayscope.archive.packed import SUFFIX
from rayscope.archive.seal import check_space
from rayscope.archive.session_files import SessionFiles
from rayscope.ingest.bodies import cut_off
from rayscope.storage.slots import Slots

_MEDIA_TYPE = "application/vnd.rayscope.session+zip"
#: Size of the pieces of a file that is ready, in bytes.
_PIECE_BYTES = 1 << 20
_EXPORTS = Slots(1, "Another session file is being written.")
_UPLOADS = Slots(1, "Another session file is being opened.")

Files = Annotated[SessionFiles, provide(SessionFiles)]
router = Router()


@router.get(
    "/api/v1/sessions/file",
    response_class=Response,
    responses={
        200: {"content": {_MEDIA_TYPE: {}}, "description": "The file, as a stream."},
        409: {"model": ErrorAnswer},
    },
)
def export_file(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    secrets: CurrentSecrets,
    files: Files,
    session: Session = None,
    anonymise: Annotated[bool, Query(description="Replace names, and leave out logs.")] = False,
) -> Response:
    """Export an ended session as one file, which another Rayscope can open."""
    chosen = records.resolve(session)
    with contextlib.ExitStack() as stack:
        slot = stack.enter_context(contextlib.ExitStack())
        slot.enter_context(_EXPORTS.take())
        records.flush()
        headers = {}
        # A name may be in the file's name.
        name = (chosen if anonymise else catalog.about(chosen).file_name) + SUFFIX
        if anonymise:
            key = secrets.operator_token
            file, counts = stack.enter_context(files.export_anonymous(chosen, key))
            slot.close()  # the file is complete, and its receiver may be slow
            headers["X-Rayscope-Replaced"] = msgspec.json.encode(counts).decode()
            pieces = iter(partial(file.read, _PIECE_BYTES), b"")
        else:
            pieces = stack.enter_context(contextlib.closing(files.export(chosen)))
        first = next(pieces)  # an error can still become the answer
        headers |= attachment(name, chosen + SUFFIX)
        return Stream(chain([first], pieces), stack.pop_all(), media_type=_MEDIA_TYPE, headers=headers)
    raise AssertionError  # unreachable: no context above suppresses an exception


@router.post("/api/v1/sessions/file", dependencies=OPERATOR_ONLY, responses={409: {"model": ErrorAnswer}})
async def open_file(request: Request, files: Files) -> Json[schemas.OpenedSession]:
    """Open a session file: the body is the file. Nothing changes if the session is on record here already.

    One file is opened at a time. It is checked as a whole before the session appears in the list.
    """
    with _UPLOADS.take(), tempfile.TemporaryDirectory(dir=files.make_work(), prefix="upload-") as temp:
        path = Path(temp) / "file"
        try:
            await _save(request, path, files.min_free_bytes)
        except ClientDisconnect:
            return cut_off()
        return answer({"session": await asyncio.to_thread(files.open, path)})


async def _save(request: Request, path: Path, min_free_bytes: int) -> None:
    """Write the body of a request to ``path``. Raises StoreError if the disk would become too full."""
    declared = request.headers.get("content-length", "0")
    check_space(path.parent, int(declared) if declared.isdigit() else 0, min_free_bytes)
    with path.open("wb") as file:
        async for chunk in request.stream():
            await asyncio.to_thread(file.write, chunk)
            check_space(path.parent, 0, min_free_bytes)
