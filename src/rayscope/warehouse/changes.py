"""Changes that a server has merged but not yet published to the warehouse."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field

import duckdb
import pyarrow as pa

from rayscope.model import Drop, Entity, RecordBatch
from rayscope.storage.about import About
from rayscope.storage.rows import Tables
from rayscope.storage.sql.merge import merge
from rayscope.warehouse import rows_sql

#: Maximum number of rows held in memory. Beyond that, the changes of the session with the most rows are
#: dropped, and that session is later published as a whole.
_MAX_ROWS = 500_000
_DROPS = pa.schema(
    [
        *((name, pa.string()) for name in ("source", "reason")),
        *((name, pa.int64()) for name in ("count", "observed_ns")),
        ("event_type", pa.string()),
        *((name, pa.int64()) for name in ("first_ns", "last_ns")),
    ]
)


@dataclass
class Change:
    """The changes of one session."""

    tables: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    entities: list[Entity] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    size: int = 0

    def rows(self, session: str, cluster: str | None) -> Iterator[tuple[str, pa.Table]]:
        """The rows for the warehouse, as pairs of a table's name and rows for it."""
        parameters = {"session": session, "cluster": cluster}
        with duckdb.connect(config={"threads": 1}) as db:
            for name, parts in self.tables.items():
                for number, part in enumerate(parts):
                    db.register(f"{name}_{number}", part)
                names = [f"{name}_{number}" for number in range(len(parts))]
                if name == "attempts":
                    table, query = "raw_attempts", rows_sql.of_parts(f"({merge(names)})")
                else:
                    together = " UNION ALL ".join(f"FROM {name}" for name in names)
                    db.execute(f"CREATE TEMP VIEW {name} AS {together}")
                    table = rows_sql.OF_SET[name]
                    query = rows_sql.FROM_RECORD[table]
                yield table, db.sql(query, params=parameters).to_arrow_table()
            if self.drops:
                columns = list(zip(*map(astuple, self.drops), strict=True))
                db.register("drops", pa.table([list(values) for values in columns], schema=_DROPS))
                query = rows_sql.FROM_RECORD["raw_drops"]
                yield "raw_drops", db.sql(query, params=parameters).to_arrow_table()
        if self.entities:
            pairs = [(entity, None) for entity in self.entities]
            yield "raw_entities", rows_sql.entity_rows(session, cluster, pairs, as_of_ns=0)


class Changes:
    """Unpublished changes of all sessions. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changes: dict[str, Change] = defaultdict(Change)
        #: Number of rows that are not published.
        self.waiting = 0
        #: Sessions whose changes are not all held here, so they must be published as a whole.
        self._behind: set[str] = set()

    def note(self, about: About, batch: RecordBatch, tables: Tables) -> bool:
        """Add a merged batch. Returns whether everything before it was published.

        Called by the writer, so it must be fast.
        """
        rows = sum(table.num_rows for of_name in tables.values() for table in of_name)
        rows += len(batch.entities) + len(batch.drops)
        if not rows:
            return False
        # Copy the entities: the writer merges later accounts into the originals.
        entities = [
            Entity(
                entity.kind,
                entity.id,
                dict(entity.fields),
                {key: dict(extra) for key, extra in entity.transitions.items()},
                entity.observed_ns,
                dict(entity.observed),
            )
            for entity in batch.entities
            if entity.id
        ]
        with self._lock:
            was_published, about.has_unpublished = not about.has_unpublished, True
            change = self._changes[batch.session]
            for name, of_name in tables.items():
                if of_name:
                    change.tables[name] += of_name
            change.entities += entities
            change.drops += batch.drops
            change.size += rows
            self.waiting += rows
            if self.waiting > _MAX_ROWS:
                self._mark_behind(max(self._changes, key=lambda session: self._changes[session].size))
        return was_published

    def _mark_behind(self, session: str) -> None:
        self._behind.add(session)
        self.waiting -= self._changes.pop(session, Change()).size

    def mark_behind(self, session: str) -> None:
        """Publish a session as a whole later, because some of its changes could not be published."""
        with self._lock:
            self._mark_behind(session)

    def mark_published(self, about: About) -> None:
        """Note that the changes taken from a session are published. Updates ``about.has_unpublished``."""
        with self._lock:
            about.has_unpublished = about.session in self._changes or about.session in self._behind

    def take(self) -> dict[str, Change]:
        """Take all changes. The caller must publish them."""
        with self._lock:
            taken, self._changes, self.waiting = dict(self._changes), defaultdict(Change), 0
            return taken

    @property
    def behind(self) -> set[str]:
        """The sessions to be published as a whole."""
        with self._lock:
            return set(self._behind)

    def clear(self, session: str) -> None:
        """Drop the changes of a session, because the caller publishes its whole record."""
        with self._lock:
            self._behind.discard(session)
            self.waiting -= self._changes.pop(session, Change()).size
