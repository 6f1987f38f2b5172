"""What a program printed that `rayscope run` started: the log of its driver, which Ray does not have."""

from __future__ import annotations

import time
from collections.abc import Collection

from rayscope.ray.agents.logs import driver_file
from rayscope.server.services import Services
from rayscope.storage.sql.entities import places_of_drivers


def keep_output(
    services: Services, session: str, pids: Collection[int], began_ns: int, offset: int, data: bytes
) -> bool:
    """Keep output from ``offset`` on with the jobs whose drivers are among ``pids``; False if there are none.

    The limits are those of all kept logs, and nothing is kept where no logs are.
    """
    session = services.records.resolve(session)
    drivers = services.records.read(
        session, lambda file: places_of_drivers(file, pids, began_ns), flush=False
    )
    wanted = services.settings.keep_logs != "none" and not services.log_archiver.is_short_of_disk()
    store = services.logs.store(session, make=True) if drivers and wanted else None
    if store is not None:
        for job_id, node_id in drivers:
            store.append(node_id, driver_file(job_id), offset, data, time.time_ns())
    return bool(drivers)
