"""The response to a SQL query, which other libraries can use as a table and notebooks can display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayscope.client.tables import data_frame, html_table, polars_frame, sql_table

if TYPE_CHECKING:
    import pyarrow as pa


class SqlResult(dict[str, Any]):
    """The fields of :class:`rayscope.client.types.SqlAnswer`, with methods to get the rows as a table."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return sql_table(self["columns"], self["rows"])

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame. Raises RayscopeError if pandas is not installed."""
        return data_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the rows as a Polars data frame. Raises RayscopeError if Polars is not installed."""
        return polars_frame(self.to_arrow())

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self["columns"])
        more = " or more" if self["truncated"] else ""
        return f"<SqlResult of {len(self['rows']):,}{more} rows: {columns}>"

    def _repr_html_(self) -> str:
        names = [name for name, _ in self["columns"]]
        more = " or more (a larger limit returns more)" if self["truncated"] else ""
        return html_table(names, self["rows"], f"{len(self['rows']):,} rows{more}")
