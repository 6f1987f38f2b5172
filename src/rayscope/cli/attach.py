"""``rayscope attach``: record snapshots of a cluster that was started without recording."""

from __future__ import annotations

from typing import Annotated

import typer

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import fail, say, warn
from rayscope.cli.options import DataDir, GenerateToken, Host, Port, Token, settings_from
from rayscope.cli.serving import any_server, serve_until_stopped
from rayscope.cli.summary import session_url


def attach(
    address: Annotated[
        str,
        typer.Argument(
            help="GCS address of the head node (host:port), or `auto` for the cluster on this machine."
        ),
    ],
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    token: Token = None,
    generate_token: GenerateToken = False,
) -> None:
    """Record snapshots of a running cluster by polling its GCS."""
    from rayscope.ray.address import AddressError, resolve
    from rayscope.ray.versions import version_note

    try:
        address = resolve(address)
    except AddressError as error:
        fail(error.message, error.remedy)
    settings = settings_from(data_dir, host, port, token, generate_token)
    with any_server(settings) as serving, Api(serving.url, settings.token, folder=settings.folder) as api:
        try:
            session = api.attach_cluster(address)
            version = api.by_name()[session]["ray_version"]
        except RayscopeError as error:
            fail(error.message, error.remedy)
        if not serving.own and (note := version_note(version)):  # our own server already logged it
            warn(note)
        say(f"recording snapshots of {session} at {address}")
        say(session_url(serving.url, session))
        if serving.own:
            serve_until_stopped("press Ctrl-C to stop")
