"""Rows as an Arrow table, a data frame, or HTML."""

from __future__ import annotations

import html
import importlib
import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    import pyarrow as pa

#: Number of rows to show in a notebook.
_HTML_ROWS = 20
_MAX_CELL_CHARS = 200


def arrow_table(rows: Sequence[Mapping[str, Any]], shape: type) -> pa.Table:
    """Return rows as a table with a column for each field of ``shape`` and for each other field of the rows.

    Strings, integers (int64), floats, and booleans keep their types even if all values are null. Counts by
    name become a map. Values without an Arrow type become JSON text.
    """
    import pyarrow as pa

    hints = typing.get_type_hints(shape)
    names = dict.fromkeys([*hints, *(name for row in rows for name in row)])
    columns = {}
    for name in names:
        columns[name] = _array([row.get(name) for row in rows], _arrow_type(hints.get(name)))
    return pa.table(columns)


def sql_table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Return rows of a SQL query as an Arrow table. ``columns``: the name and DuckDB type of each column.

    Numbers, booleans, strings, dates, and timestamps keep their types, and decimals become float64. Integers
    beyond 64 bits, and types that Arrow lacks, become JSON text.
    """
    import pyarrow as pa

    arrays = [_sql_array([row[at] for row in rows], kind) for at, (_, kind) in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def _sql_array(values: list[Any], kind: str) -> pa.Array:
    import pyarrow as pa

    # In JSON, NaN, infinity, and decimals are strings.
    if kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        return pa.array([None if value is None else float(value) for value in values], type=pa.float64())
    if kind in ("UBIGINT", "UHUGEINT"):
        return _array(values, pa.uint64())
    if kind.endswith("INT") or kind == "INTEGER":
        return _array(values, pa.int64())
    parsed = {
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
    }
    if kind in parsed:
        texts = pa.array(values, type=pa.string())
        try:
            return texts.cast(parsed[kind])
        except pa.ArrowInvalid:  # for example, infinity
            return texts
    return _array(values, {"VARCHAR": pa.string(), "BOOLEAN": pa.bool_()}.get(kind))


def _array(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    """Return a column of type ``kind`` (None: inferred), or of JSON text if the values do not fit it."""
    import pyarrow as pa

    try:
        return pa.array(values, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        return pa.array(texts, type=pa.string())


def data_frame(table: pa.Table) -> Any:
    """Return a table as a pandas data frame. Integers stay integers even if some are missing (``Int64``).

    Raises RayscopeError if pandas is not installed.
    """
    pandas = _library("pandas")
    import pyarrow as pa

    nullable = {
        pa.int64(): pandas.Int64Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }
    return table.to_pandas(types_mapper=nullable.get, maps_as_pydicts="lossy")


def polars_frame(table: pa.Table) -> Any:
    """Return a table as a Polars data frame. Raises RayscopeError if Polars is not installed."""
    return _library("polars").from_arrow(table)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RayscopeError(
            f"{name} is not installed.",
            f"Run pip install {name}, or use to_arrow(), which needs nothing else.",
            f"no_{name}",
        ) from error


def html_table(names: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> str:
    """Return the first rows as HTML for a notebook. All text is escaped."""

    def cells(tag: str, values: Iterable[Any]) -> str:
        texts = ("" if value is None else str(value)[:_MAX_CELL_CHARS] for value in values)
        return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"

    if len(rows) > _HTML_ROWS:
        caption += f"; the first {_HTML_ROWS} are shown"
    body = "".join(cells("td", row) for row in rows[:_HTML_ROWS])
    head = cells("th", names)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{html.escape(caption)}</p>"


def _arrow_type(hint: Any) -> pa.DataType | None:
    """Return Arrow's type for a field's annotation, or None if it must be inferred from the values."""
    import pyarrow as pa

    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kinds = [one for one in typing.get_args(hint) if one is not type(None)]
        hint = kinds[0] if len(kinds) == 1 else None
    if typing.get_origin(hint) is dict and typing.get_args(hint) == (str, int):
        return pa.map_(pa.string(), pa.int64())
    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return plain.get(hint) if isinstance(hint, type) else None
