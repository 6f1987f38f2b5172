"""What a server has of each session, and what the warehouse has of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import msgspec

from rayscope.storage.about import About, Label
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound

_DAY_NS = 86400 * 10**9


class Known(msgspec.Struct):
    """What the warehouse has of a session."""

    told_ns: int
    told_by: frozenset[str]
    complete_ns: int
    last_ns: int
    about: About
    label: Label


class Sessions:
    """All sessions of this server and of its warehouse.

    ``server``: the name of this one. ``is_live``: whether a session's cluster lives; ``polled()``: the
    sessions whose clusters this server asks. ``max_age_days``: what began before is not told.
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
        #: Session -> what the warehouse has of it. The service's thread writes it.
        self.known: dict[str, Known] = {}
        #: Session -> when it was deleted, while that is not done everywhere: nothing is told of it.
        self.deleted: dict[str, int] = {}

    def about(self, session: str) -> About | None:
        """What is known of a session; None for one that was removed meanwhile, or is being deleted."""
        if session in self.deleted:
            return None
        try:
            return self.catalog.about(session)
        except NotFound:
            return None

    def is_here(self, session: str) -> bool:
        """Whether this disk has the record."""
        return self.catalog.path_of(session).exists()

    def is_own(self, session: str) -> bool:
        """Whether anything of a session came to this server itself."""
        about = self.about(session)
        if about is None:
            return False
        # What was recorded by a Rayscope without several servers has none of these times.
        is_old = not about.followed_ns and self.is_here(session)
        return bool(about.heard_ns) or is_old

    def is_told_by_others(self, session: str) -> bool:
        """Whether the warehouse has anything of a session from another server."""
        known = self.known.get(session)
        return known is not None and not known.told_by <= {self.server}

    def is_too_old(self, about: About) -> bool:
        """Whether a session began so long ago that the warehouse does not keep it."""
        days = self._max_age_days
        return days is not None and about.first_ns < time.time_ns() - days * _DAY_NS

    def is_sealed(self, session: str) -> bool:
        """Whether the warehouse has all of a session's record that is here."""
        known, about = self.known.get(session), self.about(session)
        if about is None:
            return False
        if self.is_too_old(about):  # the warehouse keeps it no longer, and nor does this disk
            return True
        if known is None or not self.is_own(session):
            return known is not None
        return bool(known.complete_ns) and not about.has_untold and known.complete_ns >= about.told_ns

    def watched(self) -> set[str]:
        """The live sessions that are recorded here."""
        polled = set(self.polled())
        abouts = filter(None, map(self.about, self.catalog.names()))
        return {
            about.session
            for about in abouts
            if about.session in polled or (about.heard_ns and self.is_live(about.session))
        }
