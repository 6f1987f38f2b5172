"""Decodes the bodies that agents send, and those that wait in the spool, by session.

Unreadable parts do not affect the others: they go to the folder of rejected batches, with the reason.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from rayscope.model import AgentReport
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import Batch, BatchTooLarge, Format, MalformedBatch, SessionEvents
from rayscope.storage.about import MAX_AGENTS, About
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import SpoolFull, StoreError, no_memory
from rayscope.storage.spool import Spool

log = logging.getLogger("rayscope.storage")

#: Temporary errors that the batch did not cause, so the batch is retried.
PASSING_ERRORS = (OSError, MemoryError, SpoolFull)
#: Maximum number of sessions in a batch. Ray's agents send only events of their own session.
_MAX_SESSIONS_OF_BATCH = 8
_NODE_ID_DIGITS = 56


class Decoder:
    """Checks, reads, and decodes batches. Only :meth:`check` may be called outside the writer's thread."""

    def __init__(self, catalog: Catalog, spool: Spool) -> None:
        self._catalog = catalog
        self._spool = spool
        #: Limits how many bodies are checked at once, because checking holds Python's global lock and would
        #: delay queries. Large bodies are ingested one at a time, so a slot stays free for small ones (see
        #: :mod:`rayscope.ingest.bodies`).
        self._checking = threading.BoundedSemaphore(2)
        #: Number of batches and parts of batches that could not be read since the start.
        self.rejected = 0

    def check(self, body: bytes, form: Format) -> Batch:
        """Check an incoming body, and create folders for the sessions that it names.

        Raises MalformedBatch, or SpoolFull if the sender should try again.
        """
        try:
            with self._checking:
                batch = self._with_session(events_batch.check(body, form))
            if len(batch.sessions) > _MAX_SESSIONS_OF_BATCH:
                raise MalformedBatch(
                    f"A batch names {len(batch.sessions)} sessions, but a node has only one."
                )
            self._begin_sessions(batch.sessions)
            return batch
        except SpoolFull:
            raise
        except BatchTooLarge:  # not stored, because that would fill the disk
            self.rejected += 1
            raise
        except (MalformedBatch, StoreError) as error:
            raise self._reject(body, form, str(error)) from error
        except MemoryError as error:
            raise no_memory("A batch cannot be read") from error
        except OSError as error:  # a new session's folder cannot be created
            raise SpoolFull(
                f"Could not create a session in {self._catalog.folder}: {error.strerror}.",
                "Free some space, or make the data directory writable. Recording resumes automatically.",
                "full",
                what="session",
                folder=str(self._catalog.folder),
                reason=error.strerror or str(error),
            ) from error
        except Exception as error:  # the error would recur if the agent sent the body again
            log.exception("a batch cannot be read")
            raise self._reject(body, form, f"could not read it: {type(error).__name__}: {error}") from error

    def _with_session(self, batch: Batch) -> Batch:
        """A batch whose events without a session belong to the session of their node.

        Ray names no session in platform events. They are sent by the agent of the head node.
        """
        if "" not in batch.sessions:
            return batch
        named = [session for session in batch.sessions if session]
        if not named:
            node_id = events_batch.node_id(batch.body, batch.format)
            abouts = map(self._catalog.about, self._catalog.names())
            # The nodes of a session from a file are those that its sender claims.
            known = (one.session for one in abouts if node_id in one.agents and not one.opened_ns)
            named = [next(known, "")]
        return replace(batch, sessions=named)

    def _begin_sessions(self, sessions: Collection[str]) -> None:
        """Make sure that each session has a folder. Raises StoreError if that fails for all of them."""
        problems: list[StoreError] = []  # events of these sessions are rejected by read()
        for session in sessions:
            try:
                self._catalog.add(session)
            except SpoolFull:
                raise
            except StoreError as error:
                problems.append(error)
        if problems and len(problems) == len(sessions):
            raise problems[-1]

    def read(self, name: str, batch: Batch | None = None) -> dict[str, bytes]:
        """Return a spooled batch as one body per session. A batch that is not in memory is read from the
        spool.

        Parts without a valid session and damaged batches are rejected. May raise one of PASSING_ERRORS.
        """
        batch = batch or self._read_again(name)
        bodies: dict[str, bytes] = {}
        for session, body in (events_batch.split(batch) if batch else {}).items():
            form = self._spool.form(name)
            try:
                about = self._catalog.add(session)
            except SpoolFull:
                raise
            except StoreError as error:
                self._reject(body, form, error.message)
                continue
            bodies[session] = body
            if form is Format.JSON:
                self._note_json(about, events_batch.node_id(body, form))
        return bodies

    def _read_again(self, name: str) -> Batch | None:
        form = self._spool.form(name)
        body = b""
        try:
            body = self._spool.get(name)
            self._spool.verify(name, body)
            return self._with_session(events_batch.check(body, form))
        except FileNotFoundError as error:
            log.warning("spooled batch %s is gone: %s", name, error)
        except PASSING_ERRORS:
            raise
        except Exception as error:  # damaged after it was written, or written by another version
            log.warning("spooled batch %s cannot be read again: %s", name, error)
            self._reject(body, form, str(error))
        return None

    def _note_json(self, about: About, node_id: str | None) -> None:
        """Note that a node sends Ray's JSON, because its agent may never send a report."""
        if node_id is None:
            about.nameless_json = True
        elif (
            len(node_id) == _NODE_ID_DIGITS and node_id not in about.agents and len(about.agents) < MAX_AGENTS
        ):
            about.agents[node_id] = AgentReport(about.session, node_id, "json", time.time_ns())
            self._catalog.save_agents(about.session)

    def decode(self, bodies: Sequence[bytes], form: Format, session: str) -> list[SessionEvents]:
        """Decode bodies of one session. An event that cannot be decoded does not affect the others.

        May raise one of PASSING_ERRORS.
        """
        try:
            events = events_batch.decode(bodies, form, session)
        except PASSING_ERRORS:
            raise
        except Exception as error:
            pieces = bodies if len(bodies) > 1 else events_batch.split_events(bodies[0], form)
            if len(pieces) > 1:
                halves = pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :]
                return [events for half in halves for events in self.decode(half, form, session)]
            log.exception("an event cannot be decoded")
            self._reject(bodies[0], form, f"could not be decoded: {error!r}; see the server's log")
            return []
        if events.invalid:
            self._spool.reject(events_batch.join(events.invalid, form), "events that could not be read", form)
        return [events]

    def _reject(self, body: bytes, form: Format, why: str) -> MalformedBatch:
        self.rejected += 1
        self._spool.reject(body, why, form)
        return MalformedBatch(why)
