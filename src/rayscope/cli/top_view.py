"""The screen of ``rayscope top``, drawn for a terminal of any size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rayscope.cli.console import shown
from rayscope.cli.printing import clock, counted, failed_of, state_text
from rayscope.model import CUT_OFF
from rayscope.model.node_title import node_title
from rayscope.model.program import program_name
from rayscope.units import duration

if TYPE_CHECKING:
    from rayscope.client.types import AlertInfo, FunctionItem, Job, Node, SessionItem

#: Orders in which nodes can be sorted: title -> sort parameter for the list of nodes.
SORTS = {
    "cpu": "-cpu_percent",
    "memory": "-mem_percent",
    "gpu": "-gpu_percent",
    "store": "-object_store_percent",
    "workers": "-workers",
    "address": "node_ip",
}
_STATES_SHOWN = ("RUNNING", "PENDING_NODE_ASSIGNMENT", "PENDING_ARGS_AVAIL", "FINISHED", "FAILED")
_ACTIVE = ("RUNNING", "PENDING")
_MAX_ALERTS = 3
_MAX_JOBS = 4
_MAX_FUNCTIONS = 5
#: Below this terminal width, in characters, percentages are shown without bars.
_NO_BARS = 72
#: At or above this utilization, in %, a bar is yellow.
_FROM_YELLOW = 70
#: At or above this utilization, in %, a bar is red.
_FROM_RED = 90


@dataclass(frozen=True)
class Look:
    """The server's responses at ``time_ns``. ``problem``: why there are no newer ones."""

    session: SessionItem
    time_ns: int
    nodes: Sequence[Node] = ()
    nodes_total: int = 0
    jobs: Sequence[Job] = ()
    jobs_total: int = 0
    functions: Sequence[FunctionItem] = ()
    alerts: Sequence[AlertInfo] = field(default=())
    #: Number of datasets, applications, or runs, by library and by state.
    libraries: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    problem: str = ""


def picture(look: Look, sort: str, width: int, height: int, *, keys: bool = True) -> Group:
    """Return the complete screen of at most ``height`` lines. ``keys``: one of the lines lists the keys."""
    firing = [alert for alert in look.alerts if alert["state"] == "firing"]
    jobs = sorted(look.jobs, key=lambda job: job["state"] not in _ACTIVE)
    # Fixed lines: two at the top, three titles with column names, and the keys. Lists share the other lines.
    left = height - 8 - keys - bool(look.libraries)
    few_alerts = min(len(firing), _MAX_ALERTS, max(1, left // 5))
    left -= few_alerts
    few_jobs = min(len(jobs), _MAX_JOBS, max(1, left // 4))
    few_functions = min(len(look.functions), _MAX_FUNCTIONS, max(1, left // 3))
    few_nodes = min(len(look.nodes), max(1, left - few_jobs - few_functions))
    spare = max(0, left - few_nodes - few_jobs - few_functions)
    functions = look.functions[: few_functions + spare]
    parts: list[RenderableType] = [_head(look, width), _states(look, len(firing))]
    if look.libraries:
        parts.append(_libraries(look.libraries))
    parts += [_alert(alert) for alert in firing[:few_alerts]]
    parts += [
        _title("Nodes", f"by {sort}", few_nodes, look.nodes_total),
        _nodes(look.nodes[:few_nodes], width),
    ]
    parts += [_title("Jobs", "", few_jobs, look.jobs_total), _jobs(jobs[:few_jobs])]
    parts += [_title("Functions", "by time", len(functions), len(look.functions)), _functions(functions)]
    if keys:
        parts.append(Text("q: quit   s: change sort   space: refresh", style="dim"))
    return Group(*parts)


def _head(look: Look, width: int) -> Text:
    session = look.session
    line = Text(shown(session["session"]), style="bold", overflow="ellipsis", no_wrap=True)
    if look.problem:
        line = Text(shown(look.problem), style="bold red", overflow="ellipsis", no_wrap=True)
    elif session["state"] == "live":
        line.append("  live", style="bold green")
        line.append(f"  {clock(look.time_ns)[11:]}", style="not bold")
    else:
        line.append(f"  {session['state']}", style="bold yellow")
        line.append(f" {clock(session['last_ns'])}: as it was", style="not bold yellow")
    line.truncate(width, overflow="ellipsis")
    return line


def _states(look: Look, firing: int) -> Text:
    states = look.session["states"]
    named = [name for name in _STATES_SHOWN if states.get(name)]
    others = sum(count for name, count in states.items() if name not in _STATES_SHOWN)
    line = Text(counted(look.session["attempts"], "attempt"), overflow="ellipsis", no_wrap=True)
    for name in named:
        line.append(f"  {states[name]:,} ")
        line.append(name.removesuffix("_NODE_ASSIGNMENT").removesuffix("_AVAIL"), state_text(name).style)
    if others:
        line.append(f"  {others:,} other")
    line.append("   ")
    line.append(counted(firing, "alert"), style="bold red" if firing else "dim")
    return line


def _libraries(libraries: Mapping[str, Mapping[str, int]]) -> Text:
    """Return the activity of Ray's libraries in one line: ``Data: 1 running, 2 finished``."""
    line = Text(overflow="ellipsis", no_wrap=True)
    for name, states in libraries.items():
        summary = ", ".join(f"{count:,} {state.lower().replace('_', ' ')}" for state, count in states.items())
        line.append(f"{name.capitalize()}: ", style="bold cyan")
        line.append(f"{shown(summary) or 'unknown'}   ")
    return line


def _alert(alert: AlertInfo) -> Text:
    summary = alert["annotations"].get("summary") or ", ".join(alert["labels"].values())
    line = Text(f"! {shown(alert['rule'])}: {shown(summary)}", style="red", overflow="ellipsis", no_wrap=True)
    return line


def _title(name: str, how: str, few: int, total: int) -> Text:
    line = Text(name, style="bold cyan")
    if how:
        line.append(f" {how}", style="not bold")
    if few < total:
        line.append(f"  {few:,} of {total:,}", style="not bold dim")
    return line


def bar(percent: float | None, width: int) -> Text:
    """Return a percentage as a bar followed by its number, or ``-`` if it is unknown."""
    if percent is None or not math.isfinite(percent):
        return Text("-".rjust(width + 5), style="dim")
    percent = max(0.0, percent)
    full = round(min(100.0, percent) / 100 * width)
    style = "red" if percent >= _FROM_RED else "yellow" if percent >= _FROM_YELLOW else "green"
    line = Text("█" * full, style=style)
    line.append("░" * (width - full), style="dim")
    line.append(f" {percent:3.0f}%", style="default")
    return line


def _grid(*columns: tuple[str, bool, bool]) -> Table:
    """Return a table without borders.

    Each column has a title, whether it takes the remaining width, and whether it is aligned to the right.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for title, takes, right in columns:
        table.add_column(
            title,
            ratio=1 if takes else None,
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
        )
    return table


def _nodes(nodes: Sequence[Node], width: int) -> Table:
    size = max(4, min(24, (width - 42) // 6))
    gpus = any(node["usage"] and node["usage"]["gpus"] for node in nodes)
    names = ("cpu", "mem", "store", "gpu", "gpu mem") if gpus else ("cpu", "mem", "store")
    fields = ("cpu_percent", "mem_percent", "object_store_percent", "gpu_percent", "gpu_mem_percent")
    size = 0 if width < _NO_BARS else max(2, size - 3) if gpus else size
    table = _grid(("node", True, False), *((name, False, False) for name in names), ("workers", False, True))
    for node in nodes:
        usage: Any = node["usage"] or {}
        name = Text(shown(node_title(node)))
        name.append(f" {node['node_id'][:8]}", style="dim")
        if node["state"] != "ALIVE":
            name.stylize("red")
        cells = [bar(usage.get(one), size) for one in fields[: len(names)]]
        workers = node["workers"]
        table.add_row(name, *cells, "-" if workers is None else f"{workers:,}")
    return table


def _jobs(jobs: Sequence[Job]) -> Table:
    table = _grid(
        ("job", False, False), ("state", False, False), ("ended", False, False), ("what", True, False)
    )
    for job in jobs:
        tasks = job["tasks"]
        total = sum(tasks.values())
        failed = tasks.get("FAILED", 0)
        ended = tasks.get("FINISHED", 0) + failed + tasks.get(CUT_OFF, 0)
        # A job may submit more tasks, so the final number is not known.
        done = Text(f"{ended:,} of {total:,}" if total else "-", style="default" if total else "dim")
        failed = failed_of(failed, job)
        if failed:
            done.append(f", {failed:,} failed", style="red")
        what = program_name(job["entrypoint"] or "") or job["submission_id"] or job["type"] or ""
        table.add_row(job["job_id"], state_text(job["state"]), done, Text(shown(what)))
    return table


def _functions(functions: Sequence[FunctionItem]) -> Table:
    table = _grid(
        ("function", True, False),
        *((title, False, True) for title in ("calls", "run", "failed", "p50", "p95", "duration")),
    )
    for one in functions:
        failed = failed_of(one["failed"], one)
        table.add_row(
            Text(shown(one["func_name"] or "?")),
            f"{one['attempts']:,}",
            f"{one['running']:,}",
            Text(f"{failed:,}", style="red" if failed else "dim"),
            duration(one["p50_ns"]),
            duration(one["p95_ns"]),
            duration(one["duration_ns"]),
        )
    return table
