"""Copies DuckDB files that are open, and possibly being written, in another process."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

_TRIES = 5
#: Size of DuckDB's header, bytes. It changes exactly when a checkpoint has been written.
_HEADER_BYTES = 3 * 4096


def copy_record(source: Path, target: Path) -> None:
    """Copy a record and its log while another process may write to it.

    Raises OSError, or TimeoutError if checkpoints kept interfering.

    Between two checkpoints, DuckDB overwrites nothing that the file's header refers to, and only appends to
    the log. It ignores an incomplete entry at the log's end. So a copy is consistent if no checkpoint was
    completed in the meantime. If the file system supports it, the copy shares blocks with the record.
    """
    log = source.with_name(source.name + ".wal")
    for _ in range(_TRIES):
        before = _header(source)
        _copy_file(source, target)
        target_log = target.with_name(target.name + ".wal")
        target_log.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            _copy_file(log, target_log)
        if _header(source) == before:
            return
    raise TimeoutError


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _copy_file(source: Path, target: Path) -> None:
    if not hasattr(os, "copy_file_range"):  # not Linux
        shutil.copyfile(source, target)
        return
    with source.open("rb") as read, target.open("wb") as written:
        left = os.fstat(read.fileno()).st_size
        while left > 0:
            count = os.copy_file_range(read.fileno(), written.fileno(), left)
            if not count:  # the file was truncated in the meantime
                return
            left -= count
