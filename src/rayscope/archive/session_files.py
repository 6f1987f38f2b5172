"""Exports sessions of a data directory as files, and opens such files there."""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO

import msgspec

from rayscope.archive import manifest as manifests
from rayscope.archive import packed
from rayscope.archive.anonymise import write_anonymous
from rayscope.archive.manifest import Manifest
from rayscope.archive.seal import check_space
from rayscope.archive.tables import PARTS
from rayscope.archive.unpack import cannot_unpack, unpack
from rayscope.storage.about import About
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound

log = logging.getLogger("rayscope.server")


class SessionFiles:
    """Exports and opens session files.

    ``work`` is a folder for temporary files on the disk of the data directory, of which ``min_free_bytes``
    stay free. ``is_live`` returns whether a session's cluster is alive.
    """

    def __init__(
        self,
        catalog: Catalog,
        work: Path,
        min_free_bytes: int = 0,
        is_live: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._catalog = catalog
        self._work = work
        self.min_free_bytes = min_free_bytes
        self._is_live = is_live
        shutil.rmtree(work, ignore_errors=True)  # left by a server that was killed

    def make_work(self) -> Path:
        """Create the folder for temporary files if necessary, and return it."""
        self._work.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._work

    def export(self, session: str) -> Generator[bytes, None, None]:
        """Return the pieces of the file of an ended session. Raises NotFound, StoreError, or OSError."""
        about = self._check(session)
        return packed.pack(self._catalog.folder / session, about, self._work)

    @contextlib.contextmanager
    def export_anonymous(self, session: str, key: str) -> Iterator[tuple[IO[bytes], dict[str, int]]]:
        """Provide the file of an ended session without names, and what was replaced.

        See :func:`rayscope.archive.anonymise.write_anonymous`. Raises NotFound, StoreError, or OSError.
        """
        about = self._check(session, copies=2)  # its tables, and the file
        with tempfile.TemporaryFile(dir=self.make_work()) as file:
            counts = write_anonymous(self._catalog.folder / session, about, self._work, key, file)
            file.seek(0)
            yield file, counts

    def _check(self, session: str, copies: int = 1) -> About:
        """Return the facts about a session whose file can be written, and fetch its own files.

        Also check that the disk has space for this number of copies of these files.
        """
        about = self._catalog.about(session)
        packed.check_ended(about, time.time_ns())
        if self._is_live(session):
            raise packed.still_recorded(session)
        for part in PARTS.values():  # fetched if they are only in the archive
            self._catalog.local_file(session, part.file)
        if not self._catalog.path(session).exists():
            raise NotFound(f"{session} has no record.", what="local_record", id=session)
        check_space(self.make_work(), copies * self._catalog.disk_bytes(session), self.min_free_bytes)
        return about

    def open(self, path: Path) -> str:
        """Add the session of a file, and return its name. Raises StoreError.

        If the session is on record here in the same state, nothing changes.
        """
        try:
            with tempfile.TemporaryDirectory(dir=self.make_work(), prefix="open-") as temp:
                folder = Path(temp) / "session"
                manifest = unpack(path, folder, self.min_free_bytes)
                if self._is_same(manifest):
                    return manifest.session
                self._catalog.adopt(manifest.session, folder)
        except OSError as error:
            raise cannot_unpack(error) from error
        log.info("opened the session %s from a file", manifest.session)
        return manifest.session

    def _is_same(self, manifest: Manifest) -> bool:
        if manifest.session not in self._catalog.names():
            return False
        return _ended_stamp(manifest.about) == _ended_stamp(self._catalog.about(manifest.session))


def _ended_stamp(about: About) -> str:
    """Return the stamp that a session has once it is opened, because it has ended then."""
    return manifests.stamp_of(msgspec.structs.replace(about, ended_ns=about.ended_ns or about.last_ns))
