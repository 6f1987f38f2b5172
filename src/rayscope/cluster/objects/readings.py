"""The last reading of who holds which objects, kept with each session for when its cluster is gone."""

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
#: Larger clusters are read only while somebody looks: a raylet asks each of its workers.
MAX_NODES = 16
#: References that are kept, and bytes of a file that is read again.
_MAX_REFERENCES, _MAX_BYTES = 10_000, 64 << 20
#: Readings are made so often, s, or so many times as long apart as one takes: a hundredth of the time.
_EVERY_S, _REST = 15.0, 99
_ANSWER_S, _LAST_ANSWER_S = 5.0, 2.0
_decode_nodes = msgspec.msgpack.Decoder(list[NodeObjects]).decode


class LastReadings:
    """Reads the objects of small live clusters every 15 s, and once more before one ends."""

    def __init__(self, catalog: Catalog, clusters: Clusters) -> None:
        self._catalog = catalog
        self._clusters = clusters
        self._task = PeriodicTask("rayscope-object-readings", _EVERY_S, self._turn)

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def stop(self) -> None:
        """Make no more."""
        self._task.stop()

    def _turn(self) -> float:
        began = time.monotonic()
        for session in self._clusters.in_use():
            self.keep(session, _ANSWER_S)
        return max(_EVERY_S, _REST * (time.monotonic() - began))

    def keep(self, session: str, timeout_s: float = _LAST_ANSWER_S) -> None:
        """Read a cluster's objects now, unless it is too large or gone.

        The reading before stays where nothing is held (all goes when a program ends), or nothing answers.
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
        except (GcsError, NotFound, OSError, ValueError) as error:  # ValueError: closed meanwhile
            log.info("the objects of %s could not be read: %s", session, error)

    def read(self, session: str) -> list[NodeObjects] | None:
        """What was read last of a session, None for nothing."""
        path = self._path(session)
        with contextlib.suppress(OSError, *DECODE_ERRORS):
            if path.stat().st_size <= _MAX_BYTES:
                return _decode_nodes(path.read_bytes())
        return None

    def _path(self, session: str) -> Path:
        return self._catalog.path(session).with_name(FILE_NAME)
