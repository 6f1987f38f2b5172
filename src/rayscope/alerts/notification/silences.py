"""Silences, which mute notifications of matching alerts for a time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from rayscope.alerts import schemas
from rayscope.alerts.files import load, save
from rayscope.metrics.tsdb.matching import matching
from rayscope.model.metric import Matcher
from rayscope.storage.errors import BadQuery, NotFound

_MAX_SILENCES = 500
_MAX_MATCHERS = 20
_MAX_TEXT = 1000
_LONGEST_NS = 366 * 86400 * 10**9
#: How long a silence is shown after it has ended, in ns.
_KEPT_NS = 5 * 86400 * 10**9


class Silence(msgspec.Struct, frozen=True):
    """Mutes alerts whose labels (and ``session``) match, from ``starts_ns`` to ``ends_ns``."""

    id: str
    matchers: list[Matcher]
    starts_ns: int
    ends_ns: int
    created_by: str
    comment: str

    def state(self, now_ns: int) -> schemas.SilenceState:
        """Return whether the silence is active, expired, or still pending at a given time."""
        if now_ns >= self.ends_ns:
            return "expired"
        return "active" if now_ns >= self.starts_ns else "pending"

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Return whether the silence matches an alert with these labels."""
        return bool(matching([tuple(sorted(labels.items()))], self.matchers))


_SILENCES = msgspec.json.Decoder(list[Silence])


class Silences:
    """All silences of a server, kept in a file. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    @cached_property
    def _all(self) -> dict[str, Silence]:
        """ID -> silence. The file is read on first use. If that fails, the next use tries again."""
        return {silence.id: silence for silence in load(self._path, _SILENCES, [])}

    def add(
        self,
        matchers: list[Matcher],
        starts_ns: int,
        ends_ns: int,
        created_by: str,
        comment: str,
        *,
        now_ns: int,
    ) -> Silence:
        """Add a silence. Raises BadQuery if it is invalid, or StoreError if the file cannot be read."""
        ends_ns = min(ends_ns, starts_ns + _LONGEST_NS)
        if not matchers or len(matchers) > _MAX_MATCHERS:
            raise BadQuery(
                f"A silence must have 1 to {_MAX_MATCHERS} matchers.",
                "Give the labels to match.",
                what="silence_matchers",
                limit=_MAX_MATCHERS,
            )
        if any(len(text) > _MAX_TEXT for matcher in matchers for text in matcher):
            raise BadQuery(
                "A matcher is too long.",
                f"At most {_MAX_TEXT} characters.",
                what="silence_matcher",
                limit=_MAX_TEXT,
            )
        if ends_ns <= max(starts_ns, now_ns):
            raise BadQuery(
                "A silence must end after it starts, and in the future.",
                "Give a later end.",
                what="silence_end",
            )
        if not created_by.strip():
            raise BadQuery("A silence needs a creator.", "Give created_by.", what="silence_creator")
        silence = Silence(
            secrets.token_hex(8), matchers, starts_ns, ends_ns, created_by[:200], comment[:_MAX_TEXT]
        )
        if all(matcher.op in ("!=", "!~") for matcher in matchers) or silence.fits({}):
            raise BadQuery(
                "This would silence everything.",
                "Match at least one label that must be present.",
                what="silence_all",
            )
        with self._lock:
            self._tidy(now_ns)
            if len(self._all) >= _MAX_SILENCES:
                raise BadQuery(
                    f"There are already {_MAX_SILENCES} silences.",
                    "End some of them.",
                    what="silence_limit",
                    limit=_MAX_SILENCES,
                )
            self._all[silence.id] = silence
            save(self._path, list(self._all.values()))
        return silence

    def end(self, identity: str, now_ns: int) -> Silence:
        """End a silence now. Raises NotFound."""
        with self._lock:
            known = self._all.get(identity)
            if known is None:
                raise NotFound(
                    "Silence not found.", "GET /api/v1/alerts/silences lists them.", what="silence"
                )
            ended = msgspec.structs.replace(known, ends_ns=min(known.ends_ns, now_ns))
            self._all[identity] = ended
            save(self._path, list(self._all.values()))
        return ended

    def _tidy(self, now_ns: int) -> None:
        self._all = {key: each for key, each in self._all.items() if now_ns - each.ends_ns < _KEPT_NS}

    def list_visible(self, now_ns: int) -> list[Silence]:
        """Return silences, including recently expired ones: active ones first, then pending and expired
        ones.
        """
        order = {"active": 0, "pending": 1, "expired": 2}
        with self._lock:
            found = [each for each in self._all.values() if now_ns - each.ends_ns < _KEPT_NS]
        return sorted(found, key=lambda each: (order[each.state(now_ns)], -each.ends_ns))

    def silencing(self, labels: Mapping[str, str], now_ns: int) -> list[str]:
        """Return the IDs of the active silences that match an alert."""
        with self._lock:
            held = [each for each in self._all.values() if each.state(now_ns) == "active"]
        return [each.id for each in held if each.fits(labels)]
