"""What a program printed that `rayscope run` started: the log of its driver, which Ray does not have."""

from __future__ import annotations

import time
from collections.abc import Collection

from rayscope.ray.agents.logs import driver_file
from rayscope.server.services import Services
from rayscope.storage.sql.entities import place_of_driver


def keep_output(
    services: Services, session: str, pids: Collection[int], began_ns: int, offset: int, data: bytes
) -> bool:
    """Keep output from ``offset`` on with the first job whose driver is among ``pids``.

    A program may have several drivers; which of them printed what nobody knows. False if none is known yet.
    The limits are those of all kept logs, and nothing is kept where no logs are.
    """
    session = services.records.resolve(session)
    driver = services.records.read(session, lambda file: place_of_driver(file, pids, began_ns), flush=False)
    wanted = services.settings.keep_logs != "none" and not services.log_archiver.is_short_of_disk()
    store = services.logs.store(session, make=True) if driver is not None and wanted else None
    if driver is not None and store is not None:
        job_id, node_id = driver
        store.append(node_id, driver_file(job_id), offset, data, time.time_ns())
    return driver is not None
