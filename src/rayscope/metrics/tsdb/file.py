"""A session's series on disk: ``metrics.duckdb`` with every sample of a day, and minutes of a month.

The tables: ``raw_<n>`` have one row a sample (NaN: the series has ended here), each of six hours;
``minute_<n>`` one row a series and minute, each of a day, with the average, least, greatest and last value,
at the time of the last; ``series`` and ``families`` say what the numbers mean. A series may have several
ids, one for each time that it came back. What is too old goes as a whole table: only that frees room in the
file.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rayscope.model.metric import Family, Labels
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import THREADS, explain

FILE_NAME = "metrics.duckdb"
MINUTE_NS = 60 * 10**9
#: A minute is summed up once it is over for so long: late samples belong to it too.
_GRACE_NS = 20 * 10**9
_MEMORY = "192MB"
#: Samples that are read at once; they take some 60 bytes each. In minutes: a week of 1,000 series and more.
MAX_POINTS = 12_000_000
#: What is more in minutes is summed up further, to about so many: a month of 1,000 series in half hours.
_COARSE_POINTS = 2_000_000
#: To how much, minutes: each is part of a day, which a table has.
_COARSE = (5, 10, 15, 30, 60, 120, 240, 480, 1440)
#: How minutes are put together, by which value of them is meant.
_TOGETHER = {"avg": "avg(value)", "min": "min(value)", "max": "max(value)", "last": "arg_max(value, time_ns)"}
#: Series whose labels are held.
_MAX_HELD = 200_000
_BATCH = 1 << 17
_LABELS = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_TABLES = (
    "CREATE TABLE IF NOT EXISTS series (id UINTEGER, name VARCHAR, labels VARCHAR)",
    "CREATE TABLE IF NOT EXISTS families (name VARCHAR, type VARCHAR, help VARCHAR, unit VARCHAR)",
    "ALTER TABLE families ADD COLUMN IF NOT EXISTS collector VARCHAR DEFAULT ''",
    "CREATE TABLE IF NOT EXISTS rolled (until_ns BIGINT)",
)
#: The tables of samples: what one has in time, and its columns. A day is a multiple of six hours.
_SPAN_NS = {"raw": 6 * 3600 * 10**9, "minute": 24 * 3600 * 10**9}
_COLUMNS = {
    "raw": "series UINTEGER, time_ns BIGINT, value DOUBLE",
    "minute": "series UINTEGER, time_ns BIGINT, avg DOUBLE, min DOUBLE, max DOUBLE, last DOUBLE",
}
_EVER = 2**62
_ROLL = """
    INSERT INTO {minute}
    SELECT series, max(time_ns), avg(value), min(value), max(value), arg_max(value, time_ns)
    FROM {raw} WHERE time_ns >= ? AND time_ns < ? AND NOT isnan(value)
    GROUP BY series, time_ns // 60000000000 ORDER BY max(time_ns), series
"""
#: What a reader may ask the minutes for.
TAKES = ("avg", "min", "max", "last")


#: Tables that an archive keeps of a file -> the kind of table, or the table, that it is of.
_SEALED = {
    "metric_series": "series",
    "metric_families": "families",
    "metric_rolled": "rolled",
    "metric_samples": "raw",
    "metric_minutes": "minute",
}


def sealed_tables(db: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The tables that an archive keeps of an open file -> the query of their rows."""
    names = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
    queries = {}
    for sealed, kind in _SEALED.items():
        of_kind = [name for name in names if name == kind or name.startswith(f"{kind}_")]
        if of_kind:
            queries[sealed] = " UNION ALL ".join(f"FROM {name}" for name in of_kind)
    return queries


def fill(db: duckdb.DuckDBPyConnection, queries: Mapping[str, str]) -> None:
    """Put rows of sealed tables into the file that :class:`MetricsFile` has made."""
    for sealed, kind in _SEALED.items():
        query = queries.get(sealed)
        if query is None:
            continue
        if kind not in _SPAN_NS:
            db.execute(f"INSERT INTO {kind} BY NAME {query}")
            continue
        span_ns = _SPAN_NS[kind]
        parts = db.execute(f"SELECT DISTINCT time_ns // {span_ns} FROM ({query})").fetchall()
        for (part,) in parts:
            table = f"{kind}_{int(part)}"
            db.execute(f"CREATE TABLE {table} ({_COLUMNS[kind]})")
            db.execute(f"INSERT INTO {table} BY NAME FROM ({query}) WHERE time_ns // {span_ns} = ?", [part])


class Points(NamedTuple):
    """Samples of several series, by series and time. ``step_ns``: what each sums up, 0 for none."""

    series: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    step_ns: int = 0


def looks_damaged(path: Path) -> bool:
    """Whether what is at ``path`` is surely no file of metrics. Opening it would tell more, and cost more."""
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] != b"DUCK"
    except FileNotFoundError:
        return path.is_symlink()
    except OSError:
        return True


class MetricsFile:
    """The open file. One thread writes, any number read. Raises StoreError as ``SessionFile`` does."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.Lock()
        #: Name -> its series, and how often any have changed.
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
            #: The numbers of the tables that there are, by kind, ascending.
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
        """Write what is in the log into the file, and close."""
        with contextlib.suppress(duckdb.Error):
            self._connection.close()

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock:
            cursor = self._connection.cursor()
        try:
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
        """A table to write to."""
        name = f"{kind}_{int(part)}"
        if part not in self._parts[kind]:
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {name} ({_COLUMNS[kind]})")
        return name

    def _written(self, kind: str, parts: Iterable[int]) -> None:
        self._parts[kind] = sorted({*self._parts[kind], *parts})

    # What one thread writes.

    def write(
        self,
        series: Sequence[tuple[int, str, Labels]],
        families: Iterable[Family],
        points: Points | None,
    ) -> None:
        """Add series, what is known of their names, and samples: all of it or nothing."""
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
        """Sum up the minutes that are over; ``all_of_it``: the present one too, at the end."""
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
        """Drop samples and minutes that are too old, and series that have neither; what is left is bounded
        by whole tables.
        """
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
            with contextlib.suppress(duckdb.TransactionException):  # somebody reads: the next time, then
                cursor.execute("CHECKPOINT")
        self._changed(None)

    # What anybody reads.

    def newest_series(self, limit: int) -> list[tuple[int, str, Labels]]:
        """The series that were added last, newest first: (id, name, labels)."""
        with self._cursor() as cursor:
            found = cursor.execute(
                "SELECT id, name, labels FROM series ORDER BY id DESC LIMIT ?", [limit]
            ).fetchall()
        return [(number, name, _labels(text)) for number, name, text in found]

    def series_of(self, name: str) -> list[tuple[int, Labels]]:
        """All series of a name: (id, labels). The same list until there are others; not to be changed."""
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
        """There are others now: series of some names, or of all, and samples."""
        with self._lock:
            self._changes += 1
            self._bounds = None
            for name in self._held.keys() & set(names) if names is not None else set(self._held):
                del self._held[name]

    def counts(self) -> dict[str, int]:
        """How many different series each name has."""
        with self._cursor() as cursor:
            found = cursor.execute("SELECT name, count(DISTINCT labels) FROM series GROUP BY name").fetchall()
        return dict(found)

    def families(self) -> list[Family]:
        """What is known of each name; an older file does not know the collectors."""
        with self._cursor() as cursor:
            rows = cursor.execute("SELECT COLUMNS('name|type|help|unit|collector') FROM families").fetchall()
            return [Family(*(value or "" for value in row)) for row in rows]

    def bounds(self) -> tuple[int, int]:
        """When the oldest and the newest sample are from, ns; (0, 0) without any."""
        return self._known_bounds()[:2]

    @property
    def oldest_ns(self) -> int:
        """When the oldest sample or minute is from, ns; 0 without any."""
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
        """The samples of some series in [start, end); with ``take`` (of TAKES) the minutes' instead.

        Raises BadQuery for more than memory should hold.
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
            ((many,),) = cursor.execute(f"SELECT count(*) FROM ({rows})", values).fetchall()
            step_ns = 0 if take is None else MINUTE_NS
            if many > MAX_POINTS and take is not None:
                wanted = many / _COARSE_POINTS
                step_ns *= next((minutes for minutes in _COARSE if minutes >= wanted), _COARSE[-1])
                rows = (
                    f"SELECT series, max(time_ns) AS time_ns, {_TOGETHER[take]} AS value FROM ({rows}) "
                    f"GROUP BY series, time_ns // {step_ns}"
                )
                ((many,),) = cursor.execute(f"SELECT count(*) FROM ({rows})", values).fetchall()
            if many > MAX_POINTS:
                raise BadQuery(
                    f"The series have {many} samples in that time; the maximum is {MAX_POINTS}.",
                    "Select fewer series with matchers, or use a shorter range.",
                )
            return _by_series(cursor.sql(rows, params=values), many)._replace(step_ns=step_ns)

    def latest(self, since_ns: int) -> list[tuple[str, Labels, float, int]]:
        """Of each series that has not ended the last value since a time: (name, labels, value, ns)."""
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


def _by_series(result: duckdb.DuckDBPyRelation, many: int) -> Points:
    """Rows (series, time_ns, value) in that order: DuckDB's memory is too small to sort a week of them."""
    series, times_ns, values = np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many)
    at = 0
    for batch in result.to_arrow_reader(_BATCH):
        # What was written between counting and reading is the next reader's.
        rows = slice(at, min(many, at + batch.num_rows))
        for column, into in zip(batch.columns, (series, times_ns, values), strict=True):
            into[rows] = column.to_numpy(zero_copy_only=False)[: rows.stop - at]
        at = rows.stop
    order = np.lexsort((times_ns[:at], series[:at]))
    return Points(series[order], times_ns[order], values[order])


def _labels(text: str) -> Labels:
    return _LABELS.decode(text)
