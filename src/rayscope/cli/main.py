"""The ``rayscope`` command: its sub-commands and nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from rayscope.cli import (
    alerts,
    attach,
    env,
    export,
    jobs,
    lists,
    logs,
    operator,
    run,
    serve,
    sessions,
    sql,
    start,
    task,
    top,
)
from rayscope.cli.doctor.command import doctor
from rayscope.version import __version__

app = typer.Typer(
    name="rayscope",
    help="See what an unmodified Ray cluster is doing, why it is slow, and what it did after it is gone.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
)

#: What follows the first argument belongs to the program that we start.
_PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}

app.command("run", context_settings=_PASS_ON)(run.run)
app.command("start", context_settings=_PASS_ON)(start.start)
app.command("env")(env.env)
app.command("serve")(serve.serve)
app.command("attach")(attach.attach)
app.command("top")(top.top)
app.command("open")(sessions.open_ui)
app.add_typer(sessions.app, name="sessions")
app.add_typer(jobs.app, name="jobs")
app.command("task")(task.task)
for listed in (
    *(lists.tasks, lists.functions, lists.failures, lists.actors),
    *(lists.nodes, lists.workers, lists.placement_groups, lists.events),
):
    app.command(listed.__name__.replace("_", "-"))(listed)
app.command("logs")(logs.logs)
app.command("sql")(sql.sql)
app.command("export")(export.export)
app.add_typer(alerts.app, name="alerts")
app.command("token")(operator.operator)
app.command("operator", hidden=True)(operator.operator)
app.command("doctor")(doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rayscope {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """See what an unmodified Ray cluster is doing, why it is slow, and what it did after it is gone."""


if __name__ == "__main__":
    app()
