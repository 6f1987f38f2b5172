"""Runs users' read-only SQL over all sessions of a warehouse.

The engine's own ``readonly`` does not suffice (tested with chDB 26.9): ``INTO OUTFILE`` still writes a file,
``file()`` still reads one, and ``KILL QUERY`` still works. So the engine first parses the query and prints it
as one statement without comments. That text is checked and executed.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from rayscope.storage.errors import BadQuery
from rayscope.user_sql.run import MAX_LIMIT, MAX_SQL_CHARS
from rayscope.user_sql.worker import MAX_ANSWER_BYTES, json_value
from rayscope.warehouse.client import Warehouse

HELP = "SHOW TABLES lists the tables; DESCRIBE tasks lists the columns of one."
_ALLOWED = re.compile(r"\(*\s*(SELECT|WITH|EXPLAIN|SHOW|DESCRIBE|DESC|EXISTS|FROM)\b", re.IGNORECASE)
#: String literals and quoted names in a query printed by the engine.
_QUOTED = re.compile(r"""'(?:\\.|''|[^'\\])*'|`(?:\\.|``|[^`\\])*`|"(?:\\.|""|[^"\\])*\"""", re.DOTALL)
_CLAUSES = re.compile(
    r"\b(INTO\s+OUTFILE|PARALLEL\s+WITH|FORMAT\s+\w+\s*$|SETTINGS\s+\w+\s*=)", re.IGNORECASE
)
#: A function call: ``name(``, or ``APPLY name`` for each column.
_CALL = re.compile(r"\bAPPLY\b\s*\(?\s*(\w+)|\b(\w+)\s*\(", re.IGNORECASE)
#: Table functions that use only their arguments and this database's tables.
_HARMLESS = {
    *("numbers", "numbers_mt", "zeros", "zeros_mt", "generateseries", "generate_series", "primes", "null"),
    *("values", "view", "format", "merge", "sqlstandardvalues", "generaterandom", "fuzzjson"),
}
#: Functions that access files or other machines, write, or only wait. (So do functions named ``ai...``.)
_ACTING = {
    *("file", "catboostevaluate", "hascolumnintable", "showcertificate", "generateserialid"),
    *("sleep", "sleepeachrow"),
}


class Answer(NamedTuple):
    """The result of a query.

    ``columns``: pairs of name and ClickHouse type. ``rows``: their values have JSON types. ``truncated``:
    whether there are more rows than the limit.
    """

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool


def run_sql(warehouse: Warehouse, sql: str, *, limit: int, timeout_s: float) -> Answer:
    """Run one query. Makes the connection read-only. Raises StoreError."""
    if len(sql) > MAX_SQL_CHARS:
        raise BadQuery(f"The query is longer than {MAX_SQL_CHARS} characters.", "Shorten it.")
    if not 1 <= limit <= MAX_LIMIT:
        raise BadQuery(f"limit must be 1 to {MAX_LIMIT}.", "Aggregate in SQL instead of fetching more rows.")
    warehouse.set(
        {
            "max_execution_time": max(1, round(timeout_s)),
            "timeout_overflow_mode": "throw",
            "max_result_bytes": MAX_ANSWER_BYTES,
            "result_overflow_mode": "throw",
            "allow_introspection_functions": 0,
            "allow_ddl": 0,
            # Correct because all rows of a session are on one shard.
            "distributed_product_mode": "local",
            # Correct because all rows of a key are in one partition.
            "do_not_merge_across_partitions_select_final": 1,
        }
    )
    printed = checked(warehouse, sql)
    warehouse.set({"limit": limit + 1}, freeze=True)
    result = warehouse.query(printed)
    columns = [
        (str(name), str(type_.name))
        for name, type_ in zip(result.column_names, result.column_types, strict=True)
    ] or warehouse.columns(printed)
    rows = [[json_value(value) for value in row] for row in result.result_rows]
    return Answer(columns, rows[:limit], len(rows) > limit)


def checked(warehouse: Warehouse, sql: str) -> str:
    """The query as printed by the engine. Raises BadQuery if it is not a single read-only query."""
    ((printed,),) = warehouse.rows("SELECT formatQuerySingleLine({sql:String})", {"sql": sql})
    text = str(printed)
    if not _ALLOWED.match(text):
        raise BadQuery("Only a single SELECT is allowed: the warehouse is read-only.", HELP)
    clause = _CLAUSES.search(_QUOTED.sub("''", text))
    if clause:
        words = " ".join(
            clause[1].split()[:2] if clause[1].upper().startswith("INTO") else clause[1].split()[:1]
        )
        raise BadQuery(f"{words.upper()} is not allowed: the warehouse is read-only.", "Leave it out.")
    refused = _calls(text) & (_ACTING | _reaching_functions(warehouse))
    if refused:
        raise BadQuery(f"{min(refused)}() is not allowed: only the warehouse itself is read.", HELP)
    return text


def _calls(text: str) -> set[str]:
    """Names of all functions in a query printed by the engine, in lower case."""

    def bare(quoted: re.Match[str]) -> str:
        return "''" if quoted[0][0] == "'" else re.sub(r"\W", "_", quoted[0][1:-1])

    return {(of_columns or name).lower() for of_columns, name in _CALL.findall(_QUOTED.sub(bare, text))}


def _reaching_functions(warehouse: Warehouse) -> set[str]:
    """Functions of this engine that access files or other servers, or that execute something."""
    result = warehouse.rows(
        "SELECT lower(name) FROM system.table_functions "
        "UNION ALL SELECT lower(name) FROM system.functions WHERE match(name, '^(AI|ai[A-Z])')"
    )
    return {str(name) for (name,) in result} - _HARMLESS
