"""``rayscope task``: all details of one task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from rayscope.cli.clients import open_client
from rayscope.cli.console import print_json, shown, stdout, visible
from rayscope.cli.options import DataDir, ServerUrl, Session, Token
from rayscope.cli.printing import PHASES, Format, clock, counted, print_rows, short_id, state_text
from rayscope.model.node_title import unique_titles
from rayscope.units import duration, size

if TYPE_CHECKING:
    from rayscope.client.types import AttemptDetail, Death, EdgeItem, SchedulingItem, TaskDetail

#: States in which no worker has received the attempt yet.
_UNSCHEDULED = ("PENDING_ARGS_AVAIL", "PENDING_NODE_ASSIGNMENT")
#: Number of callers, children, and objects to show.
_NAMED = 5


def task(
    task_id: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="Task ID, or a prefix of at least 4 characters.", show_default=False
        ),
    ],
    form: Annotated[
        Format,
        typer.Option("--format", help="Print tables, everything as JSON, or the attempts as CSV."),
    ] = Format.table,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Show one task: its attempts, where their time went, its error, caller, and data."""
    with open_client(server, data_dir, token, session) as client:
        detail = client.task(task_id)
        deaths = {
            attempt["attempt"]: client.deaths(lost["kind"], lost["id"])["items"]
            for attempt in detail["attempts"]
            if (lost := attempt["lost_with"]) is not None
        }
        nodes = unique_titles(client.nodes()) if form is Format.table else {}
    if form is Format.json:
        print_json(detail, indent=2)
        return
    if form is Format.csv:
        print_rows(form, detail["attempts"], ())
        return
    console = stdout()
    for attempt in detail["attempts"]:
        console.print(_attempt(attempt, detail, nodes))
        if attempt["error"] is not None:
            console.print(Text(visible(attempt["error"]["message"] or attempt["error"]["type"]), style="red"))
        for death in deaths.get(attempt["attempt"], ()):
            console.print(_table("Why it was lost", _steps(death)))
        console.print()
    console.print(_table("Around it", _surroundings(detail)))
    console.print(Text(f"Its log: rayscope logs --task {detail['task_id']}", style="dim"))


def _attempt(attempt: AttemptDetail, task: TaskDetail, nodes: Mapping[str, str]) -> Table:
    """The facts about an attempt. ``nodes``: the names of nodes by ID."""
    title, attempts = attempt["name"] or "unnamed task", task["attempts"][-1]["attempt"] + 1
    if attempts > 1:
        title += f", attempt {attempt['attempt'] + 1} of {attempts}"
    return _table(title, _of_attempt(attempt, task["scheduling"], nodes))


def _of_attempt(
    attempt: AttemptDetail, scheduling: list[SchedulingItem], nodes: Mapping[str, str]
) -> Iterator[tuple[str, str | Text]]:
    yield "id", attempt["task_id"]
    yield "state", state_text(attempt["state"])
    yield "submitted", clock(attempt["created_ns"])
    yield "started", _started(attempt)
    yield "ended", clock(attempt["end_ns"])
    for one in scheduling:
        if one["attempt"] == attempt["attempt"]:
            for phase, meaning in PHASES.items():
                if spent := one.get(f"{phase}_ns"):
                    yield meaning, duration(int(str(spent)))
    if attempt["cpu_ns"] is not None:
        yield "CPU time", duration(attempt["cpu_ns"])
    if attempt["peak_memory"] is not None:
        shared = " (shared with other tasks)" if attempt["memory_scope"] == "shared" else ""
        yield (
            "peak memory",
            f"{size(attempt['peak_memory'])}{shared}, {size(attempt['start_memory'])} at its start",
        )
    if attempt["gpu_scope"] is not None:
        yield "GPU busy", _gpu_use(attempt)
    yield "function", attempt["func_name"] or ""
    if attempt["required_resources"]:
        resources = json.loads(attempt["required_resources"])
        yield "resources", ", ".join(f"{amount:g} {kind}" for kind, amount in resources.items())
    node_id = attempt["node_id"]
    where = [f"node {visible(nodes.get(node_id, short_id(node_id)))}"] if node_id else []
    where += [f"pid {attempt['worker_pid']}"] if attempt["worker_pid"] else []
    yield "ran on", ", ".join(where)
    yield "job", attempt["job_id"] or ""
    yield "actor", attempt["actor_id"] or ""
    yield "call site", attempt["call_site"] or ""


def _gpu_use(attempt: AttemptDetail) -> str:
    if attempt["gpu_busy_ns"] is None:
        return {"shared": "shared: not known", "unmeasured": "not measured"}.get(
            attempt["gpu_scope"] or "", f"not known ({attempt['gpu_scope']})"
        )
    of = " of its process" if attempt["gpu_scope"] == "process" else ""
    peak = size(attempt["gpu_memory_peak_bytes"]) or "unknown"
    return (
        f"{duration(attempt['gpu_busy_ns'])}{of}, measured {duration(attempt['gpu_measured_ns'])} of "
        f"{duration(attempt['gpu_held_ns'])}; peak memory {peak}"
    )


def _steps(death: Death) -> Iterator[tuple[str, str | Text]]:
    for link in death["chain"]:
        yield clock(link["time_ns"]), link["message"]
    if death["cause"] == "unknown":
        yield (
            "unknown",
            "The cause is one of these: " + " ".join(one["message"] for one in death["candidates"]),
        )
        yield "to know", death["missing"]["message"] if death["missing"] else ""
    if death["memory_bytes"] is not None:
        yield "", f"Ray reports that it held {size(death['memory_bytes'])} when it was killed."


def _started(attempt: AttemptDetail) -> str:
    if attempt["start_is_lost"]:
        return "not reported"
    if attempt["state"] == "CUT_OFF" and attempt["reported_state"] in _UNSCHEDULED:
        return "never scheduled"
    return clock(attempt["start_ns"])


def _surroundings(detail: TaskDetail) -> Iterator[tuple[str, str | Text]]:
    if detail["parent"] is not None:
        yield (
            "submitted by",
            f"{detail['parent']['name'] or 'driver'} ({short_id(detail['parent']['task_id'])})",
        )
    yield "call path", " > ".join(detail["call_path"])
    if detail["children_total"]:
        names = ", ".join(str(child["name"]) for child in detail["children"][:_NAMED])
        yield "submitted", f"{detail['children_total']:,}: {names}"
    for title, edges, total, number in (
        ("arguments from", detail["data_in"], detail["data_in_total"], detail["data_in_bytes"]),
        ("results to", detail["data_out"], detail["data_out_total"], detail["data_out_bytes"]),
    ):
        if total:
            yield (
                title,
                f"{counted(total, 'object')}, {size(number)}: {_others(edges, title.startswith('results'))}",
            )
    for note in detail["annotations"][:_NAMED]:
        yield "annotation", f"{note['name']}={note['value']}"


def _others(edges: list[EdgeItem], consumers: bool) -> str:
    names = (edge["consumer_name"] if consumers else edge["producer_name"] for edge in edges)
    return ", ".join(list(dict.fromkeys(name or "unknown" for name in names))[:_NAMED])


def _table(title: str, lines: Iterator[tuple[str, str | Text]]) -> Table:
    table = Table(
        title=Text(shown(title)), title_justify="left", title_style="bold", box=None, show_header=False
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines:
        if value:
            table.add_row(name, Text(shown(value)) if isinstance(value, str) else value)
    return table
