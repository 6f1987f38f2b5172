"""``rayscope diagnose``: what slowed a job down, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from rayscope.cli.api import asking
from rayscope.cli.console import print_json, shown, stdout, visible
from rayscope.cli.options import DataDir, ServerUrl, Token
from rayscope.cli.printing import counted
from rayscope.cli.summary import duration

if TYPE_CHECKING:
    from rayscope.client.types import FindingItem, InsightsAnswer

#: Functions whose gain is told.
_FUNCTIONS = 5
_STYLES = {"critical": "bold red", "warning": "yellow", "info": "dim"}


class Form(str, Enum):
    """How the answer is printed."""

    text = "text"
    json = "json"
    md = "md"


class Severity(str, Enum):
    """From which severity on the command fails."""

    warning = "warning"
    critical = "critical"


def diagnose(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION", help="Session name or prefix (default: the newest).", show_default=False
        ),
    ] = None,
    job: Annotated[
        str | None, typer.Option("--job", help="Job ID (default: the longest job that ran tasks).")
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="Print text, JSON, or Markdown.")] = Form.text,
    fail_on: Annotated[
        Severity | None,
        typer.Option("--fail-on", help="Exit with 1 if anything is found that is at least this severe."),
    ] = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Say what slowed a job down, what would help, and how much time that would save."""
    with asking(server, data_dir, token, session) as client:
        found = client.insights(job)
    if form is Form.json:
        print_json(found, indent=2)
    elif form is Form.md:
        typer.echo("\n".join(_markdown(found)))
    else:
        console = stdout()
        for line in _lines(found):
            console.print(line)
    grave = {"critical"} | ({"warning"} if fail_on is Severity.warning else set())
    if fail_on is not None and any(finding["severity"] in grave for finding in found["findings"]):
        raise typer.Exit(1)


def _where(finding: FindingItem) -> str:
    return finding["function"] or finding["actor_class"] or "driver"


def _gain(finding: FindingItem) -> str:
    """What the finding weighs."""
    if finding["saving_ns"] is None:
        return f"costs up to {duration(finding['cost_ns'])}, {finding['share']:.0%}"
    return f"would save {duration(finding['saving_ns'])}, {finding['share']:.0%}"


def _head(found: InsightsAnswer) -> str:
    took = duration(found["calibration"]["recorded_ns"])
    verb = "has taken" if found["so_far"] else "took"
    error = found["calibration"]["error"]
    trust = "" if error is None else f" The replay of its record is off by {abs(error):.1%}."
    return f"Job {found['job_id']} {verb} {took} for {counted(found['attempts'], 'attempt')}.{trust}"


def _nothing(found: InsightsAnswer) -> str:
    return "Found nothing that costs 1% of its time or more." if not found["silent"] else "Found nothing."


def _notes(found: InsightsAnswer) -> Iterator[str]:
    """What could not be told."""
    if found["withheld"] is not None:
        yield f"Savings are not predicted: {found['withheld']['message']}"
    for silent in found["silent"]:
        yield f"Not enough data for {silent['kind']}: {silent['message']}"


def _lines(found: InsightsAnswer) -> Iterator[Text | Padding]:
    yield Text(_head(found), style="bold")
    for finding in found["findings"]:
        yield Text()
        line = Text(f"{finding['severity']:8}  ", style=_STYLES[finding["severity"]])
        line.append(f"{finding['title']}: {shown(_where(finding))}", style="not bold default")
        line.append(f"  ({_gain(finding)})", style="not bold dim")
        yield line
        yield Padding(Text(shown(finding["advice"])), (0, 0, 0, 10))
        yield Padding(Text(visible(finding["sketch"]), style="dim"), (0, 0, 0, 14))
    if not found["findings"]:
        yield Text(_nothing(found))
    if functions := found["functions"][:_FUNCTIONS]:
        yield Text("\nIf it took half the time, the job would save", style="bold")
        for one in functions:
            yield Text(f"  {shown(one['function']):30} {duration(one['saving_ns']):>9}  {one['share']:6.1%}")
    for note in _notes(found):
        yield Text(f"\n{note}", style="yellow")


def _markdown(found: InsightsAnswer) -> Iterator[str]:
    yield from (f"# {_head(found)}", "")
    for finding in found["findings"]:
        yield f"## {finding['title']}: `{shown(_where(finding)).replace('`', '')}` ({finding['severity']})"
        yield from ("", f"{shown(finding['advice'])} It {_gain(finding)}.", "")
        if finding["sketch"]:
            yield from ("```python", visible(finding["sketch"]), "```", "")
    if not found["findings"]:
        yield from (_nothing(found), "")
    if found["functions"]:
        yield from ("| Function | Saving at half its time | Share |", "|---|---|---|")
        for one in found["functions"][:_FUNCTIONS]:
            name = shown(one["function"]).replace("|", "\\|")
            yield f"| {name} | {duration(one['saving_ns'])} | {one['share']:.1%} |"
    for note in _notes(found):
        yield from ("", note)
