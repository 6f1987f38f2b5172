"""A session's series on disk: ``metrics.duckdb`` with a day of samples and a month of values per minute.

A table ``raw_<n>`` covers six hours, with a row per sample (NaN: the series ended). A table ``minute_<n>``
covers a day, with a row per series and minute: the average, minimum, maximum and last value, at the time of
the last. ``series`` and ``families`` describe the IDs and names. A series that ended and came back has
several IDs. Old data is deleted as whole tables, because only that frees space in the file.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rayscope.model.metric import Family, Labels
from rayscope.storage.errors import BadQuery
from rayscope.storage.interruption import current_work
from rayscope.storage.session_file import THREADS, explain

FILE_NAME = "metrics.duckdb"
MINUTE_NS = 60 * 10**9
#: How long after its end a minute is summarized, ns. Late samples of the minute can arrive until then.
_GRACE_NS = 20 * 10**9
_MEMORY = "192MB"
#: Maximum number of samples read at once, about 60 bytes each. A week of values per minute for 1,000 series
#: fits.
MAX_POINTS = 12_000_000
#: If a query selects more rows of values per minute than this, they are combined into longer steps, so that
#: about this many rows remain. For a month of 1,000 series, the steps are half an hour long.
_COARSE_POINTS = 2_000_000
#: Lengths of these longer steps, in minutes. Each divides a day, which is the time range of a table.
_COARSE = (5, 10, 15, 30, 60, 120, 240, 480, 1440)
#: Name of a value per minute -> SQL that combines the values of several minutes.
_TOGETHER = {"avg": "avg(value)", "min": "min(value)", "max": "max(value)", "last": "arg_max(value, time_ns)"}
#: Maximum number of series whose labels are cached.
_MAX_HELD = 200_000
_BATCH = 1 << 17
_LABELS = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_COLUMNS = {
    "series": "id UINTEGER, name VARCHAR, labels VARCHAR",
    "families": "name VARCHAR, type VARCHAR, help VARCHAR, unit VARCHAR",
    "rolled": "until_ns BIGINT",
    "raw": "series UINTEGER, time_ns BIGINT, value DOUBLE",
    "minute": "series UINTEGER, time_ns BIGINT, avg DOUBLE, min DOUBLE, max DOUBLE, last DOUBLE",
}
_TABLES = (
    *(f"CREATE TABLE IF NOT EXISTS {name} ({_COLUMNS[name]})" for name in ("series", "families", "rolled")),
    "ALTER TABLE families ADD COLUMN IF NOT EXISTS collector VARCHAR DEFAULT ''",
)
#: Columns that older files lack.
ADDED_COLUMNS = ("collector",)
#: Kind of table -> its time range, ns. A day is a multiple of six hours.
_SPAN_NS = {"raw": 6 * 3600 * 10**9, "minute": 24 * 3600 * 10**9}
#: Maximum number of tables of a kind in a restored file. A month of values per minute takes 31.
_MAX_PARTS = 10_000
_EVER = 2**62
_ROLL = """
    INSERT INTO {minute}
    SELECT series, max(time_ns), avg(value), min(value), max(value), arg_max(value, time_ns)
    FROM {raw} WHERE time_ns >= ? AND time_ns < ? AND NOT isnan(value)
    GROUP BY series, time_ns // 60000000000 ORDER BY max(time_ns), series
"""
#: Names of the values per minute that readers can select.
TAKES = ("avg", "min", "max", "last")


#: Table in an archive -> the table, or kind of table, in a metrics file that has its rows.
_SEALED = {
    "metric_series": "series",
    "metric_families": "families",
    "metric_rolled": "rolled",
    "metric_samples": "raw",
    "metric_minutes": "minute",
}


def sealed_columns() -> dict[str, dict[str, str]]:
    """Table in an archive -> the type of each of its columns."""
    columns = {
        sealed: dict(column.split() for column in _COLUMNS[kind].split(", "))
        for sealed, kind in _SEALED.items()
    }
    columns["metric_families"]["collector"] = "VARCHAR"
    return columns


def sealed_tables(db: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Table in an archive -> the query that reads its rows from an open metrics file."""
    names = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
    queries = {}
    for sealed, kind in _SEALED.items():
        of_kind = [name for name in names if name == kind or name.startswith(f"{kind}_")]
        if of_kind:
            queries[sealed] = " UNION ALL ".join(f"FROM {name}" for name in of_kind)
    return queries


def fill(db: duckdb.DuckDBPyConnection, queries: Mapping[str, str]) -> None:
    """Insert rows of archived tables into a file created by :class:`MetricsFile`."""
    for sealed, kind in _SEALED.items():
        query = queries.get(sealed)
        if query is None:
            continue
        if kind not in _SPAN_NS:
            db.execute(f"INSERT INTO {kind} BY NAME {query}")
            continue
        span_ns = _SPAN_NS[kind]
        parts = db.execute(f"SELECT DISTINCT time_ns // {span_ns} FROM ({query})").fetchall()
        if len(parts) > _MAX_PARTS or (None,) in parts:
            raise duckdb.InvalidInputException(f"{sealed} has times that no metrics have")
        for (part,) in parts:
            table = f"{kind}_{int(part)}"
            db.execute(f"CREATE TABLE {table} ({_COLUMNS[kind]})")
            db.execute(f"INSERT INTO {table} BY NAME FROM ({query}) WHERE time_ns // {span_ns} = ?", [part])


class Points(NamedTuple):
    """Samples of several series, by series and time.

    ``step_ns``: the period that each sample summarizes, or 0 if it is a single value.
    """

    series: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    step_ns: int = 0


def looks_damaged(path: Path) -> bool:
    """Whether ``path`` is clearly not a metrics file. Opening it would be more accurate, but slower."""
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] != b"DUCK"
    except FileNotFoundError:
        return path.is_symlink()
    except OSError:
        return True


class MetricsFile:
    """An open file, for one writing thread and any number of readers.

    Raises StoreError like ``SessionFile``.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.Lock()
        #: Name of a metric -> its series. ``_changes`` counts changes, so that outdated lists are not cached.
        self._held: dict[str, list[tuple[int, Labels]]] = {}
        self._changes = 0
        self._bounds: tuple[int, int, int] | None = None
        try:
            self._connection = duckdb.connect(
                str(path),
                read_only=read_only,
                config={
                    **THREADS,
                    "memory_limit": _MEMORY,
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                    "allow_community_extensions": "false",
                    "python_enable_replacements": "false",
                    "temp_directory": str(path.with_suffix(".tmp")),
                    "max_temp_directory_size": "1GB",
                },
            )
        except duckdb.Error as error:
            raise explain(path, error) from error
        try:
            if not read_only:
                for statement in _TABLES:
                    self._connection.execute(statement)
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
            row = self._connection.execute("SELECT max(until_ns) FROM rolled").fetchone()
            self.rolled_ns: int = (row[0] if row else None) or 0
            names = self._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            #: Kind -> numbers of the existing tables, ascending.
            self._parts = {
                kind: sorted(
                    int(name.removeprefix(f"{kind}_")) for (name,) in names if name.startswith(f"{kind}_")
                )
                for kind in _SPAN_NS
            }
        except duckdb.Error as error:
            self._connection.close()
            raise explain(path, error) from error

    def close(self) -> None:
        """Close the file. Its write-ahead log is moved into it."""
        with contextlib.suppress(duckdb.Error):
            self._connection.close()

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock:
            cursor = self._connection.cursor()
        work = current_work()
        try:
            with work.querying(cursor) if work is not None else contextlib.nullcontext():
                yield cursor
        except duckdb.Error as error:
            raise explain(self.path, error) from error
        finally:
            cursor.close()

    def _tables(self, kind: str, start_ns: int, end_ns: int) -> list[str]:
        """The tables of a kind with samples in [start, end), oldest first."""
        span_ns = _SPAN_NS[kind]
        return [
            f"{kind}_{part}"
            for part in self._parts[kind]
            if part * span_ns < end_ns and (part + 1) * span_ns > start_ns
        ]

    def _table(self, cursor: duckdb.DuckDBPyConnection, kind: str, part: int) -> str:
        """The name of a table for writing, which is created if necessary."""
        name = f"{kind}_{int(part)}"
        if part not in self._parts[kind]:
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {name} ({_COLUMNS[kind]})")
        return name

    def _written(self, kind: str, parts: Iterable[int]) -> None:
        self._parts[kind] = sorted({*self._parts[kind], *parts})

    # The following methods must be called by one thread.

    def write(
        self,
        series: Sequence[tuple[int, str, Labels]],
        families: Iterable[Family],
        points: Points | None,
    ) -> None:
        """Add series, descriptions of metrics, and samples in one transaction."""
        with self._cursor() as cursor:
            cursor.execute("BEGIN")
            if series:
                ids, names, labels = zip(*series, strict=True)
                table = pa.table(
                    {
                        "id": pa.array(ids, pa.uint32()),
                        "name": names,
                        "labels": [msgspec.json.encode(each).decode() for each in labels],
                    }
                )
                cursor.register("incoming", table)
                cursor.execute("INSERT INTO series SELECT id, name, labels FROM incoming")
                cursor.unregister("incoming")
            for family in families:
                cursor.execute("DELETE FROM families WHERE name = ?", [family.name])
                cursor.execute("INSERT INTO families VALUES (?, ?, ?, ?, ?)", list(family))
            parts: NDArray[np.int64] = np.empty(0, np.int64)
            if points is not None and len(points.series):
                of_part = points.times_ns // _SPAN_NS["raw"]
                parts = np.unique(of_part)
                for part in parts.tolist():
                    mine = of_part == part
                    table = pa.table(
                        {
                            "series": points.series[mine],
                            "time_ns": points.times_ns[mine],
                            "value": points.values[mine],
                        }
                    )
                    cursor.register("incoming", table)
                    into = self._table(cursor, "raw", part)
                    cursor.execute(f"INSERT INTO {into} SELECT series, time_ns, value FROM incoming")
                    cursor.unregister("incoming")
            cursor.execute("COMMIT")
        self._written("raw", parts.tolist())
        self._changed({name for _, name, _ in series})

    def roll(self, now_ns: int, *, all_of_it: bool = False) -> None:
        """Summarize minutes that have ended. ``all_of_it`` includes the current one, before closing."""
        until_ns = now_ns + 1 if all_of_it else (now_ns - _GRACE_NS) // MINUTE_NS * MINUTE_NS
        if until_ns <= self.rolled_ns:
            return
        parts = set()
        with self._cursor() as cursor:
            cursor.execute("BEGIN")
            for raw in self._tables("raw", self.rolled_ns, until_ns):
                part = int(raw.rpartition("_")[2]) * _SPAN_NS["raw"] // _SPAN_NS["minute"]
                parts.add(part)
                minute = self._table(cursor, "minute", part)
                cursor.execute(_ROLL.format(minute=minute, raw=raw), [self.rolled_ns, until_ns])
            cursor.execute("DELETE FROM rolled")
            cursor.execute("INSERT INTO rolled VALUES (?)", [until_ns])
            cursor.execute("COMMIT")
        self._written("minute", parts)
        self.rolled_ns = until_ns

    def trim(self, raw_before_ns: int, minute_before_ns: int) -> None:
        """Delete old samples and old values per minute, as whole tables, and series that have neither."""
        before_ns = {"raw": raw_before_ns, "minute": minute_before_ns}
        old = {
            kind: [part for part in self._parts[kind] if (part + 1) * _SPAN_NS[kind] <= before_ns[kind]]
            for kind in _SPAN_NS
        }
        if not any(old.values()):
            return
        with self._cursor() as cursor:
            for kind, parts in old.items():
                self._parts[kind] = [part for part in self._parts[kind] if part not in parts]
                for part in parts:
                    cursor.execute(f"DROP TABLE IF EXISTS {kind}_{part}")
            if old["minute"]:
                left = [*self._tables("raw", 0, _EVER), *self._tables("minute", 0, _EVER)]
                used = " UNION ".join(f"SELECT series FROM {name}" for name in left)
                if used:
                    cursor.execute(f"DELETE FROM series WHERE id NOT IN ({used})")
            with contextlib.suppress(duckdb.TransactionException):  # a reader is active: retry next time
                cursor.execute("CHECKPOINT")
        self._changed(None)

    # The following methods may be called by any thread.

    def newest_series(self, limit: int) -> list[tuple[int, str, Labels]]:
        """The most recently added series, newest first: (ID, name, labels)."""
        with self._cursor() as cursor:
            found = cursor.execute(
                "SELECT id, name, labels FROM series ORDER BY id DESC LIMIT ?", [limit]
            ).fetchall()
        return [(number, name, _labels(text)) for number, name, text in found]

    def series_of(self, name: str) -> list[tuple[int, Labels]]:
        """All series of a metric: (ID, labels).

        Do not modify the list. It stays the same object until it changes.
        """
        held = self._held.get(name)
        if held is None:
            changes = self._changes
            with self._cursor() as cursor:
                found = cursor.execute(
                    "SELECT id, labels FROM series WHERE name = ? ORDER BY id", [name]
                ).fetchall()
            held = [(number, _labels(text)) for number, text in found]
            with self._lock:
                if sum(map(len, self._held.values())) + len(held) > _MAX_HELD:
                    self._held.clear()
                if changes == self._changes:
                    self._held[name] = held
        return held

    def _changed(self, names: Iterable[str] | None) -> None:
        """Drop what is cached after samples and the series of ``names`` (None: all metrics) have changed."""
        with self._lock:
            self._changes += 1
            self._bounds = None
            for name in self._held.keys() & set(names) if names is not None else set(self._held):
                del self._held[name]

    def counts(self) -> dict[str, int]:
        """Name of a metric -> number of its distinct series."""
        with self._cursor() as cursor:
            found = cursor.execute("SELECT name, count(DISTINCT labels) FROM series GROUP BY name").fetchall()
        return dict(found)

    def families(self) -> list[Family]:
        """Descriptions of all metrics. In older files, the names of the collectors are missing."""
        with self._cursor() as cursor:
            rows = cursor.execute("SELECT COLUMNS('name|type|help|unit|collector') FROM families").fetchall()
            return [Family(*(value or "" for value in row)) for row in rows]

    def bounds(self) -> tuple[int, int]:
        """Times of the oldest and the newest sample, ns, or (0, 0) if there are no samples."""
        return self._known_bounds()[:2]

    @property
    def oldest_ns(self) -> int:
        """Time of the oldest sample or value per minute, ns, or 0 if there is none."""
        return self._known_bounds()[2]

    def _known_bounds(self) -> tuple[int, int, int]:
        known = self._bounds
        if known is None:
            changes = self._changes
            known = self._looked_up_bounds()
            with self._lock:
                if changes == self._changes:
                    self._bounds = known
        return known

    def _looked_up_bounds(self) -> tuple[int, int, int]:
        raw, minutes = self._tables("raw", 0, _EVER), self._tables("minute", 0, _EVER)
        with self._cursor() as cursor:

            def look(what: str, tables: list[str]) -> int:
                found = [
                    cursor.execute(f"SELECT {what}(time_ns) FROM {table}").fetchone() for table in tables
                ]
                return int((found[0][0] if found and found[0] else None) or 0)

            first, last = look("min", raw[:1]), look("max", raw[-1:])
            times = [time_ns for time_ns in (first, look("min", minutes[:1])) if time_ns]
        return first, last, min(times, default=0)

    def points(self, ids: Sequence[int], start_ns: int, end_ns: int, take: str | None) -> Points:
        """Samples of some series in [start, end) or, with ``take`` (one of TAKES), values per minute.

        Raises BadQuery if there are too many to hold in memory.
        """
        if take is not None and take not in TAKES:
            raise ValueError(take)
        kind, column = ("raw", "value") if take is None else ("minute", take)
        tables = self._tables(kind, start_ns, end_ns)
        if not tables:
            return Points(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        rows = " UNION ALL ".join(
            f'SELECT series::BIGINT AS series, time_ns, "{column}" AS value FROM {table}'
            " WHERE time_ns >= $1 AND time_ns < $2 AND series IN (SELECT unnest($3))"
            for table in tables
        )
        values = [start_ns, end_ns, list(ids)]
        with self._cursor() as cursor:
            ((count,),) = cursor.execute(f"SELECT count(*) FROM ({rows})", values).fetchall()
            step_ns = 0 if take is None else MINUTE_NS
            if count > MAX_POINTS and take is not None:
                min_minutes = count / _COARSE_POINTS
                step_ns *= next((minutes for minutes in _COARSE if minutes >= min_minutes), _COARSE[-1])
                rows = (
                    f"SELECT series, max(time_ns) AS time_ns, {_TOGETHER[take]} AS value FROM ({rows}) "
                    f"GROUP BY series, time_ns // {step_ns}"
                )
                ((count,),) = cursor.execute(f"SELECT count(*) FROM ({rows})", values).fetchall()
            if count > MAX_POINTS:
                raise BadQuery(
                    f"The series have {count} samples in that time; the maximum is {MAX_POINTS}.",
                    "Select fewer series with matchers, or use a shorter range.",
                    what="samples",
                    number=count,
                    limit=MAX_POINTS,
                )
            return _by_series(cursor.sql(rows, params=values), count)._replace(step_ns=step_ns)

    def series_between(self, names: Collection[str], start_ns: int, end_ns: int) -> list[tuple[str, Labels]]:
        """The series of metrics with a value in [start, end]: (name, labels). A summarized minute counts as a
        whole.
        """
        until_ns = end_ns // MINUTE_NS * MINUTE_NS + MINUTE_NS
        fresh_ns = max(start_ns, self.rolled_ns)
        rolled = f"time_ns >= {start_ns} AND time_ns < {until_ns}"
        fresh = f"time_ns BETWEEN {fresh_ns} AND {end_ns} AND NOT isnan(value)"
        sources = [(table, rolled) for table in self._tables("minute", start_ns, until_ns)]
        sources += [(table, fresh) for table in self._tables("raw", fresh_ns, end_ns + 1)]
        if not sources:
            return []
        there = " UNION ".join(
            f"SELECT series FROM {table} WHERE {condition}" for table, condition in sources
        )
        query = f"SELECT name, labels FROM series WHERE name IN (SELECT unnest($1)) AND id IN ({there})"
        with self._cursor() as cursor:
            rows = cursor.execute(query, [list(names)]).fetchall()
        return [(name, _labels(text)) for name, text in rows]

    def latest(self, since_ns: int) -> list[tuple[str, Labels, float, int]]:
        """Each series that has a value since a time and has not ended: (name, labels, last value, ns)."""
        tables = self._tables("raw", since_ns, _EVER)
        if not tables:
            return []
        rows = " UNION ALL ".join(f"SELECT * FROM {table} WHERE time_ns >= $1" for table in tables)
        with self._cursor() as cursor:
            found = cursor.execute(
                "SELECT s.name, s.labels, r.value, r.time_ns FROM (SELECT series, arg_max(value, time_ns) AS"
                f" value, max(time_ns) AS time_ns FROM ({rows}) GROUP BY series) r"
                " JOIN series s ON s.id = r.series WHERE NOT isnan(r.value)",
                [since_ns],
            ).fetchall()
        return [(name, _labels(text), value, time_ns) for name, text, value, time_ns in found]


def _by_series(result: duckdb.DuckDBPyRelation, count: int) -> Points:
    """Sort rows (series, time_ns, value) here: DuckDB's memory limit is too low to sort a week of them."""
    series, times_ns, values = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    at = 0
    for batch in result.to_arrow_reader(_BATCH):
        # Ignore rows written between counting and reading.
        rows = slice(at, min(count, at + batch.num_rows))
        for column, into in zip(batch.columns, (series, times_ns, values), strict=True):
            into[rows] = column.to_numpy(zero_copy_only=False)[: rows.stop - at]
        at = rows.stop
    order = np.lexsort((times_ns[:at], series[:at]))
    return Points(series[order], times_ns[order], values[order])


def _labels(text: str) -> Labels:
    return _LABELS.decode(text)
