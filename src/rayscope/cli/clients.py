"""Clients for commands. They use a running server, or one that serves the data directory just for the
command.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import USAGE_ERROR, fail
from rayscope.cli.options import settings_from
from rayscope.cli.serving import reading_server, running_server
from rayscope.client.server_url import data_dir as default_data_dir
from rayscope.client.server_url import server_token
from rayscope.files import expand_user


@contextlib.contextmanager
def open_client(
    server: str | None,
    data_dir: Path | None,
    token: str | None,
    session: str | None = None,
    *,
    needs_server: bool = False,
    operator: str | None = None,
    status: int = USAGE_ERROR,
) -> Iterator[Api]:
    """Provide a client of the server at the given URL or at RAYSCOPE_URL, or of the data directory's server.

    If no server is running on the data directory, one is started for the command, unless it ``needs_server``.
    A RayscopeError in the block ends the command: its remedy is printed, and the exit status is ``status``.
    ``operator`` is the operator token, if the data directory has none.
    """
    try:
        folder = default_data_dir() if data_dir is None else expand_user(data_dir)
        with contextlib.ExitStack() as stack:
            url, shown = server, server_token(token) or ""
            is_named = bool(server or os.environ.get("RAYSCOPE_URL"))
            if not (is_named or needs_server) and running_server(folder) is None:
                url, shown = stack.enter_context(reading_server(settings_from(data_dir)))
            yield stack.enter_context(
                Api(url, shown, session=session, folder=folder, operator_token=operator)
            )
    except RayscopeError as error:
        fail(error.message, error.remedy, status)
