"""Deletes sessions on request: each server deletes its record and what it published."""

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
from rayscope.warehouse.client import SHARED_ERRORS, Warehouse
from rayscope.warehouse.schema import DELETIONS, TABLES, on_cluster, stored_name, text
from rayscope.warehouse.servers import Publisher
from rayscope.warehouse.sessions import Sessions

log = logging.getLogger("rayscope.server")

#: Pause before a failed deletion is retried, in seconds.
_RETRY_S = 30.0
_SINCE = (
    "SELECT session, max(told_ns) FROM raw_deletions "
    "WHERE told_ns > {since_ns:Int64} AND told_ns <= {until_ns:Int64} GROUP BY session"
)


class _Position(msgspec.Struct):
    """How far the requests of a warehouse were read, and the sessions still to be deleted.

    ``waiting``: session -> time of the request (ns).
    """

    warehouse: str
    until_ns: int
    waiting: dict[str, int]


_decode_position = msgspec.json.Decoder(_Position).decode


class Deletions:
    """Publishes and executes requests for deletion. Any thread may call :meth:`request`, only the service's
    thread may call :meth:`follow`.

    Args:
        sessions: the sessions of this server.
        publisher: publishes requests.
        watermark_ns: returns the time up to which everything published by any server is stored.
        delete: deletes this server's part of a session. Returns whether it was deleted.
        position: file that stores how far the requests of the warehouse at ``url`` were read.
        url: the warehouse's URL, without secrets.
    """

    def __init__(
        self,
        sessions: Sessions,
        publisher: Publisher,
        *,
        watermark_ns: Callable[[], int],
        delete: Callable[[str], bool],
        position: Path,
        url: str,
    ) -> None:
        self._sessions = sessions
        self._publisher = publisher
        self._watermark_ns = watermark_ns
        self._delete = delete
        self._position = position
        self._url = url
        #: Time up to which requests were read, None before the file was read.
        self._read_ns: int | None = None
        #: Sessions that are deleted from this disk, but not yet from the warehouse.
        self._gone_here: set[str] = set()
        #: Session -> when its deletion may be retried (monotonic, s).
        self._not_before: dict[str, float] = {}

    def request(self, warehouse: Warehouse, session: str) -> int:
        """Request that all servers delete a session. Returns the time of the request. Raises StoreError."""
        return self._publisher.insert(warehouse, DELETIONS.name, pa.table({"session": [session]}))

    def is_done(self, session: str, deleted_ns: int) -> bool:
        """Whether this server has completed a deletion."""
        return (self._read_ns or 0) >= deleted_ns and session not in self._sessions.deleted

    def follow(self, warehouse: Warehouse) -> list[str]:
        """Execute the requests of all servers. Returns the sessions that were deleted.

        Failures of single sessions are logged and retried. Raises StoreError.
        """
        self._read(warehouse)
        done = []
        for session, deleted_ns in list(self._sessions.deleted.items()):
            if time.monotonic() < self._not_before.get(session, 0.0):
                continue
            began, pause_s = time.monotonic(), 0.0  # no pause if the record is only in use by a reader
            try:
                is_done = self._delete_one(warehouse, session, deleted_ns)
            except (StoreError, OSError) as error:
                if isinstance(error, StoreError) and error.code in SHARED_ERRORS:
                    raise
                log.warning("session %s could not be deleted: %s", session, error)
                is_done, pause_s = False, _RETRY_S
            if not is_done:
                now = time.monotonic()
                self._not_before[session] = now + max(pause_s, 4 * (now - began))
                break  # continue with the others in the next turn
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
            if found is None:  # a data directory that is new to the warehouse keeps its records
                found = _Position(self._url, until_ns, {})
            self._read_ns = found.until_ns
            self._sessions.deleted.update(found.waiting)
            self._save_position()
        if until_ns <= self._read_ns:  # until_ns decreases if a server appears whose clock is behind
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
        # Rows that this server published after the request but before reading it belong to the old record,
        # too. Labels are deleted as well: a server that has a later label publishes it again.
        layout, me, now_ns = (
            migrate.check(warehouse),
            text(self._publisher.server),
            self._publisher.published_ns,
        )
        is_old = (
            f"told_ns <= {deleted_ns:d} OR (has(told_by, {me}) OR empty(told_by)) AND told_ns <= {now_ns:d}"
        )
        for table in TABLES:
            if table is not DELETIONS:
                name = f"{stored_name(table, layout)}{on_cluster(layout)}"
                warehouse.run(f"DELETE FROM {name} WHERE session = {text(session)} AND ({is_old})")
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
        except OSError as error:  # some sessions will be deleted again after the next start
            log.warning("could not write %s: %s", self._position, error.strerror or error)
