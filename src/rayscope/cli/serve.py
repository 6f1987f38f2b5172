"""``rayscope serve``: runs only the server."""

from __future__ import annotations

from rayscope.cli.api import Api
from rayscope.cli.console import fail, say
from rayscope.cli.options import (
    ArchiveUrl,
    DataDir,
    Debugger,
    GenerateToken,
    Host,
    Port,
    RootPath,
    Token,
    WarehouseUrl,
    settings_from,
)
from rayscope.cli.serving import (
    end_within,
    running_server,
    started_server,
    stop_signals,
    wait_for_stop,
    warn_of_problem,
)

#: How long a server may take to stop, in seconds.
_GRACE_S = 60.0


def serve(
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    root_path: RootPath = None,
    token: Token = None,
    generate_token: GenerateToken = False,
    archive: ArchiveUrl = None,
    warehouse: WarehouseUrl = None,
    debugger: Debugger = False,
) -> None:
    """Serve the UI and the API, and receive events from clusters, until Ctrl-C."""
    settings = settings_from(
        data_dir,
        host,
        port,
        token,
        generate_token,
        root_path=root_path,
        archive=archive,
        warehouse=warehouse,
        debugger=debugger or None,
    )
    found = running_server(settings.folder)
    if found is not None:
        fail(
            f"A server for {settings.folder} is already running at {found.url}.",
            "Use it, or choose another --data-dir.",
        )
    with (
        stop_signals() as stops,
        started_server(settings) as serving,
        Api(serving.url, settings.token, folder=settings.folder) as api,
    ):
        say(serving.url)
        warn_of_problem(api)
        say("`rayscope env` prints the settings that make Ray record here; press Ctrl-C to stop")
        wait_for_stop(stops)
        end_within(_GRACE_S)
