"""``rayscope diagnose``: the bottlenecks of a job and their remedies."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from rayscope.cli.clients import open_client
from rayscope.cli.console import print_json, shown, stdout, visible
from rayscope.cli.findings import gain, owned, saving, shares, where
from rayscope.cli.options import DataDir, ServerUrl, Session, Token
from rayscope.cli.printing import counted
from rayscope.model.program import program_name
from rayscope.units import duration

if TYPE_CHECKING:
    from rayscope.client import Client
    from rayscope.client.types import FindingItem, InsightsAnswer

#: Number of functions whose savings are printed.
_FUNCTIONS = 5
#: Width of a bar in characters.
_BAR = 20
#: Exit status for ``--fail-on`` if a job could not be analyzed and no severe finding is known.
_NOT_ANALYZED = 4
_STYLES = {"critical": "bold red", "warning": "yellow", "info": "dim"}


class Form(str, Enum):
    """The output format."""

    text = "text"
    json = "json"
    md = "md"


class Severity(str, Enum):
    """The lowest severity for which the command fails."""

    warning = "warning"
    critical = "critical"


def diagnose(
    job: Annotated[
        str | None, typer.Option("--job", help="Job ID (default: the longest job that ran tasks).")
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="Print text, JSON, or Markdown.")] = Form.text,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 if anything is found that is at least this severe, and with 4 if the job "
            "cannot be analyzed: without the tracer, after events were dropped, or if it is too large.",
        ),
    ] = None,
    long: Annotated[
        bool,
        typer.Option(
            "--long", help="Predict savings also for a job of over 100,000 attempts: takes a minute or more."
        ),
    ] = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Explain what slowed a job down, what would help, and how much time that would save."""
    with open_client(server, data_dir, token, session) as client:
        answer = client.insights(job, long=long)
        name = "" if form is Form.json else _job_name(client, answer["job_id"])
    if form is Form.json:
        print_json(answer, indent=2)
    elif form is Form.md:
        typer.echo("\n".join(_markdown(answer, name)))
    else:
        console = stdout()
        for line in _lines(answer, name):
            console.print(line)
    if fail_on is None:
        return
    grave = {"critical"} | ({"warning"} if fail_on is Severity.warning else set())
    if any(finding["severity"] in grave for finding in answer["findings"]):
        raise typer.Exit(1)
    if _is_incomplete(answer):
        raise typer.Exit(_NOT_ANALYZED)


def _is_incomplete(insights: InsightsAnswer) -> bool:
    """Return whether findings may be missing, because the record is incomplete or the job is too large."""
    withheld = insights["withheld"]
    return bool(insights["not_recorded"]) or (withheld is not None and withheld["code"] == "too_large")


def _job_name(client: Client, job_id: str) -> str:
    """Return the script and arguments of a job, or its ID if they are unknown."""
    entrypoints = [job["entrypoint"] for job in client.jobs(job_id=job_id, internal=True)]
    return shown(program_name(next(filter(None, entrypoints), None) or ""))


def _head(answer: InsightsAnswer, name: str) -> str:
    took = duration(answer["calibration"]["recorded_ns"])
    verb = "has taken" if answer["so_far"] else "took"
    error = answer["calibration"]["error"]
    trust = "" if error is None else f" The replay of its record is off by {abs(error):.1%}."
    job = f"{name} (job {answer['job_id']})" if name else f"Job {answer['job_id']}"
    return f"{job} {verb} {took} for {counted(answer['attempts'], 'attempt')}.{trust}"


def _nothing(answer: InsightsAnswer) -> str:
    if _is_incomplete(answer):
        return "Found nothing in what is recorded."
    if answer["silent"]:
        return "Found nothing."
    return "Found nothing that costs 1% of its time or more, and no risk."


def _notes(answer: InsightsAnswer) -> Iterator[str]:
    """Yield the reasons why findings or savings may be missing."""
    for missing in answer["not_recorded"]:
        yield missing["message"]
    if answer["withheld"] is not None:
        yield f"Savings are not predicted: {answer['withheld']['message']}"
    for skipped in answer["silent"]:
        yield f"Not enough data for {skipped['kind']}: {skipped['message']}"


def _lines(answer: InsightsAnswer, name: str) -> Iterator[Text | Padding]:
    yield Text(_head(answer, name), style="bold")
    if answer["verdict"] is not None:
        yield Text(shown(answer["verdict"]["text"]))
    origins = {one["function"]: one["origin"] for one in answer["functions"]}
    if causes := shares(answer["causes"], origins):
        yield Text("\nWhere its time went", style="bold")
        for one in causes:
            bar = ("█" * round(one.tenths * _BAR / 1000)).ljust(_BAR)
            yield Text(f"  {one.name:30} {bar} {duration(one.total_ns):>9}  {one.tenths / 1000:6.1%}")
        for text in filter(None, (cause["text"] for cause in answer["causes"])):
            yield Padding(Text(shown(text), style="dim"), (0, 0, 0, 2))
    for finding in answer["findings"]:
        yield Text()
        line = Text(f"{finding['severity']:8}  ", style=_STYLES[finding["severity"]])
        line.append(": ".join(filter(None, (finding["title"], where(finding)))), style="not bold default")
        line.append(f"  ({gain(finding)})", style="not bold dim")
        yield line
        yield Padding(Text(shown(finding["advice"])), (0, 0, 0, 10))
        yield Padding(Text(visible(finding["sketch"]), style="dim"), (0, 0, 0, 14))
    if not answer["findings"]:
        yield Text(f"\n{_nothing(answer)}")
    if functions := answer["functions"][:_FUNCTIONS]:
        yield Text(
            "\nIf it took half the time, the job would save about (the range in 9 of 10 cases)", style="bold"
        )
        for each in functions:
            function = owned(each["function"], each["origin"])
            yield Text(
                f"  {function:30} {duration(each['saving_ns']):>9}  {each['share']:6.1%}  ({saving(each)})"
            )
    for note in _notes(answer):
        yield Text(f"\n{note}", style="yellow")


def _sentence(finding: FindingItem) -> str:
    weight = gain(finding)
    return f"It {'is ' if weight.startswith('a ') else ''}{weight}."


def _markdown(answer: InsightsAnswer, name: str) -> Iterator[str]:
    yield from (f"# {_head(answer, name)}", "")
    if answer["verdict"] is not None:
        yield from (shown(answer["verdict"]["text"]), "")
    for finding in answer["findings"]:
        place = where(finding).replace("`", "")
        yield f"## {finding['title']}{f': `{place}`' if place else ''} ({finding['severity']})"
        yield from ("", f"{shown(finding['advice'])} {_sentence(finding)}", "")
        if finding["sketch"]:
            yield from ("```python", visible(finding["sketch"]), "```", "")
    if not answer["findings"]:
        yield from (_nothing(answer), "")
    if answer["functions"]:
        yield from ("| Function | Saving at half its time | Share | 9 of 10 |", "|---|---|---|---|")
        for one in answer["functions"][:_FUNCTIONS]:
            function = owned(one["function"], one["origin"]).replace("|", "\\|")
            yield f"| {function} | {duration(one['saving_ns'])} | {one['share']:.1%} | {saving(one)} |"
    for note in _notes(answer):
        yield from ("", note)
