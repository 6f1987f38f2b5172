"""``rayscope doctor``: the active parts of a cluster's recording, what they cost, and what is missing."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rayscope.cli.console import fail, print_json, stderr, stdout
from rayscope.cli.crashes import crashes_text
from rayscope.cli.options import DataDir, ServerUrl, Token, settings_from
from rayscope.cli.printing import counted

if TYPE_CHECKING:
    from rayscope.cli.doctor.checks import Finding
    from rayscope.cli.doctor.facts import Facts

#: Exit status if something is missing or worth fixing.
NOT_WHOLE = 1
_STYLES = {"on": "green", "partly": "yellow", "off": "red", "unknown": "yellow"}


class Format(str, Enum):
    """The output format."""

    text = "text"
    json = "json"


def doctor(
    address: Annotated[
        str,
        typer.Argument(
            help="GCS address of the head node (host:port), or `auto` for the cluster on this machine. Where "
            "several run, `auto` is the one that the server records."
        ),
    ] = "auto",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.5, max=60, help="How long to measure, in seconds.")
    ] = 3,
    probe: Annotated[
        bool, typer.Option("--probe", help="Measure by running 1,000 no-op tasks in the cluster.")
    ] = False,
    server: ServerUrl = None,
    data_dir: DataDir = None,
    token: Token = None,
    form: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.text,
) -> None:
    """Check what is recorded, its overhead, and how to enable the rest.

    Changes nothing. The exit status is 0 if the recording is complete, and 1 if something is missing or worth
    fixing.
    """
    from rayscope.cli.doctor.checks import is_whole, judge
    from rayscope.cli.doctor.collect import collect, sessions_of
    from rayscope.ray.address import AddressError, resolve
    from rayscope.ray.gcs.client import GcsError

    if server is not None and not server.startswith(("http://", "https://")):
        fail(f"{server!r} is not a valid URL.", "Use http://HOST:PORT as --server.")
    settings = settings_from(data_dir, token=token)
    try:
        address = resolve(address, lambda: sessions_of(settings, server))
        with stderr().status(f"checking {address} for about {seconds:g} s"):
            facts = collect(address, settings, server, data_dir, seconds, probe)
    except (AddressError, GcsError) as error:
        fail(error.message, error.remedy)
    findings = judge(facts)
    if form is Format.json:
        print_json(as_json(facts, findings), indent=2)
    else:
        show(stdout(), facts, findings)
    raise typer.Exit(0 if is_whole(findings) else NOT_WHOLE)


def as_json(facts: Facts, findings: list[Finding]) -> dict[str, Any]:
    """Return the findings and the facts on which they are based."""
    from rayscope.cli.doctor.checks import is_whole, notes

    return {
        "whole": is_whole(findings),
        "notes": notes(facts),
        "findings": [asdict(finding) for finding in findings],
        "facts": facts.as_json(),
    }


def show(console: Console, facts: Facts, findings: list[Finding]) -> None:
    """Print the findings for people: one line for each part, and the details below it."""
    from rayscope.cli.doctor.checks import notes

    ray = f", Ray {facts.ray_version}" if facts.ray_version else ""
    nodes = counted(len(facts.nodes), "node")
    console.print(Text(f"Cluster {facts.address}{ray}, {nodes}", style="bold"))
    console.print(Text(facts.session, style="dim"))
    console.print(Text(_measured(facts)))
    for note in notes(facts):
        console.print(Text(note, style="yellow"))
    for finding in findings:
        line = Text(f"\n{finding.part}: ", style="bold")
        line.append(finding.state, style=_STYLES.get(finding.state, "dim"))
        console.print(line)
        _indented(console, Text(finding.says))
        if finding.cost:
            _indented(console, Text(f"Cost: {finding.cost}", style="dim"))
        if finding.remedy:
            _indented(console, Text(finding.remedy, style="yellow"))
        if finding.command:
            # not wrapped, so that it can be copied
            console.print(Text(f"    {finding.command}", style="bold"), soft_wrap=True)
    if facts.server.crashes and (text := crashes_text(facts.server.crashes, facts.server.url or "")):
        console.print(Text(f"\n{text}", style="yellow"))
    wrong = sum(finding.state in ("partly", "off", "unknown") for finding in findings)
    if wrong:
        parts = "part above that is" if wrong == 1 else f"{wrong} parts above that are"
        console.print(Text(f"\nRecording is incomplete: see the {parts} not on.", style="yellow"))
    else:
        console.print(Text("\nRecording is complete.", style="green"))


def _indented(console: Console, text: Text) -> None:
    for line in text.wrap(console, max(20, console.width - 2)):
        line.rstrip()
        console.print(Text("  ").append_text(line))


def _measured(facts: Facts) -> str:
    measured = facts.measured
    if measured.probe_error:
        return f"The probe failed: {measured.probe_error}"
    took = f"{measured.seconds:.1f} s"
    if measured.ended is None:
        return f"Measured for {took}; the number of tasks that ended is unknown."
    if measured.ended == 0 and not measured.probe:
        return f"No tasks ran during the measurement ({took}); --probe runs 1,000 no-op tasks."
    ended = f"{counted(measured.ended, 'task attempt')} ended"
    return f"Measured for {took}, while {ended}{' (1,000 probe tasks)' if measured.probe else ''}."
