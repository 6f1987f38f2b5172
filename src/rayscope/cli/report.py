"""``rayscope report``: writes a session, or a comparison of runs, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rayscope.cli.console import fail, say
from rayscope.cli.options import DataDir, ServerUrl, SkipFirst, Token
from rayscope.cli.session_files import client_of_runs

_FAILED = 1


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION | A B]",
            help="The session (default: the newest) or its file, or the two sides of a comparison, as in "
            "`rayscope compare`.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.")] = Path("report.html"),
    skip_first: SkipFirst = 0,
    view: Annotated[
        str | None,
        typer.Option("--view", help="The page that opens first, such as gantt.", show_default=False),
    ] = None,
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
    if skip_first and len(runs or ()) < 2:
        raise typer.BadParameter("--skip-first needs a comparison: name two sides.")
    if view and len(runs or ()) == 2:
        raise typer.BadParameter("--view needs a session, and a comparison has one page.")
    if output.exists() and not force:
        fail(f"{output} exists.", "Choose another --output, or overwrite it with --force.", _FAILED)
    with client_of_runs(runs or [], server, data_dir, token, status=_FAILED) as (client, names):
        try:
            if len(names) < 2:
                client.report(output, session=names[0] if names else None, view=view)
            else:
                client.report(output, a=names[0], b=names[1], skip_first=skip_first or None)
        except OSError as error:
            fail(f"Could not write {output}: {error.strerror or error}.", "Choose another --output.", _FAILED)
    say(f"{output} ({output.stat().st_size / 1e6:.1f} MB): open it in a web browser")
