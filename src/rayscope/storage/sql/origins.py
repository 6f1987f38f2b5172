"""Whose functions are, as SQL: the user's, or a library's."""

from __future__ import annotations

import duckdb

from rayscope.model.origin import LIBRARIES, USER
from rayscope.storage.sql.execution import NOT_DRIVER, function_name
from rayscope.storage.sql.function_names import class_of
from rayscope.storage.sql.pages import Row, Where, rows_of

_NAMES = ", ".join(f"'{name}'" for name in sorted(LIBRARIES))


def origin_of(module: str) -> str:
    """SQL of :func:`rayscope.model.origin.origin` of a module, '' if it is not known."""
    top, part = (f"split_part({module}, '.', {number})" for number in (1, 2))
    return (
        f"CASE WHEN {module} = '' THEN NULL WHEN {top} = 'ray' THEN CASE "
        f"WHEN {part} = '' OR starts_with({part}, '_') THEN 'ray' ELSE 'ray.' || {part} END "
        f"WHEN {top} IN ({_NAMES}) THEN {top} ELSE '{USER}' END"
    )


#: SQL of rows (func, origin): whose each function is; NULL if it is not known. All methods of a class have
#: one origin. A name that both the user and a library use is the user's. (DuckDB cannot optimize the CASE
#: over a column that is NULL throughout: hence '' for it.)
ORIGINS = f"""
SELECT func, CASE WHEN bool_or(bool_or(origin = '{USER}')) OVER of_class THEN '{USER}'
    ELSE min(min(origin)) OVER of_class END AS origin
FROM (
    SELECT func, {origin_of("module")} AS origin
    FROM (
        SELECT DISTINCT coalesce(func_name, name) AS func, coalesce(module_name, '') AS module
        FROM attempts WHERE {NOT_DRIVER})
    WHERE func IS NOT NULL)
GROUP BY func WINDOW of_class AS (PARTITION BY coalesce({class_of("func")}, func))
"""
_LIBRARY = f"origin != '{USER}'"
#: Whether an attempt runs the user's code: a library's functions are left out, what is not known is not.
IS_MINE = f"coalesce({function_name('attempts')}, '') NOT IN (SELECT func FROM ({ORIGINS}) WHERE {_LIBRARY})"


def origins(reader: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """By function whose it is, where that is known."""
    return dict(reader.execute(f"SELECT func, origin FROM ({ORIGINS}) WHERE origin IS NOT NULL").fetchall())


def library_functions(reader: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """By function of a library the library."""
    return {function: library for function, library in origins(reader).items() if library != USER}


def libraries(reader: duckdb.DuckDBPyConnection, where: Where) -> list[Row]:
    """By library, of the attempts that ``where`` picks: how many ``functions`` and ``attempts`` it has."""
    counted = (
        f"SELECT {function_name('attempts')} AS func, count(*) AS n FROM attempts{where.sql} GROUP BY func"
    )
    return rows_of(
        reader.execute(
            "SELECT origin AS library, count(*) AS functions, sum(n)::BIGINT AS attempts "
            f"FROM ({counted}) JOIN ({ORIGINS}) USING (func) WHERE {_LIBRARY} "
            "GROUP BY origin ORDER BY attempts DESC, library",
            where.values,
        )
    )
