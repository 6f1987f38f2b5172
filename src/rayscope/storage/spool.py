"""Stores event batches until their records are in DuckDB. A batch is acknowledged once it is stored here.

Each batch is a file that is written under a temporary name and then renamed. So it exists completely or not
at all, and survives a kill -9 of this process (and, with ``fsync``, of the machine). A checksum in its name
detects damage. Replaying a batch is harmless, because merging is idempotent. If the disk is full, the batch
is rejected and Ray sends it again.
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
#: Maximum total size of the rejected batches that are kept, in bytes. A single one can be as large as the
#: largest body.
_MAX_REJECTED_BYTES = 256 << 20


class Spool:
    """A folder of batches in order of arrival.

    Args:
        folder: where the batches are stored.
        max_bytes: limit for the total size of waiting batches.
        min_free_bytes: disk space to leave free.
        fsync: flush each batch to the disk.
        max_rejected: maximum number of rejected batches to keep.
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
        #: Why the last batch could not be stored, or None if it was stored.
        self._refused: SpoolFull | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rejected.mkdir(parents=True, exist_ok=True)
        for private in (self.folder, self.rejected):  # events may contain secrets
            private.chmod(0o700)
        for leftover in self.folder.glob("*.part"):  # never acknowledged, so its sender retries
            with contextlib.suppress(OSError):
                leftover.unlink()
        waiting = self.waiting()
        self._sizes = {name: (self.folder / name).lstat().st_size for name in waiting}
        last = int(waiting[-1][:20]) if waiting else 0
        self._numbers = itertools.count(max(last + 1, time.time_ns()))

    @property
    def pending_bytes(self) -> int:
        """Size of the waiting batches."""
        return sum(self._sizes.values())

    def waiting(self) -> list[str]:
        """Names of the waiting batches, oldest first. Other files in the folder are ignored."""
        return sorted(batches(self.folder))

    def put(self, body: bytes, form: Format = Format.JSON) -> str:
        """Store a batch, so that it survives a kill of the process. Returns its file name.

        The suffix of the name is the batch's format. Raises :class:`SpoolFull`.
        """
        try:
            name = self._write(body, form)
        except SpoolFull as error:
            self._refused = error
            raise
        self._refused = None
        return name

    def problem(self) -> SpoolFull | None:
        """Why a batch would be refused now, or None if it would be accepted."""
        try:
            self._check_room(0)
        except SpoolFull as error:
            return error
        # Free space was just checked. Whether other problems persist shows only at the next batch.
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
                what="write",
                folder=str(self.folder),
                reason=error.strerror or str(error),
            ) from error
        with self._lock:
            self._sizes[name] = len(body)
        return name

    @staticmethod
    def form(name: str) -> Format:
        """The format of a waiting batch."""
        return Format(name.rpartition(".")[2])

    def size(self, name: str) -> int:
        """Size of a waiting batch, bytes."""
        return self._sizes.get(name, 0)

    def get(self, name: str) -> bytes:
        """The body of a waiting batch."""
        return (self.folder / name).read_bytes()

    @staticmethod
    def verify(name: str, body: bytes) -> None:
        """Raise ValueError if a batch's body is damaged, according to the checksum in its name."""
        checksum = name.partition(".")[0][21:]
        if checksum and int(checksum, 16) != zlib.crc32(body):
            raise ValueError("it was damaged on the disk: its checksum differs")

    def remove(self, name: str) -> None:
        """Delete a batch whose records are in the store."""
        (self.folder / name).unlink(missing_ok=True)
        with self._lock:
            self._sizes.pop(name, None)

    def reject(self, body: bytes, reason: str, form: Format = Format.JSON) -> Path | None:
        """Set an unreadable batch, or unreadable events of one, aside, with the reason in a second file.

        By default, the newest 100 are kept, up to 256 MiB in total. Returns the path, or None if it could not
        be written.
        """
        path = self.rejected / f"{time.time_ns():020d}.{form.value}"
        try:
            path.write_bytes(body)
            path.with_suffix(".reason").write_text(reason + "\n")
        except OSError:
            return None
        kept_bytes = 0
        for number, name in enumerate(sorted(batches(self.rejected), reverse=True)):
            old = self.rejected / name
            with contextlib.suppress(OSError):
                kept_bytes += old.lstat().st_size
                if number and (number >= self._max_rejected or kept_bytes > _MAX_REJECTED_BYTES):
                    old.unlink()
                    old.with_suffix(".reason").unlink()
        return path

    def _check_room(self, size: int) -> None:
        if self.pending_bytes + size > self._max_bytes:
            raise SpoolFull(
                f"{self.pending_bytes >> 20} MiB of events are waiting to be merged; no more are accepted.",
                "Writing the record fails or is too slow: see `ingest.error` in /api/v1/summary.",
                "spool",
                what="backlog",
                mib=self.pending_bytes >> 20,
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
                    what="folder",
                    folder=str(self.folder),
                    reason=error.strerror or str(error),
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


def batches(folder: Path) -> Iterator[str]:
    """Names of the files in ``folder`` that are batches."""
    for entry in os.scandir(folder):
        if _BATCH.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            yield entry.name
