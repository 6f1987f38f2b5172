"""``rayscope profile``: profile workers now."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, print_json, say
from rayscope.cli.lines import print_lines, print_memory, print_stacks
from rayscope.cli.options import DataDir, ServerUrl, Session, Token
from rayscope.cli.printing import Column, Format, counted, print_rows, text, when
from rayscope.client import Client
from rayscope.units import size

if TYPE_CHECKING:
    from rayscope.client.types import MemoryKind, ProfileItem

_FILTERS = {
    "function": "func_name",
    "job": "job_id",
    "actor": "actor_id",
    "worker": "worker_id",
    "node": "node_id",
}
_LIST = (
    text("profile_id"),
    when("begin_ns", "at"),
    Column(
        "of", lambda row: " ".join(f"{name}={value}" for name, value in row["filters"].items()), long=True
    ),
    Column("workers", lambda row: "…" if row["is_running"] else str(len(row["workers"])), right=True),
    text("memory"),
    text("taken_by", "taken by"),
)
#: Interval at which the server is asked whether the profile has finished, in seconds.
_POLL_S = 0.5


def profile(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="A function, or the ID of a job, actor, worker or node (default: the whole session).",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[int, typer.Option("--seconds", min=1, max=60, help="How long to profile.")] = 10,
    driver: Annotated[bool, typer.Option("--driver", help="Profile the driver (TARGET: its job).")] = False,
    native: Annotated[
        bool,
        typer.Option("--native", help="Include frames of C and C++. This takes more of the workers' time."),
    ] = False,
    memory: Annotated[
        bool,
        typer.Option("--memory", help="Profile the memory that is held at its peak, with memray, instead."),
    ] = False,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="With --memory: what is not freed until the end.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Max lines.")] = 20,
    as_list: Annotated[
        bool, typer.Option("--list", help="List the profiles of the session instead, the newest first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the profile and its lines as JSON.")] = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Profile the workers of a function, job, actor, worker or node now.

    Requires the operator token.
    """
    if leaks and not memory:
        fail("--leaks is for profiles of memory.", "Add --memory.")
    kind: MemoryKind | None = ("leaks" if leaks else "peak") if memory else None
    with open_client(server, data_dir, token, session, needs_server=not as_list) as client:
        if as_list:
            print_rows(Format.json if as_json else Format.table, client.profiles()["items"], _LIST)
            return
        filters = _filters(client, target) | ({"type": "DRIVER_TASK"} if driver else {})
        started = client.start_profile(seconds=seconds, native=native, memory=kind, **filters)
        if not as_json:
            chosen = "".join(f" {name}={value}" for name, value in filters.items())
            say(f"Profiling{chosen} for {seconds} s …")
        taken = _wait(client, started["profile_id"])
        held = client.memory_lines(taken["profile_id"]) if memory else None
        answer = client.lines(profile=taken["profile_id"]) if held is None else None
    if as_json:
        print_json({"profile": taken, "lines": held or answer}, indent=2)
        return
    if held is not None:
        print_memory(held, limit)
    elif answer is not None:
        print_lines(answer, limit)
        print_stacks(taken)
    for line in _describe(taken):
        say(line)
    say(f"To see it again: rayscope lines --profile {taken['profile_id']}")


def _filters(client: Client, target: str | None) -> dict[str, Any]:
    """Return the filters that select what the target names. Names that are not found count as functions."""
    if target is None:
        return {}
    by_id: list[dict[str, Any]] = []
    by_prefix: list[dict[str, Any]] = []
    by_name: list[dict[str, Any]] = []
    for group in client.find(target)["groups"]:
        field = _FILTERS.get(group["kind"])
        if field is None:
            continue
        for item in group["items"]:
            if item["id"] == target:
                by_id.append({field: item["id"]})
            elif group["kind"] != "function" and len(target) >= 8 and item["id"].startswith(target):
                by_prefix.append({field: item["id"]})
            elif item["name"] == target:
                by_name.append({field: item["id"]})
    meant = by_id or by_prefix or by_name
    if len(meant) > 1:
        fail(
            f"Several entities match {target}.",
            "Give the whole ID of one. Lists such as rayscope actors have it.",
        )
    return meant[0] if meant else {"func_name": target}


def _wait(client: Client, profile_id: str) -> ProfileItem:
    while True:
        time.sleep(_POLL_S)
        items = client.profiles()["items"]
        taken = next((item for item in items if item["profile_id"] == profile_id), None)
        if taken is None:
            fail("The profile was not recorded.", "Try again, or see the server's log.")
        if not taken["is_running"]:
            return taken


def _describe(taken: ProfileItem) -> list[str]:
    """Return how the workers were profiled, what was lost, and each problem once."""
    workers = taken["workers"]
    said = []
    for tool in ("py-spy", "tracer"):
        of_tool = [worker for worker in workers if worker["tool"] == tool]
        rates = ", ".join(f"{hz:g}" for hz in sorted({worker["hz"] or 0 for worker in of_tool}))
        if of_tool:
            said.append(
                f"{counted(len(of_tool), 'worker')} by {tool}, {rates} samples per second and thread."
            )
    measured = [worker for worker in workers if worker["expected"] is not None]
    if measured:
        spent = sum(worker["seconds"] or 0 for worker in measured)
        lost = sum(max(0, (worker["expected"] or 0) - (worker["taken"] or 0)) for worker in measured)
        said.append(f"py-spy ran for {spent:.0f} s in total and missed {counted(lost, 'sample')}.")
        if not all(worker["native"] for worker in measured):
            said.append("Frames of C and C++ are missing (--native).")
    reported = [worker["held_bytes"] for worker in workers if worker["held_bytes"] is not None]
    if reported:
        what = "was not freed until the end" if taken["memory"] == "leaks" else "was held at the peak of each"
        said.append(
            f"{counted(len(reported), 'worker')} by memray. Of the memory that they allocated meanwhile, "
            f"{size(sum(reported))} {what}."
        )
    tool = "py-spy" if taken["memory"] is None else "memray"
    problems = Counter(
        (
            "that memray did not detach from" if worker["tool"] == "memray" else f"without {tool}",
            f"{worker['problem']['message']} {worker['problem']['remedy']}",
        )
        for worker in workers
        if worker["problem"] is not None
    )
    said += [f"{counted(number, 'worker')} {which}: {text}" for (which, text), number in problems.items()]
    if taken["workers_left_out"]:
        said.append(
            f"{counted(taken['workers_left_out'], 'more worker')} ran, too: the limit is {len(workers)}."
        )
    return said
