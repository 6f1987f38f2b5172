"""``rayscope runs``: the jobs of all sessions, and which ones were slower than usual."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from rayscope.cli.clients import open_client
from rayscope.cli.console import shown
from rayscope.cli.options import DataDir, Form, Limit, ServerUrl, Since, Token, Until, Wide, between
from rayscope.cli.printing import Column, Format, Row, identity, print_list, state, text, when
from rayscope.units import duration, size

_STYLES = {"slower": "red", "faster": "green"}
_REASONS = {
    "few_runs": "too few earlier runs",
    "outcome": "did not succeed",
    "left_out": "left out",
    "no_script": "no script",
    "no_duration": "no duration",
}


def _verdict(row: Row) -> Text:
    verdict = str(row["verdict"])
    if verdict == "unknown":
        return Text(f"unknown: {_REASONS.get(str(row['reason']), row['reason'])}", style="dim")
    if verdict == "as_usual":
        return Text("as usual")
    return Text(f"{abs(row['ratio'] - 1):.0%} {verdict}", style=_STYLES[verdict])


def _time(name: str, title: str) -> Column:
    """A column of durations, with ``-`` where they are unknown."""
    return Column(title, lambda row: "-" if row.get(name) is None else duration(row[name]), right=True)


_RUNS = (
    Column("script", lambda row: shown(row["script"] or row["name"]), long=True),
    when("begin_ns", "started"),
    Column("took", lambda row: duration(row["duration_ns"]), right=True),
    Column("against the usual", _verdict),
    state("outcome"),
    Column("tags", lambda row: shown(", ".join(row["tags"]))),
    text("tasks", right=True),
    text("failed", right=True),
    _time("cpu_ns", "CPU time"),
    _time("gpu_ns", "GPU time"),
    Column("peak memory", lambda row: size(row["peak_memory"]), right=True),
    text("cluster"),
    Column("commit", lambda row: shown((row["git_commit"] or "")[:8])),
    identity("job_id"),
    text("session"),
)


def runs(
    script: Annotated[
        str | None, typer.Option("--script", metavar="SCRIPT", help="Only runs of this script, as listed.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", help="Only runs with this whole tag (repeatable).")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="HOST", help="Only runs on this cluster.")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", metavar="STATE", help="Only runs that ended so (comma-separated)."),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option("--verdict", help="Only runs that are slower, as_usual, faster or unknown."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("-q", "--query", metavar="TEXT", help="Part of a command, tag, session, or commit."),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
    form: Form = Format.table,
    wide: Wide = False,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List the runs of all sessions, and which ones were slower than usual.

    The newest come first. A run is a job that has ended. It stays in the list when the record of its session
    is deleted by age.
    """
    with open_client(server, data_dir, token) as client:
        found = client.runs(
            limit or None,
            script=script,
            tag=tags or None,
            cluster=cluster,
            outcome=outcome,
            verdict=verdict,
            q=query,
            **between(since, until),
        )
        print_list(form, found, _RUNS, wide)
