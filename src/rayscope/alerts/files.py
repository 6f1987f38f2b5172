"""Stores the state of alerts on disk, as JSON documents."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rayscope.files import replace_file, set_aside
from rayscope.storage.errors import StoreError

log = logging.getLogger("rayscope.alerts")
T = TypeVar("T")


def save(path: Path, document: Any) -> bool:
    """Write a document to a file. Returns whether that succeeded."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.encode(document))
    except OSError as error:
        log.warning("could not write %s: %s", path, error)
        return False
    return True


def load(path: Path, decoder: msgspec.json.Decoder[T], new: T) -> T:
    """Read a document, or return ``new`` if there is none or it is damaged. A damaged file is renamed.

    Raises StoreError if the file cannot be read at the moment, because continuing with ``new`` would soon
    overwrite it.
    """
    try:
        return decoder.decode(path.read_bytes())
    except FileNotFoundError:
        return new
    except (IsADirectoryError, ValueError, RecursionError) as error:
        damage = error
    except OSError as error:
        raise StoreError(
            f"Could not read {path}: {error.strerror or error}.",
            "Make the file readable.",
            "unreadable",
            what="file",
            file=str(path),
            reason=error.strerror or str(error),
        ) from error
    try:
        log.warning(
            "%s was damaged (%s) and is kept as %s; starting with an empty one", path, damage, set_aside(path)
        )
    except OSError as error:
        raise StoreError(
            f"{path} is damaged and could not be renamed: {error.strerror or error}.",
            "Remove it.",
            "unreadable",
            what="damaged_file",
            file=str(path),
            reason=error.strerror or str(error),
        ) from error
    return new
