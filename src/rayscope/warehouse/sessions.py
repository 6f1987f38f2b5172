"""The data that a server and its warehouse have about each session."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import msgspec

from rayscope.storage.about import About, Label
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound

_DAY_NS = 86400 * 10**9


class Known(msgspec.Struct):
    """The data that the warehouse has about a session.

    Attributes:
        published_ns: when data about the session was last published.
        publishers: names of the servers that published it.
        complete_ns: everything published by then was loaded as a whole. 0 if it was not loaded as a whole.
        last_ns: when any of the servers last heard from the session.
    """

    published_ns: int
    publishers: frozenset[str]
    complete_ns: int
    last_ns: int
    about: About
    label: Label


class Sessions:
    """All sessions of this server and of its warehouse.

    Args:
        server: name of this server.
        catalog: the sessions on this disk.
        is_live: whether a session's cluster is alive.
        polled: returns the sessions whose clusters this server polls.
        max_age_days: sessions that began earlier are not published.
    """

    def __init__(
        self,
        server: str,
        catalog: Catalog,
        *,
        is_live: Callable[[str], bool],
        polled: Callable[[], Collection[str]],
        max_age_days: float | None = None,
    ) -> None:
        self.server = server
        self.catalog = catalog
        self.is_live = is_live
        self.polled = polled
        self._max_age_days = max_age_days
        #: Session -> what the warehouse has about it. Written by the service's thread.
        self.known: dict[str, Known] = {}
        #: Session -> when its deletion was requested, until this server has completed it. Nothing is
        #: published about these sessions.
        self.deleted: dict[str, int] = {}

    def about(self, session: str) -> About | None:
        """Facts known about a session. None if it was removed or is being deleted."""
        if session in self.deleted:
            return None
        try:
            return self.catalog.about(session)
        except NotFound:
            return None

    def is_here(self, session: str) -> bool:
        """Whether a session's record is on this disk."""
        return self.catalog.path_of(session).exists()

    def is_own(self, session: str) -> bool:
        """Whether any data about a session came directly to this server."""
        about = self.about(session)
        if about is None:
            return False
        # Records from versions of Rayscope that supported only one server lack both of these times.
        is_old = not about.followed_ns and self.is_here(session)
        return bool(about.heard_ns) or is_old

    def is_published_by_others(self, session: str) -> bool:
        """Whether another server has published anything about a session."""
        known = self.known.get(session)
        return known is not None and not known.publishers <= {self.server}

    def is_too_old(self, about: About) -> bool:
        """Whether a session is too old for the warehouse to keep."""
        days = self._max_age_days
        return days is not None and about.first_ns < time.time_ns() - days * _DAY_NS

    def is_sealed(self, session: str) -> bool:
        """Whether the warehouse has the complete local record of a session."""
        known, about = self.known.get(session), self.about(session)
        if about is None:
            return False
        if self.is_too_old(about):  # neither the warehouse nor this disk will keep it
            return True
        if known is None or not self.is_own(session):
            return known is not None
        return (
            bool(known.complete_ns) and not about.has_unpublished and known.complete_ns >= about.published_ns
        )

    def watched(self) -> set[str]:
        """The live sessions that this server records."""
        polled = set(self.polled())
        abouts = filter(None, map(self.about, self.catalog.names()))
        return {
            about.session
            for about in abouts
            if about.session in polled or (about.heard_ns and self.is_live(about.session))
        }
