"""``rayscope debug``: tasks that wait for a debugger, and a debugger for one of them."""

from __future__ import annotations

from rayscope.cli.clients import open_client
from rayscope.cli.debugger.listing import print_paused
from rayscope.cli.options import DataDir, Form, ServerUrl, Session, Token, Wide
from rayscope.cli.printing import Format


def debug(
    form: Form = Format.table,
    wide: Wide = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List the tasks that wait for a debugger."""
    with open_client(server, data_dir, token, session, needs_server=True) as client:
        print_paused(client, client.paused_tasks(), form, wide)
