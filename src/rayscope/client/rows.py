"""The rows of a list, fetched page by page on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from rayscope.client.calls import AsyncCaller, Call, Listing, SyncCaller
from rayscope.client.tables import arrow_table, data_frame, html_table, polars_frame
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    import pyarrow as pa

    from rayscope.client.types import Dropped

T = TypeVar("T")
#: Rows per page. This is the server's maximum.
_PAGE = 1000
#: Number of rows to show in a notebook.
_HTML_ROWS = 10


class _Paging(Generic[T]):
    """The state of reading a list page by page: the next request and the handling of its response."""

    def __init__(self, listing: Listing[T]) -> None:
        self._listing = listing
        self._params = dict(listing.params)
        # Without a session name, the server uses the session with the latest data, which may change between
        # two pages.
        self._wants_session = listing.of_session and "session" not in self._params
        self._left = listing.limit
        self._cursor: str | None = None
        self._ended = False

    def call(self) -> Call[Any] | None:
        """Return the next request, or None at the end of the list."""
        if self._ended or (self._left is not None and self._left <= 0):
            return None
        if self._wants_session:
            return Call("GET", "/api/v1/sessions", {"limit": 1})
        limit = _PAGE if self._left is None else min(_PAGE, self._left)
        more = {} if self._cursor is None else {"cursor": self._cursor}
        return Call("GET", self._listing.path, {**self._params, "limit": limit, **more})

    def read(self, answer: Any, info: _ListInfo[T]) -> list[T]:
        """Return the rows of a response, and update the totals in ``info``. Raises RayscopeError."""
        try:
            items, following = answer["items"], answer["next"]
            if self._wants_session:
                self._wants_session = False
                if items:
                    self._params["session"] = items[0]["session"]
                return []
            info.total, info.dropped = answer["total"], answer.get("dropped")
        except (KeyError, TypeError) as error:
            raise RayscopeError(
                "The server's response is not a page of a list.",
                "Check that the server and the client have the same version.",
                "not_rayscope",
            ) from error
        if following is not None and following == self._cursor:
            raise RayscopeError("The server's list never ends.", "Please report this.", "not_rayscope")
        self._cursor, self._ended = following, following is None
        if self._left is not None:
            self._left -= len(items)
        return cast("list[T]", items)


class _ListInfo(Generic[T]):
    """The totals of a list, and how it is displayed."""

    def __init__(self, listing: Listing[T]) -> None:
        self.listing = listing
        self.total: int | None = None
        self.dropped: Dropped | None = None

    def __repr__(self) -> str:
        count = "not requested yet" if self.total is None else f"{self._count(self.total):,} rows"
        return f"<{type(self).__name__} of {self.listing.shape}: {count}>"

    def _count(self, total: int) -> int:
        return total if self.listing.limit is None else min(total, self.listing.limit)

    def _table(self, rows: list[T]) -> pa.Table:
        return arrow_table(cast("list[dict[str, Any]]", rows), self.listing.row_type())


class Rows(_ListInfo[T]):
    """Rows that are fetched on demand. Every iteration fetches them again.

    ``total`` is the number of rows that match the filters, and ``dropped`` is what the record lacks. Both are
    from the last page that was fetched, or None before the first.
    """

    def __init__(self, client: SyncCaller, listing: Listing[T]) -> None:
        super().__init__(listing)
        self._client = client

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page

    def __len__(self) -> int:
        """Return the number of rows, according to the last page. Raises TypeError before the first page."""
        if self.total is None:  # a request here would add one to each list(rows), which calls len()
            raise TypeError("The number of rows is unknown before the first request: use to_list().")
        return self._count(self.total)

    def __bool__(self) -> bool:
        """Return whether there are any rows. This sends a request."""
        return bool(self._first(1))

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        """Return a row or a list of rows, fetching as many as are needed. Raises IndexError."""
        if isinstance(at, slice):
            ends = (at.start or 0, -1 if at.stop is None else at.stop)
            return self._first(at.stop if min(ends) >= 0 and (at.step or 1) > 0 else None)[at]
        return self._first(at + 1 if at >= 0 else None)[at]

    def _first(self, number: int | None) -> list[T]:
        """Return the first ``number`` rows, or all if it is None."""
        most = [limit for limit in (number, self.listing.limit) if limit is not None]
        rows = Rows(self._client, replace(self.listing, limit=min(most, default=None)))
        found = [row for page in rows.pages() for row in page]
        self.total, self.dropped = rows.total, rows.dropped
        return found

    def _repr_html_(self) -> str:
        found = cast("list[dict[str, Any]]", self._first(_HTML_ROWS))
        names = [name for name in (found[0] if found else ()) if any(row[name] is not None for row in found)]
        rows = [[row[name] for name in names] for row in found]
        return html_table(names, rows, f"{len(found):,} of {self._count(self.total or 0):,} rows")

    def pages(self) -> Iterator[list[T]]:
        """Yield the rows in pages of at most 1,000."""
        paging = _Paging(self.listing)
        while (call := paging.call()) is not None:
            if page := paging.read(self._client.ask(call), self):
                yield page

    def to_list(self) -> list[T]:
        """Return all rows."""
        return self._first(None)

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table."""
        return self._table(self.to_list())

    def to_polars(self) -> Any:
        """Return all rows as a Polars data frame. Raises RayscopeError if Polars is not installed."""
        return polars_frame(self.to_arrow())

    def to_pandas(self) -> Any:
        """Return all rows as a pandas data frame. Raises RayscopeError if pandas is not installed."""
        return data_frame(self.to_arrow())


class AsyncRows(_ListInfo[T]):
    """Like :class:`Rows`, but for ``async for``."""

    def __init__(self, client: AsyncCaller, listing: Listing[T]) -> None:
        super().__init__(listing)
        self._client = client

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for row in page:
                yield row

    async def pages(self) -> AsyncIterator[list[T]]:
        """Yield the rows in pages of at most 1,000."""
        paging = _Paging(self.listing)
        while (call := paging.call()) is not None:
            if page := paging.read(await self._client.ask(call), self):
                yield page

    async def to_list(self) -> list[T]:
        """Return all rows."""
        return [row async for row in self]

    async def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table."""
        return self._table(await self.to_list())

    async def to_polars(self) -> Any:
        """Return all rows as a Polars data frame. Raises RayscopeError if Polars is not installed."""
        return polars_frame(await self.to_arrow())

    async def to_pandas(self) -> Any:
        """Return all rows as a pandas data frame. Raises RayscopeError if pandas is not installed."""
        return data_frame(await self.to_arrow())
