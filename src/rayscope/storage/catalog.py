"""The sessions in a data directory: where their files are, which of them are open, and which to delete.

DATA_DIR/sessions/<session>/record.duckdb   the record
DATA_DIR/sessions/<session>/about.json      facts shown in the list of sessions without opening the record
DATA_DIR/sessions/<session>/agents.json     the last reports of its nodes' agents
DATA_DIR/sessions/<session>/objects.msgpack  holders of objects at the last reading
DATA_DIR/sessions/<session>/label.json      the operator's name and notes
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import duckdb
import msgspec

from rayscope.files import replace_file, set_aside
from rayscope.model import AgentReport
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.storage.about import About, Label, count_records, decode_about, seal, unseal, write_about
from rayscope.storage.errors import NotFound, SpoolFull, StoreError
from rayscope.storage.session_file import MEMORY_LIMIT, SessionFile
from rayscope.storage.slots import Slots

log = logging.getLogger("rayscope.storage")

_AGENTS = msgspec.json.Decoder(dict[str, AgentReport])
_LABEL = msgspec.json.Decoder(Label)
_FILE_ERRORS: tuple[type[Exception], ...] = (OSError, *DECODE_ERRORS)
#: Suffixes of the files next to a record: DuckDB's log, and the files of an interrupted checkpoint.
_SUFFIXES = (".wal", ".wal.checkpoint", ".wal.recovery")
#: Valid session names. They are used as folder names.
SESSION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
#: Maximum number of records opened per call of :meth:`Catalog.unreadable`. Opening one takes about 30 ms.
_MAX_LOOKS = 20
#: Maximum number of ended sessions that are kept open for readers. Each takes a few MB of memory.
_OPEN_READERS = 8
LIVE_NS = 30 * 10**9
#: Data that arrives within this time (ns) after a session's end was sent before the end. Later data shows
#: that the session is alive.
STRAGGLERS_NS = 10 * 10**9
#: Maximum number of sessions that may begin within ``_NEW_S``. Each takes a file, memory and threads, and
#: senders can make up any number of names.
_MAX_NEW = 30
_NEW_S = 60.0
#: Maximum number of requests that may wait for a session to be fetched. Each occupies one of the server's 40
#: threads.
_MAX_WAITING = 4
#: How long these requests wait, in seconds.
_FETCH_WAIT_S = 600.0


RECORD = "record.duckdb"


class RemoteStore(Protocol):
    """Another place where sessions are stored: see :mod:`rayscope.archive` and :mod:`rayscope.warehouse`.

    Attributes:
        name: ``archive`` or ``warehouse``.
        files: files of a session that retention deletes here once the store has them. Other files stay.
        continues: whether a record is fetched before more is written to it. Otherwise a new record begins,
            and the stored data is merged later.
    """

    name: str
    continues: bool

    files: Collection[str]

    def fetch(self, session: str, file: str) -> None:
        """Fetch a file of a session from the store into its folder. Raises StoreError."""

    def is_sealed(self, session: str) -> bool:
        """Whether the store has the complete session."""

    def has(self, session: str) -> bool:
        """Whether the store has any data about a session."""


class Retention(msgspec.Struct):
    """What to keep: the newest sessions within all three limits. Live sessions are always kept."""

    max_age_s: float = 30 * 86400
    max_bytes: int = 20 << 30
    max_sessions: int = 200


class Catalog:
    """All sessions of one data directory. Thread-safe."""

    def __init__(self, data_dir: Path, *, memory_limit: str = MEMORY_LIMIT, read_only: bool = False) -> None:
        self.folder = data_dir / "sessions"
        self._memory_limit = memory_limit
        self._read_only = read_only
        if not read_only:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        self._lock = threading.RLock()
        #: Notified when a query on a record ends.
        self._query_ended = threading.Condition(self._lock)
        self._open: OrderedDict[str, SessionFile] = OrderedDict()
        self._users: dict[str, int] = {}
        self._pinned: set[str] = set()
        self._about: dict[str, About] = {}
        #: When the latest sessions began (monotonic, s).
        self._new_times: deque[float] = deque(maxlen=_MAX_NEW)
        self._saving = threading.Lock()
        #: Session -> the slot held while its files are fetched.
        self._fetching: dict[str, Slots] = {}
        #: Sessions whose counts may not match their record, see :meth:`count_again`.
        self.uncounted: set[str] = set()
        #: Other stores of sessions, in the order of lookup. The first one keeps them permanently.
        self.remotes: list[RemoteStore] = []
        #: Each is called with the name of each removed session.
        self.on_remove: list[Callable[[str], None]] = []
        #: Session -> the modification time and size of its record when it was last opened, and the error if
        #: that failed.
        self._problems: dict[str, tuple[tuple[int, int], StoreError | None]] = {}
        #: Session -> when it was last read (ns).
        self._used_ns: dict[str, int] = {}
        self._load()

    def _load(self) -> None:
        if not self.folder.is_dir():
            return
        for entry in os.scandir(self.folder):
            if SESSION_NAME.fullmatch(entry.name) and entry.is_dir():
                self.load(entry.name)

    def load(self, session: str) -> None:
        """Reload the files of a session's folder, except the record."""
        folder = self.folder / session
        about = self._load_about(folder)
        with contextlib.suppress(*_FILE_ERRORS):
            about.agents = _AGENTS.decode((folder / "agents.json").read_bytes())
        # Ignore the name in the file, because the name decides which folder is written or deleted.
        about.session = session
        with self._lock:
            about.label = self._load_label(folder / "label.json")
            self._about[session] = about
        if about.jobs and about.script is None:  # recorded by an old version without session names
            self.uncounted.add(session)

    def _load_label(self, path: Path) -> Label:
        try:
            return _LABEL.decode(path.read_bytes())
        except FileNotFoundError:
            pass
        except _FILE_ERRORS as error:
            log.warning("could not read %s: %s", path, error)
            if not self._read_only:
                with contextlib.suppress(OSError):
                    set_aside(path)
        return Label()

    def _load_about(self, folder: Path) -> About:
        """Load a session's ``about.json``. If it is damaged, derive as much as possible from the folder."""
        try:
            about = decode_about(unseal((folder / "about.json").read_bytes()))
            # If the clock was set back, this time may be in the future, and the session would stay the newest
            # one.
            about.last_ns = min(about.last_ns, time.time_ns())
            return about
        except _FILE_ERRORS as error:
            try:
                stamp = folder.stat().st_mtime_ns
            except OSError:
                stamp = time.time_ns()
            about = About(folder.name, first_ns=stamp, last_ns=stamp)
            self.uncounted.add(folder.name)
            if not isinstance(error, FileNotFoundError) or (folder / "about.json").is_symlink():
                log.warning("could not read %s: %s", folder / "about.json", error)
                about.note = "about.json was damaged; what it held beyond the record is lost."
            return about

    def names(self) -> list[str]:
        """All sessions, most recently active first."""
        with self._lock:
            return sorted(self._about, key=lambda name: (-self._about[name].last_ns, name))

    def about(self, session: str) -> About:
        """The facts about a session. Raises NotFound."""
        with self._lock:
            try:
                return self._about[session]
            except KeyError:
                raise NotFound(
                    f"Session {session[:80]!r} not found.", what="session", id=session[:80]
                ) from None

    def add(self, session: str) -> About:
        """Add a session if it is new. Returns its :class:`About`.

        Raises StoreError for an invalid name, and SpoolFull if too many sessions begin at once.
        """
        with self._lock:
            known = self._about.get(session)
            if known is None:
                if not SESSION_NAME.fullmatch(session):
                    raise StoreError(
                        f"{session[:80]!r} is not a Ray session name.",
                        "Check what sends these events.",
                        "bad_session",
                    )
                now = time.monotonic()
                if len(self._new_times) == _MAX_NEW and now - self._new_times[0] < _NEW_S:
                    raise SpoolFull(
                        f"More than {_MAX_NEW} sessions started within a minute.",
                        "Check what sends events under so many session names. It will be accepted again "
                        "soon.",
                        "too_many_sessions",
                    )
                self._new_times.append(now)
                (self.folder / session).mkdir(parents=True, exist_ok=True)
                known = self._about[session] = About(session, first_ns=time.time_ns(), last_ns=time.time_ns())
            return known

    def adopt(self, session: str, folder: Path) -> None:
        """Add a session with the files in ``folder``, which becomes its folder.

        The files may come from anyone, so the session has ended, and nothing connects to its address.

        Raises StoreError if there is such a session, and OSError if the folder cannot be moved.
        """
        self._check_writable()
        with self._lock:
            if session in self._about:
                raise StoreError(
                    f"{session} is on record here already, with other content.",
                    "Keep it, or delete it here and open the file again.",
                    "session_exists",
                    status=409,
                    id=session,
                )
            about = self._load_about(folder)
            opened = msgspec.structs.replace(
                about,
                ended_ns=about.ended_ns or about.last_ns,
                opened_ns=time.time_ns(),
                gcs_address=None,
                agents={},
                readable_stamp=(0, 0),
                heard_ns=0,
                has_unpublished=False,
                published_ns=0,
                followed_ns=0,
            )
            write_about(folder, opened)
            folder.rename(self.folder / session)
            self.load(session)

    def save_about(self, session: str) -> None:
        """Write a session's ``about.json``."""
        # Agents and the label are in files of their own. There may be thousands of agents, and this file is
        # written every second. The label could not be restored from the record if this file was damaged.
        about = msgspec.structs.replace(self.about(session), agents={}, label=Label())
        # Without the checksum, one flipped bit could make a session look old enough to be deleted.
        self._save(session, "about.json", seal(msgspec.json.encode(about)))

    def save_agents(self, session: str) -> None:
        """Write a session's ``agents.json``."""
        self._save(session, "agents.json", msgspec.json.encode(dict(self.about(session).agents)))

    def set_label(self, session: str, label: Label) -> None:
        """Store the operator's label of a session, unless a later one is known.

        Raises NotFound, or StoreError if the label cannot be written.
        """
        self._check_writable()
        with self._lock:
            about = self.about(session)
            if label > about.label:
                self._save_label(session, label)
                about.label = label

    def _check_writable(self) -> None:
        if self._read_only:
            raise StoreError(
                "This data directory is only being read.", "Start a server: rayscope serve", what="read_only"
            )

    def _save_label(self, session: str, label: Label) -> None:
        try:
            (self.folder / session).mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / session / "label.json", msgspec.json.encode(label))
        except OSError as error:
            raise StoreError(
                f"Could not write the name of {session}: {error.strerror or error}.",
                "Free some space, or make the data directory writable, and try again.",
                what="session_name",
                reason=error.strerror or str(error),
            ) from error

    def _save(self, session: str, name: str, content: bytes) -> None:
        if self._read_only:
            return
        # Errors are ignored: the file is written again soon, and can be restored from the record.
        with self._saving, contextlib.suppress(OSError):
            replace_file(self.folder / session / name, content, sync=False)

    def path(self, session: str) -> Path:
        """The path of a session's record.

        Raises NotFound for an unknown session, so that no path is built from a request's text.
        """
        self.about(session)
        return self.path_of(session)

    def path_of(self, session: str) -> Path:
        """The path of a session's record, whether or not it exists. The name must be valid."""
        return self.folder / session / RECORD

    def local_file(self, session: str, name: str) -> Path:
        """The path of a session's file. The file is fetched first if it exists only in another store.

        Raises NotFound for an unknown session, or StoreError if the file cannot be fetched.
        """
        path = self.path(session).with_name(name)
        self._fetch(path, self.remotes)
        return path

    def _fetch(self, path: Path, places: Iterable[RemoteStore]) -> None:
        if path.exists() or not places:
            return
        session = path.parent.name
        with self._lock:
            if (slots := self._fetching.get(session)) is None:
                busy = f"{session} is being fetched from the archive for other requests."
                slots = Slots(1, busy, waiting=_MAX_WAITING, wait_s=_FETCH_WAIT_S)
                self._fetching[session] = slots
        with slots.take():
            for place in places:
                if not path.exists():
                    place.fetch(session, path.name)

    def forget(self, session: str) -> bool:
        """Remove a session from the list if its data no longer exists anywhere.

        Returns whether it was removed.
        """
        if self.path_of(session).exists() or any(place.has(session) for place in self.remotes):
            return False
        try:
            return self.remove(session)
        except NotFound:
            return False

    def open_for_writing(self, session: str) -> SessionFile:
        """Open a session's record until :meth:`release`. A damaged file is renamed, and the session gets a
        note about it.
        """
        self.about(session).readable_stamp = (0, 0)
        with contextlib.suppress(OSError):  # DuckDB reports the same problem with a better message
            self.path(session).parent.mkdir(parents=True, exist_ok=True)
        self._fetch(self.path(session), [place for place in self.remotes if place.continues])
        try:
            with self._lock:
                file = self._open_file(session)
                self._pinned.add(session)
                return file
        except StoreError as error:
            if error.code != "corrupt":
                raise
            self.set_aside(session)
            with self._lock:
                file = self._open_file(session)
                self._pinned.add(session)
                return file

    def set_aside(self, session: str) -> None:
        """Rename a damaged record, so that a new one can begin, and add a note to the session."""
        self.reopen(session)
        path = self.path(session)
        aside = set_aside(path, *_SUFFIXES)
        self.about(
            session
        ).note = f"The record was damaged and is kept as {aside.name}; a new record continues from there."

    def release(self, session: str) -> None:
        """Allow the session's file to be closed, because the writer no longer needs it."""
        with self._lock:
            self._pinned.discard(session)
            self._close_some()

    def reopen(self, session: str) -> None:
        """Close a file with a broken connection, so that the next use opens it again."""
        with self._lock:
            file = self._open.pop(session, None)
        if file is not None:
            file.close()

    @contextlib.contextmanager
    def reading(self, session: str) -> Iterator[SessionFile]:
        """Open a session's record for one query. Raises NotFound or StoreError."""
        self.local_file(session, RECORD)
        self._used_ns[session] = time.time_ns()
        with self._lock:
            file = self._open_file(session)
            self._users[session] = self._users.get(session, 0) + 1
        try:
            yield file
        finally:
            with self._lock:
                self._users[session] -= 1
                self._query_ended.notify_all()
                self._close_some()

    def unreadable(self, sessions: Iterable[str]) -> dict[str, StoreError]:
        """Session -> error for each record that cannot be read.

        Opens only records that changed since they were last opened, and at most 20 per call. Later calls open
        the others.
        """
        problems: dict[str, StoreError] = {}
        looks = 0
        for session in sessions:
            try:
                status = self.path(session).lstat()
            except OSError:
                continue  # the record is not written yet
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp == self.about(session).readable_stamp:
                continue
            known_stamp, problem = self._problems.get(session, (None, None))
            if stamp != known_stamp and looks < _MAX_LOOKS:
                looks += 1
                problem = self._look(session, stamp)
            if problem is not None:
                problems[session] = problem
        return problems

    def _look(self, session: str, stamp: tuple[int, int]) -> StoreError | None:
        """Open a record. Returns the error if that failed."""
        problem: StoreError | None = None
        try:
            with self.reading(session):
                pass
        except NotFound:
            pass
        except StoreError as error:
            problem = error
        if problem is None or problem.code in ("corrupt", "newer", "older"):  # others may be temporary
            self._problems[session] = (stamp, problem)
        if problem is None and session not in self._pinned:
            with contextlib.suppress(NotFound):  # it was removed in the meantime
                self.about(session).readable_stamp = stamp
                self.save_about(session)
        return problem

    def _open_file(self, session: str) -> SessionFile:
        file = self._open.get(session)
        if file is None:
            path = self.path(session)
            is_missing = not path.exists()
            if is_missing and not self._read_only:
                self.about(session).followed_ns = 0
            if self._read_only and is_missing:
                raise NotFound(
                    f"The record of {session} is not on this disk.",
                    "If the session is archived: rayscope archive pull. If it has just begun, try again.",
                    what="local_record",
                    id=session,
                )
            file = self._open[session] = SessionFile(
                path, memory_limit=self._memory_limit, read_only=self._read_only
            )
            self._note_loss(self.about(session), file, is_missing)
        self._open.move_to_end(session)
        return file

    def _note_loss(self, about: About, file: SessionFile, is_missing: bool) -> None:
        """Add a note to the session if its record has less data than before."""
        if about.note or any(place.has(about.session) for place in self.remotes if not place.continues):
            return  # data in another store is merged later, so the record may be incomplete now
        if is_missing and (about.attempts or about.nodes):
            about.note = "The record's file was missing; a new record continues from there."
        elif (attempts := file.count_attempts()) < about.attempts:
            about.note = (
                f"The record's log was damaged: {attempts} of {about.attempts} attempts are left, plus "
                "everything recorded later."
            )
        else:
            return
        self.uncounted.add(about.session)

    def count_again(self) -> None:
        """Recount one session whose counts may be wrong, for example because ``about.json`` was damaged."""
        session = self.uncounted.pop()
        try:
            if self.path(session).exists():
                with self.reading(session) as file:
                    count_records(file, self.about(session))
                self.save_about(session)
        except (StoreError, duckdb.Error) as error:
            log.warning("session %s cannot be counted: %s", session, error)

    def _close_some(self) -> None:
        idle = [n for n in self._open if n not in self._pinned and not self._users.get(n)]
        for name in idle[: max(0, len(idle) - _OPEN_READERS)]:
            self._open.pop(name).close()

    def damaged_files(self, session: str) -> list[str]:
        """Names of the session's damaged files that were set aside."""
        try:
            return sorted(name for name in os.listdir(self.folder / session) if ".damaged-" in name)
        except OSError:
            return []

    def disk_bytes(self, session: str) -> int:
        """Disk space that the session takes, bytes."""
        total = 0
        with contextlib.suppress(OSError):  # the folder may have been removed
            for entry in os.scandir(self.folder / session):
                with contextlib.suppress(OSError):
                    total += entry.stat().st_size if entry.is_file() else 0
        return total

    def apply_retention(self, retention: Retention, now_ns: int, *, keep: Collection[str] = ()) -> list[str]:
        """Delete the oldest ended sessions beyond the limits. Returns their names.

        Whole files are deleted, because a DuckDB file never shrinks. With an archive or a warehouse, a
        session is deleted here only once it is stored there, and it stays in the list. Sessions that were
        read recently then count as new. A session counts as new when its file is opened here.

        Args:
            retention: the limits.
            now_ns: the current time.
            keep: sessions whose clusters are alive, even if quiet.
        """
        dropped = []
        kept_bytes = 0
        kept = 0
        read_ns = self._used_ns if self.remotes else {}
        used_ns = {
            about.session: max(read_ns.get(about.session, 0), about.last_ns, about.opened_ns)
            for about in map(self.about, self.names())
        }
        for name in sorted(used_ns, key=lambda name: -used_ns[name]):
            if self.remotes and not self.path_of(name).exists():
                continue  # its record was already deleted here
            size = self.disk_bytes(name)
            live = name in keep or now_ns - self.about(name).last_ns < LIVE_NS
            too_old = now_ns - used_ns[name] > retention.max_age_s * 1e9
            if live or not (
                too_old or kept_bytes + size > retention.max_bytes or kept + 1 > retention.max_sessions
            ):
                kept_bytes += size
                kept += 1
            elif not self.remotes:
                if self.remove(name):
                    dropped.append(name)
            else:
                place = self.remotes[0]  # the one that keeps sessions permanently
                if place.is_sealed(name) and self._drop_files(name, place.files):
                    dropped.append(name)
        return dropped

    def _close_unused(self, session: str, *, pinned_too: bool = False) -> bool:
        """Close a session's file unless it is in use. Returns whether it is closed. The caller holds the
        lock.
        """
        if (session in self._pinned and not pinned_too) or self._users.get(session):
            return False
        self._pinned.discard(session)
        file = self._open.pop(session, None)
        if file is not None:
            file.close()
        return True

    def _drop_files(self, session: str, names: Iterable[str]) -> bool:
        """Delete these files of a session. Returns False, without deleting any, if the session is in use."""
        with self._lock:
            if not self._close_unused(session):
                return False
            for name in names:
                for suffix in ("", *_SUFFIXES):
                    with contextlib.suppress(OSError):
                        (self.folder / session / f"{name}{suffix}").unlink()
        return True

    def wait_unused(self, session: str, timeout_s: float) -> bool:
        """Wait for the end of the queries that read a session. Returns whether they ended in time."""
        with self._query_ended:
            return self._query_ended.wait_for(lambda: not self._users.get(session), timeout_s)

    def remove(self, session: str, *, pinned_too: bool = False) -> bool:
        """Delete a session unless its record is in use. Returns whether all its files are gone.

        ``pinned_too``: delete it even if the record is open for writing. Only the writer may request this.
        """
        with self._lock:
            if not self._close_unused(session, pinned_too=pinned_too):
                return False
            self.about(session)
            folder = self.folder / session
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():  # leftover files would bring the session back after the next start
                return False
            del self._about[session]
            self.uncounted.discard(session)
            self._used_ns.pop(session, None)
            self._users.pop(session, None)
            self._problems.pop(session, None)
            self._fetching.pop(session, None)
        for forget in self.on_remove:
            try:
                forget(session)
            except Exception:  # the others have to forget it, too
                log.exception("session %s", session)
        return True

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            for file in self._open.values():
                file.close()
            self._open.clear()
            self._pinned.clear()
