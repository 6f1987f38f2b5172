"""The archive of a running server: seals ended sessions, and lists and fetches those of other servers."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rayscope.archive import manifest as manifests
from rayscope.archive import seal
from rayscope.archive.location import Location, Object
from rayscope.archive.manifest import Manifest
from rayscope.archive.tables import PARTS
from rayscope.periodic import PeriodicTask
from rayscope.storage.catalog import RECORD, Catalog
from rayscope.storage.errors import StoreError

log = logging.getLogger("rayscope.server")

#: Interval between reads of the archive, in seconds.
_LOOK_S = 20.0
_READS_AT_ONCE = 16
#: How long a request waits while another one fetches, seals, or deletes the same session, in seconds.
_WAIT_S = 120.0
_DAY_NS = 86400 * 10**9
_PART_OF_FILE = {part.file: name for name, part in PARTS.items()}


class ArchiveService:
    """Synchronizes a data directory with an archive, between :meth:`start` and :meth:`stop`.

    ``is_live`` returns whether a session's cluster is alive. A session is sealed ``after_s`` after its end.
    Sessions that received no data for more than ``max_age_days`` are deleted from the archive, unless this is
    None. ``min_free_bytes`` stay free on this disk when a session is fetched. If several servers share the
    archive, ``is_keeper`` returns whether this one seals a given session and, for None, whether it deletes
    old sessions.
    """

    files: Collection[str] = tuple(_PART_OF_FILE)
    name = "archive"
    continues = True

    def __init__(
        self,
        location: Location,
        catalog: Catalog,
        is_live: Callable[[str], bool],
        work: Path,
        *,
        after_s: float,
        max_age_days: float | None = None,
        min_free_bytes: int = 0,
        is_keeper: Callable[[str | None], bool] = lambda _: True,
    ) -> None:
        self._location = location
        self._catalog = catalog
        self._is_live = is_live
        self._work = work
        self._after_s = after_s
        self._max_age_days = max_age_days
        self._min_free_bytes = min_free_bytes
        self._is_keeper = is_keeper
        #: The manifest of each session, and its object in the archive. The object is None if this server has
        #: just sealed the session.
        self._known: dict[str, tuple[Object | None, Manifest]] = {}
        #: The last problem that was logged, by session.
        self._warned: dict[str, str] = {}
        self._lock = threading.Lock()
        #: The lock of each session, held while its files are fetched, sealed, or deleted.
        self._busy: dict[str, threading.Lock] = {}
        self._task = PeriodicTask("rayscope-archive", _LOOK_S, self._turn, at_once=True)
        #: Why the archive cannot be used at present, or None if it can.
        self.problem: StoreError | None = None
        shutil.rmtree(work, ignore_errors=True)  # left by a server that was killed

    @property
    def url(self) -> str:
        """The archive's URL."""
        return self._location.url

    def start(self) -> None:
        """Start synchronizing."""
        self._task.start()

    def stop(self) -> None:
        """Stop synchronizing. A session that is being sealed is sealed again after the next start."""
        self._task.stop(timeout_s=2.0)

    def manifest(self, session: str) -> Manifest | None:
        """Return the last known manifest of a session."""
        with self._lock:
            known = self._known.get(session)
        return known[1] if known is not None else None

    def has(self, session: str) -> bool:
        """Return whether the archive is known to have a session."""
        return self.manifest(session) is not None

    def is_sealed(self, session: str) -> bool:
        """Return whether the archive has everything of a session that this disk has."""
        manifest = self.manifest(session)
        return manifest is not None and manifest.stamp == manifests.stamp_of(self._catalog.about(session))

    def fetch(self, session: str, file: str) -> None:
        """Restore one of a session's files if only the archive has it. Raises StoreError."""
        manifest, folder = self.manifest(session), self._catalog.folder / session
        if manifest is None or (folder / file).exists():
            return
        with self._busy_with(session):
            if (folder / file).exists():
                return
            began = time.monotonic()
            try:
                manifest_object = seal.pull_part(
                    self._location, manifest, _PART_OF_FILE[file], folder, self._work, self._min_free_bytes
                )
            except OSError as error:
                raise StoreError(
                    f"{session} cannot be brought from the archive: {error.strerror or error}.",
                    "Free some space on the server's disk, and try again.",
                    "full",
                    what="archive",
                    id=session,
                    reason=error.strerror or str(error),
                ) from error
            if manifest_object:
                log.info("brought %s of %s in %.1f s", file, session, time.monotonic() - began)

    def remove(self, session: str) -> None:
        """Delete a session from the archive. Raises StoreError."""
        manifest = self.manifest(session)
        if manifest is None:
            return
        with self._busy_with(session):
            seal.remove(self._location, manifest)
            with self._lock:
                self._known.pop(session, None)

    @contextlib.contextmanager
    def _busy_with(self, session: str) -> Iterator[None]:
        """Lock a session's files. Raises StoreError if they stay locked for too long."""
        with self._lock:
            lock = self._busy.setdefault(session, threading.Lock())
        if not lock.acquire(timeout=_WAIT_S):
            raise StoreError(
                f"{session} is being brought from the archive, or sealed.",
                "Try again in a minute.",
                "busy",
                what="archive",
            )
        try:
            yield
        finally:
            lock.release()

    def _turn(self) -> None:
        try:
            self._list()
            self._seal_some()
            self._prune()
            self.problem = None
        except StoreError as error:
            if self.problem is None or self.problem.message != error.message:
                log.warning("%s %s", error.message, error.remedy)
            self.problem = error

    def _list(self) -> None:
        """Read the list of archived sessions, and add those that are not on this disk to the catalog."""
        manifests_by_session = seal.list_manifests(self._location)
        with self._lock:
            gone = [session for session in self._known if session not in manifests_by_session]
            fresh = [
                name
                for name, manifest_object in manifests_by_session.items()
                if self._known.get(name, (None,))[0] != manifest_object
            ]
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            list(pool.map(lambda session: self._learn(session, manifests_by_session[session]), fresh))
        for session in gone:  # another server has deleted it
            with self._lock:
                self._known.pop(session, None)
            self._catalog.forget(session)

    def _learn(self, session: str, manifest_object: Object) -> None:
        """Read a new manifest, and add its session to the catalog if it is not on this disk."""
        folder = self._catalog.folder / session
        try:
            manifest = seal.read_manifest(self._location, session)
            with self._lock:
                self._known[session] = (manifest_object, manifest)
            if self._catalog.path_of(session).exists():
                return
            if session not in self._catalog.names() or not self.is_sealed(session):
                seal.make_folder(self._location, manifest, folder)
                self._catalog.load(session)
        except (StoreError, OSError) as error:
            self._warn(session, f"the archived session {session} cannot be listed: {error}")

    def _warn(self, session: str, message: str) -> None:
        """Log a session's problem only once, because it may occur again in each turn."""
        if self._warned.get(session) != message:
            self._warned[session] = message
            log.warning("%s", message)

    def _seal_some(self) -> None:
        """Seal ended sessions whose current state is not in the archive, the oldest first."""
        for session in reversed(self._catalog.names()):
            if self._task.is_stopping:
                return
            about = self._catalog.about(session)
            quiet_ns = about.quiet_ns(time.time_ns())
            if quiet_ns < self._after_s * 1e9 or self._is_live(session) or self.is_sealed(session):
                continue
            if not self._is_keeper(session):
                continue
            if not self._catalog.path_of(session).exists() and self.manifest(session) is None:
                continue  # it has no data
            try:
                self._seal(session)
            except (StoreError, OSError) as error:
                # Continue, because other sessions may succeed. This one is retried in the next turn.
                if isinstance(error, StoreError) and error.code == "archive":
                    raise
                self._warn(session, f"session {session} could not be archived: {error}")

    def _seal(self, session: str) -> None:
        self._catalog.local_file(session, RECORD)
        began = time.monotonic()
        with self._busy_with(session):
            about = self._catalog.about(session)
            manifest = seal.push(self._location, self._catalog.folder / session, about, self._work)
            with self._lock:
                self._known[session] = (None, manifest)
        log.info(
            "archived session %s: %.1f MiB in %.1f s",
            session,
            manifest.bytes / 2**20,
            time.monotonic() - began,
        )

    def _prune(self) -> None:
        if self._max_age_days is None or not self._is_keeper(None):
            return
        oldest_ns = time.time_ns() - self._max_age_days * _DAY_NS
        with self._lock:
            old = [name for name, (_, one) in self._known.items() if one.about.last_ns < oldest_ns]
        for session in old:
            log.info("deleting session %s from the archive (retention)", session)
            self.remove(session)
            self._catalog.forget(session)
