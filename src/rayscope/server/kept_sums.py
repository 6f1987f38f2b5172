"""Sums over very many attempts, which several answers are made of: made once, and those of a whole session
that has ended kept beside its record.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rayscope import __version__
from rayscope.store import query
from rayscope.store.errors import StoreError
from rayscope.store.session_file import SessionFile

if TYPE_CHECKING:
    from rayscope.server.hub import Hub

log = logging.getLogger("rayscope.server")

#: Sums over fewer attempts are made anew each time: they take a few hundredths of a second.
LARGE = 200_000
T = TypeVar("T")


class KeptSums:
    """The sums that views ask for. They are shared as answers are (see ``answers``): of a live session they
    may be ten times as old as it takes to make them.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._live: set[str] = set()

    def paths(
        self, session: str, filters: Mapping[str, Any], baseline: Sequence[Mapping[str, Any]] = ()
    ) -> query.PathSums:
        """See :func:`rayscope.store.query.path_sums`. Raises BadQuery and StoreError."""

        def make(file: SessionFile) -> query.PathSums:
            last_ns = self._hub.last_ns(session)
            return query.path_sums(file, filters, last_ns=last_ns, baseline=baseline)

        return self._get(session, "paths", (_set(filters), list(baseline)), make, query.PathSums)

    def logical(
        self, session: str, filters: Mapping[str, Any], expand: Sequence[str] = ()
    ) -> query.LogicalRows:
        """See :func:`rayscope.store.query.logical_rows`. Raises BadQuery and StoreError."""

        def make(file: SessionFile) -> query.LogicalRows:
            last_ns = self._hub.last_ns(session)
            return query.logical_rows(file, filters, last_ns=last_ns, expand=expand)

        return self._get(session, "logical", (_set(filters), list(expand)), make, query.LogicalRows)

    def prepare(self) -> None:
        """Make the sums of the sessions that have ended since the last call, before anybody asks."""
        live = {name for name in self._hub.catalog.names() if self._hub.is_live(name)}
        ended, self._live = self._live - live, live
        for session in ended:
            threading.Thread(target=self._prepare, args=(session,), name="rayscope-sums", daemon=True).start()

    def _prepare(self, session: str) -> None:
        try:
            if self._is_large(session):
                self.paths(session, {})
                self.logical(session, {})
        except StoreError as error:
            log.info("the sums of %s: %s", session, error)

    def _is_large(self, session: str) -> bool:
        return bool(self._hub.read(session, query.stored_attempts) > LARGE)

    def _get(
        self,
        session: str,
        name: str,
        asked: tuple[Mapping[str, Any], Sequence[Any]],
        make: Callable[[SessionFile], T],
        kind: type[T],
    ) -> T:
        if not self._is_large(session):
            found: T = self._hub.read(session, make)
            return found

        def made(file: SessionFile) -> bytes:
            if any(asked) or self._hub.is_live(session):
                return msgspec.json.encode(make(file))
            return _kept(file, file.path.with_name(f"{name}.sums"), self._hub.last_ns(session), make)

        question = f"sums of {name} {msgspec.json.encode(asked).decode()}"
        return msgspec.json.decode(self._hub.answered(session, question, made), type=kind)


def _set(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value is not None and value != ""}


def _kept(file: SessionFile, path: Path, last_ns: int, make: Callable[[SessionFile], T]) -> bytes:
    """What stands at ``path`` if it was made of the same content, or else what is made now and put there."""
    stamp = f"{__version__} {file.writes} {last_ns}\n".encode()
    with contextlib.suppress(OSError):
        known = path.read_bytes()
        if known.startswith(stamp):
            return known[len(stamp) :]
    body = msgspec.json.encode(make(file))
    beside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        beside.write_bytes(stamp + body)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
    return body
