"""``rayscope report``: writes a session, or a comparison of runs, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, say
from rayscope.cli.options import DataDir, ServerUrl, Token

_FAILED = 1


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION | A B]",
            help="The session (default: the newest), or the two sides of a comparison, as in `rayscope "
            "compare`.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.")] = Path("report.html"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Write a session, or a comparison of runs, as one HTML file.

    The file has at most 5 MB. It opens in a browser without a server or a network. It contains the pages of
    the UI, with the last lines of logs.
    """
    if len(runs or ()) > 2:
        raise typer.BadParameter("name a session, or two sides. Separate the runs of a side by commas.")
    a, b = (runs or [])[:-1], runs[-1] if runs else None
    if output.exists() and not force:
        fail(f"{output} exists.", "Choose another --output, or overwrite it with --force.", _FAILED)
    with open_client(server, data_dir, token, None if a else b, status=_FAILED) as client:
        try:
            client.report(output, a=a[0] if a else None, b=b if a else None)
        except OSError as error:
            fail(f"Could not write {output}: {error.strerror or error}.", "Choose another --output.", _FAILED)
    say(f"{output} ({output.stat().st_size / 1e6:.1f} MB): open it in a web browser")
