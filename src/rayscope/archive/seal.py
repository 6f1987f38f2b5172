"""Seals a session into an archive, verifies it, and restores its files."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import msgspec

from rayscope.archive import manifest as manifests
from rayscope.archive.location import Location, Object, sha256
from rayscope.archive.manifest import Manifest, Sealed
from rayscope.archive.tables import PARTS, SMALL_FILES, Table, check_table
from rayscope.files import replace_file
from rayscope.storage.about import About, write_about
from rayscope.storage.errors import StoreError
from rayscope.version import __version__

_SMALL_BYTES = 64 << 20
_AT_ONCE = 4
#: Maximum number of attempts to seal a session. It is sealed again if another server wrote the same objects
#: in the meantime.
_TRIES = 3


class Source(Protocol):
    """Where sealed objects are read: an archive, or a session's file. All methods raise StoreError."""

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the content of a small object."""

    def digest(self, path: str, local: Path | None = None) -> str:
        """Return the SHA-256 of an object, and save its content to ``local`` if given."""


def list_manifests(location: Location) -> dict[str, Object]:
    """Return the objects of all manifests, by session."""
    found = location.list(manifests.MANIFESTS)
    return {one.name.removesuffix(".json"): one for one in found if one.name.endswith(".json")}


def read_manifest(location: Location, session: str) -> Manifest:
    """Read a manifest. Raises StoreError, with the code ``not_archived`` if there is none for the session."""
    content = location.read(manifests.manifest_path(session), manifests.MAX_BYTES)
    return manifests.decode(session, content)


def push(location: Location, folder: Path, about: About, work: Path) -> Manifest:
    """Seal the session in ``folder`` and verify that it can be read back. Raises StoreError or OSError.

    Objects that the archive already has with the same content are not sent again, so an interrupted push
    continues where it stopped. ``work`` is a folder for temporary files.
    """
    for _ in range(_TRIES):
        made, states = _push(location, folder, about, work)
        if all(location.state(path) == state for path, state in states.items()):
            return made
    raise StoreError(
        f"Another server seals {about.session} into the same archive.",
        "Let one server archive a session. Rayscope will try again.",
        "busy",
        what="archive_twice",
    )


def _push(
    location: Location, folder: Path, about: About, work: Path
) -> tuple[Manifest, dict[str, tuple[int | None, int | None]]]:
    """Seal the session. Returns its manifest, and the state of each object, by path, after it was written."""
    draft, objects = draft_manifest(about), []
    states = {}
    for sealed, path in objects_of(folder, work):
        _send(location, path, draft.path(sealed), sealed)
        states[draft.path(sealed)] = location.state(draft.path(sealed))
        objects.append(sealed)
    whole = with_objects(draft, objects)
    location.write(manifests.manifest_path(about.session), manifests.encode(whole))
    return whole, states


def draft_manifest(about: About) -> Manifest:
    """Return the manifest of a session before its objects are known."""
    # There may be thousands of agents, so they are in agents.json instead.
    shown = msgspec.structs.replace(about, agents={})
    return Manifest(
        session=about.session,
        cluster=manifests.cluster_of(about),
        day=manifests.day_of(about),
        stamp=manifests.stamp_of(about),
        sealed_ns=time.time_ns(),
        rayscope=__version__,
        about=shown,
        objects=(),
    )


def with_objects(draft: Manifest, objects: Iterable[Sealed]) -> Manifest:
    """Return a manifest that names these objects."""
    return msgspec.structs.replace(draft, objects=tuple(objects))


def objects_of(folder: Path, work: Path) -> Iterator[tuple[Sealed, Path]]:
    """Yield a session's objects. Each file exists until the next one is requested."""
    for name in SMALL_FILES:
        path = folder / name
        with contextlib.suppress(FileNotFoundError):
            content = path.read_bytes()
            yield Sealed("files", name, len(content), hashlib.sha256(content).hexdigest()), path
    work.mkdir(parents=True, exist_ok=True)
    for part, how in PARTS.items():
        if not (folder / how.file).exists():
            continue
        with tempfile.TemporaryDirectory(dir=work, prefix="seal-") as temp:
            for table in how.seal(folder / how.file, Path(temp)):
                yield sealed_table(part, table), table.path
                table.path.unlink()


def sealed_table(part: str, table: Table) -> Sealed:
    """Return a table's entry in the manifest."""
    return Sealed(part, table.name, table.path.stat().st_size, _digest(table.path), table.rows)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return sha256(file)


def _is_intact(location: Location, path: str, sealed: Sealed) -> bool:
    """Return whether an object has the size and content that were written."""
    return location.size(path) == sealed.bytes and location.digest(path) == sealed.sha256


def _send(location: Location, local: Path, path: str, sealed: Sealed) -> None:
    """Upload a file unless the archive has the same, then verify it by reading it back."""
    if _is_intact(location, path, sealed):
        return
    location.upload(local, path)
    if location.digest(path) != sealed.sha256:
        raise StoreError(
            f"The archive gave back something else than was written to {path}.",
            "The session stays on this disk. Check the storage; Rayscope will try again.",
            "archive",
            what="differs",
            path=path,
        )


def check(location: Location, manifest: Manifest) -> list[str]:
    """Return the problems with a session in the archive. The list is empty if all objects are intact."""
    problems = []
    for sealed in manifest.objects:
        path = manifest.path(sealed)
        if not _is_intact(location, path, sealed):
            problems.append(f"{path} {'is missing' if location.size(path) is None else 'has changed'}")
    return problems


def remove(location: Location, manifest: Manifest) -> None:
    """Delete a session from the archive. The manifest is deleted first, so that no server finds half a
    session.
    """
    location.delete(manifests.manifest_path(manifest.session))
    for sealed in manifest.objects:
        location.delete(manifest.path(sealed))


def pull_part(
    location: Source, manifest: Manifest, part: str, folder: Path, work: Path, min_free_bytes: int = 0
) -> bool:
    """Restore one of a session's files in ``folder``. Returns whether the archive has any of its tables.

    Keeps ``min_free_bytes`` free on the disk. Raises StoreError or OSError.
    """
    objects = manifest.of_part(part)
    if not objects:
        return False
    work.mkdir(parents=True, exist_ok=True)
    check_space(work, sum(one.bytes for one in objects), min_free_bytes)
    # The temporary folder is on the same disk, so that the file can be moved into place in one step.
    with tempfile.TemporaryDirectory(dir=work, prefix="pull-") as temp, ThreadPoolExecutor(_AT_ONCE) as pool:
        paths = {one.name: Path(temp) / f"{one.name}.parquet" for one in objects}
        list(pool.map(lambda one: _fetch(location, manifest, one, paths[one.name]), objects))
        unpacked = sum(check_table(paths[one.name], one.rows) for one in objects)
        check_space(work, unpacked, min_free_bytes)
        how = PARTS[part]
        how.restore(paths, Path(temp) / how.file)
        (Path(temp) / how.file).replace(folder / how.file)
    return True


def check_space(folder: Path, needed: int, min_free_bytes: int) -> None:
    """Raise StoreError if ``needed`` bytes would leave less than ``min_free_bytes`` on a folder's disk."""
    if shutil.disk_usage(folder).free - needed < min_free_bytes:
        raise StoreError(
            f"Not enough disk space: the session needs {needed >> 20} MiB.",
            "Free some space on the server's disk, and try again.",
            "full",
            what="fetch",
            mib=needed >> 20,
        )


def make_folder(location: Source, manifest: Manifest, folder: Path) -> None:
    """Create the folder of a session that is not on this disk, without its record, metrics, and logs."""
    folder.mkdir(parents=True, exist_ok=True)
    for sealed in manifest.of_part("files"):
        if sealed.name in SMALL_FILES:
            content = location.read(manifest.path(sealed), _SMALL_BYTES)
            if hashlib.sha256(content).hexdigest() == sealed.sha256:
                replace_file(folder / sealed.name, content, mode=0o600)
    write_about(folder, manifest.about)


def _fetch(location: Source, manifest: Manifest, sealed: Sealed, local: Path) -> None:
    path = manifest.path(sealed)
    if location.digest(path, local) != sealed.sha256:
        raise StoreError(
            f"{path} in the archive is not what its manifest says.",
            "It may just be being replaced: try again. If it stays so, the archive is damaged.",
            "archive",
            what="not_as_listed",
            path=path,
        )
