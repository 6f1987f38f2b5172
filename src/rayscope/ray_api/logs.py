"""The log files of Ray's state API and job API, from nodes that are alive and from copies."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterator

from starlette.datastructures import QueryParams

from rayscope.cluster.logs import sql
from rayscope.cluster.logs.files import Logs, Source
from rayscope.cluster.logs.listing import list_files
from rayscope.cluster.logs.owners import Owners, Part
from rayscope.ray.agents.logs import read_name, rotations
from rayscope.ray.common import clean_error
from rayscope.ray_api.parameters import parse_boolean, parse_integer
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import BadQuery, NotFound

#: Maximum number of bytes at the end of a file that are searched for the last lines.
_MAX_SEARCHED_BYTES = 32 << 20
#: Number of bytes searched at once.
_CHUNK_BYTES = 256 << 10
_DEFAULT_LINES = 1000
#: Parts of file names, and endings, by Ray's name for the component. The first match counts.
_COMPONENTS = (
    ("worker", ".out", "worker_out"),
    ("worker", ".err", "worker_err"),
    ("core-worker", ".log", "core_worker"),
    ("core-driver", ".log", "driver"),
    ("raylet.", "", "raylet"),
    ("gcs_server.", "", "gcs_server"),
    ("log_monitor", "", "internal"),
    ("monitor", "", "autoscaler"),
    ("agent.", "", "agent"),
    ("dashboard.", "", "dashboard"),
    ("", "", "internal"),
)


def list_logs(records: SessionReader, logs: Logs, session: str, query: QueryParams) -> dict[str, list[str]]:
    """The files of a node that match the pattern ``glob``, by component. Raises BadQuery or NotFound."""
    node_id, pattern = _node(records, session, query), query.get("glob", "*")
    _, files = list_files(records, logs, session, node_id, every=True)
    found: dict[str, list[str]] = {}
    for name in sorted(file.name for file in files):
        # As in Ray, * does not match the name of a folder.
        if name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern):
            component = next(
                component for part, end, component in _COMPONENTS if part in name and name.endswith(end)
            )
            found.setdefault(component, []).append(name)
    return found


def read_log(records: SessionReader, logs: Logs, session: str, query: QueryParams) -> Iterator[bytes]:
    """The last lines of the file that a query of Ray's client describes, some at a time.

    If there are fewer lines than requested in the bytes that are searched, the first line has the number of
    bytes before them. Raises BadQuery or NotFound.
    """
    lines = parse_integer("lines", query.get("lines", str(_DEFAULT_LINES)))
    is_clean = parse_boolean("filter_ansi_code", query.get("filter_ansi_code", "false")) == "true"
    source, begin, end = _range(logs, session, _part(records, logs, session, query))
    head: list[bytes] = []
    if lines >= 0:
        searched = max(begin, end - _MAX_SEARCHED_BYTES)
        first = _last_lines(source, searched, end, lines)
        if first == searched > begin:
            head = [f"[rayscope: {searched - begin} bytes left out]\n".encode()]
        begin = first
    pieces = itertools.chain(head, source.pieces(begin, end))
    return map(_without_colors, pieces) if is_clean else pieces


def read_job_log(records: SessionReader, logs: Logs, session: str, job_id: str) -> Iterator[bytes]:
    """The output of a submitted job, some of it at a time. Raises NotFound."""
    part = _first(Owners(records, logs, session).job(job_id).parts, "driver")
    source, begin, end = _range(logs, session, part)
    return source.pieces(begin, end)


def _range(logs: Logs, session: str, part: Part) -> tuple[Source, int, int]:
    source = logs.source(session, part.node_id, part.name)
    end = source.size if part.end is None else min(part.end, source.size)
    return source, min(part.begin, end), end


def _last_lines(source: Source, begin: int, end: int, lines: int) -> int:
    """The offset of the last lines between two offsets."""
    stop = end if lines == 0 else begin
    at = end
    while at > stop:
        low = max(begin, at - _CHUNK_BYTES)
        for offset, data in reversed(source.read(low, at)):
            place = len(data)
            while (place := data.rfind(b"\n", 0, place)) >= 0:
                after = offset + place + 1
                if after == end:  # the end of the last line
                    continue
                lines -= 1
                if lines == 0:
                    return after
        at = low
    return stop


def _without_colors(piece: bytes) -> bytes:
    return clean_error(piece.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _node(records: SessionReader, session: str, query: QueryParams) -> str:
    node_id, node_ip = query.get("node_id"), query.get("node_ip")
    if node_id:
        return node_id
    if not node_ip:
        raise BadQuery("Both node id and node ip are not provided.", "Please provide at least one of them.")
    rows = records.read_cached(session, "nodes with logs", sql.log_nodes)
    found = next((row["node_id"] for row in rows if row["node_ip"] == node_ip), None)
    if found is None:
        raise NotFound(f"Cannot find matching node_id for a given node ip {node_ip[:80]}", "")
    return str(found)


def _part(records: SessionReader, logs: Logs, session: str, query: QueryParams) -> Part:
    owners, stream = Owners(records, logs, session), query.get("suffix", "out")
    if actor_id := query.get("actor_id"):
        return _first(owners.actor(actor_id).parts, stream)
    if task_id := query.get("task_id"):
        attempt = parse_integer("attempt_number", query.get("attempt_number", "0"))
        return _first(owners.task(task_id, attempt).parts, stream)
    if submission_id := query.get("submission_id"):
        return _first(owners.job(submission_id).parts, "driver")
    if filename := query.get("filename"):
        return Part(_node(records, session, query), filename, stream)
    if pid := query.get("pid"):
        number = parse_integer("pid", pid)
        _, files = list_files(records, logs, session, _node(records, session, query), every=True)
        names = ((file, read_name(file.name)) for file in files)
        parts = [
            Part(file.node_id, file.name, stream)
            for file, name in names
            if name.pid == number and name.kind == f"worker_{stream}"
        ]
        return _first(parts, stream)
    raise BadQuery(
        "None of actor_id, task_id, pid, submission_id or filename is provided.",
        "At least one of them is required to fetch logs.",
    )


def _first(parts: list[Part], stream: str) -> Part:
    """The first part of a stream. As in Ray, files that were rotated come after the current one."""
    matching = [part for part in parts if part.stream == stream]
    if not matching:
        raise NotFound(
            "Could not find a log file. Please make sure the given option exists in the cluster.",
            "RAYSCOPE_KEEP_LOGS says which logs are kept.",
        )
    return min(matching, key=lambda part: rotations(part.name))
