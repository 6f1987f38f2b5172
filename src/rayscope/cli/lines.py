"""``rayscope lines``: the slow lines of a function, a task, or a whole session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, print_json, say, shown, stdout, warn
from rayscope.cli.export import explain_write_errors, real_path, refuse_existing, size_text
from rayscope.cli.lists import without_none
from rayscope.cli.options import DataDir, Job, ServerUrl, Session, Since, Token, Until, between
from rayscope.cli.printing import Column, Format, Row, counted, print_rows, short_id, text
from rayscope.units import size

if TYPE_CHECKING:
    from rayscope.client.types import LinesAnswer, MemoryLinesAnswer, ProfileItem


class LinesFormat(str, Enum):
    """The formats of :class:`~rayscope.cli.printing.Format`, and those of exports."""

    table = "table"
    json = "json"
    csv = "csv"
    collapsed = "collapsed"
    speedscope = "speedscope"
    pprof = "pprof"


#: The formats of exports, each with a program that reads it.
_OPEN_WITH: Mapping[LinesFormat, str] = {
    LinesFormat.collapsed: "draw it with `flamegraph.pl FILE`",
    LinesFormat.speedscope: "open it at https://www.speedscope.app, or with `npx speedscope FILE`",
    LinesFormat.pprof: "open it with `go tool pprof FILE`",
}
_TASK_ID = re.compile(r"(?=.*\d)[0-9a-f]{8,48}")


def _share(name: str, title: str) -> Column:
    def value(row: Row) -> str:
        share = row[f"{name}_share"]
        if share is None:
            return f"{row[f'{name}_samples']:,}"
        return f"{share:.1%} ± {row[f'{name}_points']:.1f}"

    return Column(title, value, right=True)


def place_of(line: Mapping[str, Any]) -> str:
    """Return where a line of code is. Native code has no lines."""
    return f"{line['file']}:{line['line']}" if line["line"] else str(line["file"])


_LINES = (
    _share("self", "self"),
    _share("total", "total"),
    Column("native", lambda row: _of(row["native_samples"], row["self_samples"]), right=True),
    Column("line", lambda row: shown(place_of(row)), long=True),
    text("function", long=True),
    text("source", long=True),
)
_HELD_LINES = (
    Column("self", lambda row: size(row["self_bytes"]), right=True),
    Column("allocations", lambda row: f"{row['self_allocations']:,}", right=True),
    Column("total", lambda row: size(row["total_bytes"]), right=True),
    Column("line", lambda row: shown(place_of(row)), long=True),
    text("function", long=True),
)


def lines(
    of: Annotated[
        str | None,
        typer.Argument(
            metavar="[FUNCTION|TASK]",
            help="A function, or the ID of a task or at least 8 digits of it (default: all functions).",
            show_default=False,
        ),
    ] = None,
    attempt: Annotated[
        int | None, typer.Option("--attempt", min=0, help="Only this attempt (the first is 0).")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="ID", help="Only samples of this profile.")
    ] = None,
    driver: Annotated[bool, typer.Option("--driver", help="Only drivers.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    job: Job = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Max lines.")] = 20,
    form: Annotated[
        LinesFormat,
        typer.Option(
            "--format",
            help="Print a table, everything as JSON, or the lines as CSV, or write all stacks for another "
            "program: collapsed, speedscope, or pprof.",
        ),
    ] = LinesFormat.table,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for collapsed, speedscope, or pprof."),
    ] = None,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Show the slow lines of a function, a task, or a whole session."""
    is_task = of is not None and _TASK_ID.fullmatch(of.lower()) is not None
    filters: dict[str, Any] = without_none(
        task_id=of if is_task else None,
        func_name=None if is_task else of,
        job_id=job,
        type="DRIVER_TASK" if driver else None,
    )
    filters |= {"attempt": attempt, "profile": profile, **between(since, until)}
    if form in _OPEN_WITH and output is None:
        fail(f"The format {form.value} is for a file.", "Add --output FILE.")
    if form not in _OPEN_WITH and output is not None:
        fail("--output is for exports.", "Add --format collapsed, speedscope, or pprof.")
    if output is not None:
        refuse_existing(output, force)
    with open_client(server, data_dir, token, session) as client:
        items = client.profiles()["items"] if profile else []
        taken = next((item for item in items if item["profile_id"] == profile), None)
        if taken is not None and taken["memory"] is not None:
            if without_none(**filters).keys() != {"profile"} or output is not None:
                fail("Profiles of memory have no filters and no exports.", "Leave out the other options.")
            held = client.memory_lines(taken["profile_id"])
            if form is LinesFormat.json:
                print_json(held, indent=2)
            else:
                print_memory(held, limit, Format(form.value))
            return
        answer = client.lines(**filters)
        if output is not None:
            with explain_write_errors(output):
                written = client.export_lines(form.value, real_path(output), **filters)
            if answer["samples"] == 0 and (missing := answer["missing"]) is not None:
                warn(f"{missing['message']} {missing['remedy']}")
            say(f"{output} ({size_text(written.stat().st_size)}): {_OPEN_WITH[form]}")
            return
    if form is LinesFormat.json:
        print_json(answer, indent=2)
        return
    print_lines(answer, limit, Format(form.value))
    if taken is not None and form is LinesFormat.table:
        print_stacks(taken)


def print_stacks(profile: ProfileItem) -> None:
    """Print the workers of a profile, grouped by their most frequent stack, if there are several."""
    workers = {worker["worker_id"]: worker for worker in profile["workers"]}
    if len(workers) < 2:
        return

    def names(worker_ids: Iterable[str]) -> str:
        ranks = [rank for worker_id in worker_ids if (rank := workers[worker_id]["rank"]) is not None]
        ids = [short_id(worker_id) for worker_id in worker_ids if workers[worker_id]["rank"] is None]
        parts = ((sorted(ranks), "rank"), (sorted(ids), "worker"))
        return ", ".join(
            f"{counted(len(found), noun)} ({', '.join(map(str, found))})" for found, noun in parts if found
        )

    for group in profile["stacks"]:
        phase = "" if group["phase"] == "executing" else f", {group['phase']}"
        lines = [f"{names(group['worker_ids'])}: {group['share']:.0%} of the samples{phase}"]
        lines += [f"  {shown(frame)}" for frame in group["frames"]]
        if group["frames_left_out"]:
            lines.append(f"  … {counted(group['frames_left_out'], 'more frame')}")
        stdout().print(Text("\n".join(lines)), soft_wrap=True)
    grouped = {worker_id for group in profile["stacks"] for worker_id in group["worker_ids"]}
    if without := workers.keys() - grouped:
        stdout().print(Text(f"{names(without)}: no stack"), soft_wrap=True)


def print_lines(answer: LinesAnswer, limit: int, form: Format = Format.table) -> None:
    """Print the lines with the most samples, and in a table the number of samples and the phases."""
    print_rows(form, answer["lines"][:limit], _LINES)
    if form is Format.table:
        stdout().print(Text(_summary(answer), style="dim"))
    if (missing := answer["missing"]) is not None:
        say(f"{missing['message']} {missing['remedy']}")


def print_memory(answer: MemoryLinesAnswer, limit: int, form: Format = Format.table) -> None:
    """Print the lines that hold the most memory, and in a table the sum of all lines."""
    print_rows(form, answer["lines"][:limit], _HELD_LINES)
    if form is Format.table:
        of = counted(answer["allocations"], "allocation")
        stdout().print(Text(f"{size(answer['bytes'])} in {of} of user code", style="dim"))


def _summary(answer: LinesAnswer) -> str:
    rates = ", ".join(f"{hz:g}" for hz in answer["hz"])
    parts = [f"{counted(answer['samples'], 'sample')} of {counted(answer['attempts'], 'attempt')}"]
    parts += [f"{rates} per second and thread"] if rates else []
    parts += [
        f"{phase['phase']} {_of(phase['samples'], answer['samples'])}"
        for phase in answer["phases"]
        if answer["is_enough"]
    ]
    return "; ".join(parts)


def _of(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if part and whole else ""
