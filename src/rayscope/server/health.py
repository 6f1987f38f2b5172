"""`/api/health`, which does not wait for anything else that the server does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from rayscope.api.parameters import answer, error_info
from rayscope.api.provide import provide
from rayscope.api.security import RefusedBodies
from rayscope.ingest.writer import Writer
from rayscope.server import schemas
from rayscope.storage.catalog import Catalog
from rayscope.version import __version__

if TYPE_CHECKING:
    from rayscope.archive.service import ArchiveService
    from rayscope.warehouse.service import WarehouseService

#: How long an answer waits for new details, s. Then it reports the last ones.
_PATIENCE_S = 0.5


class Health:
    """Reads the details of the server's health, in a thread of its own: a lock or a disk may keep it waiting.

    :meth:`look` is for one event loop.
    """

    def __init__(self, read: Callable[[], dict[str, Any]]) -> None:
        self._read = read
        self._pool = ThreadPoolExecutor(1, "rayscope-health")
        self._reading: asyncio.Future[dict[str, Any]] | None = None
        self._last: dict[str, Any] | None = None

    async def look(self) -> dict[str, Any]:
        """The details as they are now, or the last ones that are known if reading them takes long."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(self._pool, self._read)
        reading = self._reading
        await asyncio.wait({reading}, timeout=None if self._last is None else _PATIENCE_S)
        if reading.done():
            self._last = reading.result()
        return self._last or {}


def read_details(
    folder: Path,
    catalog: Catalog,
    writer: Writer,
    archive: ArchiveService | None,
    warehouse: WarehouseService | None,
) -> dict[str, Any]:
    """The part of the answer that needs locks or the disk; ``folder`` is the data directory."""
    return {
        "sessions": len(catalog.names()),
        "damaged": _damaged_files(folder),
        "archive": archive and {"url": archive.url, "error": error_info(archive.problem)},
        "warehouse": warehouse and {**warehouse.status(), "error": error_info(warehouse.problem)},
        "error": error_info(writer.problem()),
    }


def _damaged_files(folder: Path) -> list[str]:
    """Files of the data directory itself that were damaged and set aside."""
    with contextlib.suppress(OSError):
        return sorted(path.name for path in folder.glob("*.damaged-*"))
    return []


router = APIRouter()


@router.get("/api/health", responses={200: {"model": schemas.HealthAnswer}})
async def health(
    details: Annotated[Health, provide(Health)],
    writer: Annotated[Writer, provide(Writer)],
    refused: Annotated[RefusedBodies, provide(RefusedBodies)],
    request: Request,
) -> Response:
    """Whether the server is healthy, and how much is waiting to be merged; without a token only the first."""
    known = await details.look()
    about: dict[str, Any] = {
        "status": "ok" if known["error"] is None else "degraded",
        "version": __version__,
    }
    if request.state.is_reader:
        about |= {
            "pending_batches": writer.pending_batches,
            "stalled_bodies": refused.stalled,
            "rejected_batches": writer.rejected,
            **known,
        }
    return answer(about)
