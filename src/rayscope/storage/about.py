"""Facts about a session that are available without opening its record: counts, name and the operator's
label.
"""

from __future__ import annotations

import re
import time
import zlib
from pathlib import Path

import msgspec

from rayscope.files import replace_file
from rayscope.model import AgentReport
from rayscope.storage.schema import NOT_TASK_LOSSES
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import script_and_host
from rayscope.storage.sql.execution import COUNT_STATES, CREATED, NOT_DRIVER
from rayscope.storage.sql.library_stops import count_stopped

#: Maximum number of nodes per session whose transport is remembered.
MAX_AGENTS = 10_000
#: Characters that some file systems do not allow in names.
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")
_FILE_NAME_CHARS = 80


class Label(msgspec.Struct, frozen=True, order=True):
    """The operator's name and notes for a session. The later of two labels compares as greater.

    ``set_ns``: when it was set, or 0 if it was set by an old version of Rayscope that did not record the
    time.
    """

    set_ns: int = 0
    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()


class About(msgspec.Struct):
    """Facts about a session that are available without opening its record. Times are in ns."""

    session: str
    #: When its first task was created or its first data arrived, whichever is earlier.
    first_ns: int = 0
    #: When its last data arrived.
    last_ns: int = 0
    #: When the session's cluster ended, or None if it has not ended as far as we know.
    ended_ns: int | None = None
    recording: list[str] = []
    ray_version: str | None = None
    gcs_address: str | None = None
    tasks: int = 0
    attempts: int = 0
    states: dict[str, int] = {}
    #: Number of failed attempts that a library stopped on purpose.
    stopped_by_libraries: int = 0
    actors: int = 0
    nodes: int = 0
    jobs: int = 0
    dropped_total: int = 0
    events: int = 0
    batches: int = 0
    unknown: dict[str, int] = {}
    note: str | None = None
    #: Node ID -> last report of the node's agent.
    agents: dict[str, AgentReport] = {}
    #: Whether JSON events without a node ID arrived (Ray before 2.55).
    nameless_json: bool = False
    #: The value of ``dropped_total`` when all tasks were last read from the GCS, and when that was.
    repaired_total: int = 0
    repaired_ns: int = 0
    #: Whether the GCS itself had dropped attempts by then.
    repaired_partly: bool = False
    #: The script of the first job, '' if no job has reported one, or None if it was not looked up yet.
    script: str | None = None
    #: The host name of the head node.
    host: str | None = None
    label: Label = Label()
    #: Modification time (ns) and size of the record when it was last opened successfully.
    readable_stamp: tuple[int, int] = (0, 0)
    #: When the session was opened here from a session file, or 0.
    opened_ns: int = 0
    #: Whether its names are placeholders, see :mod:`rayscope.archive.anonymise`.
    is_anonymous: bool = False
    # The following fields are used with several servers. Their times come from the clock of
    # :mod:`rayscope.warehouse.servers`.
    #: When this server last received data about the session directly from the cluster, or 0 if never.
    heard_ns: int = 0
    #: Whether some of that data is not published yet. (The field names in the file stem from an earlier
    #: version.)
    has_unpublished: bool = msgspec.field(default=False, name="has_untold")
    #: When this server last published data about the session.
    published_ns: int = msgspec.field(default=0, name="told_ns")
    #: Data that other servers published up to this time is merged.
    followed_ns: int = 0

    @property
    def name(self) -> str | None:
        """The session's name: the operator's, or the first job's script with the number of further jobs."""
        if self.label.name:
            return self.label.name
        if not self.script:
            return None
        return f"{self.script} +{self.jobs - 1}" if self.jobs > 1 else self.script

    @property
    def failed(self) -> int:
        """Number of failed attempts, without those that a library stopped on purpose."""
        return max(0, self.states.get("FAILED", 0) - self.stopped_by_libraries)

    def quiet_ns(self, now_ns: int) -> int:
        """Time since data last arrived or the session ended, ns."""
        return now_ns - max(self.last_ns, self.ended_ns or 0)

    @property
    def searchable(self) -> str:
        """The text that a search for sessions looks through."""
        label = self.label
        return "\n".join(
            [self.session, self.name or "", self.script or "", self.host or "", label.note, *label.tags]
        )

    @property
    def file_name(self) -> str:
        """File name for an export of the session, without a suffix: the session's name and its start in
        UTC.
        """
        if self.name is None:
            return self.session
        start = time.strftime("%Y-%m-%d_%H-%M-%S", time.gmtime(self.first_ns / 1e9))
        name = _NOT_IN_FILE_NAMES.sub("_", self.name)[:_FILE_NAME_CHARS].strip("._") or "session"
        return f"{name}_{start}"


decode_about = msgspec.json.Decoder(About).decode


def count_records(file: SessionFile, about: About) -> None:
    """Update the counts and names in ``about`` from the record."""
    with file.reader() as cursor:
        about.states = dict(cursor.execute(COUNT_STATES).fetchall())
        counts = cursor.execute(
            f"SELECT (SELECT count(*) FROM attempts WHERE attempt = 0 AND {NOT_DRIVER}), "
            "(SELECT count(*) FROM actors WHERE NOT is_internal), "
            "(SELECT count(*) FROM node_rows), (SELECT count(*) FROM jobs), "
            "(SELECT coalesce(sum(count), 0)::BIGINT FROM drops WHERE NOT list_contains(?, reason)), "
            f"(SELECT min({CREATED}) FROM attempts)",
            [list(NOT_TASK_LOSSES)],
        ).fetchone()
        about.script, about.host = script_and_host(cursor)
        about.stopped_by_libraries = count_stopped(cursor) if "FAILED" in about.states else 0
    about.attempts = sum(about.states.values())
    if counts:
        about.tasks, about.actors, about.nodes, about.jobs, about.dropped_total, created_ns = counts
        if created_ns:
            # Rayscope may have attached, or received its first events, when tasks were running already.
            about.first_ns = min(about.first_ns, created_ns)


#: Precedes the checksum, which is the last field of ``about.json``.
_CHECK = b',"check":'


def seal(content: bytes) -> bytes:
    """Add a checksum to a JSON object, as its last field."""
    return content[:-1] + _CHECK + b"%d}" % zlib.crc32(content)


def write_about(folder: Path, about: About, *, sync: bool = True) -> None:
    """Write the facts about a session to its folder, if its record is in another store. Raises OSError."""
    content = seal(msgspec.json.encode(msgspec.structs.replace(about, label=Label())))
    replace_file(folder / "about.json", content, sync=sync)
    if about.label != Label():
        replace_file(folder / "label.json", msgspec.json.encode(about.label), sync=sync)


def unseal(content: bytes) -> bytes:
    """Remove the checksum of :func:`seal`, if any, from a JSON object.

    Raises ValueError if it does not match.
    """
    head, _, check = content.rpartition(_CHECK)
    if not head:
        return content
    if check != b"%d}" % zlib.crc32(head + b"}"):
        raise ValueError("its checksum is wrong")
    return head + b"}"
