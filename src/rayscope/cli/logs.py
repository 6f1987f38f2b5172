"""``rayscope logs``: list log files, and print the lines of a file, task, actor, job, or worker."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, say, shown, warn
from rayscope.cli.lists import without_none
from rayscope.cli.log_lines import Tail, Writer, follow_tails
from rayscope.cli.options import DataDir, ServerUrl, Session, Token, Wide
from rayscope.cli.printing import Column, Format, counted, identity, print_rows, short_id, text, when
from rayscope.client import Client
from rayscope.model.writer import writer_title
from rayscope.units import size

if TYPE_CHECKING:
    from rayscope.client.types import LogFile, LogPart

_STREAMS = {"worker_out": "stdout", "worker_err": "stderr"}
_FILES = (
    Column("written by", lambda row: shown(writer_title(row, row["kind"])), long=True),
    Column("kind", lambda row: _STREAMS.get(row["kind"]) or str(row["kind"])),
    Column("size", lambda row: size(row.get("size")), right=True),
    when("last_ns", "last written"),
    text("pid", right=True),
    text("script", "job", long=True),
    identity("worker_id"),
    identity("node_id"),
    text("name", "file", long=True),
)
_NOTES = {
    "not_started": "Not started yet.",
    "gone": "The log files are gone: the node no longer has them, and no copies were kept.",
    "no_offsets": "Ray did not report this task's log offsets; showing the whole worker log.",
    "rotated": "The worker's log was rotated, so the task's lines are unknown; showing the whole log.",
    "actor_task": "Ray does not record log offsets for actor methods; showing the whole worker log.",
    "driver_terminal": "The driver printed to its own terminal. `rayscope run` keeps what it prints.",
}


class LineFormat(str, Enum):
    """The output format of lines and files."""

    text = "text"
    json = "json"
    csv = "csv"


_FORMATS = {LineFormat.text: Format.table, LineFormat.json: Format.json, LineFormat.csv: Format.csv}


def logs(
    node: Annotated[str | None, typer.Option("--node", help="Filter files by node (name or ID).")] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="Show the lines of this file (its name, or a part of it).")
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="Show the lines of this task.")] = None,
    attempt: Annotated[
        int | None, typer.Option("--attempt", min=0, help="Attempt number (default: the last).")
    ] = None,
    actor: Annotated[str | None, typer.Option("--actor", help="Show the lines of this actor.")] = None,
    job: Annotated[str | None, typer.Option("--job", help="Show the lines of this job.")] = None,
    worker: Annotated[str | None, typer.Option("--worker", help="Show the lines of this worker.")] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", metavar="TEXT", help="Show lines that contain TEXT, in --file or in all files."
        ),
    ] = None,
    regex: Annotated[
        bool, typer.Option("--regex", help="Treat --search as a regular expression (RE2).")
    ] = False,
    level: Annotated[
        str | None, typer.Option("--level", help="Min log level: debug, info, warning, error, or critical.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Filter files by kind (comma-separated).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List empty files too.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=5000, help="Max lines (from the end) or files.")
    ] = 200,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new lines until the log ends.")
    ] = False,
    form: Annotated[
        LineFormat,
        typer.Option("--format", help="Output format; json prints one object per line, csv lists files."),
    ] = LineFormat.text,
    wide: Wide = False,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Print the log of a task, actor, job, worker, or file, or list the log files, newest first."""
    owner = without_none(task_id=task, actor_id=actor, job_id=job, worker_id=worker)
    if len(owner) + (file is not None) > 1:
        fail("These options conflict.", "Use only one of --file, --task, --actor, --job, and --worker.")
    if search is not None and (owner or follow):
        fail(
            "--search only works with files.", "Use it with --file, --node, or --kind, and without --follow."
        )
    if level is not None and owner:
        fail("--level only works with files.", "Use it with --file or --search.")
    if follow and not (owner or file):
        fail("Nothing to follow.", "Use one of --file, --task, --actor, --job, and --worker.")
    if form is LineFormat.csv and (owner or file or search):
        fail("--format csv is for the list of files.", "Use json for lines.")
    with open_client(server, data_dir, token, session) as client:
        if client.session is None:  # use the same session for all requests
            newest = client.sessions(limit=1).to_list()
            client.session = newest[0]["session"] if newest else None
        if owner:
            _of_owner(client, owner, attempt, limit, follow, Writer(form.value == "json"))
        elif file is not None:
            tail = Tail(*_file_of(client, node, file))
            writer = Writer(form.value == "json")
            _of_file(client, tail, writer, without_none(q=search, level=level), regex, limit)
            if follow:
                follow_tails(client, [tail], writer)
        elif search is not None:
            _search(client, search, regex, without_none(node_id=node, kind=kind, level=level), limit, form)
        else:
            _files(client, without_none(node_id=node, kind=kind), limit, form, every, wide)


def _of_owner(
    client: Client, owner: dict[str, str], attempt: int | None, limit: int, follow: bool, writer: Writer
) -> None:
    more = {} if attempt is None else {"attempt": attempt}
    found = client.logs(**owner, **more, limit=limit)  # type: ignore[arg-type]
    for note in found["notes"]:
        say(_NOTES.get(note, note))
    if found["left_out"]:
        warn(f"{counted(found['left_out'], 'more worker')} not shown: choose one with --worker")
    tails = [_shown_part(part, writer, follow) for part in found["parts"]]
    hidden = [part for part in found["parts"] if part["page"] is None and part["problem"] is None]
    if hidden and not follow:
        first = f"--node {hidden[0]['node_id']} --file {hidden[0]['name']}"
        warn(f"{counted(len(hidden), 'more file')}, such as {first}")
    if follow:
        follow_tails(client, tails, writer, owner)


def _shown_part(part: LogPart, writer: Writer, follow: bool) -> Tail:
    tail = Tail(part["node_id"], part["name"], part["begin"], part["end"])
    page, problem = part["page"], part["problem"]
    if problem is not None:
        warn(f"{part['name']}: {problem['message']} {problem['remedy']}")
    if page is not None:
        tail.show(page, writer, whole=follow)
    return tail


def _of_file(
    client: Client, tail: Tail, writer: Writer, filters: dict[str, str], regex: bool, limit: int
) -> None:
    page = client.log_page(tail.node_id, tail.name, limit=limit, regex=regex or None, **filters)  # type: ignore[arg-type]
    if page["problem"] is not None:
        warn(f"{page['problem']['message']} {page['problem']['remedy']}")
    tail.show(page, writer, whole=False)


def _file_of(client: Client, node: str | None, name: str) -> tuple[str, str]:
    """Return the node and name of the only file with this name, or with this text in its name.

    Exits if there is no such file, or more than one.
    """
    files = client.log_files(q=name, node_id=node, limit=2000)["files"]
    named = [one for one in files if one["name"] == name] or [one for one in files if name in one["name"]]
    if len(named) == 1:
        return named[0]["node_id"], named[0]["name"]
    near = ", ".join(dict.fromkeys(one["name"] for one in (named or files)[:5]))
    if len({one["name"] for one in named}) > 1:
        fail(f"{len(named)} files have {name} in their names.", f"Choose one of them: {near}.")
    if named:
        nodes = ", ".join(short_id(one["node_id"]) for one in named[:5])
        fail(f"{len(named)} nodes have a file {named[0]['name']}.", f"Choose one with --node: {nodes}.")
    fail(
        f"File not found: {name}.", f"Similar files: {near}." if near else "`rayscope logs` lists the files."
    )


def _search(
    client: Client, search: str, regex: bool, filters: dict[str, str], limit: int, form: LineFormat
) -> None:
    found = client.search_logs(search, regex=regex or None, limit=min(limit, 1000), **filters)  # type: ignore[arg-type]
    titles = {(one["node_id"], one["name"]): _title(one) for one in found["files"]}
    writer = Writer(form is LineFormat.json, titles)
    for hit in found["items"]:
        writer.line(hit["node_id"], hit["name"], hit)
    if not found["complete"]:
        say(
            f"first {counted(len(found['items']), 'line')}; searched {found['searched']['files']} of "
            f"{found['searched']['of']} files. Use a larger --limit, --node, or --kind to find more"
        )
    elif not found["items"]:
        say(f"no matches in {counted(found['searched']['files'], 'file')}")


def _title(file: LogFile) -> str:
    """Return the title of a file: its writer, or else its name."""
    title = writer_title(file, file["kind"])
    return f"{title} (pid {file['pid']})" if title and file["pid"] is not None else title or file["name"]


def _files(
    client: Client, filters: dict[str, str], limit: int, form: LineFormat, every: bool, wide: bool
) -> None:
    found = client.log_files(hide_empty=not every, limit=min(limit, 2000), **filters)
    print_rows(_FORMATS[form], found["files"], _FILES, wide)
    for node in found["nodes"]:
        if node["problem"] is not None:
            warn(f"node {node['node_id'][:12]}: {node['problem']['message']} {node['problem']['remedy']}")
    unasked = sum(1 for node in found["nodes"] if node["files"] is None and node["problem"] is None)
    if unasked:
        say(f"{counted(unasked, 'node')} not searched: choose one with --node, or files with --kind")
    if found["left_out"]:
        say(f"{counted(found['left_out'], 'more file')}: use a larger --limit, --node, or --kind")
    if found["empty"] and not every:
        say(f"{counted(found['empty'], 'empty file')} not shown: use --all")
