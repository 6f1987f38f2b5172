"""Rows as an Arrow table or a data frame."""

from __future__ import annotations

import importlib
import json
import types
import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_table(rows: Sequence[Mapping[str, Any]], shape: type) -> pa.Table:
    """A column for each field of ``shape`` (whatever there is of it), and for what else the rows have.

    Texts, whole numbers (int64), numbers and truth values keep their types where all are null too; counts by
    name are a map. What has no type of its own in Arrow is JSON text.
    """
    import pyarrow as pa

    hints = typing.get_type_hints(shape)
    names = dict.fromkeys([*hints, *(name for row in rows for name in row)])
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kind = _arrow_type(hints.get(name))
        try:
            columns[name] = pa.array(values, type=kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
            columns[name] = pa.array(texts, type=pa.string())
    return pa.table(columns)


def data_frame(table: pa.Table) -> Any:
    """A table as a pandas data frame, whose integers stay integers where some are missing (``Int64``).

    Raises RayscopeError without pandas.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise RayscopeError(
            "pandas is not installed.",
            "Run pip install pandas, or use to_arrow(), which needs nothing else.",
            "no_pandas",
        ) from error
    import pyarrow as pa

    nullable = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    return table.to_pandas(types_mapper=nullable.get, maps_as_pydicts="lossy")


def _arrow_type(hint: Any) -> pa.DataType | None:
    """Arrow's type for a field's annotation, None where it is to be found from the values."""
    import pyarrow as pa

    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kinds = [one for one in typing.get_args(hint) if one is not type(None)]
        hint = kinds[0] if len(kinds) == 1 else None
    if typing.get_origin(hint) is dict and typing.get_args(hint) == (str, int):
        return pa.map_(pa.string(), pa.int64())
    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return plain.get(hint) if isinstance(hint, type) else None
