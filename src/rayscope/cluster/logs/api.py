"""Routes for log files: lists, lines, the files of an entity, search and download."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import quote

from fastapi import Query
from fastapi.responses import Response, StreamingResponse

from rayscope.api.parameters import CurrentRecords, CurrentSettings, Nanoseconds, Session, Text
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer, error_info
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorDetail
from rayscope.cluster.logs import schemas, sql
from rayscope.cluster.logs.archiver import LogArchiver
from rayscope.cluster.logs.files import CurrentLogs, Logs, Source
from rayscope.cluster.logs.listing import ListedFile, list_files, with_sizes
from rayscope.cluster.logs.owners import Owned, Owners, Part
from rayscope.cluster.logs.pages import MAX_LINES, MAX_PATTERN, Matcher, PageFilters, backward, forward
from rayscope.cluster.logs.search import Searches, Sought
from rayscope.cluster.logs.writers import Writers, matching_files
from rayscope.ingest.clusters import CurrentClusters
from rayscope.ray.agents.logs import KINDS, read_name
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.sql.entities import find_id

#: Maximum number of files in one answer.
_MAX_FILES = 2_000
#: Maximum number of ranges of files that are returned with their last lines.
_MAX_PARTS_WITH_LINES = 6

Level = Annotated[schemas.LogLevel | None, Query()]
NodeId = Annotated[str, Query(max_length=64)]
FileName = Annotated[str, Query(max_length=400)]
Offset = Annotated[int | None, Query(ge=0, le=2**53)]
Lines = Annotated[int, Query(ge=1, le=MAX_LINES)]
Pattern = Annotated[str | None, Query(max_length=MAX_PATTERN)]


router = Router()


@router.get("/api/v1/logs")
def logs(
    settings: CurrentSettings,
    records: CurrentRecords,
    clusters: CurrentClusters,
    logs: CurrentLogs,
    archiver: Annotated[LogArchiver, provide(LogArchiver)],
    session: Session = None,
    node_id: Text = None,
    kind: Text = None,
    q: Text = None,
    hide_empty: bool = False,
    limit: Annotated[int, Query(ge=1, le=_MAX_FILES)] = _MAX_FILES,
) -> Json[schemas.LogFilesAnswer]:
    """The nodes, and their log files: those of one node, of all nodes if there are few, or those that match.
    Files with users' output come first, then the newest.
    """
    chosen = records.resolve(session)
    kinds = _kinds(kind)
    nodes, found = list_files(records, logs, chosen, node_id, every=bool(q or kind))
    if kinds:
        found = [one for one in found if one.about.kind in kinds]
    if q:
        found = [one for one, _ in matching_files(records, chosen, found, q.lower())]
    found = with_sizes(logs, chosen, found)
    shown = [one for one in found if not (hide_empty and one.is_empty)]
    empty, total = sum(one.is_empty for one in found), len(shown)
    shown.sort(key=lambda one: one.order)
    files = _files(records, chosen, shown[:limit])
    store = logs.store(chosen)
    return answer(
        {
            "session": chosen,
            "live": clusters.gcs_of(chosen) is not None,
            "nodes": nodes,
            "files": files,
            "total": total,
            "left_out": total - len(files),
            "empty": empty,
            "keeping": {
                "mode": archiver.mode,
                "bytes": store.disk_bytes if store else 0,
                "max_bytes": settings.max_log_bytes,
                "error": archiver.error,
            },
        }
    )


@router.get("/api/v1/logs/file")
def file(
    records: CurrentRecords,
    logs: CurrentLogs,
    node_id: NodeId,
    name: FileName,
    session: Session = None,
    offset: Offset = None,
    before: Offset = None,
    limit: Lines = 1000,
    begin: Annotated[int, Query(ge=0, le=2**53)] = 0,
    end: Offset = None,
    q: Pattern = None,
    regex: bool = False,
    case: bool = False,
    level: Level = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
) -> Json[schemas.LogPage]:
    """Lines of a file: from ``offset`` or ``since_ns`` on, or the last ones before ``before``.

    Without any of these, the last lines of the file. ``begin`` and ``end`` limit the answer to a range of
    bytes.
    """
    chosen = records.resolve(session)
    source = _source(records, logs, chosen, node_id, name)
    filters = PageFilters(
        begin=min(begin, source.size),
        end=source.size if end is None else min(end, source.size),
        limit=limit,
        matcher=Matcher(q, regex=regex, case=case) if q else None,
        level=level,
        since_ns=since_ns,
        until_ns=until_ns,
    )
    return answer(_page(chosen, source, filters, offset, before))


@router.get("/api/v1/logs/of")
def of(
    records: CurrentRecords,
    clusters: CurrentClusters,
    logs: CurrentLogs,
    session: Session = None,
    task_id: Text = None,
    attempt: Annotated[int | None, Query(ge=0, le=2**31)] = None,
    actor_id: Text = None,
    job_id: Text = None,
    worker_id: Text = None,
    limit: Lines = 200,
) -> Json[schemas.LogsOfAnswer]:
    """The last log lines of an attempt, an actor, a job or a worker, and the files that contain them."""
    chosen = records.resolve(session)
    if sum(value is not None for value in (task_id, actor_id, job_id, worker_id)) != 1:
        raise BadQuery("Use one of task_id, actor_id, job_id, and worker_id.")
    owners = Owners(records, logs, chosen)
    found: Owned
    if task_id is not None:
        found = owners.task(task_id, attempt)
    elif actor_id is not None:
        found = owners.actor(actor_id)
    elif job_id is not None:
        found = owners.job(job_id)
    else:
        found = owners.worker(worker_id or "")
    names = [read_name(part.name) for part in found.parts]
    writers = Writers(records, chosen, names)
    return answer(
        {
            "session": chosen,
            "live": clusters.gcs_of(chosen) is not None,
            "parts": [
                _part(logs, chosen, part, writers.of(name), limit if at < _MAX_PARTS_WITH_LINES else 0)
                for at, (part, name) in enumerate(zip(found.parts, names, strict=True))
            ],
            "notes": found.notes,
            "left_out": found.left_out,
        }
    )


@router.get("/api/v1/logs/search")
def search(
    records: CurrentRecords,
    logs: CurrentLogs,
    searches: Annotated[Searches, provide(Searches)],
    q: Annotated[str, Query(min_length=1, max_length=MAX_PATTERN)],
    session: Session = None,
    regex: bool = False,
    case: bool = False,
    kind: Text = None,
    node_id: Text = None,
    level: Level = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Json[schemas.LogSearchAnswer]:
    """Lines of all files that contain a search text or match a regular expression (RE2), user files first."""
    chosen = records.resolve(session)
    sought = Sought(Matcher(q, regex=regex, case=case), limit, level, since_ns, until_ns)
    kinds = _kinds(kind)
    _, found = list_files(records, logs, chosen, node_id, every=True)
    found = [one for one in found if not kinds or one.about.kind in kinds]
    found.sort(key=lambda one: one.order)
    result = searches.search(chosen, [(one.node_id, one.name) for one in found], sought)
    having = {(line["node_id"], line["name"]) for line in result.lines}
    files = _files(records, chosen, [one for one in found if (one.node_id, one.name) in having])
    lines = [_printed(line) for line in result.lines]
    attempts: list[schemas.PrintingAttempt] = records.read(
        chosen, lambda file: sql.attempts_of_lines(file, lines)
    )
    return answer(
        {
            "session": chosen,
            "files": files,
            "items": [{**line, **attempt} for line, attempt in zip(result.lines, attempts, strict=True)],
            "searched": result.searched,
            "complete": result.complete,
            "not_searched": result.not_searched,
        }
    )


@router.get("/api/v1/logs/download", response_class=StreamingResponse)
def download(
    records: CurrentRecords, logs: CurrentLogs, node_id: NodeId, name: FileName, session: Session = None
) -> Response:
    """A whole file, as far as it is available. A line marks each gap and has the number of missing bytes."""
    chosen = records.resolve(session)
    source = _source(records, logs, chosen, node_id, name)
    return StreamingResponse(
        source.pieces(0, source.size),
        media_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": _disposition(node_id, name)},
    )


def _kinds(kind: str | None) -> set[str]:
    kinds = {part for part in (kind or "").split(",") if part}
    if unknown := kinds - set(KINDS):
        raise BadQuery(f"Unknown kind {min(unknown)[:60]!r}.", f"Kinds: {', '.join(KINDS)}.")
    return kinds


def _printed(line: schemas.MatchingLine) -> sql.PrintedLine:
    about = read_name(line["name"])
    stream = about.kind.removeprefix("worker_")
    return sql.PrintedLine(about.worker_id or "", stream, line["name"], line["offset"])


def _source(records: SessionReader, logs: Logs, session: str, node_id: str, name: str) -> Source:
    """A file of the node with this ID, or whose ID begins with this. Raises NotFound or BadQuery."""
    node_id = records.read(session, lambda file: find_id(file, "node", node_id), flush=False)
    return logs.source(session, node_id, name)


def _files(records: SessionReader, session: str, files: list[ListedFile]) -> list[schemas.LogFile]:
    writers = Writers(records, session, (one.about for one in files))
    return [_file(one, writers.of(one.about)) for one in files]


def _file(file: ListedFile, writer: schemas.LogWriter) -> schemas.LogFile:
    kept = file.kept
    return {
        "node_id": file.node_id,
        "name": file.name,
        "kind": file.about.kind,
        "size": file.size,
        "kept": kept.kept if kept else 0,
        "live": file.live,
        "last_ns": kept.last_ns if kept else None,
        **writer,
        "is_empty": file.is_empty,
    }


def _page(
    session: str, source: Source, filters: PageFilters, offset: int | None, before: int | None
) -> schemas.LogPage:
    if offset is None and before is None and filters.since_ns is None:
        before = filters.end
    found = (
        backward(source, before, filters)
        if before is not None
        else forward(source, filters.begin if offset is None else offset, filters)
    )
    return {
        "session": session,
        "node_id": source.node_id,
        "name": source.name,
        "kind": read_name(source.name).kind,
        "live": source.live,
        "problem": source.problem,
        "kept": source.kept.kept if source.kept else 0,
        **found,
    }


def _part(logs: Logs, session: str, part: Part, writer: schemas.LogWriter, limit: int) -> schemas.LogPart:
    """A range of a file with up to ``limit`` of its last lines."""
    page: schemas.LogPage | None = None
    problem: ErrorDetail | None = None
    if limit:
        try:
            source = logs.source(session, part.node_id, part.name)
        except NotFound as error:
            problem = error_info(error)
        else:
            end = source.size if part.end is None else min(part.end, source.size)
            page = _page(session, source, PageFilters(min(part.begin, end), end, limit), None, None)
    return {
        "node_id": part.node_id,
        "name": part.name,
        "stream": part.stream,
        "begin": part.begin,
        "end": part.end,
        **writer,
        "page": page,
        "problem": problem,
    }


def _disposition(node_id: str, name: str) -> str:
    """A Content-Disposition header: an ASCII name for any client, and the exact name."""
    whole = f"{node_id[:12]}-{name.replace('/', '_')}"
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", whole)[-200:]
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(whole[-300:], safe='')}"
