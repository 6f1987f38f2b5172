"""Session files that are damaged on purpose."""

from __future__ import annotations

import hashlib
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

#: The end of a file, where its directory is, is hit as often as the rest.
_END_BYTES = 8 << 10


def read(path: Path) -> dict[str, bytes]:
    """The entries of a session file, by name."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path: Path, entries: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    """Write a session file."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in entries.items():
            file.writestr(zipfile.ZipInfo(name), content, compression)
    return path


def manifest_name(entries: Mapping[str, bytes]) -> str:
    """The name of the entry with the manifest."""
    return next(name for name in entries if name.startswith("manifests/"))


def edit_manifest(entries: Mapping[str, bytes], edit: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """Entries with another manifest."""
    name = manifest_name(entries)
    manifest = json.loads(entries[name])
    edit(manifest)
    return {**entries, name: json.dumps(manifest).encode()}


def replace_table(
    entries: Mapping[str, bytes], table: str, content: bytes, rows: int | None = None
) -> dict[str, bytes]:
    """Entries with another content of a table, and a manifest with its checksum."""

    def edit(manifest: dict[str, Any]) -> None:
        for one in manifest["objects"]:
            if one["name"] == table:
                one |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                one["rows"] = one["rows"] if rows is None else rows

    path = next(name for name in entries if name.startswith(f"{table}/"))
    return edit_manifest({**entries, path: content}, edit)


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Change some bytes at random places."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        size = len(changed)
        if size == 0:
            break
        least = max(0, size - _END_BYTES) if chance.random() < 0.5 else 0
        at = chance.randrange(least, size)
        length = min(size - at, chance.choice((1, 1, 2, 4, 8, 100, 5000)))
        what = chance.randrange(8)
        if what == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            changed[at : at + length] = chance.randbytes(length)
        elif what == 2:
            changed[at : at + length] = bytes([chance.choice((0, 255))]) * length
        elif what == 3:
            del changed[at : at + length]
        elif what == 4:
            changed[at:at] = chance.randbytes(length)
        elif what == 5:
            changed[at:at] = changed[at : at + length]
        elif what == 6:
            other = chance.randrange(size)
            changed[at : at + length] = changed[other : other + length]
        else:
            del changed[max(1, at) :]
    return bytes(changed)


def mutate_table(entries: Mapping[str, bytes], chance: random.Random) -> dict[str, bytes]:
    """Change some bytes of a table, and write its new checksum into the manifest."""
    path = chance.choice([name for name in sorted(entries) if name.endswith(".parquet")])
    return replace_table(entries, path.partition("/")[0], mutate(entries[path], chance))
