"""The sessions in a data directory: where their files are, which are open, which to drop.

DATA_DIR/sessions/<session>/record.duckdb   the record
DATA_DIR/sessions/<session>/about.json      what the list of sessions shows without opening it
DATA_DIR/sessions/<session>/agents.json     what the agents of its nodes said last
DATA_DIR/sessions/<session>/objects.msgpack  who held which objects when that was read last
DATA_DIR/sessions/<session>/label.json      what the operator calls it, and notes of it
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
from rayscope.storage.about import About, Label, count_records, decode_about, seal, unseal
from rayscope.storage.errors import NotFound, SpoolFull, StoreError
from rayscope.storage.session_file import MEMORY_LIMIT, SessionFile
from rayscope.storage.slots import Slots

log = logging.getLogger("rayscope.storage")

_AGENTS = msgspec.json.Decoder(dict[str, AgentReport])
_LABEL = msgspec.json.Decoder(Label)
_FILE_ERRORS: tuple[type[Exception], ...] = (OSError, *DECODE_ERRORS)
#: The files beside a record: DuckDB's log, and those of a checkpoint that a kill cut off.
_SUFFIXES = (".wal", ".wal.checkpoint", ".wal.recovery")
#: What a session may be called: folders are made of it.
SESSION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
#: Records that one call of :meth:`Catalog.unreadable` opens: some 30 ms each.
_MAX_LOOKS = 20
#: Ended sessions kept open for readers; each costs a few MB.
_OPEN_READERS = 8
LIVE_NS = 30 * 10**9
#: What comes so soon after a session's end was under way; what comes later shows that it lives.
STRAGGLERS_NS = 10 * 10**9
#: Sessions that may begin in a minute: each costs a file, memory and threads, and anybody may make up names.
_MAX_NEW, _NEW_S = 30, 60.0
#: Requests that wait for a session from elsewhere, each with one of the server's 40 threads, and how long, s.
_MAX_WAITING = 4
_BRING_WAIT_S = 600.0


RECORD = "record.duckdb"


class Elsewhere(Protocol):
    """Where sessions are besides: see :mod:`rayscope.archive` and :mod:`rayscope.warehouse`.

    ``name``: ``archive`` or ``warehouse``.
    ``files``: the files of a session that are dropped here once it is there; the rest of its folder stays.
    ``continues``: whether a record is brought before more is written to it; else a new one begins, and merges
    what is there later.
    """

    name: str
    continues: bool

    files: Collection[str]

    def bring(self, session: str, file: str) -> None:
        """Make a file of a session if it is only there. Raises StoreError."""

    def is_sealed(self, session: str) -> bool:
        """Whether all of a session is there."""

    def has(self, session: str) -> bool:
        """Whether anything of a session is there."""


class Retention(msgspec.Struct):
    """What to keep: the newest sessions within all three limits. Live sessions always stay."""

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
        self._open: OrderedDict[str, SessionFile] = OrderedDict()
        self._users: dict[str, int] = {}
        self._pinned: set[str] = set()
        self._about: dict[str, About] = {}
        #: When the last sessions began (monotonic s).
        self._begun: deque[float] = deque(maxlen=_MAX_NEW)
        self._saving = threading.Lock()
        #: Held while files of a session are brought from elsewhere.
        self._bringing: dict[str, Slots] = {}
        #: Sessions whose counts are not those of their record, see :meth:`count_again`.
        self.uncounted: set[str] = set()
        #: Where sessions are besides, in the order in which they are asked. The first keeps them for good.
        self.elsewhere: list[Elsewhere] = []
        #: Called with the name of each session that was removed.
        self.on_remove: Callable[[str], None] | None = None
        #: Session -> the stamp of its record when it was opened last, and why that failed.
        self._problems: dict[str, tuple[tuple[int, int], StoreError | None]] = {}
        #: When sessions were read last (ns).
        self._used_ns: dict[str, int] = {}
        self._load()

    def _load(self) -> None:
        if not self.folder.is_dir():
            return
        for entry in os.scandir(self.folder):
            if SESSION_NAME.fullmatch(entry.name) and entry.is_dir():
                self.load(entry.name)

    def load(self, session: str) -> None:
        """Read again what a session's folder says of it without its record."""
        folder = self.folder / session
        about = self._load_about(folder)
        with contextlib.suppress(*_FILE_ERRORS):
            about.agents = _AGENTS.decode((folder / "agents.json").read_bytes())
        # Never what the file says: folders are written and removed by this name.
        about.session = session
        with self._lock:
            about.label = self._load_label(folder / "label.json")
            self._about[session] = about
        if about.jobs and about.script is None:  # recorded before sessions had names
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
        """What a session's ``about.json`` says; if it is damaged, as much as the folder tells."""
        try:
            about = decode_about(unseal((folder / "about.json").read_bytes()))
            # A clock that went back must not keep a session the newest for ever.
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
        """All sessions, newest sign of life first."""
        with self._lock:
            return sorted(self._about, key=lambda name: (-self._about[name].last_ns, name))

    def about(self, session: str) -> About:
        """Raises NotFound."""
        with self._lock:
            try:
                return self._about[session]
            except KeyError:
                raise NotFound(
                    f"Session {session[:80]!r} not found.", what="session", id=session[:80]
                ) from None

    def add(self, session: str) -> About:
        """Begin a session, or give the known one.

        Raises StoreError for a name that is no session's, and SpoolFull if too many begin.
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
                if len(self._begun) == _MAX_NEW and now - self._begun[0] < _NEW_S:
                    raise SpoolFull(
                        f"More than {_MAX_NEW} sessions started within a minute.",
                        "Check what sends events under so many session names. It will be accepted again "
                        "soon.",
                        "too_many_sessions",
                    )
                self._begun.append(now)
                (self.folder / session).mkdir(parents=True, exist_ok=True)
                known = self._about[session] = About(session, first_ns=time.time_ns(), last_ns=time.time_ns())
            return known

    def save_about(self, session: str) -> None:
        """Write a session's ``about.json``."""
        # The agents have a file of their own: there may be thousands, and this is written each second. So has
        # the label, which no record could tell again.
        about = msgspec.structs.replace(self.about(session), agents={}, label=Label())
        # One flipped bit can make a session look years old, and retention would drop it.
        self._save(session, "about.json", seal(msgspec.json.encode(about)))

    def save_agents(self, session: str) -> None:
        """Write a session's ``agents.json``."""
        self._save(session, "agents.json", msgspec.json.encode(dict(self.about(session).agents)))

    def set_label(self, session: str, label: Label) -> None:
        """Keep what the operator says of a session, unless something later is known.

        Raises NotFound, and StoreError if that fails.
        """
        if self._read_only:
            raise StoreError("This data directory is only being read.", "Start a server: rayscope serve")
        with self._lock:
            about = self.about(session)
            if label > about.label:
                self._save_label(session, label)
                about.label = label

    def _save_label(self, session: str, label: Label) -> None:
        try:
            (self.folder / session).mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / session / "label.json", msgspec.json.encode(label))
        except OSError as error:
            raise StoreError(
                f"Could not write the name of {session}: {error.strerror or error}.",
                "Free some space, or make the data directory writable, and try again.",
            ) from error

    def _save(self, session: str, name: str, content: bytes) -> None:
        if self._read_only:
            return
        # Written each second, and made again from the record where a power cut damages it.
        with self._saving, contextlib.suppress(OSError):
            replace_file(self.folder / session / name, content, sync=False)

    def path(self, session: str) -> Path:
        """The record's file. Raises NotFound for an unknown session, so no path is built from a request."""
        self.about(session)
        return self.path_of(session)

    def path_of(self, session: str) -> Path:
        """Where the record of a session is, or would be, whose name is known to be one."""
        return self.folder / session / RECORD

    def local_file(self, session: str, name: str) -> Path:
        """One of a session's files, brought from elsewhere if it is only there.

        Raises NotFound for an unknown session, and StoreError while it cannot be brought.
        """
        path = self.path(session).with_name(name)
        self._bring(path, self.elsewhere)
        return path

    def _bring(self, path: Path, places: Iterable[Elsewhere]) -> None:
        if path.exists() or not places:
            return
        session = path.parent.name
        with self._lock:
            if (slots := self._bringing.get(session)) is None:
                busy = f"{session} is being fetched from the archive for other requests."
                slots = Slots(1, busy, waiting=_MAX_WAITING, wait_s=_BRING_WAIT_S)
                self._bringing[session] = slots
        with slots.take():
            for place in places:
                if not path.exists():
                    place.bring(session, path.name)

    def forget(self, session: str) -> bool:
        """Take a session off the list that is neither here nor elsewhere any more. Returns whether it was."""
        if self.path_of(session).exists() or any(place.has(session) for place in self.elsewhere):
            return False
        try:
            return self.remove(session)
        except NotFound:
            return False

    def open_for_writing(self, session: str) -> SessionFile:
        """The session's file, kept open until :meth:`release`. A damaged one is moved aside and told."""
        self.about(session).readable_stamp = (0, 0)
        with contextlib.suppress(OSError):  # DuckDB says it better
            self.path(session).parent.mkdir(parents=True, exist_ok=True)
        self._bring(self.path(session), [place for place in self.elsewhere if place.continues])
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
        """Rename a damaged record, so that a new one can begin, and tell in the list of sessions."""
        self.reopen(session)
        path = self.path(session)
        aside = set_aside(path, *_SUFFIXES)
        self.about(
            session
        ).note = f"The record was damaged and is kept as {aside.name}; a new record continues from there."

    def release(self, session: str) -> None:
        """The session is not written any more; its file may be closed when others are read."""
        with self._lock:
            self._pinned.discard(session)
            self._close_some()

    def reopen(self, session: str) -> None:
        """Close a file whose connection is broken, so that the next use opens it again."""
        with self._lock:
            file = self._open.pop(session, None)
        if file is not None:
            file.close()

    @contextlib.contextmanager
    def reading(self, session: str) -> Iterator[SessionFile]:
        """The session's file for one query. Raises NotFound or StoreError."""
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
                self._close_some()

    def unreadable(self, sessions: Iterable[str]) -> dict[str, StoreError]:
        """Why records cannot be read.

        A record is opened only if it has changed since it was last opened, and only a few in one call: the
        others are opened by later calls.
        """
        problems: dict[str, StoreError] = {}
        looks = 0
        for session in sessions:
            try:
                status = self.path(session).lstat()
            except OSError:
                continue  # not written yet
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
        """Open a record; why that failed."""
        problem: StoreError | None = None
        try:
            with self.reading(session):
                pass
        except NotFound:
            pass
        except StoreError as error:
            problem = error
        if problem is None or problem.code in ("corrupt", "newer", "older"):  # a lock or a full disk may pass
            self._problems[session] = (stamp, problem)
        if problem is None and session not in self._pinned:
            with contextlib.suppress(NotFound):  # removed meanwhile
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
                )
            file = self._open[session] = SessionFile(
                path, memory_limit=self._memory_limit, read_only=self._read_only
            )
            self._note_loss(self.about(session), file, is_missing)
        self._open.move_to_end(session)
        return file

    def _note_loss(self, about: About, file: SessionFile, is_missing: bool) -> None:
        """Tell in the list of sessions if a record has less than it once had."""
        if about.note or any(place.has(about.session) for place in self.elsewhere if not place.continues):
            return  # what is elsewhere comes, and perhaps not all of it has come so far
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
        """Count one session whose counts are not known: its ``about.json`` was damaged, for instance."""
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
        """Names of files of the session that were damaged and set aside."""
        try:
            return sorted(name for name in os.listdir(self.folder / session) if ".damaged-" in name)
        except OSError:
            return []

    def disk_bytes(self, session: str) -> int:
        """Disk space of the session."""
        total = 0
        with contextlib.suppress(OSError):  # somebody may have removed the folder
            for entry in os.scandir(self.folder / session):
                with contextlib.suppress(OSError):
                    total += entry.stat().st_size if entry.is_file() else 0
        return total

    def apply_retention(self, retention: Retention, now_ns: int, *, keep: Collection[str] = ()) -> list[str]:
        """Drop the oldest ended sessions beyond the limits (whole files: nothing shrinks a DuckDB file).

        ``keep`` are sessions whose clusters are known to live, quiet or not. Returns the names of what was
        dropped. With an archive or a warehouse nothing is dropped before it is there, and then it stays in
        the list; what was read lately counts as new.
        """
        dropped = []
        kept_bytes = 0
        kept = 0
        read_ns = self._used_ns if self.elsewhere else {}
        used_ns = {name: max(read_ns.get(name, 0), self.about(name).last_ns) for name in self.names()}
        for name in sorted(used_ns, key=lambda name: -used_ns[name]):
            if self.elsewhere and not self.path_of(name).exists():
                continue  # dropped before
            size = self.disk_bytes(name)
            live = name in keep or now_ns - self.about(name).last_ns < LIVE_NS
            too_old = now_ns - used_ns[name] > retention.max_age_s * 1e9
            if live or not (
                too_old or kept_bytes + size > retention.max_bytes or kept + 1 > retention.max_sessions
            ):
                kept_bytes += size
                kept += 1
            elif not self.elsewhere:
                if self.remove(name):
                    dropped.append(name)
            else:
                place = self.elsewhere[0]  # the one that keeps sessions for good
                if place.is_sealed(name) and self._drop_files(name, place.files):
                    dropped.append(name)
        return dropped

    def _close_unused(self, session: str, *, pinned_too: bool = False) -> bool:
        """Close a session's file, unless somebody uses it. The lock is held."""
        if (session in self._pinned and not pinned_too) or self._users.get(session):
            return False
        self._pinned.discard(session)
        file = self._open.pop(session, None)
        if file is not None:
            file.close()
        return True

    def _drop_files(self, session: str, names: Iterable[str]) -> bool:
        """Drop some of a session's files, unless it is in use. Returns whether that was done."""
        with self._lock:
            if not self._close_unused(session):
                return False
            for name in names:
                for suffix in ("", *_SUFFIXES):
                    with contextlib.suppress(OSError):
                        (self.folder / session / f"{name}{suffix}").unlink()
        return True

    def remove(self, session: str, *, pinned_too: bool = False) -> bool:
        """Drop a session's record unless it is in use. Returns whether it, and each of its files, is gone.

        ``pinned_too``: the caller is who writes it.
        """
        with self._lock:
            if not self._close_unused(session, pinned_too=pinned_too):
                return False
            self.about(session)
            folder = self.folder / session
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():  # what is left would be the session again, after the next start
                return False
            del self._about[session]
            self.uncounted.discard(session)
            self._used_ns.pop(session, None)
            self._users.pop(session, None)
            self._problems.pop(session, None)
        if self.on_remove is not None:
            self.on_remove(session)
        return True

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            for file in self._open.values():
                file.close()
            self._open.clear()
            self._pinned.clear()
