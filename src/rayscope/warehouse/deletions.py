"""Sessions that people delete: each server deletes what it has of them, and what it told of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa

from rayscope.files import replace_file
from rayscope.storage.catalog import SESSION_NAME
from rayscope.storage.errors import StoreError
from rayscope.warehouse import migrate
from rayscope.warehouse.client import OF_ALL, Warehouse
from rayscope.warehouse.schema import DELETIONS, TABLES, on_cluster, stored_name, text
from rayscope.warehouse.servers import Teller
from rayscope.warehouse.sessions import Sessions

log = logging.getLogger("rayscope.server")

#: How soon what could not be deleted is tried again.
_AGAIN_S = 30.0
_SINCE = (
    "SELECT session, max(told_ns) FROM raw_deletions "
    "WHERE told_ns > {since_ns:Int64} AND told_ns <= {until_ns:Int64} GROUP BY session"
)


class _Position(msgspec.Struct):
    """Up to when the deletions of a warehouse were read, and those that are not done: session -> when."""

    warehouse: str
    until_ns: int
    waiting: dict[str, int]


_decode_position = msgspec.json.Decoder(_Position).decode


class Deletions:
    """Follows deletions, each once. :meth:`ask` is for any thread, :meth:`follow` for the service's.

    ``watermark_ns()``: all that any server told up to then is stored. ``delete(session)`` deletes what this
    server has of a session, and says whether that was done. ``position``: a file that says how far this has
    come, in the warehouse at ``url``.
    """

    def __init__(
        self,
        sessions: Sessions,
        teller: Teller,
        *,
        watermark_ns: Callable[[], int],
        delete: Callable[[str], bool],
        position: Path,
        url: str,
    ) -> None:
        self._sessions = sessions
        self._teller = teller
        self._watermark_ns = watermark_ns
        self._delete = delete
        self._position = position
        self._url = url
        #: Up to when deletions were read, once the file was.
        self._read_ns: int | None = None
        #: Sessions of which only this server's part is deleted so far.
        self._gone_here: set[str] = set()
        #: Session -> when its deletion is tried again (monotonic s).
        self._not_before: dict[str, float] = {}

    def ask(self, warehouse: Warehouse, session: str) -> int:
        """Have all servers delete a session. Returns when that was told. Raises StoreError."""
        return self._teller.insert(warehouse, DELETIONS.name, pa.table({"session": [session]}))

    def is_done(self, session: str, deleted_ns: int) -> bool:
        """Whether this server has followed a deletion."""
        return (self._read_ns or 0) >= deleted_ns and session not in self._sessions.deleted

    def follow(self, warehouse: Warehouse) -> list[str]:
        """Delete what people deleted on any server. Returns the sessions that are gone now.

        What fails for one session is logged, and tried again. Raises StoreError.
        """
        self._read(warehouse)
        done = []
        for session, deleted_ns in list(self._sessions.deleted.items()):
            if time.monotonic() < self._not_before.get(session, 0.0):
                continue
            began, pause_s = time.monotonic(), 0.0  # somebody reads it just now
            try:
                is_done = self._delete_one(warehouse, session, deleted_ns)
            except (StoreError, OSError) as error:
                if isinstance(error, StoreError) and error.code in OF_ALL:
                    raise
                log.warning("session %s could not be deleted: %s", session, error)
                is_done, pause_s = False, _AGAIN_S
            if not is_done:
                now = time.monotonic()
                self._not_before[session] = now + max(pause_s, 4 * (now - began))
                break  # the others in the next turn
            for of_session in (self._sessions.deleted, self._not_before):
                of_session.pop(session, None)
            self._gone_here.discard(session)
            self._save_position()
            done.append(session)
            log.info("deleted %s, as requested on one of the servers", session)
        return done

    def _read(self, warehouse: Warehouse) -> None:
        until_ns = self._watermark_ns()
        if self._read_ns is None:
            found = self._load_position()
            if found is None:  # a data directory that comes to the warehouse keeps what it brings
                found = _Position(self._url, until_ns, {})
            self._read_ns = found.until_ns
            self._sessions.deleted.update(found.waiting)
            self._save_position()
        if until_ns <= self._read_ns:  # it can go back, with a server whose clock is behind
            return
        asked = warehouse.rows(_SINCE, {"since_ns": self._read_ns, "until_ns": until_ns})
        for session, deleted_ns in asked:
            if SESSION_NAME.fullmatch(session):
                self._sessions.deleted[session] = deleted_ns
                self._gone_here.discard(session)
        self._read_ns = until_ns
        if asked:
            self._save_position()

    def _delete_one(self, warehouse: Warehouse, session: str, deleted_ns: int) -> bool:
        if session not in self._gone_here:
            if not self._delete(session):
                return False
            self._gone_here.add(session)
        # What this server told after the deletion, before it heard of it, is of the old record, too. So are
        # names: whoever has a later one tells it again.
        layout, me, now_ns = migrate.check(warehouse), text(self._teller.server), self._teller.told_ns
        told = (
            f"told_ns <= {deleted_ns:d} OR (has(told_by, {me}) OR empty(told_by)) AND told_ns <= {now_ns:d}"
        )
        for table in TABLES:
            if table is not DELETIONS:
                name = f"{stored_name(table, layout)}{on_cluster(layout)}"
                warehouse.run(f"DELETE FROM {name} WHERE session = {text(session)} AND ({told})")
        return True

    def _load_position(self) -> _Position | None:
        try:
            found = _decode_position(self._position.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            log.warning("could not read %s, so earlier deletions are not followed: %s", self._position, error)
            return None
        return found if found.warehouse == self._url else None

    def _save_position(self) -> None:
        position = _Position(self._url, self._read_ns or 0, self._sessions.deleted)
        try:
            replace_file(self._position, msgspec.json.encode(position))
        except OSError as error:  # then some are deleted once more after the next start
            log.warning("could not write %s: %s", self._position, error.strerror or error)
