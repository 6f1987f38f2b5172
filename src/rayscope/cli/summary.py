"""The summary of a session that is printed at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from rayscope.cli.console import shown
from rayscope.cli.crashes import crashes_text
from rayscope.cli.findings import gain, where
from rayscope.cli.printing import clock, counted, failed_of
from rayscope.model import CUT_OFF
from rayscope.units import duration

if TYPE_CHECKING:
    from rayscope.client.types import CrashesAnswer, FindingItem, InsightsAnswer

_SLOWEST = 10
_FINDINGS = 3
#: Number of groups of failures to list.
FAILURES = 5
_ON_PATH = 4
_MESSAGE_CHARS = 160


def session_name(row: Mapping[str, Any]) -> str:
    """Return the display name of a session, which is an item of ``GET /api/v1/sessions``."""
    return str(row.get("name") or ("no job yet" if row.get("state") == "live" else "no job"))


def session_title(row: Mapping[str, Any]) -> str:
    """Return a session's name, start, duration, and host."""
    took = duration(row["last_ns"] - row["first_ns"])
    return " · ".join(filter(None, (session_name(row), clock(row["first_ns"]), took, row.get("host"))))


def session_url(url: str, session: str, view: str = "overview") -> str:
    """Return the URL of a session in the UI."""
    return f"{url.rstrip('/')}/s/{session}/{view}"


def show(
    console: Console,
    summary: Mapping[str, Any],
    url: str,
    path: Mapping[str, Any] | None = None,
    insights: InsightsAnswer | None = None,
    crashes: CrashesAnswer | None = None,
) -> None:
    """Print a summary of a session.

    ``summary`` is the response of ``GET /api/v1/summary``, with the field ``failures`` from ``GET
    /api/v1/failures`` added. It may also have ``never_placed``, the demand that stayed infeasible to the end,
    and ``title``, the session's display name. ``path`` is from ``GET /api/v1/flow/critical-path``,
    ``insights`` from ``GET /api/v1/insights``, and ``crashes`` from ``GET /api/v1/crashes``.
    """
    parts: list[Any] = [_states(summary)]
    if insights and insights["verdict"]:
        parts.append(Text(insights["verdict"]["text"], style="bold"))
    if path:
        parts.append(_path(path))
    if insights and insights["findings"]:
        page = session_url(url, insights["session"], "insights")
        parts += [_findings(insights["findings"]), Text(f"How, and what else: rayscope diagnose, or {page}")]
    if summary.get("functions"):
        parts.append(_functions(summary["functions"]))
    if summary["failures"]["items"]:
        parts.append(_failures(summary["failures"]))
    if crashes and (text := crashes_text(crashes, url)):
        parts.append(Text(text, style="red" if crashes["harmed"] else "yellow"))
    for one in summary.get("never_placed") or []:
        what = f"Never scheduled: {one['count']:,} {one['name'] or one['kind']}. {one['reason']['message']}"
        parts.append(Text(what, style="yellow"))
    parts.append(_losses(summary))
    parts.append(Text(session_url(url, summary["session"]), style="underline"))
    console.print(
        Panel(
            Group(*parts),
            title=Text(shown(str(summary.get("title") or summary["session"]))),
            title_align="left",
            border_style="cyan",
        ),
        soft_wrap=False,
    )


def _states(summary: Mapping[str, Any]) -> Text:
    tasks, attempts = summary.get("tasks") or 0, summary.get("attempts") or 0
    line = Text(counted(tasks, "task"), style="bold")
    if attempts != tasks:
        line = Text(f"{counted(attempts, 'attempt')} of {line}", style="bold")
    separator = ": "
    for state, count in sorted((summary.get("states") or {}).items(), key=lambda item: -item[1]):
        line.append(separator, style="not bold")
        style = {"FINISHED": "green", "FAILED": "red", CUT_OFF: "dim"}.get(state, "yellow")
        line.append(f"{count:,} {state}", style=f"not bold {style}")
        separator = ", "
    return line


def _path(path: Mapping[str, Any]) -> Text:
    """Return the critical path by phase and function, as one line."""
    line = Text("Critical path", style="bold")
    line.append(f" {duration(path['duration_ns'])}{' so far' if path['so_far'] else ''}: ", style="not bold")
    parts = []
    for one in path["functions"][:_ON_PATH]:
        phase = max(one["by_phase"], key=lambda name: one["by_phase"][name])
        name = "driver" if one["is_driver"] else one["name"] or "unknown"
        parts.append(f"{name} {one['share']:.0%} ({phase.replace('_', ' ')})")
    line.append(", ".join(parts), style="not bold")
    return line


def _table(title: str, style: str) -> Table:
    return Table(title=title, title_justify="left", title_style=style, box=None, pad_edge=False)


def _findings(findings: list[FindingItem]) -> Table:
    """Return the largest findings."""
    table = _table("What to change first", "bold")
    for name in ("finding", "where"):
        table.add_column(name, overflow="fold")
    table.add_column("gain", no_wrap=True)
    for one in findings[:_FINDINGS]:
        table.add_row(Text(one["title"]), Text(where(one)), gain(one))
    return table


def _functions(functions: list[Mapping[str, Any]]) -> Table:
    table = _table("Slowest functions", "bold")
    table.add_column("name", overflow="fold")
    for column in ("calls", "failed", "p50", "p95", "duration"):
        table.add_column(column, justify="right", no_wrap=True)
    ranked = sorted(functions, key=lambda one: -(one.get("duration_ns") or 0))
    for one in ranked[:_SLOWEST]:
        failed = failed_of(one.get("failed"), one)
        table.add_row(
            Text(str(one.get("func_name") or "?")),
            f"{one.get('attempts') or 0:,}",
            Text(f"{failed:,}", style="red" if failed else "dim"),
            duration(one.get("p50_ns")),
            duration(one.get("p95_ns")),
            duration(one.get("duration_ns")),
        )
    if len(ranked) > _SLOWEST:
        table.caption = f"{len(ranked) - _SLOWEST} more not shown"
        table.caption_justify = "left"
    return table


def _failures(failures: Mapping[str, Any]) -> Table:
    groups = failures["items"][:FAILURES]
    is_grave = any(one["outcome"] == "final" for one in groups)
    table = _table("Failures", "bold red" if is_grave else "bold yellow")
    table.add_column("name", overflow="fold")
    table.add_column("attempts", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("error", overflow="fold")
    for one in groups:
        causes = " ".join(link["message"] for link in one["causes"])
        if causes and one["attempts"] > 1:
            causes = f"Most recently: {causes}"
        message = _shorten(causes or str(one["message"] or ""))
        error = f"{one['error_type'] or 'unknown error'}{f': {message}' if message else ''}"
        place = f" ({one['file']}:{one['line']})" if one["file"] else ""
        text, style = _outcome(one)
        table.add_row(
            Text(str(one["func_name"] or "?")), f"{one['attempts']:,}", Text(text, style), Text(error + place)
        )
    if failures["total"] > len(groups):
        table.caption = f"{failures['total'] - len(groups):,} more: rayscope failures"
        table.caption_justify = "left"
    return table


def _outcome(group: Mapping[str, Any]) -> tuple[str, str]:
    """Return the outcome of a group of failures, in color."""
    if group["outcome"] == "recovered":
        return "recovered by retry", "dim"
    if group["outcome"] == "retrying":
        return "retrying", "yellow"
    if group["recovered"]:
        return f"{group['final']:,} failed, {group['recovered']:,} recovered by retry", "red"
    return "failed", "red"


def _shorten(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _MESSAGE_CHARS else line[: _MESSAGE_CHARS - 1] + "…"


def _losses(summary: Mapping[str, Any]) -> Text:
    dropped = summary.get("dropped") or {}
    losses = [
        f"{counted(one['count'], 'profile span')} beyond Ray's limit per task (no tasks are affected)"
        if one["reason"] == "profile_events_dropped"
        else f"{one['count']:,} by {one['source']} ({one['reason']})"
        for one in dropped.get("by") or []
        if one["count"]
    ]
    if dropped.get("total") and not losses:
        losses.append(f"{dropped['total']:,}")
    if dropped.get("unresolved_attempts"):
        losses.append(f"the definition of {counted(dropped['unresolved_attempts'], 'attempt')} never arrived")
    if dropped.get("starts_lost"):
        losses.append(
            f"the start of {counted(dropped['starts_lost'], 'attempt')} (the worker died before reporting it)"
        )
    rejected = (summary.get("ingest") or {}).get("rejected_batches") or 0
    if rejected:
        losses.append(f"{counted(rejected, 'batch')} could not be read (moved to rejected/)")
    without = (summary.get("tracing") or {}).get("tasks_without_events") or 0
    lines = []
    if losses:
        lines.append(f"Dropped: {'; '.join(losses)}.")
    if without:
        lines.append(f"Not on record: {_without_events(without, summary)}")
    if lines:
        return Text("\n".join(lines), style="yellow")
    return Text("Nothing dropped.", style="dim")


def _without_events(count: int, summary: Mapping[str, Any]) -> str:
    classes = [one["class_name"] for one in summary["tracing"]["without_events"] if one["class_name"]]
    of = f" (methods of {', '.join(classes)})" if classes else ""
    return (
        f"at least {counted(count, 'task')}{of} without events. Your code or a library "
        "sets enable_task_events=False."
    )
