"""Finds the ingest URL for Ray, with or without a running server."""

from __future__ import annotations

from pathlib import Path

from rayscope.cli import recording
from rayscope.cli.console import fail
from rayscope.cli.options import settings_from
from rayscope.cli.serving import running_server


def ingest_url_for(server: str | None, data_dir: Path | None) -> tuple[str, str | None]:
    """Return the ingest URL and the server's URL, which is None if no server responds on this data directory.

    ``server`` may be a server's URL, which is combined with this machine's key, or a complete ingest URL. By
    default, it is the server of the data directory. If none is running, the ingest URL has the address at
    which one will run.
    """
    from rayscope.settings import ingest_key

    if server is not None and not server.startswith(("http://", "https://")):
        fail(f"{server!r} is not a valid URL.", "Use http://HOST:PORT or the whole ingest URL as --server.")
    if server is not None and "/api/ingest/" in server:
        return server, server.partition("/api/ingest/")[0]
    settings = settings_from(data_dir)
    found = running_server(settings.folder)
    if server is None and found is not None:
        return found.ingest_url, found.url
    has_key = settings.ingest_key is not None or (settings.folder / "key").is_file()
    if server is not None and found is None and not has_key:
        fail(
            f"The ingest key of the server at {server} is not known on this machine.",
            "Use its ingest URL instead: run `rayscope env` on the server's machine to get it. Or set "
            "RAYSCOPE_INGEST_KEY as there.",
        )
    settings.folder.mkdir(parents=True, exist_ok=True)
    key = ingest_key(settings)
    here = f"http://{settings.host}:{settings.port}{settings.root_path}"
    return recording.ingest_url(server or here, key), server
