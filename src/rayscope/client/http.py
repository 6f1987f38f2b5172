"""The two clients, which send the described requests over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rayscope.client.api import Api
from rayscope.client.calls import AsyncCaller, Call, Listing, SyncCaller
from rayscope.client.request_names import METHODS, name_requests
from rayscope.client.rows import AsyncRows, Rows
from rayscope.client.server_url import data_dir, operator_token, public_url, server_token, server_url
from rayscope.errors import RayscopeError
from rayscope.files import replacing

# httpx is imported where it is used, so that `rayscope --help` starts in half the time.
if TYPE_CHECKING:
    import httpx
    from ray.job_submission import JobSubmissionClient
    from typing_extensions import Unpack

    from rayscope.client.filters import TaskFilters

T = TypeVar("T")
_Client = TypeVar("_Client", bound="Client")
_OPERATOR = "X-Rayscope-Operator"
#: Size of the pieces in which a file is sent, in bytes.
_PIECE_BYTES = 1 << 20
#: The beginning of the server's message for a path that does not exist. Messages about unknown IDs differ.
_UNKNOWN_PATH = "Path not found"


class _Http(Api):
    """The parts that both clients share: the server's address, the tokens, and the reading of responses."""

    #: Names for API paths in error messages.
    _request_names: Mapping[str, str] = METHODS

    def _connect(self, **options: Any) -> None:
        raise NotImplementedError

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        operator_token: str | None = None,
        session: str | None = None,
        *,
        folder: str | Path | None = None,
        timeout_s: float = 30,
    ) -> None:
        """Set up a client. Raises RayscopeError.

        ``url``: the server's URL; by default RAYSCOPE_URL, or the server of the data directory. ``token``:
        the server's token; by default RAYSCOPE_TOKEN or RAYSCOPE_TOKEN_FILE, and "" for none.
        ``operator_token``: the token for actions; by default RAYSCOPE_OPERATOR, or the data directory's token
        if the server is its own. ``session``: the session of requests that name none. ``folder``: the data
        directory; by default RAYSCOPE_DATA_DIR or ~/.rayscope. ``timeout_s``: the timeout of requests that
        have none of their own.
        """
        self._folder = data_dir() if folder is None else Path(folder)
        self.url = server_url(url, self._folder)
        self._shown = public_url(self.url)
        self.session = session
        self._operator = operator_token
        token = server_token(None) if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Proxies in the environment are for the internet, not for our server, so httpx must ignore them.
        self._connect(base_url=self.url, headers=headers, timeout=timeout_s, trust_env=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown!r})"

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        """Return a call as httpx arguments. Redirects are never followed for actions."""
        options: dict[str, Any] = {
            "method": call.method,
            "url": call.path,
            "params": {name: value for name, value in call.params.items() if value != []},
            "follow_redirects": not (call.needs_operator or call.headers),
            "headers": dict(call.headers),
        }
        if call.content is not None:
            options["content"] = call.content
        elif call.body is not None:
            options["content"] = msgspec.json.encode(call.body)
            options["headers"]["Content-Type"] = "application/json"
        if call.timeout_s is not None:
            options["timeout"] = call.timeout_s
        if call.needs_operator:
            options["headers"] |= self._operator_header()
        return options

    def _operator_header(self) -> dict[str, str]:
        shown = operator_token(self._operator, self.url, self._folder)
        return {_OPERATOR: shown} if shown else {}

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Convert httpx exceptions to RayscopeError."""
        import httpx

        try:
            yield
        except httpx.TimeoutException as error:
            raise RayscopeError(
                f"The server at {self._shown} did not respond in time.",
                "Request less, or use a larger timeout_s.",
                "timeout",
            ) from error
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.DecodingError) as error:
            raise RayscopeError(
                f"The server at {self._shown} closed the connection: {str(error) or type(error).__name__}.",
                "Try again. If it keeps failing, see the server's log.",
                "broke_off",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RayscopeError(
                f"Could not reach a Rayscope server at {self._shown}: {str(error) or type(error).__name__}.",
                "Check the URL, or start a server: rayscope serve",
                "unreachable",
            ) from error

    def _read(self, call: Call[T], response: httpx.Response) -> T:
        """Return the requested part of a response. Raises RayscopeError if it is an error."""
        status = response.status_code
        odd = RayscopeError(
            f"{self._shown} responded with status {status}; this does not look like a Rayscope server.",
            "Check the URL, and that the server and the client have the same version.",
            "not_rayscope",
            status=status,
        )
        try:
            body = {} if status == HTTPStatus.NO_CONTENT else msgspec.json.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise odd from None
        if not isinstance(body, dict):
            raise odd
        if response.is_success:
            try:
                return body if call.pick is None else call.pick(body)  # type: ignore[return-value]
            except (KeyError, TypeError):
                raise odd from None
        payload = body.get("error")
        if not isinstance(payload, dict):
            raise odd
        code, message, remedy = (str(payload.get(name) or "") for name in ("code", "message", "remedy"))
        if status == 401:
            remedy = "Pass the server's token with RAYSCOPE_TOKEN, --token @FILE, or Client(token=…)."
        elif code == "needs_operator":
            remedy = (
                "Pass it with RAYSCOPE_OPERATOR or Client(operator_token=…). Run `rayscope token` on "
                "the server to get it."
            )
        elif message.startswith(_UNKNOWN_PATH) or code == "method_not_allowed":
            from rayscope.version import __version__

            code, message = "old_server", f"The server at {self._shown} does not support this request."
            remedy = f"Upgrade Rayscope there: this client has version {__version__}."
        message, remedy = (name_requests(text, self._request_names) for text in (message, remedy))
        raise RayscopeError(message, remedy, code, status=status)


class Client(_Http, SyncCaller):
    """A client of a Rayscope server. Thread-safe, and a context manager. See docs/reference/client.md."""

    def _connect(self, **options: Any) -> None:
        import httpx

        self._client = httpx.Client(**options)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, call: Call[T]) -> T:
        """Send a request and return the result. Raises RayscopeError."""
        with self._explain_errors():
            response = self._client.request(**self._request(call))
        return self._read(call, response)

    def rows(self, listing: Listing[T]) -> Rows[T]:
        """Return the rows of a list, which are fetched on demand."""
        return Rows(self, listing)

    @contextlib.contextmanager
    def stream(self, call: Call[Any]) -> Iterator[httpx.Response]:
        """Provide a response whose body is read in pieces inside the block. Raises RayscopeError."""
        with self._explain_errors(), self._client.stream(**self._request(call)) as response:
            if not response.is_success:
                response.read()
                self._read(call, response)
            yield response

    def exporting(
        self, form: str, session: str | None = None, **filters: Unpack[TaskFilters]
    ) -> contextlib.AbstractContextManager[httpx.Response]:
        """Provide the response of an export, to be read in pieces inside the block."""
        return self.stream(self._export(form, session, filters))

    def export(
        self, form: str, path: str | Path, *, session: str | None = None, **filters: Unpack[TaskFilters]
    ) -> Path:
        """Write a session to ``path`` in a format of docs/reference/export.md, ``parquet`` as a ZIP file."""
        return self._download(self._export(form, session, filters), Path(path))

    def export_lines(
        self,
        form: str,
        path: str | Path,
        *,
        task_id: str | None = None,
        attempt: int | None = None,
        profile: str | None = None,
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Path:
        """Write the stacks behind :meth:`lines` to ``path``: ``collapsed``, ``speedscope``, or ``pprof``."""
        call = self._export_lines(form, task_id, attempt, profile, session, filters)
        return self._download(call, Path(path))

    def report(
        self,
        path: str | Path,
        *,
        session: str | None = None,
        view: str | None = None,
        a: str | None = None,
        b: str | None = None,
        margin: float | None = None,
        skip_first: int | None = None,
    ) -> Path:
        """Write a session, or a comparison of the runs ``a`` and ``b``, to ``path`` as one HTML file.

        ``view``: the page of the session that opens first, by default ``overview``. ``margin`` and
        ``skip_first``: as in :meth:`compare`.
        """
        return self._download(self._report(session, view, a, b, margin, skip_first), Path(path))

    def _download(self, call: Call[None], path: Path) -> Path:
        with self.stream(call) as response, replacing(path) as file:
            for piece in response.iter_bytes():
                file.write(piece)
        return path

    def exporting_session(
        self, session: str | None = None, *, anonymise: bool = False
    ) -> contextlib.AbstractContextManager[httpx.Response]:
        """Provide the response with the file of an ended session, to be read in pieces inside the block."""
        return self.stream(self._export_session(session, anonymise))

    def export_session(
        self, path: str | Path, session: str | None = None, *, anonymise: bool = False
    ) -> Path:
        """Write an ended session to ``path`` as one file, which `rayscope open` opens.

        With ``anonymise``, names are replaced, and logs are left out.
        """
        return self._download(self._export_session(session, anonymise), Path(path))

    def open_session_file(self, path: str | Path) -> str:
        """Open a session file on the server, which then has the session. Returns the session's name."""
        with Path(path).open("rb") as file:
            return self.ask(self._open_session_file(file))

    def job_client(self, session: str | None = None, address: str | None = None) -> JobSubmissionClient:
        """Return Ray's own job client for the session's cluster. Raises RayscopeError.

        ``address``: the cluster's dashboard, if its default address cannot be reached from here. Ray's token
        is read from where Ray looks for it.
        """
        from rayscope.client.ray_jobs import job_client

        return job_client(lambda limit: self.sessions(limit=limit), session or self.session, address)


class AsyncClient(_Http, AsyncCaller):
    """Like :class:`Client`, but for asyncio: methods are awaited, and lists are used with ``async for``."""

    def _connect(self, **options: Any) -> None:
        import httpx

        self._client = httpx.AsyncClient(**options)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(self, call: Call[T]) -> T:
        """Send a request and return the result. Raises RayscopeError."""
        with self._explain_errors():
            response = await self._client.request(**self._request(call))
        return self._read(call, response)

    def rows(self, listing: Listing[T]) -> AsyncRows[T]:
        """Return the rows of a list, which are fetched on demand."""
        return AsyncRows(self, listing)

    @contextlib.asynccontextmanager
    async def stream(self, call: Call[Any]) -> AsyncIterator[httpx.Response]:
        """Provide a response whose body is read in pieces inside the block. Raises RayscopeError."""
        with self._explain_errors():
            async with self._client.stream(**self._request(call)) as response:
                if not response.is_success:
                    await response.aread()
                    self._read(call, response)
                yield response

    async def export(
        self, form: str, path: str | Path, *, session: str | None = None, **filters: Unpack[TaskFilters]
    ) -> Path:
        """Write a session to ``path`` in a format of docs/reference/export.md, ``parquet`` as a ZIP file."""
        return await self._download(self._export(form, session, filters), Path(path))

    async def export_lines(
        self,
        form: str,
        path: str | Path,
        *,
        task_id: str | None = None,
        attempt: int | None = None,
        profile: str | None = None,
        session: str | None = None,
        **filters: Unpack[TaskFilters],
    ) -> Path:
        """Write the stacks behind :meth:`lines` to ``path``: ``collapsed``, ``speedscope``, or ``pprof``."""
        call = self._export_lines(form, task_id, attempt, profile, session, filters)
        return await self._download(call, Path(path))

    async def report(
        self,
        path: str | Path,
        *,
        session: str | None = None,
        view: str | None = None,
        a: str | None = None,
        b: str | None = None,
        margin: float | None = None,
        skip_first: int | None = None,
    ) -> Path:
        """Write a session, or a comparison of the runs ``a`` and ``b``, to ``path`` as one HTML file.

        ``view``: the page of the session that opens first, by default ``overview``. ``margin`` and
        ``skip_first``: as in :meth:`compare`.
        """
        return await self._download(self._report(session, view, a, b, margin, skip_first), Path(path))

    async def _download(self, call: Call[None], path: Path) -> Path:
        async with self.stream(call) as response:
            with replacing(path) as file:
                async for piece in response.aiter_bytes():
                    file.write(piece)
        return path

    async def export_session(
        self, path: str | Path, session: str | None = None, *, anonymise: bool = False
    ) -> Path:
        """Write an ended session to ``path`` as one file, which `rayscope open` opens.

        With ``anonymise``, names are replaced, and logs are left out.
        """
        return await self._download(self._export_session(session, anonymise), Path(path))

    async def open_session_file(self, path: str | Path) -> str:
        """Open a session file on the server, which then has the session. Returns the session's name."""

        async def pieces() -> AsyncIterator[bytes]:
            with Path(path).open("rb") as file:
                while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
                    yield piece

        return await self.ask(self._open_session_file(pieces()))
