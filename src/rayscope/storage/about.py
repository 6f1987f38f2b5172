"""What is known of a session without opening its record: how it is counted, and what people call it."""

from __future__ import annotations

import re
import time
import zlib
from pathlib import Path

import msgspec

from rayscope.files import replace_file
from rayscope.model import AgentReport
from rayscope.storage.schema import SPAN_LOSSES
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import script_and_host
from rayscope.storage.sql.execution import COUNT_STATES, NOT_DRIVER
from rayscope.storage.sql.library_stops import count_stopped

#: Nodes of one session whose way of sending is remembered.
MAX_AGENTS = 10_000
#: What may stand in a file name on every system.
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")
_FILE_NAME_CHARS = 80


class Label(msgspec.Struct, frozen=True, order=True):
    """What the operator says of a session. Of two the later one is greater.

    ``set_ns``: when that was said; 0: by a Rayscope that did not note it.
    """

    set_ns: int = 0
    name: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()


class About(msgspec.Struct):
    """What is known of a session without opening its record. Times in ns."""

    session: str
    first_ns: int = 0
    last_ns: int = 0
    #: When the session's cluster was gone, as far as that is known.
    ended_ns: int | None = None
    recording: list[str] = []
    ray_version: str | None = None
    gcs_address: str | None = None
    tasks: int = 0
    attempts: int = 0
    states: dict[str, int] = {}
    #: How many of the failed attempts are those that a library stopped on purpose.
    stopped_by_libraries: int = 0
    actors: int = 0
    nodes: int = 0
    jobs: int = 0
    dropped_total: int = 0
    events: int = 0
    batches: int = 0
    unknown: dict[str, int] = {}
    note: str | None = None
    #: How each node's events come, by node id: what its agent said last.
    agents: dict[str, AgentReport] = {}
    #: JSON came that does not say from which node (Ray before 2.55).
    nameless_json: bool = False
    #: How much of ``dropped_total`` was known when the tasks were last read again from the GCS, and when.
    repaired_total: int = 0
    repaired_ns: int = 0
    #: The GCS had itself dropped attempts by then.
    repaired_partly: bool = False
    #: The script of the first job, '' if no job has told it; None: not looked up yet.
    script: str | None = None
    #: The machine of the head node.
    host: str | None = None
    label: Label = Label()
    #: The record's time of change (ns) and size when it could be opened last; it has not been written since.
    readable_stamp: tuple[int, int] = (0, 0)
    #: With several servers: when this one heard of the session itself last (0: never); whether some of that
    #: is not told to the others; when it told something last, and up to when it has merged what they told,
    #: by the clock of :mod:`rayscope.warehouse.servers`.
    heard_ns: int = 0
    has_untold: bool = False
    told_ns: int = 0
    followed_ns: int = 0

    @property
    def name(self) -> str | None:
        """What people call the session: the operator's name, or the first script and how many jobs more."""
        if self.label.name:
            return self.label.name
        if not self.script:
            return None
        return f"{self.script} +{self.jobs - 1}" if self.jobs > 1 else self.script

    @property
    def failed(self) -> int:
        """Attempts that failed, without those that a library stopped on purpose."""
        return max(0, self.states.get("FAILED", 0) - self.stopped_by_libraries)

    def quiet_ns(self, now_ns: int) -> int:
        """How long ago something came last, or the session ended."""
        return now_ns - max(self.last_ns, self.ended_ns or 0)

    @property
    def searchable(self) -> str:
        """All that people look for a session by."""
        label = self.label
        return "\n".join(
            [self.session, self.name or "", self.script or "", self.host or "", label.note, *label.tags]
        )

    @property
    def file_name(self) -> str:
        """What an export of the session is called, without an ending: the name and the start, in UTC."""
        if self.name is None:
            return self.session
        start = time.strftime("%Y-%m-%d_%H-%M-%S", time.gmtime(self.first_ns / 1e9))
        name = _NOT_IN_FILE_NAMES.sub("_", self.name)[:_FILE_NAME_CHARS].strip("._") or "session"
        return f"{name}_{start}"


decode_about = msgspec.json.Decoder(About).decode


def count_records(file: SessionFile, about: About) -> None:
    """Make the counts in ``about`` those of the record, and the names that it takes from there."""
    with file.reader() as cursor:
        about.states = dict(cursor.execute(COUNT_STATES).fetchall())
        counts = cursor.execute(
            f"SELECT (SELECT count(*) FROM attempts WHERE attempt = 0 AND {NOT_DRIVER}), "
            "(SELECT count(*) FROM actors WHERE NOT is_internal), "
            "(SELECT count(*) FROM node_rows), (SELECT count(*) FROM jobs), "
            "(SELECT coalesce(sum(count), 0)::BIGINT FROM drops WHERE NOT list_contains(?, reason))",
            [list(SPAN_LOSSES)],
        ).fetchone()
        about.script, about.host = script_and_host(cursor)
        about.stopped_by_libraries = count_stopped(cursor) if "FAILED" in about.states else 0
    about.attempts = sum(about.states.values())
    if counts:
        about.tasks, about.actors, about.nodes, about.jobs, about.dropped_total = counts


#: Stands before the check sum, the last field of ``about.json``.
_CHECK = b',"check":'


def seal(content: bytes) -> bytes:
    """A JSON object with a check sum as its last field."""
    return content[:-1] + _CHECK + b"%d}" % zlib.crc32(content)


def write_about(folder: Path, about: About, *, sync: bool = True) -> None:
    """Write what is known of a session whose record is elsewhere into its folder. Raises OSError."""
    content = seal(msgspec.json.encode(msgspec.structs.replace(about, label=Label())))
    replace_file(folder / "about.json", content, sync=sync)
    if about.label != Label():
        replace_file(folder / "label.json", msgspec.json.encode(about.label), sync=sync)


def unseal(content: bytes) -> bytes:
    """The JSON object of :func:`_seal`, or one without a check sum. Raises ValueError if it was changed."""
    head, _, check = content.rpartition(_CHECK)
    if not head:
        return content
    if check != b"%d}" % zlib.crc32(head + b"}"):
        raise ValueError("its checksum is wrong")
    return head + b"}"
