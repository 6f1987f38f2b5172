"""The ``rayscope`` command. This module only defines the subcommands."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rayscope.cli.lazy import command_class
from rayscope.errors import RayscopeError


class _Commands(TyperGroup):
    """The group of all commands.

    If the environment causes an error (another user's directory, a full disk), it exits with a message. On
    output, it escapes characters that the locale cannot encode.
    """

    def invoke(self, ctx: Any) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Python does the same for stderr.
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except (RayscopeError, OSError) as error:
            if isinstance(error, OSError) and error.filename is None:
                raise
            from rayscope.cli.console import fail  # imported late, so that `rayscope --help` starts faster

            if isinstance(error, RayscopeError):
                fail(error.message, error.remedy)
            remedy = "Check the path. --data-dir chooses the data directory."
            fail(f"{error.strerror}: {error.filename}.", remedy)


app = typer.Typer(
    cls=_Commands,
    name="rayscope",
    help="See what an unmodified Ray cluster is doing, why it is slow, and what it did after it is gone.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
)

#: For each command or group, where its code is, and the first line of its help. `rayscope --help` prints
#: these lines, so that only the module of the called command has to be loaded.
COMMANDS = {
    "run": ("run:run", "Run any Ray program unmodified and record it. Put Rayscope's options before SCRIPT."),
    "start": ("start:start", "Start a Ray node that records itself: rayscope start -- --head --port=6379."),
    "env": ("env:env", "Print the environment variables and `ray start` flags that make Ray record itself."),
    "serve": ("serve:serve", "Serve the UI and the API, and receive events from clusters, until Ctrl-C."),
    "attach": ("attach:attach", "Record snapshots of a running cluster by polling its GCS."),
    "top": ("top:top", "Show live nodes, jobs, functions, and alerts. q: quit, s: change sort."),
    "open": ("sessions:open_ui", "Open a session or a session file in the web browser, and print its URL."),
    "sessions": ("sessions:app", "List, name, annotate, and delete recorded sessions."),
    "jobs": ("jobs:app", "List, submit, stop, and delete jobs."),
    "diagnose": (
        "diagnose:diagnose",
        "Explain what slowed a job down, what would help, and how much time that would save.",
    ),
    "compare": (
        "compare:compare",
        "Compare runs: whether they are slower, and where the difference comes from.",
    ),
    "runs": ("runs:runs", "List the runs of all sessions, and which ones were slower than usual."),
    "debug": ("debugger.command:debug", "List the tasks that wait for a debugger, or debug one of them."),
    "task": ("task:task", "Show one task: its attempts, where their time went, its error, caller, and data."),
    "tasks": ("lists:tasks", "List task attempts, newest first."),
    "functions": ("lists:functions", "List the 50 functions with the longest total duration."),
    "lines": ("lines:lines", "Show the slow lines of a function, a task, or a whole session."),
    "profile": ("profile:profile", "Profile the workers of a function, job, actor, worker or node now."),
    "failures": ("lists:failures", "List failures by function, error, and line, unrecovered ones first."),
    "actors": ("lists:actors", "List actors, alive and dead."),
    "nodes": ("lists:nodes", "List nodes with their utilization."),
    "workers": ("lists:workers", "List worker processes and drivers, newest first."),
    "placement-groups": ("lists:placement_groups", "List placement groups, newest first."),
    "events": ("lists:events", "List events, newest first."),
    "logs": (
        "logs:logs",
        "Print the log of a task, actor, job, worker, or file, or list the log files, newest first.",
    ),
    "sql": ("sql:sql", "Query a session with SQL, or all sessions of the warehouse (--all)."),
    "export": (
        "export:export",
        "Write a session for Perfetto or speedscope, as Parquet tables, or as OpenTelemetry traces.",
    ),
    "report": (
        "report:report",
        "Write a session, or a comparison of runs, as one HTML file.",
    ),
    "mcp": ("mcp:mcp", "Serve read-only tools for assistants (Model Context Protocol)."),
    "skill": ("mcp:skill", "Print a skill that teaches assistants to use Rayscope."),
    "archive": ("archive:app", "List, push, pull, verify, and prune archived sessions."),
    "warehouse": ("warehouse:app", "Load sessions into ClickHouse, to query all of them at once."),
    "alerts": ("alerts:app", "Alerts, rules, and notification channels."),
    "token": (
        "operator:operator",
        "Print the operator token, which allows changes (jobs, silences, dashboards).",
    ),
    "doctor": ("doctor.command:doctor", "Check what is recorded, its overhead, and how to enable the rest."),
}

#: The panels of `rayscope --help`, with the commands in each.
_PANELS = {
    "Record": ("run", "start", "env", "serve", "attach"),
    "Look": (
        *(
            "open",
            "top",
            "diagnose",
            "compare",
            "runs",
            "sessions",
            "jobs",
            "debug",
            "task",
            "tasks",
            "functions",
            "lines",
            "profile",
            "failures",
        ),
        *("actors", "nodes", "workers", "placement-groups", "events", "logs"),
    ),
    "Data": ("sql", "export", "report", "mcp", "skill", "archive", "warehouse"),
    "Admin": ("doctor", "alerts", "token"),
}

#: Settings of commands that start a program: everything after the first argument belongs to the program.
_PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def _nothing() -> None:
    """Stand in for a command until its module is loaded."""


def _add_command(name: str, panel: str) -> None:
    where, line = COMMANDS[name]
    settings = _PASS_ON if name in ("run", "start") else None
    options: dict[str, Any] = {"help": line, "context_settings": settings, "rich_help_panel": panel}
    app.command(name, cls=command_class(where), **options)(_nothing)


for _panel, _names in _PANELS.items():
    for _name in _names:
        _add_command(_name, _panel)
app.command("operator", hidden=True, cls=command_class(COMMANDS["token"][0]))(_nothing)


def _show_version(value: bool) -> None:
    if value:
        from rayscope.version import __version__

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
    if not faulthandler.is_enabled():
        with contextlib.suppress(AttributeError, OSError, ValueError):  # there is no usable stderr
            faulthandler.enable()  # if a C library crashes, print the Python stacks


if __name__ == "__main__":
    app()
