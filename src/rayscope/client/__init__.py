"""Synchronous and asynchronous clients of the server's HTTP API, with typed responses.

See docs/reference/client.md.
"""

from rayscope.client.http import AsyncClient, Client
from rayscope.client.notebook import Shown, show
from rayscope.client.rows import AsyncRows, Rows
from rayscope.client.sql_result import SqlResult
from rayscope.errors import RayscopeError

__all__ = ["AsyncClient", "AsyncRows", "Client", "RayscopeError", "Rows", "Shown", "SqlResult", "show"]
