"""``rayscope export``: writes a recorded session as a file for other programs, or for another Rayscope."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import fail, say, stderr, warn
from rayscope.cli.options import (
    DataDir,
    ServerUrl,
    Session,
    Since,
    Token,
    Until,
    between,
    recorded_folder,
    settings_from,
)
from rayscope.cli.serving import server_url
from rayscope.files import replacing
from rayscope.views.export.format import FILES, Format, gzip_chunks

if TYPE_CHECKING:
    from httpx import Response

    from rayscope.settings import Settings

#: Exit status if an export was refused or failed.
EXPORT_ERROR = 1


class FileFormat(str, Enum):
    """The formats of :class:`~rayscope.views.export.format.Format`, and ``session``."""

    perfetto = "perfetto"
    speedscope = "speedscope"
    parquet = "parquet"
    otlp = "otlp"
    ray_timeline = "ray-timeline"
    session = "session"


#: Size of the pieces in which a file is copied, in bytes.
_PIECE_BYTES = 1 << 20
_decode_counts = msgspec.json.Decoder(dict[str, int]).decode
_OPEN_WITH: Mapping[FileFormat, str] = {
    FileFormat.perfetto: "open it at https://ui.perfetto.dev",
    FileFormat.speedscope: "open it at https://www.speedscope.app, or with `npx speedscope FILE`",
    FileFormat.parquet: "see its README.md",
    FileFormat.ray_timeline: "open it at https://ui.perfetto.dev or chrome://tracing",
    FileFormat.otlp: "send each line to a collector, or export with --push URL",
    FileFormat.session: "open it with `rayscope open FILE`, or drop it on a server's list of sessions",
}
_NOT_IN_IT: Mapping[str, str] = {
    "attempts_without_times": "attempts without any known time",
    "attempts_without_worker": "attempts that never reached a worker",
    "waits": "waits before running: too many at the same time to draw",
    "data_arrows": "data arrows of attempts with very many",
    "call_arrows": "call arrows: their callers are not included or were not running",
    "jobs": "jobs: the oldest ones",
    "attempts": "attempts: too many for this format",
    "workers": "workers",
    "attempts_of_these_workers": "attempts on them",
    "call_paths": "call paths with the least time: the file would be too large",
}


class _Source(NamedTuple):
    """``replaced``: "table.column" -> number of its names that were replaced, or None with all names."""

    chunks: Iterable[bytes]
    left_out: Mapping[str, int]
    name: str
    replaced: Mapping[str, int] | None = None


def export(
    form: Annotated[FileFormat, typer.Option("--format", help="Format of the file.")] = FileFormat.perfetto,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file (FILE.gz is compressed), or for parquet a directory or FILE.zip. Default: "
            "a file in the working directory, named after the session.",
        ),
    ] = None,
    job: Annotated[str | None, typer.Option("--job", help="Filter by job.")] = None,
    since: Since = None,
    until: Until = None,
    anonymise: Annotated[
        bool,
        typer.Option(
            "--anonymise", help="Replace all names in a session file by placeholders, and leave out logs."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    push: Annotated[
        str | None,
        typer.Option(
            "--push",
            metavar="URL",
            help="Send the traces (--format otlp) to this collector instead, such as http://localhost:4318.",
        ),
    ] = None,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Write a session for Perfetto or speedscope, as Parquet tables, or as OpenTelemetry traces.

    With --format session, the file has the whole ended session: open it with `rayscope open FILE`.
    """
    settings = settings_from(data_dir, token=token)
    filters: dict[str, Any] = {"job_id": job, **between(since, until)}
    if form is FileFormat.session and any(value is not None for value in filters.values()):
        fail("A session file has the whole session.", "Leave out --job, --since, and --until.")
    if anonymise and form is not FileFormat.session:
        fail("Only session files can be anonymised.", "Add --format session.")
    if push is not None and form is not FileFormat.otlp:
        fail("Only traces can be sent to a collector.", "Add --format otlp.")
    if push is not None and output is not None:
        fail("--push writes no file.", "Leave out --output.")
    if output is not None:
        _refuse_existing(output, form, force)
    url = server_url(server, settings.folder)
    opened = (
        _from_server(url, settings.token, session, form, filters, anonymise=anonymise)
        if url is not None
        else _from_files(settings, session, form, filters, anonymise=anonymise)
    )
    if push is not None:
        with opened as source:
            _push(source, push)
            _warn_of_left_out(source)
        return
    with opened as source, contextlib.ExitStack() as stack:
        target = output or _default(source.name, form, force)
        if source.replaced is not None:
            _confirm(source.replaced, target, yes=yes)
        progress = stack.enter_context(_progress())
        with explain_write_errors(target):
            size = _write(source, form, target, progress)
        _warn_of_left_out(source)
    say(f"{target} ({size_text(size)}): {_OPEN_WITH[form]}")


def _warn_of_left_out(source: _Source) -> None:
    for what, number in source.left_out.items():
        warn(f"not included: {number:,} {_NOT_IN_IT.get(what, what)}")


def _push(source: _Source, url: str) -> None:
    from rayscope.views.export.collector import Collector

    try:
        with Collector(url) as collector:
            sent = collector.send(source.chunks)
    except RayscopeError as error:
        fail(error.message, error.remedy, EXPORT_ERROR)
    if sent.refused:
        fail(
            f"{collector.host} refused {sent.refused:,} of {sent.spans:,} spans: {sent.reason or '?'}.",
            "See the log of the collector.",
            EXPORT_ERROR,
        )
    say(f"sent {sent.spans:,} spans to {collector.host}")


def _confirm(replaced: Mapping[str, int], target: Path, *, yes: bool) -> None:
    """Print what is replaced, and ask whether to write the file if someone can answer."""
    say("replaced by placeholders, as column: number of different values")
    for column, number in sorted(replaced.items()):
        if number:
            say(f"  {column}: {number:,}")
    say("left out: logs, alerts, and the agents' reports; everything else is kept")
    if not yes and sys.stdin.isatty() and not typer.confirm(f"Write {target}?"):
        raise typer.Exit(EXPORT_ERROR)


def _is_folder(output: Path, form: FileFormat) -> bool:
    return form is FileFormat.parquet and output.suffix != ".zip"


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece


def _suffix(form: FileFormat) -> str:
    """Return the extension of the file that a server sends."""
    return ".rayscope" if form is FileFormat.session else FILES[Format(form.value)][0]


def _default(name: str, form: FileFormat, force: bool) -> Path:
    output = Path(name + (".parquet" if form is FileFormat.parquet else _suffix(form)))
    _refuse_existing(output, form, force)
    return output


def _refuse_existing(output: Path, form: FileFormat, force: bool) -> None:
    if form in (FileFormat.parquet, FileFormat.session) and output.suffix == ".gz":
        other = "a directory or FILE.zip" if form is FileFormat.parquet else "FILE.rayscope"
        fail("Parquet tables are already compressed.", f"Use {other} as --output.", EXPORT_ERROR)
    refuse_existing(output, force, is_folder=_is_folder(output, form))


def refuse_existing(output: Path, force: bool, *, is_folder: bool = False) -> None:
    """End the command if the output cannot be written there, or would replace something else."""
    for parent in (output.parent, real_path(output).parent):
        if not parent.is_dir():
            fail(f"Directory not found: {parent}.", "Create it, or choose another --output.", EXPORT_ERROR)
    if not output.exists():
        return
    if is_folder:
        if not output.is_dir():
            fail(f"{output} is not a directory.", "Choose another --output, or use FILE.zip.", EXPORT_ERROR)
        others = [path for path in output.iterdir() if not _is_ours(path)]
        if others:
            fail(
                f"{output} contains other files, such as {others[0].name}.",
                "Choose another --output.",
                EXPORT_ERROR,
            )
        if not any(output.iterdir()):
            return
    elif output.is_dir():
        fail(f"{output} is a directory.", "Use a file as --output.", EXPORT_ERROR)
    elif not output.is_file():
        fail(f"{output} is not a regular file.", "Choose another --output.", EXPORT_ERROR)
    if not force:
        fail(f"{output} exists.", "Choose another --output, or overwrite it with --force.", EXPORT_ERROR)


_OURS = frozenset({"README.md", "about.json"})


def _is_ours(path: Path) -> bool:
    """Return whether a directory entry may come from an earlier export."""
    return path.is_file() and (path.suffix == ".parquet" or path.name in _OURS)


def real_path(output: Path) -> Path:
    """Return the target of symbolic links. The target is written, and the links are kept."""
    return Path(os.path.realpath(output))


def _response(
    api: Api, session: str | None, form: FileFormat, filters: Mapping[str, Any], *, anonymise: bool
) -> contextlib.AbstractContextManager[Response]:
    if form is FileFormat.session:
        return api.exporting_session(session, anonymise=anonymise)
    return api.exporting(form.value, session, **filters)


@contextlib.contextmanager
def _from_server(
    url: str,
    token: str | None,
    session: str | None,
    form: FileFormat,
    filters: Mapping[str, Any],
    *,
    anonymise: bool,
) -> Iterator[_Source]:
    try:
        with (
            Api(url, token) as api,
            _response(api, session, form, filters, anonymise=anonymise) as response,
            tempfile.TemporaryFile() as kept,
        ):
            header = response.headers.get("Content-Disposition", "")
            named = Path(header.partition('filename="')[2].partition('"')[0]).name
            left_out = _decode_counts(response.headers.get("X-Rayscope-Left-Out", "{}"))
            name = named.removesuffix(_suffix(form))
            if not anonymise:
                yield _Source(response.iter_bytes(), left_out, name)
                return
            # Received as a whole first, because the server does not wait for the user's answer.
            for piece in response.iter_bytes():
                kept.write(piece)
            kept.seek(0)
            replaced = _decode_counts(response.headers.get("X-Rayscope-Replaced", "{}"))
            yield _Source(_pieces(kept), left_out, name, replaced)
    except RayscopeError as error:
        fail(error.message, error.remedy, EXPORT_ERROR)


@contextlib.contextmanager
def _from_files(
    settings: Settings,
    session: str | None,
    form: FileFormat,
    filters: Mapping[str, Any],
    *,
    anonymise: bool,
) -> Iterator[_Source]:
    from rayscope.archive.session_files import SessionFiles
    from rayscope.settings import operator_token
    from rayscope.storage.catalog import Catalog
    from rayscope.storage.errors import BadQuery, NotFound, StoreError
    from rayscope.storage.session_names import find_session
    from rayscope.storage.sql.filters import TaskFilters
    from rayscope.views.export.export import Export

    folder = recorded_folder(settings, EXPORT_ERROR)
    catalog = Catalog(folder, memory_limit=settings.memory_limit, read_only=True)
    try:
        names = catalog.names()
        if not names:
            raise NotFound(f"No sessions recorded in {folder}.", "Record one: rayscope run SCRIPT")
        chosen = catalog.about(find_session(catalog, session) if session else names[0])
        if form is FileFormat.session:
            with tempfile.TemporaryDirectory(prefix="rayscope-export-") as work:
                files = SessionFiles(catalog, Path(work) / "files")
                if not anonymise:
                    yield _Source(files.export(chosen.session), {}, chosen.file_name)
                    return
                key = operator_token(settings.folder)
                with files.export_anonymous(chosen.session, key) as (anonymous, replaced):
                    yield _Source(_pieces(anonymous), {}, chosen.session, replaced)
            return
        with (
            catalog.reading(chosen.session) as file,
            Export(
                file,
                Format(form.value),
                TaskFilters(**filters),
                session=chosen.session,
                ray_version=chosen.ray_version,
                last_ns=chosen.last_ns,
            ) as made,
        ):
            yield _Source(made.chunks, made.left_out, chosen.file_name)
    except NotFound as error:
        known = f"Recorded sessions: {', '.join(names[:5])}." if session and names else error.remedy
        fail(error.message, known, EXPORT_ERROR)
    except (BadQuery, StoreError) as error:
        fail(error.message, error.remedy, EXPORT_ERROR)
    finally:
        catalog.close()


@contextlib.contextmanager
def explain_write_errors(target: Path) -> Iterator[None]:
    """End the command with a message and a remedy if writing fails."""
    try:
        yield
    except OSError as error:
        remedy = "Choose another --output."
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            remedy = (
                "Free some space, choose an --output on another disk, or export only a part (--job, --since)."
            )
        fail(f"Could not write {target}: {error.strerror or error}.", remedy, EXPORT_ERROR)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many bytes have been written."""
    if not sys.stderr.isatty():
        yield lambda size: None
        return
    with stderr().status("Rayscope: reading the record") as status:
        yield lambda size: status.update(f"Rayscope: exporting, {size_text(size)}")


def _write(source: _Source, form: FileFormat, target: Path, progress: Callable[[int], None]) -> int:
    """Write the export under a temporary name first, so that there is never an incomplete file.

    Returns the size in bytes.
    """
    chunks, real = iter(source.chunks), real_path(target)
    if target.suffix == ".gz":
        chunks = gzip_chunks(chunks)
    if _is_folder(target, form):
        with tempfile.TemporaryFile(dir=real.parent) as archive:
            size = _copy(chunks, archive, progress)
            _unpack(archive, real)
        return size
    with replacing(real) as file:
        return _copy(chunks, file, progress)


def _copy(chunks: Iterable[bytes], part: IO[bytes], progress: Callable[[int], None]) -> int:
    size = 0
    for chunk in chunks:
        part.write(chunk)
        size += len(chunk)
        progress(size)
    return size


def _unpack(archive: IO[bytes], folder: Path) -> None:
    """Extract the archive's files into ``folder``. They replace those of an earlier export."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as made:
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                if Path(name).name == name:
                    files.extract(name, made)
        if folder.exists():
            for path in folder.iterdir():
                path.unlink()
        folder.mkdir(exist_ok=True)
        for path in Path(made).iterdir():
            shutil.move(path, folder / path.name)


def size_text(size: int) -> str:
    """Format the size of a file."""
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"
