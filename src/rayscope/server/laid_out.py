"""Large sessions are laid out for filters of the logical graph: what that tells, and when it is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from rayscope.server.made_sums import ASKED, OLD_S, Made, State, state_of
from rayscope.storage.session_file import SessionFile
from rayscope.views.logical import laid_out_sql
from rayscope.views.logical import sql as logical_sql

if TYPE_CHECKING:
    from rayscope.server.services import Hub

#: Of a live session nobody is told from what was laid out before more than this part of its attempts came or
#: was written anew.
_OUTDATED = 0.1
#: What failed is tried again after so long, s.
_PATIENCE_S = 600.0


class LaidOut:
    """See :func:`rayscope.store.query.lay_out`. A session that has ended is laid out as it is on record; of a
    live one it is told until when what was laid out last tells.

    ``interruptible``: what is read in it, the server's end ends.
    """

    def __init__(
        self, hub: Hub, interruptible: Callable[[SessionFile], AbstractContextManager[None]]
    ) -> None:
        self._hub = hub
        self._interruptible = interruptible
        self._lock = threading.Lock()
        self._wanted: set[str] = set()
        #: When live sessions were laid out; there is no body.
        self._made: dict[str, Made] = {}
        #: Until when (monotonic, s) those that failed are left alone.
        self._failed: dict[str, float] = {}

    def want(self, session: str) -> None:
        """Lay it out when there is time."""
        with self._lock:
            self._wanted.add(session)

    def wanted(self) -> set[str]:
        """Those that are to be laid out since the last call."""
        with self._lock:
            wanted, self._wanted = self._wanted, set()
        return wanted

    def forget(self, session: str) -> None:
        """It has ended, and will be laid out for good."""
        self._made.pop(session, None)
        self._failed.pop(session, None)

    def told(
        self, file: SessionFile, session: str, filters: Mapping[str, Any]
    ) -> tuple[logical_sql.LogicalRows | None, int]:
        """What ``logical_rows`` gives for filters, and until when it tells; None if this cannot tell."""
        if not self._hub.is_live(session):
            last_ns = self._hub.last_ns(session)
            return laid_out_sql.logical_laid_out(file, filters, last_ns), last_ns
        made = self._made.get(session)
        if made is None or self._is_outdated(made, state_of(file)):
            return None, 0
        since_ns, until_ns = filters.get("since_ns"), filters.get("until_ns")
        is_past = until_ns is not None and until_ns <= made.at_ns
        if not is_past and (since_ns is not None or until_ns is not None):
            return None, 0  # of what happens now, now is told
        found = laid_out_sql.logical_laid_out(file, filters, made.at_ns, is_live=True, is_past=is_past)
        if found is not None:
            self.want(session)
        return found, made.at_ns

    @staticmethod
    def _is_outdated(made: Made, now: State) -> bool:
        """Or so old that it cannot have been asked for meanwhile: it would have been made anew by now."""
        age_s = (time.time_ns() - made.at_ns) / 1e9
        return made.changed(now) > _OUTDATED or age_s > max(OLD_S, 2 * ASKED * made.cost_s)

    def make(self, session: str, state: State) -> bool:
        """Lay it out, a record in this state, unless it is not due. Returns whether that was done.

        Raises StoreError; then it is left alone for some minutes.
        """
        is_live, known = self._hub.is_live(session), self._made.get(session)
        if time.monotonic() < self._failed.get(session, 0):
            return False
        if is_live and known is not None and not known.is_due(state, asked=True):
            self.want(session)  # later
            return False
        at_ns = self._hub.last_ns(session)

        def lay_out(file: SessionFile) -> bool:
            if not is_live and laid_out_sql.is_laid_out(file, at_ns):
                return False
            began = time.monotonic()
            with self._interruptible(file):
                laid_out_sql.lay_out(file, at_ns)
            if is_live:
                self._made[session] = Made(at_ns, state, time.monotonic() - began, b"")
            return True

        self._failed[session] = time.monotonic() + _PATIENCE_S
        done: bool = self._hub.query(session, lay_out)
        self._failed.pop(session, None)
        return done
