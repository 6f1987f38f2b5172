"""``rayscope debug``: tasks that wait for a debugger, and a debugger for one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail
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
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Let an editor debug the task through this port of this machine (0: any free one).",
            show_default=False,
        ),
    ] = None,
    remote_root: Annotated[
        str | None,
        typer.Option(
            "--remote-root",
            metavar="PATH",
            help="With --port: folder of the program where the task runs (default: the job's working "
            "directory, or the folder of the paused file).",
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
    if task is None and port is not None:
        fail("--port needs a task.", "`rayscope debug` lists the tasks that wait for a debugger.")
    if remote_root is not None and port is None:
        fail("--remote-root is for editors.", "Add --port 5678.")
    with open_client(server, data_dir, token, session, needs_server=True, operator=operator) as client:
        answer = client.paused_tasks()
        if task is None:
            print_paused(client, answer, form, wide)
            return
        chosen = choose(answer, task)
        if port is not None:
            from rayscope.cli.debugger.forward import forward

            forward(client, chosen, port, remote_root)
            return
        with client.open_socket(f"/ws/debugger/{chosen['pause_id']}") as socket:
            from rayscope.cli.debugger.terminal import Terminal

            Terminal(client, chosen, socket).run()
