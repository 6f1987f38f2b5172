"""Reads which objects the processes of live clusters hold, repeatedly for as long as there are requests.

Each raylet asks all of its workers, which takes seconds in a cluster of a thousand nodes. So readings run in
the background. Requests return what is available, and which nodes have not answered yet.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Annotated, NamedTuple

from rayscope.api.provide import provide
from rayscope.cluster.objects import sql
from rayscope.cluster.objects.readings import LastReadings
from rayscope.ingest.clusters import Clusters
from rayscope.model.reference import NodeObjects
from rayscope.periodic import PeriodicTask
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.objects import Copies, living_raylets, read_copies, read_objects
from rayscope.records.reader import SessionReader
from rayscope.storage.slots import Slots

log = logging.getLogger("rayscope.server")

#: Maximum number of references that are read per node. A cluster can have millions.
OF_NODE = 20_000
#: Maximum number of references that are read in total.
OF_ALL = 100_000
#: Readings continue for this long after the last request, in seconds.
KEEP_READING_S = 60.0
#: The minimum pause between two readings, in seconds.
_MIN_PAUSE_S = 5.0
#: The pause as a multiple of the duration of a reading.
_PAUSE_FACTOR = 9
#: How long the first request waits for a complete reading, in seconds.
FIRST_ANSWER_TIMEOUT_S = 1.0
#: Maximum number of requests that wait while another one reads objects. Each occupies one of the 40 threads.
_MAX_WAITING = 4
_WAIT_S = 30.0
#: Maximum number of owners asked at once for the copies of an object.
_MAX_ASKING = 4
Makers = dict[str, sql.Maker]


class Account(NamedTuple):
    """The state of a reading: the ``nodes`` that have answered (possibly with an error), and the IDs of those
    that are ``waiting``.

    ``time_ns``: when the oldest part was read, None if nothing has been read.
    """

    version: int
    time_ns: int | None
    nodes: list[NodeObjects]
    waiting: list[str]


class _ReferenceReader:
    """The readings of one session, repeated in a thread of its own as long as they are requested."""

    def __init__(self, session: str, gcs: GcsClient) -> None:
        self.gcs = gcs
        self.asked = self._started = time.monotonic()
        #: Set once there is a complete reading or an error.
        self.first = threading.Event()
        self.error: GcsError | None = None
        self._nodes: dict[str, NodeObjects] = {}
        self._expected: list[str] = []
        self._version = 0
        self._lock = threading.Lock()
        self._task = PeriodicTask(f"rayscope-objects-{session}", _MIN_PAUSE_S, self._make, at_once=True)
        self._task.start()

    @property
    def lives(self) -> bool:
        """Whether readings are still being made."""
        return self._task.is_alive and self.error is None

    def wait(self, timeout_s: float) -> None:
        """Wait for a complete reading, but no longer than this after the first request."""
        self.first.wait(max(0.0, self._started + timeout_s - time.monotonic()))

    def stop(self) -> None:
        """Stop reading."""
        self._task.stop(0)

    def account(self) -> Account:
        """The present state of the reading."""
        with self._lock:
            nodes = [self._nodes[one] for one in self._expected if one in self._nodes]
            waiting = [one for one in self._expected if one not in self._nodes]
            version = self._version
        return Account(version, min((node.time_ns for node in nodes), default=None), nodes, waiting)

    def _make(self) -> float | None:
        began = time.monotonic()
        if began - self.asked >= KEEP_READING_S:
            self._task.stop()
            return None
        try:
            self._read()
            self.first.set()
        except GcsError as error:
            self.error = error
            self.first.set()
            self._task.stop()
        except ValueError:  # the connection was closed in the meantime
            self._task.stop()
        return max(_MIN_PAUSE_S, _PAUSE_FACTOR * (time.monotonic() - began))

    def _read(self) -> None:
        raylets = living_raylets(self.gcs)
        with self._lock:
            self._expected = [raylet.node_id for raylet in raylets]
            self._nodes = {one: self._nodes[one] for one in self._expected if one in self._nodes}
            self._version += 1
        read_objects(self.gcs, OF_NODE, OF_ALL, raylets=raylets, on_node=self._take)

    def _take(self, node: NodeObjects) -> None:
        with self._lock:
            self._nodes[node.node_id] = node
            self._version += 1


def _as_account(nodes: list[NodeObjects] | None) -> Account | None:
    if not nodes:
        return None
    read_ns = min((node.time_ns for node in nodes if node.error is None), default=None)
    return Account(0, read_ns, nodes, [])


def _held(node: NodeObjects) -> int:
    return len(node.references)


class ObjectReferences:
    """The readings of all sessions for which they are requested."""

    def __init__(self, records: SessionReader, clusters: Clusters, readings: LastReadings) -> None:
        self._records = records
        self._readings = readings
        self._clusters = clusters
        self._readers: dict[str, _ReferenceReader] = {}
        self._single: dict[tuple[str, str], NodeObjects] = {}
        self._makers: dict[str, tuple[tuple[int, int], Makers]] = {}
        self._lock = threading.Lock()
        self._reading = Slots(
            1, "Objects are being read for other requests.", waiting=_MAX_WAITING, wait_s=_WAIT_S
        )

        self._asking = Slots(_MAX_ASKING, "Other objects are being looked up.", waiting=4, wait_s=2.0)

    def stop(self) -> None:
        """Stop all readings."""
        with self._lock:
            readers, self._readers = list(self._readers.values()), {}
        for reader in readers:
            reader.stop()

    def read(self, session: str, node_id: str | None = None, timeout_s: float = 0.0) -> Account | None:
        """The present state of the reading. The first request waits up to ``timeout_s`` for all nodes.

        ``node_id``: read up to 20,000 references of this node, even beyond its share of the total. If the
        cluster has ended, returns the stored last reading, or None if there is none. Raises GcsError.
        """
        gcs = self._clusters.gcs_of(session)
        if gcs is None:
            return _as_account(self._readings.read(session))
        reader = self._reader(session, gcs)
        reader.wait(timeout_s)
        if reader.error is not None:
            raise reader.error
        account = reader.account()
        mine = next((node for node in account.nodes if node.node_id == node_id), None)
        if mine is None or len(mine.references) >= mine.references_total:
            return account
        whole = self._whole(gcs, session, mine)
        return account._replace(nodes=[whole if node is mine else node for node in account.nodes])

    def copies(self, session: str, owner_id: str | None, object_id: str) -> Copies:
        """The nodes that hold an object, according to its owner (a worker ID). Raises Busy or GcsError."""
        gcs = self._clusters.gcs_of(session)
        if gcs is None:
            return Copies(problem="not_live")
        if owner_id is None:
            return Copies(problem="owner_unknown")
        with self._asking.take():
            return read_copies(gcs, owner_id, object_id)

    def makers(self, session: str, account: Account) -> Makers:
        """The recorded tasks that created the objects of a reading, queried once per reading."""
        with self._reading.take():
            known, made_of = self._makers.get(session), (account.version, sum(map(_held, account.nodes)))
            if known is None or known[0] != made_of:
                ids = list({ref.object_id for node in account.nodes for ref in node.references})
                found: Makers = self._records.read(session, lambda file: sql.makers(file, ids), flush=False)
                self._makers = {session: (made_of, found)}  # only of the most recently requested session
                return found
        return known[1]

    def forget(self, session: str) -> None:
        """Stop reading the objects of a deleted session, and forget them."""
        with self._lock:
            reader = self._readers.pop(session, None)
        if reader is not None:
            reader.stop()
        self._single = {key: node for key, node in self._single.items() if key[0] != session}
        self._makers = {name: made for name, made in self._makers.items() if name != session}

    def _reader(self, session: str, gcs: GcsClient) -> _ReferenceReader:
        with self._lock:
            reader = self._readers.get(session)
            if reader is None or not reader.lives or reader.gcs is not gcs:
                if reader is not None:
                    reader.stop()
                self._readers = {name: one for name, one in self._readers.items() if one.lives}
                reader = self._readers[session] = _ReferenceReader(session, gcs)
            reader.asked = time.monotonic()
        return reader

    def _whole(self, gcs: GcsClient, session: str, mine: NodeObjects) -> NodeObjects:
        """Read a node again, because it has more references than its share of the total."""
        key = (session, mine.node_id)
        with self._reading.take():
            known = self._single.get(key)
            if known is None or time.time_ns() - known.time_ns > _MIN_PAUSE_S * 1e9:
                raylets = [one for one in living_raylets(gcs) if one.node_id == mine.node_id]
                found = read_objects(gcs, OF_NODE, OF_NODE, raylets=raylets)
                known = found[0] if found else mine
                self._single = {key: known}
        return known


CurrentReferences = Annotated[ObjectReferences, provide(ObjectReferences)]
