"""Small documents of ours on disk: written whole or not at all."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, TypeVar

import msgspec

log = logging.getLogger("rayscope.alerts")
T = TypeVar("T")


def save(path: Path, document: Any) -> bool:
    """Write a document; who reads meanwhile finds the old one. Returns whether that went well."""
    part = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(msgspec.json.encode(document))
        part.replace(path)
    except OSError as error:
        log.warning("could not write %s: %s", path, error)
        return False
    return True


def load(path: Path, kind: type[T], otherwise: T) -> T:
    """Read it back; ``otherwise`` if there is none or it is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return otherwise
    except (OSError, ValueError, RecursionError) as error:
        log.warning("could not read %s, starting with an empty one: %s", path, error)
        return otherwise
