"""`/api/health`, which does not wait for other work of the server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import Request

from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer, error_info
from rayscope.api.routes import Router
from rayscope.api.security import RefusedBodies
from rayscope.ingest.writer import Writer
from rayscope.server import schemas
from rayscope.storage.catalog import Catalog
from rayscope.version import __version__

if TYPE_CHECKING:
    from rayscope.archive.service import ArchiveService
    from rayscope.warehouse.service import WarehouseService

#: Maximum time that a response waits for new details before it reports the last known ones, in seconds.
_PATIENCE_S = 0.5


class Health:
    """Reads the details of the server's health in its own thread, because locks or the disk may block it.

    :meth:`look` must be called from one event loop only.
    """

    def __init__(self, read: Callable[[], schemas.HealthDetails]) -> None:
        self._read = read
        self._pool = ThreadPoolExecutor(1, "rayscope-health")
        self._reading: asyncio.Future[schemas.HealthDetails] | None = None
        self._last: schemas.HealthDetails | None = None

    async def look(self) -> schemas.HealthDetails:
        """Return the current details, or the last known ones if reading takes too long."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(self._pool, self._read)
        reading = self._reading
        await asyncio.wait({reading}, timeout=None if self._last is None else _PATIENCE_S)
        if self._last is None or reading.done():
            self._last = reading.result()
        return self._last


def read_details(
    folder: Path,
    catalog: Catalog,
    writer: Writer,
    archive: ArchiveService | None,
    warehouse: WarehouseService | None,
) -> schemas.HealthDetails:
    """Return the details that need locks or the disk. ``folder`` is the data directory."""
    return {
        "sessions": len(catalog.names()),
        "damaged": _damaged_files(folder),
        "archive": None if archive is None else {"url": archive.url, "error": error_info(archive.problem)},
        "warehouse": None
        if warehouse is None
        else {**warehouse.status(), "error": error_info(warehouse.problem)},
        "error": error_info(writer.problem()),
    }


def _damaged_files(folder: Path) -> list[str]:
    """Return the names of files directly in the data directory that were damaged and set aside."""
    with contextlib.suppress(OSError):
        return sorted(path.name for path in folder.glob("*.damaged-*"))
    return []


router = Router()


@router.get("/api/health")
async def health(
    details: Annotated[Health, provide(Health)],
    writer: Annotated[Writer, provide(Writer)],
    refused: Annotated[RefusedBodies, provide(RefusedBodies)],
    request: Request,
) -> Json[schemas.HealthAnswer]:
    """Return whether the server is healthy and, with a token, how much data is waiting to be merged."""
    known = await details.look()
    about: schemas.HealthAnswer = {
        "status": "ok" if known["error"] is None else "degraded",
        "version": __version__,
    }
    if request.state.is_reader:
        about = {
            **about,
            "pending_batches": writer.pending_batches,
            "stalled_bodies": refused.stalled,
            "rejected_batches": writer.rejected,
            **known,
        }
    return answer(about)
