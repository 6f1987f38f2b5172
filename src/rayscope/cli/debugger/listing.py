"""The list of paused tasks, and the choice of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rayscope.cli.api import Api
from rayscope.cli.console import say, shown
from rayscope.cli.printing import (
    Column,
    Format,
    Row,
    clock,
    identity,
    print_list,
    print_rows,
    short_id,
    text,
    when,
)
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    from rayscope.client.types import PausedTask, PausedTasks

#: Minimum number of characters of a task ID.
_MIN_PREFIX = 4
_ENABLE = "Start the server with --debugger (RAYSCOPE_DEBUGGER=1)."


def place(task: Row) -> str:
    """Return the name of the file and the line at which a task waits, as on the page."""
    return f"{PurePosixPath(task['file']).name}:{task['line']}" if task["file"] else "unknown"


def title(task: Row) -> str:
    """Return the name of a task. A driver has none."""
    legacy = task["legacy"] or {}
    name = task["name"] or task["function"] or legacy.get("title") or "unknown task"
    return "driver" if task["is_driver"] else name


def label(task: Row) -> str:
    """Return the name and the short ID of a task, for messages."""
    return shown(f"{title(task)} {short_id(task['task_id'] or '')}".strip())


def _why(task: Row) -> str:
    if task["pause_id"] is None and task["legacy"] is None:
        return "unknown: no tracer"
    return task["error"] or "breakpoint"


def _state(task: Row) -> str:
    if task["state"] == "gone":
        return "process ended"
    return "waiting for ray debug" if task["legacy"] is not None else str(task["state"])


def _is_recorded(task: Row) -> bool:
    """Return whether it is known what a task holds and who waits for it: once its events have arrived."""
    return bool(task["name"]) or task["is_driver"]


def _holds(task: Row) -> str:
    held = ", ".join(f"{amount:g} {kind}" for kind, amount in task["resources"].items())
    return held or ("" if _is_recorded(task) else "unknown")


def _waiters(task: Row) -> str:
    return str(task["waiters"]) if task["waiters"] or _is_recorded(task) else "unknown"


_COLUMNS = (
    Column("name", lambda row: shown(title(row)), long=True),
    identity("task_id"),
    Column("where", lambda row: shown(place(row)), long=True),
    text("function", long=True),
    Column("why", lambda row: shown(_why(row)), long=True),
    Column("state", _state),
    when("since_ns", "since"),
    Column("holds", lambda row: shown(_holds(row))),
    Column("waiters", _waiters, right=True),
    text("pid", right=True),
    text("node", long=True),
    Column("continues at", lambda row: clock(row["release_ns"])),
    text("debugger"),
    text("pause_id", "pause id"),
    text("job_id"),
)


def print_paused(client: Api, answer: PausedTasks, form: Format, wide: bool) -> None:
    """Print the paused tasks of a session. A table has notes about what they are and what is missing."""
    if answer["items"]:
        print_list(form, answer["items"], _COLUMNS, wide, client=client)
    else:
        if form is not Format.table:
            print_rows(form, (), ())
        say(
            "no task waits for a debugger. breakpoint() makes one wait, and so does an error with "
            "RAY_DEBUG_POST_MORTEM=1, where Ray has debugpy installed and runs with the tracer."
        )
    if any(task["pause_id"] is None and task["legacy"] is None for task in answer["items"]):
        say("no debugger can attach through this server to workers without a tracer", "yellow")
    _print_legacy(answer)
    if not answer["is_enabled"]:
        say(f"this server lets no debuggers in. {_ENABLE}", "yellow")


def _print_legacy(answer: PausedTasks) -> None:
    """Print what to know about the tasks that wait for Ray's legacy debugger."""
    tasks = [task for task in answer["items"] if task["legacy"] is not None]
    waiting = next((task for task in tasks if task["state"] != "gone"), None)
    if waiting is not None:
        say(f"to attach to what waits for ray debug, run {_ray_debug(waiting)}")
    if any(task["state"] == "gone" for task in tasks):
        say("Ray lists tasks whose process ended until their job has ended and someone runs ray debug")
    if answer["legacy_left_out"]:
        say(
            f"{answer['legacy_left_out']} more that wait for ray debug are not listed: there are too many, "
            "or they cannot be read",
            "yellow",
        )
    if (error := answer["legacy_error"]) is not None:
        say(f"it is unknown whether tasks wait for Ray's legacy debugger. {error['message']}")


def _ray_debug(task: PausedTask) -> str:
    """Return the command that attaches Ray's legacy debugger, and where to run it."""
    legacy = task["legacy"]
    if legacy is None:
        return ""
    is_local = (legacy["address"] or "").startswith("localhost:")
    where = "the node of the task" if is_local else "a node of the cluster"
    return f"`ray debug --address {legacy['gcs_address']}` on {where}"


def choose(answer: PausedTasks, name: str) -> PausedTask:
    """Return the paused task with this pause ID, or with a task ID that begins with ``name``.

    Raises RayscopeError if there is none, or several.
    """
    name = name.lower()
    tasks = [task for task in answer["items"] if task["pause_id"] is not None]
    found = [task for task in tasks if task["pause_id"] == name] or [
        task for task in tasks if len(name) >= _MIN_PREFIX and _matches(task["task_id"] or "", name)
    ]
    for task in answer["items"]:
        if (
            not found
            and task["legacy"]
            and len(name) >= _MIN_PREFIX
            and _matches(task["task_id"] or "", name)
        ):
            raise RayscopeError(
                f"The task {label(task)} waits for Ray's legacy debugger.",
                f"Run {_ray_debug(task)}." if task["state"] != "gone" else "Its process has ended.",
                "legacy_debugger",
            )
    if not answer["is_enabled"]:
        raise RayscopeError("This server lets no debuggers in.", _ENABLE, "debugger_disabled")
    if len(found) == 1:
        return found[0]
    if found:
        raise RayscopeError(
            f"{len(found)} paused tasks match {name!r}: {_named(found)}.",
            "Use more characters, or the pause ID in brackets.",
            "ambiguous",
        )
    if len(name) < _MIN_PREFIX:
        remedy = f"Use at least {_MIN_PREFIX} characters of the task ID."
        raise RayscopeError(f"{name!r} is too short.", remedy, "bad_request")
    waiting = f"These do: {_named(tasks)}." if tasks else "No task does."
    raise RayscopeError(
        f"No task {name!r} waits for a debugger in this session. {waiting}",
        "`rayscope debug` lists the tasks that wait; --session chooses another session.",
        "not_paused",
    )


def _matches(task_id: str, name: str) -> bool:
    """Return whether ``name`` is the beginning of a task ID, or its short form (:func:`short_id`)."""
    return task_id.startswith(name) or (name.startswith("…") and task_id.endswith(name[1:]))


def _named(tasks: Sequence[PausedTask]) -> str:
    shown_tasks = [f"{label(task)} ({task['pause_id']})" for task in tasks[:5]]
    return ", ".join(shown_tasks) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")
