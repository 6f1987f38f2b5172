"""The output of programs started by `rayscope run`: the log of their drivers, which Ray does not keep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from rayscope.api.parameters import CurrentSecrets
from rayscope.api.provide import provide
from rayscope.api.responses import answer, error
from rayscope.cluster.logs.archiver import LogArchiver
from rayscope.cluster.logs.files import Logs
from rayscope.ingest.bodies import Busy, CurrentBodies, cut_off
from rayscope.ray.agents.logs import driver_file
from rayscope.records.reader import SessionReader
from rayscope.settings import Settings
from rayscope.storage.sql.entities import place_of_driver

#: Maximum number of characters in the list of the process IDs of a program's drivers.
_MAX_PIDS = 20_000


@dataclass
class ProgramOutputs:
    """Stores the output of programs with the copied logs of their sessions."""

    settings: Settings
    records: SessionReader
    logs: Logs
    archiver: LogArchiver

    def keep(self, session: str, pids: Collection[int], began_ns: int, offset: int, data: bytes) -> bool:
        """Store output at ``offset`` with the first job that has a driver among ``pids``.

        A program may have several drivers, and it is unknown which of them printed a line. Returns whether a
        driver is known. The limits of copied logs apply, and nothing is stored if no logs are kept.
        """
        session = self.records.resolve(session)
        driver = self.records.read(session, lambda file: place_of_driver(file, pids, began_ns), flush=False)
        wanted = self.settings.keep_logs != "none" and not self.archiver.is_short_of_disk()
        store = self.logs.store(session, make=True) if driver is not None and wanted else None
        if driver is not None and store is not None:
            job_id, node_id = driver
            store.append(node_id, driver_file(job_id), offset, data, time.time_ns())
        return driver is not None


router = APIRouter()


@router.post("/api/ingest/{key}/program-output", include_in_schema=False)
async def program_output(
    secrets: CurrentSecrets,
    bodies: CurrentBodies,
    outputs: Annotated[ProgramOutputs, provide(ProgramOutputs)],
    key: str,
    request: Request,
    session: Annotated[str, Query(max_length=200)],
    pids: Annotated[str, Query(pattern=r"^[0-9]+(,[0-9]+)*$", max_length=_MAX_PIDS)],
    began_ns: Annotated[int, Query(ge=0, lt=2**63)],
    offset: Annotated[int, Query(ge=0, le=2**53)],
) -> Response:
    secrets.check_key(key)
    try:
        async with bodies.read(request) as body:
            drivers = {int(pid[:10]) for pid in pids.split(",")}
            taken = await asyncio.to_thread(outputs.keep, session, drivers, began_ns, offset, bytes(body))
    except Busy:
        return error(503, "busy", "Too much at once.", "Send it again.", {"Retry-After": "2"})
    except ClientDisconnect:
        return cut_off()
    return answer({"taken": taken})
