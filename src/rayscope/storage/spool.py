"""Where an event batch is kept from the moment it is acknowledged until its records are in DuckDB.

One file a batch, written under a temporary name and renamed: a batch is there whole or not at all, and
survives a kill -9 of ours (and, with ``fsync``, of the machine). Its name ends in a checksum, by which what
the disk damaged is known. Replaying one is harmless, since
merging is idempotent. A full disk refuses the batch, and Ray sends it again.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shutil
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from rayscope.files import replace_file
from rayscope.ray.events.batch import Format
from rayscope.storage.errors import SpoolFull

_BATCH = re.compile(rf"[0-9]{{20}}(?:-[0-9a-f]{{8}})?\.(?:{'|'.join(form.value for form in Format)})")
_FREE_CHECK_S = 1.0
#: Bytes of rejected batches that are kept. Each may have as many as the largest body.
_MAX_REJECTED_BYTES = 256 << 20


class Spool:
    """A folder of batches in order of arrival.

    ``max_bytes``: how much may wait; ``min_free_bytes``: how much of the disk must stay free.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = 4 << 30,
        min_free_bytes: int = 256 << 20,
        fsync: bool = False,
        max_rejected: int = 100,
    ) -> None:
        self.folder = folder
        self.rejected = folder.parent / "rejected"
        self._max_bytes = max_bytes
        self._min_free_bytes = min_free_bytes
        self._fsync = fsync
        self._max_rejected = max_rejected
        self._lock = threading.Lock()
        self._free_checked = 0.0
        #: Why the last batch could not be kept, None if it was.
        self._refused: SpoolFull | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rejected.mkdir(parents=True, exist_ok=True)
        for private in (self.folder, self.rejected):  # what Ray sent, secrets included
            private.chmod(0o700)
        for leftover in self.folder.glob("*.part"):  # never acknowledged
            with contextlib.suppress(OSError):
                leftover.unlink()
        waiting = self.waiting()
        self._sizes = {name: (self.folder / name).lstat().st_size for name in waiting}
        last = int(waiting[-1][:20]) if waiting else 0
        self._numbers = itertools.count(max(last + 1, time.time_ns()))

    @property
    def pending_bytes(self) -> int:
        """Bytes that wait to be merged."""
        return sum(self._sizes.values())

    def waiting(self) -> list[str]:
        """Names of the batches that wait, oldest first. What else lies in the folder is left alone."""
        return sorted(_batches(self.folder))

    def put(self, body: bytes, form: Format = Format.JSON) -> str:
        """Keep a batch; when this returns, a kill of the process does not lose it. Returns its name.

        The name's suffix tells its form. Raises :class:`SpoolFull`.
        """
        try:
            name = self._write(body, form)
        except SpoolFull as error:
            self._refused = error
            raise
        self._refused = None
        return name

    def problem(self) -> SpoolFull | None:
        """Why a batch would be refused now, None if it would be taken."""
        try:
            self._check_room(0)
        except SpoolFull as error:
            return error
        # That there is no room is found out anew; what else it was shows at the next batch.
        return self._refused if self._refused is not None and self._refused.code != "full" else None

    def _write(self, body: bytes, form: Format) -> str:
        self._check_room(len(body))
        with self._lock:
            name = f"{next(self._numbers):020d}-{zlib.crc32(body):08x}.{form.value}"
        path = self.folder / name
        try:
            replace_file(path, body, sync=self._fsync)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise self._full(f"The disk of {self.folder} is full.") from error
            raise SpoolFull(
                f"Could not store a batch in {self.folder}: {error.strerror}.",
                "Make the data directory writable; recording resumes automatically.",
                "spool",
            ) from error
        with self._lock:
            self._sizes[name] = len(body)
        return name

    @staticmethod
    def form(name: str) -> Format:
        """The form of a waiting batch."""
        return Format(name.rpartition(".")[2])

    def size(self, name: str) -> int:
        """A waiting batch's bytes."""
        return self._sizes.get(name, 0)

    def get(self, name: str) -> bytes:
        """A waiting batch's body."""
        return (self.folder / name).read_bytes()

    @staticmethod
    def verify(name: str, body: bytes) -> None:
        """Raises ValueError if a batch's body is not what was written under this name."""
        checksum = name.partition(".")[0][21:]
        if checksum and int(checksum, 16) != zlib.crc32(body):
            raise ValueError("it was damaged on the disk: its checksum differs")

    def remove(self, name: str) -> None:
        """The batch's records are in the store."""
        (self.folder / name).unlink(missing_ok=True)
        with self._lock:
            self._sizes.pop(name, None)

    def reject(self, body: bytes, reason: str, form: Format = Format.JSON) -> Path | None:
        """Set a batch (or events) aside that cannot be read, with the reason beside it.

        Keeps the newest 100, up to 256 MB of them; returns where, or None if there is no room.
        """
        path = self.rejected / f"{time.time_ns():020d}.{form.value}"
        try:
            path.write_bytes(body)
            path.with_suffix(".reason").write_text(reason + "\n")
        except OSError:
            return None
        kept_bytes = 0
        for number, name in enumerate(sorted(_batches(self.rejected), reverse=True)):
            old = self.rejected / name
            with contextlib.suppress(OSError):
                kept_bytes += old.lstat().st_size
                if number and (number >= self._max_rejected or kept_bytes > _MAX_REJECTED_BYTES):
                    old.unlink()
                    old.with_suffix(".reason").unlink()
        return path

    def rejected_count(self) -> int:
        """How many rejected batches are kept."""
        return sum(1 for _ in _batches(self.rejected))

    def _check_room(self, size: int) -> None:
        if self.pending_bytes + size > self._max_bytes:
            raise SpoolFull(
                f"{self.pending_bytes >> 20} MiB of events are waiting to be merged; no more are accepted.",
                "Writing the record fails or is too slow: see `ingest.error` in /api/summary.",
                "spool",
            )
        now = time.monotonic()
        if now - self._free_checked >= _FREE_CHECK_S:
            try:
                free = shutil.disk_usage(self.folder).free
            except OSError as error:
                raise SpoolFull(
                    f"Could not use the folder {self.folder}: {error.strerror}.",
                    "Make the data directory accessible; recording resumes automatically.",
                    "spool",
                ) from error
            if free < self._min_free_bytes:
                raise self._full(
                    f"Less than {self._min_free_bytes >> 20} MiB free on the disk of {self.folder}."
                )
            self._free_checked = now

    def _full(self, message: str) -> SpoolFull:
        return SpoolFull(
            message,
            "Free some space or lower the retention (RAYSCOPE_MAX_BYTES). Ray keeps its newest 100,000 "
            "events per node in the meantime, and recording resumes automatically.",
            "full",
        )


def _batches(folder: Path) -> Iterator[str]:
    """Names of the files in ``folder`` that are batches of ours."""
    for entry in os.scandir(folder):
        if _BATCH.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            yield entry.name
