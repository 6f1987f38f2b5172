"""Stores the last reading of each session's objects, for the time after its cluster has ended."""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path

import msgspec

from rayscope.files import replace_file
from rayscope.ingest.clusters import Clusters
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.model.reference import NodeObjects
from rayscope.periodic import PeriodicTask
from rayscope.ray.gcs.client import GcsError
from rayscope.ray.objects import living_raylets, read_objects
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound

log = logging.getLogger("rayscope.server")

FILE_NAME = "objects.msgpack"
#: Clusters with more nodes than this are read only on request, because each raylet asks all of its workers.
MAX_NODES = 16
#: Maximum number of references that are stored per reading.
_MAX_REFERENCES = 10_000
#: Files larger than this, in bytes, are not read.
_MAX_BYTES = 64 << 20
#: The minimum pause between two readings, in seconds.
_MIN_PAUSE_S = 15.0
#: The pause as a multiple of the duration of a reading, so that readings take a hundredth of the time.
_PAUSE_FACTOR = 99
#: How long a reading waits for the nodes, in seconds.
_ANSWER_S = 5.0
#: How long the last reading waits for the nodes, in seconds.
_LAST_ANSWER_S = 2.0
_decode_nodes = msgspec.msgpack.Decoder(list[NodeObjects]).decode


class LastReadings:
    """Reads the objects of small live clusters every 15 s, and once more before one ends."""

    def __init__(self, catalog: Catalog, clusters: Clusters) -> None:
        self._catalog = catalog
        self._clusters = clusters
        self._task = PeriodicTask("rayscope-object-readings", _MIN_PAUSE_S, self._turn)

    def start(self) -> None:
        """Start reading."""
        self._task.start()

    def stop(self) -> None:
        """Stop reading."""
        self._task.stop()

    def _turn(self) -> float:
        began = time.monotonic()
        for session in self._clusters.in_use():
            self.keep(session, _ANSWER_S)
        return max(_MIN_PAUSE_S, _PAUSE_FACTOR * (time.monotonic() - began))

    def keep(self, session: str, timeout_s: float = _LAST_ANSWER_S) -> None:
        """Read a cluster's objects now, unless it is too large or has ended.

        Keeps the previous reading if nothing answers, or if the cluster no longer holds any objects, as at
        the end of a program.
        """
        gcs = self._clusters.gcs_of(session)
        if gcs is None:
            return
        try:
            raylets = living_raylets(gcs)
            if len(raylets) > MAX_NODES:
                return
            nodes = read_objects(gcs, _MAX_REFERENCES, _MAX_REFERENCES, raylets=raylets, deadline_s=timeout_s)
            if any(node.references or node.objects for node in nodes):
                replace_file(self._path(session), msgspec.msgpack.encode(nodes), mode=0o600, sync=False)
        # ValueError: the connection was closed in the meantime
        except (GcsError, NotFound, OSError, ValueError) as error:
            log.info("the objects of %s could not be read: %s", session, error)

    def read(self, session: str) -> list[NodeObjects] | None:
        """The last reading of a session, or None if there is none."""
        path = self._path(session)
        with contextlib.suppress(OSError, *DECODE_ERRORS):
            if path.stat().st_size <= _MAX_BYTES:
                return _decode_nodes(path.read_bytes())
        return None

    def _path(self, session: str) -> Path:
        return self._catalog.path(session).with_name(FILE_NAME)
