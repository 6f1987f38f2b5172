"""Serves the sessions of session files, for the commands that take such files."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rayscope.cli.api import Api
from rayscope.cli.clients import open_client
from rayscope.cli.console import USAGE_ERROR, fail
from rayscope.cli.options import settings_from
from rayscope.cli.serving import Serving, free_port, running_server, started_server
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    from rayscope.settings import Settings

_SIGTERM_STATUS = 128 + signal.SIGTERM


@contextlib.contextmanager
def files_server(
    settings: Settings, files: Iterable[Path], more_sessions: Path | None = None
) -> Iterator[tuple[Serving, list[str]]]:
    """Provide a server of the sessions of these files, and the sessions' names in the same order.

    Its data directory is temporary. ``more_sessions`` is a folder with more to serve. If a file cannot be
    opened, the command ends.
    """
    from rayscope.archive.session_files import SessionFiles
    from rayscope.storage.catalog import Catalog

    with _exit_on_sigterm(), tempfile.TemporaryDirectory(prefix="rayscope-open-") as scratch:
        catalog = Catalog(Path(scratch))
        opener = SessionFiles(catalog, Path(scratch) / "session-files", settings.min_free_bytes)
        try:
            names = [opener.open(path) for path in files]
        except RayscopeError as error:
            if error.code == "session_exists":  # the catalog is new, so another of the files has it
                fail(f"Two of the files have the session {error.params['id']}, with different content.")
            fail(error.message, error.remedy)
        finally:
            catalog.close()
        if more_sessions is not None:
            _link_sessions(more_sessions, Path(scratch) / "sessions")
        port = free_port(settings.host, settings.port)
        changed = {"data_dir": Path(scratch), "port": port, "archive": None, "warehouse": None}
        with started_server(settings.model_copy(update=changed), read_only=True) as serving:
            yield serving, names


@contextlib.contextmanager
def client_of_runs(
    runs: list[str],
    server: str | None,
    data_dir: Path | None,
    token: str | None,
    *,
    status: int = USAGE_ERROR,
) -> Iterator[tuple[Api, list[str]]]:
    """Provide a client for runs, some of which may be session files, and the names of the runs there.

    ``runs`` are the sides of a comparison: runs separated by commas. An error of the server ends the command
    with ``status``.
    """
    if not any(is_session_file(run) for side in runs for run in side.split(",")):
        with open_client(server, data_dir, token, status=status) as client:
            yield client, runs
        return
    if server is not None:
        fail("Session files are read without a server.", "Leave out --server.", status)
    try:
        with _client_of_files(runs, data_dir) as (client, names):
            yield client, names
    except RayscopeError as error:
        fail(error.message, error.remedy, status)


@contextlib.contextmanager
def _client_of_files(runs: list[str], data_dir: Path | None) -> Iterator[tuple[Api, list[str]]]:
    """Provide a client for runs, some of which are session files.

    If a server runs on the data directory, it exports the other sessions.
    """
    from rayscope.settings import new_token

    settings = settings_from(data_dir).model_copy(
        update={"host": "127.0.0.1", "port": 0, "token": new_token()}
    )
    sides = [side.split(",") for side in runs]
    with contextlib.ExitStack() as stack:
        server = running_server(settings.folder)
        paths: dict[str, Path] = {}
        if server is not None:
            temp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rayscope-export-")))
        for run in (run for side in sides for run in side):
            if is_session_file(run):
                paths[run] = Path(run)
            elif server is not None:
                session = run.partition("/")[0]
                with Api(server.url, settings_from(data_dir).token, folder=settings.folder) as api:
                    paths[run] = api.export_session(temp / str(len(paths)), session)
        more_sessions = settings.folder / "sessions" if server is None else None
        serving, names = stack.enter_context(files_server(settings, paths.values(), more_sessions))
        sessions = dict(zip(paths, names, strict=True))
        client = stack.enter_context(Api(serving.url, settings.token or "", folder=settings.folder))
        yield client, [",".join(_renamed(run, sessions) for run in side) for side in sides]


def is_session_file(text: str) -> bool:
    """Return whether an argument is a session file rather than the name of a session."""
    if text.endswith(".rayscope"):
        return True
    with contextlib.suppress(OSError), Path(text).open("rb") as file:  # a script may have a session's name
        return file.read(2) == b"PK"
    return False


def _renamed(run: str, sessions: dict[str, str]) -> str:
    """Return a run with the session of its file, and with its job if it names one."""
    if run not in sessions:
        return run
    _, slash, job = ("", "", "") if is_session_file(run) else run.partition("/")
    return sessions[run] + slash + job


def _link_sessions(source: Path, target: Path) -> None:
    """Link the sessions of another data directory, except those that are here already."""
    with contextlib.suppress(OSError):
        for folder in source.iterdir():
            if not (target / folder.name).exists():
                (target / folder.name).symlink_to(folder)


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Make SIGTERM end the block like an exception, so that nothing is left behind."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_SIGTERM_STATUS))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
