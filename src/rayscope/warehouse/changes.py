"""What a server has merged and not told the warehouse yet."""

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

#: Rows that may wait in memory. Beyond that, the session with the most is told from its record, as a whole.
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
    """What came to a session."""

    tables: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    entities: list[Entity] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    size: int = 0

    def rows(self, session: str, cluster: str | None) -> Iterator[tuple[str, pa.Table]]:
        """Names of the warehouse's tables, and rows for them."""
        parameters = {"session": session, "cluster": cluster}
        with duckdb.connect(config={"threads": 1}) as db:
            for name, parts in self.tables.items():
                for number, part in enumerate(parts):
                    db.register(f"{name}_{number}", part)
                names = [f"{name}_{number}" for number in range(len(parts))]
                if name == "attempts":
                    table, query = "raw_attempts", rows_sql.of_parts(f"({merge(names)})")
                else:
                    together = " UNION ALL ".join(f"FROM {one}" for one in names)
                    db.execute(f"CREATE TEMP VIEW {name} AS {together}")
                    table = rows_sql.OF_SET[name]
                    query = rows_sql.FROM_RECORD[table]
                yield table, db.sql(query, params=parameters).to_arrow_table()
            if self.drops:
                columns = list(zip(*map(astuple, self.drops), strict=True))
                db.register("drops", pa.table([list(one) for one in columns], schema=_DROPS))
                query = rows_sql.FROM_RECORD["raw_drops"]
                yield "raw_drops", db.sql(query, params=parameters).to_arrow_table()
        if self.entities:
            told = [(entity, None) for entity in self.entities]
            yield "raw_entities", rows_sql.entity_rows(session, cluster, told, as_of_ns=0)


class Changes:
    """The changes of all sessions. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changes: dict[str, Change] = defaultdict(Change)
        #: Rows that wait.
        self.waiting = 0
        #: Sessions of which something is not among the changes.
        self._behind: set[str] = set()

    def note(self, about: About, batch: RecordBatch, tables: Tables) -> bool:
        """Something came. Returns whether all that came before was told.

        The writer calls this: it must take no time.
        """
        rows = sum(table.num_rows for of_name in tables.values() for table in of_name)
        rows += len(batch.entities) + len(batch.drops)
        if not rows:
            return False
        # The writer merges later accounts into the very entities that it was given.
        entities = [
            Entity(
                one.kind,
                one.id,
                dict(one.fields),
                {key: dict(extra) for key, extra in one.transitions.items()},
                one.observed_ns,
                dict(one.observed),
            )
            for one in batch.entities
            if one.id
        ]
        with self._lock:
            was_told, about.has_untold = not about.has_untold, True
            change = self._changes[batch.session]
            for name, of_name in tables.items():
                if of_name:
                    change.tables[name] += of_name
            change.entities += entities
            change.drops += batch.drops
            change.size += rows
            self.waiting += rows
            if self.waiting > _MAX_ROWS:
                self._tell_whole(max(self._changes, key=lambda session: self._changes[session].size))
        return was_told

    def _tell_whole(self, session: str) -> None:
        self._behind.add(session)
        self.waiting -= self._changes.pop(session, Change()).size

    def tell_whole(self, session: str) -> None:
        """Something of a session could not be told: it is to be told as a whole."""
        with self._lock:
            self._tell_whole(session)

    def set_told(self, about: About) -> None:
        """All that was taken of a session is told. If nothing came since, all of it is."""
        with self._lock:
            about.has_untold = about.session in self._changes or about.session in self._behind

    def take(self) -> dict[str, Change]:
        """What has come since, which is the caller's to tell now."""
        with self._lock:
            taken, self._changes, self.waiting = dict(self._changes), defaultdict(Change), 0
            return taken

    @property
    def behind(self) -> set[str]:
        """The sessions to be told as a whole."""
        with self._lock:
            return set(self._behind)

    def take_behind(self, session: str) -> None:
        """The caller tells all of a session that is on record now."""
        with self._lock:
            self._behind.discard(session)
            self.waiting -= self._changes.pop(session, Change()).size
