"""``rayscope debug``: tasks that wait for a debugger, and a debugger for one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from rayscope.cli.clients import open_client
from rayscope.cli.debugger.listing import choose, print_paused
from rayscope.cli.options import DataDir, Form, Operator, ServerUrl, Session, Token, Wide
from rayscope.cli.printing import Format


def debug(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]",
            help="Task ID, a prefix of at least 4 characters, or pause ID. Without it, the tasks are listed.",
            show_default=False,
        ),
    ] = None,
    form: Form = Format.table,
    wide: Wide = False,
    operator: Operator = None,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List the tasks that wait for a debugger, or debug one of them.

    Debugging requires the operator token, and a server that was started with --debugger.
    """
    with open_client(server, data_dir, token, session, needs_server=True, operator=operator) as client:
        answer = client.paused_tasks()
        if task is None:
            print_paused(client, answer, form, wide)
            return
        chosen = choose(answer, task)
        with client.open_socket(f"/ws/debugger/{chosen['pause_id']}") as socket:
            from rayscope.cli.debugger.client import DapClient
            from rayscope.cli.debugger.terminal import Terminal

            Terminal(client, chosen, DapClient(socket)).run()
