"""An ended session as one file: its archived form in a ZIP without compression.

The entries have the paths that they have in an archive (docs/reference/archive.md), and the manifest comes
last. Parquet is compressed already, and without compression an entry cannot be larger than the file.
"""

from __future__ import annotations

import time
import zipfile
import zlib
from collections.abc import Generator, Iterable
from pathlib import Path

import msgspec

from rayscope.archive import manifest as manifests
from rayscope.archive.location import sha256
from rayscope.archive.manifest import Manifest, Sealed
from rayscope.archive.seal import draft_manifest, objects_of, with_objects
from rayscope.archive.tables import SMALL_FILES, TABLES_OF_PARTS
from rayscope.files import Pipe
from rayscope.storage.about import About
from rayscope.storage.catalog import LIVE_NS
from rayscope.storage.errors import StoreError

#: File name extension of a session's file.
SUFFIX = ".rayscope"
_CHUNK = 1 << 20
#: Maximum size of a ZIP's directory, in bytes. It has an entry of about 300 bytes per object.
_MAX_DIRECTORY_BYTES = 256 << 10
#: Limits of the facts about a session, which the list of sessions shows. Notes have up to 4,000 characters.
_MAX_CHARS = 10_000
_MAX_ITEMS = 1_000
#: Times are ns since the epoch: the year 2116.
_MAX_NUMBER = 2**62
_END, _END_BYTES = b"PK\x05\x06", 22
_LOCATOR_64, _LOCATOR_64_BYTES = b"PK\x06\x07", 20
_END_64, _END_64_BYTES = b"PK\x06\x06", 56
#: Exceptions that Python's zipfile raises for files that are damaged or use unsupported features.
_DAMAGED = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, zlib.error)


def check_ended(about: About, now_ns: int) -> None:
    """Raise StoreError if a session is still being recorded."""
    if about.ended_ns is None and now_ns - about.last_ns < LIVE_NS:
        raise still_recorded(about.session)


def still_recorded(session: str) -> StoreError:
    """The error if a session that has not ended is exported."""
    return StoreError(
        f"{session} is still being recorded, so its file would lack what follows.",
        "Stop its cluster and wait half a minute.",
        "session_live",
        status=409,
        what="export",
    )


def pack(folder: Path, about: About, work: Path) -> Generator[bytes, None, None]:
    """Return the pieces of the file of the session in ``folder``. Raises StoreError or OSError.

    ``work`` is a folder for temporary files.
    """
    return write_objects(draft_manifest(about), objects_of(folder, work))


def write_objects(draft: Manifest, objects: Iterable[tuple[Sealed, Path]]) -> Generator[bytes, None, None]:
    """Yield a session file with these objects."""
    written, pipe = [], Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as out:
        for sealed, path in objects:
            written.append(sealed)
            with (
                path.open("rb") as file,
                out.open(zipfile.ZipInfo(draft.path(sealed)), "w", force_zip64=True) as entry,
            ):
                while chunk := file.read(_CHUNK):
                    entry.write(chunk)
                    yield pipe.take()
        whole = with_objects(draft, written)
        out.writestr(zipfile.ZipInfo(manifests.manifest_path(draft.session)), manifests.encode(whole))
    yield pipe.take()


class PackedSession:
    """An open session file. Its names and sizes are checked when it is opened, its content when it is read.

    It can be read like an archive's :class:`~rayscope.archive.location.Location`. Raises StoreError, with the
    code ``bad_session_file`` if the file is damaged, hostile, or of a newer version.
    """

    def __init__(self, path: Path) -> None:
        _check_directory(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _DAMAGED as error:
            raise damaged(f"its directory cannot be read ({str(error)[:80]})") from error
        try:
            self._sizes = self._check_entries(path.stat().st_size)
            self.manifest = self._read_manifest()
            self._check_objects()
        except BaseException:
            self._zip.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _check_entries(self, file_bytes: int) -> dict[str, int]:
        """Return the size of each entry, by its name."""
        entries = self._zip.infolist()
        sizes = {entry.filename: entry.file_size for entry in entries}
        if len(sizes) < len(entries):
            raise damaged("it has an entry twice")
        for entry in entries:
            is_stored = entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size
            if not is_stored or entry.flag_bits & 1 or entry.external_attr >> 28 not in (0, 8):
                raise damaged("it has an entry that no session file has")
        if sum(sizes.values()) > file_bytes:
            raise damaged("its entries are larger than the file")
        return sizes

    def _read_manifest(self) -> Manifest:
        prefix, suffix = f"{manifests.MANIFESTS}/", ".json"
        names = [name for name in self._sizes if name.startswith(prefix)]
        if len(names) != 1 or not names[0].endswith(suffix):
            raise damaged("it has no manifest")
        session = names[0].removeprefix(prefix).removesuffix(suffix)
        try:
            manifests.manifest_path(session)  # checks the name
            return manifests.decode(session, self.read(names[0], manifests.MAX_BYTES))
        except StoreError as error:
            if error.code == "newer":
                raise _newer(error.message) from error
            raise damaged(str(error.params.get("reason", "its manifest has no valid name"))) from error

    def _check_objects(self) -> None:
        """Check that the entries are those of the manifest, and that this version knows them all."""
        manifest = self.manifest
        expected = {manifest.path(one): one.bytes for one in manifest.objects}
        expected[manifests.manifest_path(manifest.session)] = self._sizes[
            manifests.manifest_path(manifest.session)
        ]
        if expected != self._sizes or len(expected) != len(manifest.objects) + 1:
            raise damaged("its entries are not those of its manifest")
        if not _is_plausible(msgspec.to_builtins(manifest.about)):
            raise damaged("a number or text about the session is too large")
        if max(manifest.about.last_ns, manifest.about.ended_ns or 0) > time.time_ns():
            raise damaged("its session ends in the future, so this machine's clock or the sender's is wrong")
        for one in manifest.objects:
            known = SMALL_FILES if one.part == "files" else TABLES_OF_PARTS.get(one.part, ())
            if one.name not in known:
                raise _newer(f"The session file has {one.name!r}, which this version does not know.")

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the content of a small entry."""
        if self._sizes[path] > max_bytes:
            raise damaged(f"{path} is larger than {max_bytes} bytes")
        try:
            return self._zip.read(path)
        except (*_DAMAGED, OSError) as error:
            raise damaged(f"{path} cannot be read") from error

    def digest(self, path: str, local: Path | None = None) -> str:
        """Return the SHA-256 of an entry, and save its content to ``local`` if given."""
        try:
            with self._zip.open(path) as stream:
                if local is None:
                    return sha256(stream)
                with local.open("wb") as file:
                    return sha256(stream, file)
        except _DAMAGED as error:
            raise damaged(f"{path} cannot be read") from error


def _is_plausible(value: object) -> bool:
    """Return whether no number or text in ``value`` is too large for the list of sessions."""
    if isinstance(value, dict):
        return len(value) <= _MAX_ITEMS and all(map(_is_plausible, (*value, *value.values())))
    if isinstance(value, (list, tuple)):
        return len(value) <= _MAX_ITEMS and all(map(_is_plausible, value))
    if isinstance(value, str):
        return len(value) <= _MAX_CHARS
    return value is None or (isinstance(value, int) and 0 <= value <= _MAX_NUMBER)


def _check_directory(path: Path) -> None:
    """Raise StoreError unless the file ends like a session file.

    It is checked before zipfile reads the directory, because that would take memory for each of its entries.
    """
    try:
        with path.open("rb") as file:
            file_bytes = file.seek(0, 2)
            tail_bytes = min(file_bytes, _END_64_BYTES + _LOCATOR_64_BYTES + _END_BYTES)
            file.seek(-tail_bytes, 2)
            tail = file.read().rjust(_END_64_BYTES + _LOCATOR_64_BYTES + _END_BYTES, b"\0")
    except OSError as error:
        raise damaged(f"it cannot be read ({error.strerror or error})") from error
    end_64, locator, end = tail[:_END_64_BYTES], tail[_END_64_BYTES:-_END_BYTES], tail[-_END_BYTES:]
    if not end.startswith(_END) or not end.endswith(b"\0\0"):
        raise damaged("it is cut off, or no session file")
    size, begin = int.from_bytes(end[12:16], "little"), int.from_bytes(end[16:20], "little")
    directory_end = file_bytes - _END_BYTES
    if locator.startswith(_LOCATOR_64):
        size, begin = int.from_bytes(end_64[40:48], "little"), int.from_bytes(end_64[48:56], "little")
        directory_end -= _LOCATOR_64_BYTES + _END_64_BYTES
        is_here = int.from_bytes(locator[8:16], "little") == directory_end
        if not end_64.startswith(_END_64) or not is_here:
            raise damaged("its directory is not where it should be")
    if size > _MAX_DIRECTORY_BYTES or begin + size != directory_end:
        raise damaged("its directory is not where it should be")


def damaged(reason: str) -> StoreError:
    """The error for a session file that cannot be used."""
    reason = " ".join(reason.split())[:200].rstrip(".")
    return StoreError(
        f"The session file cannot be opened: {reason}.",
        "Export the session again where it is on record: rayscope export --format session.",
        "bad_session_file",
        status=400,
        what="damaged",
        reason=reason,
    )


def _newer(message: str) -> StoreError:
    return StoreError(
        message, "Upgrade: pip install -U rayscope", "bad_session_file", status=400, what="newer"
    )
