"""``rayscope archive``: manage ended sessions on object storage, without a server."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayscope.cli.console import fail, say, shown, warn
from rayscope.cli.lists import took
from rayscope.cli.options import (
    ArchiveUrl,
    DataDir,
    Form,
    Sessions,
    Wide,
    recorded_folder,
    settings_from,
)
from rayscope.cli.printing import Column, Format, print_rows, text, when
from rayscope.errors import RayscopeError
from rayscope.units import size

if TYPE_CHECKING:
    from rayscope.archive.location import Location
    from rayscope.archive.manifest import Manifest
    from rayscope.storage.about import About
    from rayscope.storage.catalog import Catalog

app = typer.Typer(help="List, push, pull, verify, and prune archived sessions.", no_args_is_help=True)

#: Exit status if a session could not be archived, restored, or verified.
_ERROR = 1
_COLUMNS = (
    Column("name", lambda row: shown(row["name"] or "-"), long=True),
    text("session"),
    text("cluster"),
    text("day"),
    took("first_ns", "last_ns"),
    Column("tasks", lambda row: f"{row['tasks']:,}", right=True),
    Column("failed", lambda row: f"{row['failed']:,}", right=True),
    Column("size", lambda row: size(row["bytes"]), right=True),
    when("sealed_ns", "sealed"),
)


@app.command("list")
def list_(archive: ArchiveUrl = None, form: Form = Format.table, wide: Wide = False) -> None:
    """List the sessions of an archive, newest first."""
    with _open(archive) as location:
        manifests, unreadable = _manifests(location, None)
        rows = [_row(manifest) for manifest in manifests]
        if not rows and not unreadable:
            say(f"nothing is archived in {location.url}")
    print_rows(form, sorted(rows, key=lambda row: -row["first_ns"]), _COLUMNS, wide)


@app.command("push")
def push(
    sessions: Sessions = None,
    archive: ArchiveUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Upload ended sessions of the data directory to the archive, and verify them.

    Sessions that are already in the archive are skipped. Nothing is deleted from this disk.
    """
    from rayscope.archive import manifest as manifests
    from rayscope.archive import seal
    from rayscope.storage.errors import StoreError

    with _open(archive) as location:
        catalog = _catalog(data_dir)
        failed = 0
        for name in sessions or reversed(catalog.names()):
            about = catalog.about(name)
            title = shown(about.name or name)
            if problem := _not_sealable(catalog, about):
                warn(f"{title}: not archived, {problem}")
                failed += bool(sessions)
                continue
            with contextlib.suppress(StoreError):
                if seal.read_manifest(location, name).stamp == manifests.stamp_of(about):
                    say(f"{title}: already archived")
                    continue
            with tempfile.TemporaryDirectory(prefix="rayscope-archive-") as work:
                made = seal.push(location, catalog.folder / name, about, Path(work))
            say(f"{title}: archived, {size(made.bytes)}")
        if failed:
            raise typer.Exit(_ERROR)


@app.command("pull")
def pull(
    sessions: Annotated[
        list[str], typer.Argument(metavar="SESSION...", help="Session IDs.", show_default=False)
    ],
    archive: ArchiveUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Copy sessions from the archive into the data directory.

    A server on that directory lists them after its next start. If the server has RAYSCOPE_ARCHIVE set, it
    does not need this.
    """
    from rayscope.archive import seal
    from rayscope.archive.tables import PARTS

    with _open(archive) as location:
        settings = settings_from(data_dir)
        folder = settings.folder / "sessions"
        for manifest in _manifests(location, sessions)[0]:
            here = folder / manifest.session
            if any((here / part.file).exists() for part in PARTS.values()):
                warn(f"{manifest.session} is in {folder} already")
                continue
            seal.make_folder(location, manifest, here)
            with tempfile.TemporaryDirectory(prefix=".pull-", dir=folder) as work:
                for part in PARTS:
                    seal.pull_part(location, manifest, part, here, Path(work), settings.min_free_bytes)
            say(f"{shown(manifest.about.name or manifest.session)}: pulled")


@app.command("verify")
def verify(sessions: Sessions = None, archive: ArchiveUrl = None) -> None:
    """Read whole sessions from the archive, and compare them with their checksums."""
    from rayscope.archive import seal

    with _open(archive) as location:
        manifests, damaged = _manifests(location, sessions)
        for manifest in manifests:
            title = shown(manifest.about.name or manifest.session)
            problems = seal.check(location, manifest)
            damaged += bool(problems)
            for problem in problems:
                warn(f"{title}: {problem}")
            if not problems:
                say(f"{title}: {len(manifest.objects)} objects, {size(manifest.bytes)}, intact")
    if damaged:
        fail(
            f"{damaged} of the sessions cannot be read back as they were archived.",
            "Where they are still on record, seal them again: rayscope archive push SESSION.",
            _ERROR,
        )


@app.command("prune")
def prune(
    older_than: Annotated[
        float, typer.Option("--older-than", min=0, metavar="DAYS", help="Age of the sessions to delete.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    archive: ArchiveUrl = None,
) -> None:
    """Delete sessions from the archive that ended more than --older-than days ago."""
    from rayscope.archive import seal

    with _open(archive) as location:
        before_ns = time.time_ns() - older_than * 86400 * 10**9
        old = [manifest for manifest in _manifests(location, None)[0] if manifest.about.last_ns < before_ns]
        if not old:
            say("nothing to delete")
            return
        total = size(sum(manifest.bytes for manifest in old))
        if not yes and not typer.confirm(
            f"Delete {len(old)} sessions ({total}) from {location.url} for good?"
        ):
            raise typer.Exit(_ERROR)
        for manifest in old:
            seal.remove(location, manifest)
        say(f"deleted {len(old)} sessions, {total}")


@contextlib.contextmanager
def _open(url: str | None) -> Iterator[Location]:
    """Open the configured archive. If that fails, print the error and exit."""
    from rayscope.archive.location import Location

    url = url or settings_from().archive
    if not url:
        fail("No archive given.", "Give its URL with --archive, or set RAYSCOPE_ARCHIVE.")
    try:
        yield Location(url)
    except RayscopeError as error:
        fail(error.message, error.remedy, _ERROR)
    except OSError as error:
        fail(f"{error.strerror or error}.", "Free some space, or choose another folder.", _ERROR)


def _catalog(data_dir: Path | None) -> Catalog:
    from rayscope.storage.catalog import Catalog

    return Catalog(recorded_folder(settings_from(data_dir), _ERROR), read_only=True)


def _not_sealable(catalog: Catalog, about: About) -> str | None:
    """Return the reason why a session cannot be sealed, or None if it can."""
    from rayscope.storage.catalog import LIVE_NS

    if not catalog.path(about.session).exists():
        return "its record is not on this disk"
    if about.ended_ns is None and time.time_ns() - about.last_ns < LIVE_NS:
        return "it is still being recorded"
    return None


def _manifests(location: Location, sessions: list[str] | None) -> tuple[list[Manifest], int]:
    """Return the manifests of the given sessions, or of all, and the number of unreadable manifests.

    If all are requested, an unreadable manifest causes a warning instead of an error.
    """
    from rayscope.archive import seal
    from rayscope.storage.errors import StoreError

    found, unreadable = [], 0
    for name in sessions or seal.list_manifests(location):
        try:
            found.append(seal.read_manifest(location, name))
        except StoreError as error:
            if sessions:
                raise
            warn(f"manifests/{shown(name)}.json is unreadable: {error.message}")
            unreadable += 1
    return found, unreadable


def _row(manifest: Manifest) -> dict[str, Any]:
    about = manifest.about
    return {
        "name": about.name,
        "session": manifest.session,
        "cluster": manifest.cluster,
        "day": manifest.day,
        "first_ns": about.first_ns,
        "last_ns": about.ended_ns or about.last_ns,
        "tasks": about.tasks,
        "failed": about.failed,
        "bytes": manifest.bytes,
        "sealed_ns": manifest.sealed_ns,
    }
