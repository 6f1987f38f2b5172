"""Replaces files atomically, and sets damaged ones aside.

Concurrent readers see either the old content or the new one, never a part.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rayscope.errors import RayscopeError


def expand_user(path: Path) -> Path:
    """Return ``path`` with ``~`` resolved. Raises RayscopeError if the user's home directory is unknown."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise RayscopeError(
            f"The home directory in {path} is unknown.",
            "Choose the data directory with --data-dir or RAYSCOPE_DATA_DIR, or set HOME.",
            "no_home",
        ) from error


def replace_file(path: Path, content: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
    """Write ``content`` to ``path``. If this raises OSError, ``path`` is unchanged.

    ``mode`` is the file's permissions before the umask applies. With ``sync``, the content survives a power
    failure.
    """
    with replacing(path, mode=mode, sync=sync) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o666, sync: bool = True) -> Iterator[IO[bytes]]:
    """Provide a file that replaces ``path`` when the block ends without an error."""
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(handle)
        part.replace(path)
        if sync:
            _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):  # the file was renamed, or the file system has become read-only
            part.unlink()


def _sync_folder(folder: Path) -> None:
    """Sync the directory, so that the rename survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def set_aside(path: Path, *suffixes: str) -> Path:
    """Rename a damaged file, so that a new one can be created. Returns the new path of the damaged one.

    ``suffixes`` are those of its companion files (``.wal``), which are renamed with it.
    """
    aside = path.with_name(f"{path.stem}.damaged-{time.time_ns()}{path.suffix}")
    for suffix in ("", *suffixes):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside


class Pipe(io.RawIOBase):
    """A write-only file in memory. :meth:`take` returns the bytes written since the last call."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        """Return that the file can be written."""
        return True

    def write(self, data: Any) -> int:
        """Keep a copy of ``data`` until the next :meth:`take`."""
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        """Return what was written since the last call."""
        content, self._parts = b"".join(self._parts), []
        return content
