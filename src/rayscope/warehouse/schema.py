"""The tables of a warehouse, derived from the record's, and their DDL for one node or a cluster.

Every value column is an aggregate that applies the record's merge rule when ClickHouse merges the rows of a
key: the smallest known value wins, or for accounts (tuples) the smallest or the newest one. So rows may be
inserted repeatedly, in any order, and by several servers. The views of :mod:`rayscope.warehouse.views_sql`
read merged rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rayscope.storage.schema import ANNOTATION_COLUMNS, EDGE_COLUMNS, SPAN_COLUMNS
from rayscope.storage.sql.merge import KEY, LARGEST, PART_COLUMNS, SCALAR_COLUMNS, TOGETHER

#: Version of the tables and views. :mod:`rayscope.warehouse.migrate` migrates older warehouses to it.
VERSION = 10
#: DuckDB's type -> ClickHouse's.
TYPES = {
    "UBIGINT": "UInt64",
    "BIGINT": "Int64",
    "INTEGER": "Int32",
    "UINTEGER": "UInt32",
    "DOUBLE": "Float64",
    "VARCHAR": "String",
    "BOOLEAN": "Bool",
}
#: The day of a session, from its name, so that all servers agree. Sessions without a date in their name get
#: the first possible day, which no retention deletes.
DAY = "toDateOrZero(extract(session, '^session_([0-9]{4}-[0-9]{2}-[0-9]{2})_'))"
#: Stands for an unknown time inside a tuple.
UNKNOWN_NS = -1


#: A partition (day) without inserts for ten minutes is merged into one part, which needs no merging on reads.
_SETTINGS = (
    "allow_nullable_key = 1, ttl_only_drop_parts = 1, min_age_to_force_merge_seconds = 600, "
    "min_age_to_force_merge_on_partition_only = 1"
)


class Column(NamedTuple):
    """A column. ``merge``: the aggregate that combines the values of a key, '' for a part of the key."""

    name: str
    type: str
    merge: str = ""

    @property
    def ddl(self) -> str:
        """The column's definition in CREATE TABLE."""
        type_ = f"SimpleAggregateFunction({self.merge}, {self.type})" if self.merge else self.type
        return f"{self.name} {type_}"


class Table(NamedTuple):
    """A table. ``indexed``: number of key columns in the primary index, which is held in memory.

    ``outlives``: whether its rows stay when old sessions are deleted by their age.
    """

    name: str
    columns: tuple[Column, ...]
    indexed: int
    outlives: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return tuple(column.name for column in self.columns if not column.merge)


class Layout(NamedTuple):
    """Where and how long data is stored.

    ``cluster``: the cluster's name in ClickHouse, None for a single node. ``max_age_days``: sessions that
    began longer ago are deleted. None means never.
    """

    cluster: str | None = None
    max_age_days: int | None = None


_SESSION = Column("session", "String")
#: The machine of the head node. It is not part of any key, because it may become known later.
_CLUSTER = Column("cluster", "LowCardinality(Nullable(String))", "min")
#: When a row was last published, and by which servers. Other servers use this to find new rows.
_PUBLISHED = (
    Column("told_ns", "Int64", "max"),
    Column("told_by", "Array(String)", "groupUniqArrayArray"),
)


def group_name(known: str) -> str:
    """Name of the column for a group of :data:`rayscope.storage.sql.merge.TOGETHER`."""
    return f"{known.removesuffix('_ns')}_account"


def _scalar(name: str, duck: str) -> Column:
    type_ = "LowCardinality(Nullable(String))" if duck == "VARCHAR" else f"Nullable({TYPES[duck]})"
    return Column(name, type_, "max" if name in LARGEST else "min")


def _group(known: str, columns: Sequence[str]) -> Column:
    """A column for values that belong together.

    Before each value there is a flag for NULL, so that NULL sorts last, as in DuckDB.
    """
    types = dict(PART_COLUMNS)
    members = [f"{name}_unknown UInt8, {name} {TYPES[types[name]]}" for name in columns]
    return Column(group_name(known), f"Tuple(unknown UInt8, late UInt8, {', '.join(members)})", "min")


def _set(name: str, columns: Sequence[tuple[str, str]]) -> Table:
    """A table whose rows form a set: the key is the whole row."""
    members = (Column(column, f"Nullable({TYPES[duck]})") for column, duck in columns)
    return Table(name, (_SESSION, *members, _CLUSTER, *_PUBLISHED), 1 + len(KEY))


ATTEMPTS = Table(
    "raw_attempts",
    (
        _SESSION,
        *(Column(name, TYPES[duck]) for name, duck in PART_COLUMNS if name in KEY),
        _CLUSTER,
        *(_scalar(name, duck) for name, duck in SCALAR_COLUMNS),
        *(_group(known, columns) for known, columns in TOGETHER.items()),
        # Name of an actor's creation task, for tasks without another name.
        Column("creation_name", "LowCardinality(Nullable(String))", "min"),
        # The end as inferred by the newest record, and the ``failed_ns`` that it was inferred from. An empty
        # ``known_by`` means that no end was inferred.
        Column(
            "inferred",
            "Tuple(as_of_ns Int64, known_by String, state String, end_ns Int64, failed_ns Int64)",
            "max",
        ),
        Column("path", "Tuple(as_of_ns Int64, path_id Int64)", "max"),
        *_PUBLISHED,
    ),
    1 + len(KEY),
)
#: A row for the constant properties of an entity (``source`` 0), and one for each transition (``source`` 1).
ENTITIES = Table(
    "raw_entities",
    (
        _SESSION,
        Column("kind", "LowCardinality(String)"),
        Column("id", "String"),
        Column("source", "UInt8"),
        Column("time_ns", "Int64"),
        Column("state", "String"),
        _CLUSTER,
        # Name -> claim, see :mod:`rayscope.warehouse.claims`.
        Column("said", "Map(String, String)", "minMap"),
        # The newest snapshot by the rank of :mod:`rayscope.model.entity`. Its ``said`` is such a map as JSON.
        Column(
            "observed",
            "Tuple(known UInt8, is_final UInt8, has_exit UInt8, time_ns Int64, state String, "
            "observed_ns Int64, canonical String, said String)",
            "max",
        ),
        Column("inferred", "Tuple(as_of_ns Int64, known_by String, state String, end_ns Int64)", "max"),
        *_PUBLISHED,
    ),
    3,
)
#: Deleted sessions. Every server deletes its part of them.
DELETIONS = Table("raw_deletions", (_SESSION, *_PUBLISHED), 1, outlives=True)
#: The summaries of runs, and the marks that operators gave them, as JSON: see :mod:`rayscope.runs.exchange`.
RUNS = Table(
    "raw_runs",
    (
        _SESSION,
        Column("job_id", "String"),
        Column("summary", "Tuple(made_ns Int64, content String, functions String)", "max"),
        Column("marks", "Tuple(changed_ns Int64, content String)", "max"),
        *_PUBLISHED,
    ),
    2,
    outlives=True,
)
TABLES: tuple[Table, ...] = (
    ATTEMPTS,
    _set("raw_spans", SPAN_COLUMNS),
    _set("raw_edges", EDGE_COLUMNS),
    _set("raw_annotations", ANNOTATION_COLUMNS),
    ENTITIES,
    # The ID of a path is a hash of its names, so it is the same on all servers.
    Table(
        "raw_paths",
        (
            _SESSION,
            Column("path_id", "Int64"),
            _CLUSTER,
            Column("parent_path_id", "Nullable(Int64)", "min"),
            Column("name", "LowCardinality(Nullable(String))", "min"),
            Column("depth", "Nullable(Int32)", "min"),
            *_PUBLISHED,
        ),
        2,
    ),
    DELETIONS,
    RUNS,
    # If there are two accounts of lost data, the larger one wins.
    Table(
        "raw_drops",
        (
            _SESSION,
            *(Column(name, "String") for name in ("source", "reason", "event_type")),
            _CLUSTER,
            Column("account", "Tuple(count Int64, observed_ns Int64, first_ns Int64, last_ns Int64)", "max"),
            *_PUBLISHED,
        ),
        4,
    ),
    # Written last. ``complete_ns``: everything published about the session by then was loaded as a whole,
    # including what its record infers. 0 means that it was not loaded as a whole. ``about``: JSON of
    # :class:`rayscope.storage.about.About`.
    Table(
        "raw_sessions",
        (
            _SESSION,
            _CLUSTER,
            Column("first_ns", "Nullable(Int64)", "min"),
            Column("last_ns", "Nullable(Int64)", "max"),
            Column(
                "account",
                "Tuple(as_of_ns Int64, loaded_ns Int64, ended_ns Int64, stamp String, name String, "
                "script String, ray_version String, tasks Int64, attempts Int64, failed Int64, actors Int64, "
                "nodes Int64, jobs Int64, dropped Int64, note String, tags Array(String), complete_ns Int64, "
                "about String)",
                "max",
            ),
            # Published by any server, even one that has recorded nothing of the session.
            Column("label", "Tuple(set_ns Int64, name String, note String, tags Array(String))", "max"),
            *_PUBLISHED,
        ),
        1,
    ),
)
BY_NAME = {table.name: table for table in TABLES}
#: Version of the tables and views, and the cluster on which they were created.
VERSIONS = "schema_version"
#: The servers that share the warehouse. Each sends heartbeats, timestamped by the warehouse's clock.
#: ``stored_ns``: everything that the server published up to then is stored. ``watches``: the sessions that it
#: currently records.
SERVERS = "servers"
_SERVERS_KEPT_DAYS = 7


def quote(name: str) -> str:
    """Quote an identifier for ClickHouse's SQL."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def text(value: str) -> str:
    """Quote a string literal for ClickHouse's SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def on_cluster(layout: Layout) -> str:
    """The clause after the name of a created object, '' for a single node."""
    return f" ON CLUSTER {quote(layout.cluster)}" if layout.cluster else ""


def stored_name(table: Table, layout: Layout) -> str:
    """Name of the table that holds the rows. On a cluster, each shard has its own table."""
    return f"{table.name}_local" if layout.cluster else table.name


def ttl(table: Table, layout: Layout) -> str:
    """The rule for deleting old sessions, '' for none. It drops whole parts, as each belongs to one day."""
    if layout.max_age_days is None or table.outlives:
        return ""
    return f"day + toIntervalDay({int(layout.max_age_days)}) WHERE day > toDate(0)"


def _engine(kind: str, layout: Layout) -> str:
    if not layout.cluster:
        return kind
    return f"Replicated{kind}('/clickhouse/tables/{{shard}}/{{database}}/{{table}}', '{{replica}}')"


def create_table(table: Table, layout: Layout) -> Iterator[str]:
    """The statements that create a table if it does not exist."""
    indexed = ", ".join(table.key[: table.indexed])
    columns = ",\n    ".join([*(column.ddl for column in table.columns), f"day Date DEFAULT {DAY}"])
    rule = ttl(table, layout)
    delete = f"\nTTL {rule}" if rule else ""
    yield (
        f"CREATE TABLE IF NOT EXISTS {stored_name(table, layout)}{on_cluster(layout)} (\n    {columns}\n)\n"
        f"ENGINE = {_engine('AggregatingMergeTree', layout)}\n"
        f"PARTITION BY day\nPRIMARY KEY ({indexed})\nORDER BY ({', '.join(table.key)}){delete}\n"
        f"SETTINGS {_SETTINGS}"
    )
    if layout.cluster:
        yield _distribute(table, layout)


def _distribute(table: Table, layout: Layout) -> str:
    """The statement that creates the table over all shards.

    All rows of a session are on one shard, so each shard merges its own rows.
    """
    local = stored_name(table, layout)
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name}{on_cluster(layout)} AS {local}\n"
        f"ENGINE = Distributed({text(layout.cluster or '')}, currentDatabase(), {local}, cityHash64(session))"
    )


def create_versions(layout: Layout) -> str:
    """The statement that creates the table of versions. On a cluster, every node has a full copy."""
    engine = "ReplacingMergeTree"
    if layout.cluster:
        engine = "ReplicatedReplacingMergeTree('/clickhouse/tables/{database}/{table}', '{shard}-{replica}')"
    return (
        f"CREATE TABLE IF NOT EXISTS {VERSIONS}{on_cluster(layout)} (\n    version UInt32,\n"
        f"    cluster String,\n    applied_at DateTime DEFAULT now()\n)\nENGINE = {engine}\nORDER BY version"
    )


def create_servers(layout: Layout) -> str:
    """The statement that creates the table of servers. On a cluster, every node has a full copy."""
    engine = "ReplacingMergeTree(seen)"
    if layout.cluster:
        place = "'/clickhouse/tables/{database}/{table}', '{shard}-{replica}'"
        engine = f"ReplicatedReplacingMergeTree({place}, seen)"
    return (
        f"CREATE TABLE IF NOT EXISTS {SERVERS}{on_cluster(layout)} (\n    server String,\n    url String,\n"
        "    began_ns Int64,\n    stored_ns Int64,\n    watches Array(String),\n"
        f"    seen DateTime64(3) DEFAULT now64(3)\n)\nENGINE = {engine}\nORDER BY server\n"
        f"TTL toDateTime(seen) + toIntervalDay({_SERVERS_KEPT_DAYS})"
    )


def create_tables(layout: Layout) -> list[str]:
    """The statements that create all tables."""
    return [create_servers(layout), *(one for table in TABLES for one in create_table(table, layout))]
