"""Creates a warehouse, and migrates an older one to the current version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from rayscope.storage.errors import StoreError
from rayscope.warehouse import schema
from rayscope.warehouse.client import Warehouse, no_warehouse
from rayscope.warehouse.schema import TABLES, VERSIONS, Layout, on_cluster, stored_name, text
from rayscope.warehouse.views_sql import create_views

#: Version -> function that returns the statements that migrate from the previous version. New columns are
#: added automatically.
MIGRATIONS: Mapping[int, Callable[[Layout], list[str]]] = MappingProxyType(
    {
        1: schema.create_tables,
        2: schema.create_tables,  # adds raw_deletions, and names of sessions
        3: lambda layout: [],  # changes only views: the state of a task that was canceled while it ran
        4: lambda layout: [],  # changes only views: the end of a job whose driver was killed
        5: lambda layout: [],  # changes only views: the driver of Ray's dashboard is internal
        6: lambda layout: [],  # adds columns and changes views: the peak memory of attempts
        7: lambda layout: [],  # adds a column: the memory of workers that Ray killed for memory
        8: schema.create_tables,  # adds raw_runs
        9: lambda layout: [],  # adds views: samples and sample_frames
        10: schema.create_tables,  # adds raw_profile_rows
    }
)


def create_statements(layout: Layout) -> list[str]:
    """All DDL statements for a new warehouse, in order."""
    return [schema.create_versions(layout), *schema.create_tables(layout), *create_views(layout)]


def init(warehouse: Warehouse, layout: Layout) -> tuple[int, int]:
    """Create or migrate the tables and views. Returns the version before (0 if there was none) and after.

    Raises StoreError if the warehouse is newer, or was created on another cluster. This may be repeated and
    run concurrently, because each statement is idempotent.
    """
    current, cluster = read_version(warehouse)
    if current and cluster != (layout.cluster or ""):
        raise StoreError(
            f"The warehouse was made {_described(cluster)}, not {_described(layout.cluster or '')}.",
            "Give the same --cluster as then, or another database in the URL.",
            "other_cluster",
            what="cluster",
        )
    warehouse.run(schema.create_versions(layout))
    for version in range(current + 1, schema.VERSION + 1):
        for statement in MIGRATIONS[version](layout):
            warehouse.run(statement)
    _add_columns(warehouse, layout)
    for statement in create_views(layout):
        warehouse.run(statement)
    _set_retention(warehouse, layout)
    if current != schema.VERSION:
        values = f"({schema.VERSION}, {text(layout.cluster or '')})"
        warehouse.run(f"INSERT INTO {VERSIONS} (version, cluster) VALUES {values}")  # noqa: S608
    return current, schema.VERSION


def check(warehouse: Warehouse) -> Layout:
    """The layout of the warehouse. Raises StoreError if there is no warehouse or it has another version."""
    current, cluster = read_version(warehouse)
    if not current:
        raise no_warehouse(warehouse.address)
    if current < schema.VERSION:
        cluster_option = f" --cluster {cluster}" if cluster else ""
        raise StoreError(
            f"The warehouse is of an older version ({current}; this Rayscope's is {schema.VERSION}).",
            f"Migrate it: rayscope warehouse init{cluster_option}",
            "older",
            what="warehouse",
        )
    return Layout(cluster or None)


def read_version(warehouse: Warehouse) -> tuple[int, str]:
    """The warehouse's version (0 if there is no warehouse) and its cluster ('' if there is none).

    Raises StoreError if the version is newer than supported.
    """
    there = warehouse.rows(
        "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = {name:String}",
        {"name": VERSIONS},
    )
    if not there:
        return 0, ""
    ((version, cluster),) = warehouse.rows(f"SELECT max(version), argMax(cluster, version) FROM {VERSIONS}")  # noqa: S608
    if version > schema.VERSION:
        raise StoreError(
            f"The warehouse is of a newer Rayscope (version {version}; this one's is {schema.VERSION}).",
            "Upgrade: pip install -U 'rayscope[warehouse]'",
            "newer",
            what="warehouse",
        )
    return int(version), str(cluster)


def _described(cluster: str) -> str:
    return f"on the cluster {cluster}" if cluster else "on a single node"


def _add_columns(warehouse: Warehouse, layout: Layout) -> None:
    """Add columns that the record has and the tables lack. Columns of a key cannot be added this way."""
    there = set(warehouse.rows("SELECT table, name FROM system.columns WHERE database = currentDatabase()"))
    for table in TABLES:
        local = stored_name(table, layout)
        for column in table.columns:
            for name in dict.fromkeys((local, table.name)):
                if column.merge and (name, column.name) not in there:
                    warehouse.run(
                        f"ALTER TABLE {name}{on_cluster(layout)} ADD COLUMN IF NOT EXISTS {column.ddl}"
                    )


def _set_retention(warehouse: Warehouse, layout: Layout) -> None:
    """Set or remove the rule for deleting old sessions in tables whose rule differs from the layout's."""
    for table in TABLES:
        wanted = schema.ttl(table, layout)
        name = stored_name(table, layout)
        ((definition,),) = warehouse.rows(
            "SELECT create_table_query FROM system.tables "
            "WHERE database = currentDatabase() AND name = {name:String}",
            {"name": name},
        )
        current = re.search(r" TTL (.+?) SETTINGS ", definition)
        if (current[1] if current else "") != wanted:
            change = f"MODIFY TTL {wanted}" if wanted else "REMOVE TTL"
            warehouse.run(f"ALTER TABLE {name}{on_cluster(layout)} {change}")
