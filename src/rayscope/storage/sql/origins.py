"""SQL that attributes functions to the user or a library, and a library's functions to its operators.

Ray's libraries run user code inside functions of their own: a Data task runs the user's ``parse``, a Serve
replica the user's class. Such functions belong to an *operator*, named as in the library: ``Data:
MapBatches(parse)``, ``Serve: shop/Model``, ``Train: workers``, ``Tune: trials``. The library's bookkeeping
has an operator of its own: ``Data: internals``. For functions of other libraries, the operator is the
library's name.
"""

from __future__ import annotations

import duckdb
from typing_extensions import TypedDict

from rayscope.model.origin import LIBRARIES, USER
from rayscope.storage.sql.execution import DASK, DATA, NOT_DRIVER, called_name, function_name
from rayscope.storage.sql.function_names import class_of
from rayscope.storage.sql.pages import Where, rows_of

# A single string that is split in SQL: DuckDB takes long to plan an IN with hundreds of constants in every
# query.
_NAMES = f"string_split('{' '.join(sorted(LIBRARIES))}', ' ')"
_INTERNALS = ": internals"
#: Library -> prefix of its operators' names, and SQL (WHEN ... THEN ...) for the operators that run user
#: code. In the SQL, {func} is the function as in ``called_name``, and {module} its module.
_OPERATORS: dict[str, tuple[str, str]] = {
    # Shuffles run the functions of the preceding operators, but do not report which ones.
    "ray.data": (
        DATA,
        f"WHEN starts_with({{func}}, 'MapWorker(') "
        f"THEN regexp_replace({{func}}, '^MapWorker\\((.*)\\)\\.[^.]*$', '{DATA}\\1') "
        f"WHEN contains({{module}}, '.planner.exchange.') THEN '{DATA}shuffle' "
        f"WHEN contains({{module}}, '.execution.operators.') AND starts_with({{func}}, '{DATA}') "
        "THEN {func}",
    ),
    "ray.util.dask": (DASK, f"WHEN starts_with({{func}}, '{DASK}') THEN {{func}}"),
    "ray.serve": (
        "Serve: ",
        "WHEN regexp_matches({func}, "
        "'^ServeReplica:.*\\.(__init__|initialize_and_get_metadata|reconfigure|handle_request\\w*)$') "
        "THEN regexp_replace({func}, '^ServeReplica:(.*):([^:]*)\\.[^.]*$', 'Serve: \\1/\\2')",
    ),
    # RLlib's learners run in Ray Train's worker, which accepts any class.
    "ray.train": (
        "Train: ",
        "WHEN starts_with({func}, 'RayTrainWorker.') THEN 'Train: workers' "
        "WHEN starts_with({func}, '_WrappedExecutable.') THEN 'RLlib: learners'",
    ),
    "ray.tune": ("Tune: ", "WHEN contains({module}, '.trainable.') THEN 'Tune: trials'"),
    "ray.rllib": (
        "RLlib: ",
        "WHEN contains({module}, '.algorithms.') THEN 'RLlib: algorithms' "
        "WHEN contains({func}, 'EnvRunner.') OR contains({func}, 'RolloutWorker.') THEN 'RLlib: env runners'",
    ),
}


def origin_of(module: str) -> str:
    """SQL for :func:`rayscope.model.origin.origin` of ``module``, which is SQL, too ('' for an unknown
    module).
    """
    top, part = (f"split_part({module}, '.', {number})" for number in (1, 2))
    return (
        f"CASE WHEN {module} = '' THEN NULL WHEN {top} = 'ray' THEN CASE "
        f"WHEN {part} = '' OR starts_with({part}, '_') THEN 'ray' ELSE 'ray.' || {part} END "
        f"WHEN list_contains({_NAMES}, {top}) THEN {top} ELSE '{USER}' END"
    )


def _operator_of_library(func: str, module: str) -> str:
    """SQL for the operator of a function, or NULL if its library has no operators."""
    cases = " ".join(
        f"WHEN starts_with({module} || '.', '{library}.') "
        f"THEN CASE {rules.format(func=func, module=module)} "
        f"ELSE '{prefix.removesuffix(': ')}{_INTERNALS}' END"
        for library, (prefix, rules) in _OPERATORS.items()
    )
    return f"CASE {cases} END"


def operator_of(func: str, module: str) -> str:
    """SQL for the operator of a function with this module, or NULL if that is unknown or the function is the
    user's.
    """
    return f"coalesce({_operator_of_library(func, module)}, nullif({origin_of(module)}, '{USER}'))"


def is_internal(func: str, module: str) -> str:
    """SQL that tests whether a function with this module is bookkeeping of one of Ray's libraries."""
    return f"coalesce(ends_with({_operator_of_library(func, module)}, '{_INTERNALS}'), false)"


#: Query for rows (func, origin, operator), with NULL for unknown values. All methods of a class have the same
#: origin. A name used by both the user and a library is attributed to the user. DuckDB cannot optimize the
#: CASE over a column that has only NULL, hence ''.
ORIGINS = f"""
SELECT func, origin, CASE WHEN origin != '{USER}' THEN operator END AS operator
FROM (
    SELECT func, CASE WHEN bool_or(bool_or(origin = '{USER}')) OVER of_class THEN '{USER}'
        ELSE min(min(origin)) OVER of_class END AS origin,
        coalesce(min(operator), max(min(operator)) OVER of_class) AS operator
    FROM (
        SELECT func, {origin_of("module")} AS origin, {operator_of("func", "module")} AS operator
        FROM (
            SELECT DISTINCT {called_name("attempts")} AS func, coalesce(module_name, '') AS module
            FROM attempts WHERE {NOT_DRIVER})
        WHERE func IS NOT NULL)
    GROUP BY func WINDOW of_class AS (PARTITION BY coalesce({class_of("func")}, func)))
"""
#: Whether a row of :data:`ORIGINS` is a function of a library that is not known to run user code.
_IS_INTERNAL = f"(operator = origin OR ends_with(operator, '{_INTERNALS}'))"
#: Whether an attempt runs user code. This excludes internals of libraries, but not unknown functions.
IS_MINE = (
    f"coalesce({function_name('attempts')}, '') NOT IN (SELECT func FROM ({ORIGINS}) WHERE {_IS_INTERNAL})"
)
#: Whether an attempt belongs to an operator, or its function has that name. ``?``: the operator's name,
#: twice.
OF_OPERATOR = f"{function_name('attempts')} IN (SELECT func FROM ({ORIGINS}) WHERE operator = ? OR func = ?)"


def is_operator(name: str) -> bool:
    """Whether a name is that of an operator of one of Ray's libraries, not of a function."""
    return name.startswith(tuple(prefix for prefix, _ in _OPERATORS.values()))


def origins(reader: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str | None]]:
    """Function -> its origin and operator, for functions whose origin is known."""
    found = reader.execute(
        f"SELECT func, origin, operator FROM ({ORIGINS}) WHERE origin IS NOT NULL"
    ).fetchall()
    return {func: (origin, operator) for func, origin, operator in found}


def operators(reader: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Library function -> its operator. Functions that have the same name as their operator are omitted."""
    return {
        func: operator
        for func, (_, operator) in origins(reader).items()
        if operator is not None and operator != func
    }


class HiddenLibrary(TypedDict):
    """A library, identified by the operator of its internals, and how many internal functions and attempts it
    has.
    """

    library: str
    functions: int
    attempts: int


def libraries(reader: duckdb.DuckDBPyConnection, where: Where) -> list[HiddenLibrary]:
    """Libraries with internals among the attempts selected by ``where``."""
    counted = (
        f"SELECT {function_name('attempts')} AS func, count(*) AS n FROM attempts{where.sql} GROUP BY func"
    )
    return rows_of(
        reader.execute(
            "SELECT operator AS library, count(*) AS functions, sum(n)::BIGINT AS attempts "
            f"FROM ({counted}) JOIN ({ORIGINS}) USING (func) WHERE {_IS_INTERNAL} "
            "GROUP BY operator ORDER BY attempts DESC, library",
            where.values,
        )
    )
