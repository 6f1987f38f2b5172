"""``rayscope attach``: look at a cluster that was started without recording."""

from __future__ import annotations

from typing import Annotated

import typer

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import fail, say
from rayscope.cli.options import DataDir, GenerateToken, Host, Port, Token, settings_from
from rayscope.cli.serving import any_server, until_stopped
from rayscope.cli.summary import session_url


def attach(
    address: Annotated[
        str,
        typer.Argument(help="The head node's GCS as host:port, or `auto` for the one on this machine."),
    ],
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    token: Token = None,
    generate_token: GenerateToken = False,
) -> None:
    """Take snapshots of a running cluster: what its GCS tells, asked again and again."""
    from rayscope.ray.address import AddressError, resolve

    try:
        address = resolve(address)
    except AddressError as error:
        fail(error.message, error.remedy)
    settings = settings_from(data_dir, host, port, token, generate_token)
    with any_server(settings) as serving, Api(serving.url, settings.token, folder=settings.folder) as api:
        try:
            session = api.attach_cluster(address)
        except RayscopeError as error:
            fail(error.message, error.remedy)
        say(f"snapshot mode for {session} at {address}")
        say(session_url(serving.url, session))
        if serving.own:
            say("Ctrl-C stops")
            until_stopped()
