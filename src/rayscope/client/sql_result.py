"""The answer of a SQL query, as a table for other libraries and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayscope.client.tables import data_frame, html_table, polars_frame, sql_table

if TYPE_CHECKING:
    import pyarrow as pa


class SqlResult(dict[str, Any]):
    """The fields of :class:`rayscope.client.types.SqlAnswer`, with the rows as a table."""

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return sql_table(self["columns"], self["rows"])

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame. Raises RayscopeError without pandas."""
        return data_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """The rows as a Polars data frame. Raises RayscopeError without Polars."""
        return polars_frame(self.to_arrow())

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self["columns"])
        more = " or more" if self["truncated"] else ""
        return f"<SqlResult of {len(self['rows']):,}{more} rows: {columns}>"

    def _repr_html_(self) -> str:
        names = [name for name, _ in self["columns"]]
        more = " or more (a larger limit returns more)" if self["truncated"] else ""
        return html_table(names, self["rows"], f"{len(self['rows']):,} rows{more}")
