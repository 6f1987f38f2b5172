"""A connection to a warehouse: a ClickHouse server, or chDB, which is the same engine in this process.

Both use clickhouse-connect. Errors are raised as StoreError with a remedy. No message contains the password.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
import pyarrow as pa

from rayscope.storage.errors import BadQuery, StoreError
from rayscope.warehouse.schema import Layout, on_cluster, quote, text

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client
    from clickhouse_connect.driver.query import QueryResult

DEFAULT_DATABASE = "rayscope"
#: The first maintained version whose ``greatest`` ignores NULL, as the views need it.
MIN_VERSION = (25, 3)
_FORMS = (
    "Give a URL such as clickhouse://user:password@host:8123/database, clickhouses://… or chdb:///folder."
)
_CONNECT_TIMEOUT_S = 10
#: Time limit for a statement, in seconds. No statement of ours takes as long.
TIMEOUT_S = 600
_MAX_MESSAGE_CHARS = 1000

#: With these settings, an insert returns only when its rows are stored, not when a node has queued them.
_STORED = {"distributed_foreground_insert": 1, "async_insert": 0}

# ClickHouse's error codes (``ErrorCodes.cpp``), grouped by remedy.
_UNKNOWN_TABLES = (60, 81)
_LOGIN = (192, 193, 194, 516)
_FULL = (243, 528)
_REFUSED = (164, 497)
_TIMEOUT = 159
_MEMORY = 241
#: Codes of the errors that affect all sessions, not just one.
SHARED_ERRORS = frozenset({"unreachable", "login", "locked", "no_warehouse", "older", "newer"})


class Address(NamedTuple):
    """The location of a warehouse. ``shown`` has no password; ``folder`` is set only for chDB."""

    shown: str
    folder: Path | None
    host: str
    port: int
    user: str
    password: str
    database: str
    is_secure: bool


def parse_url(url: str) -> Address:
    """Parse a URL. Raises StoreError, without its secrets, if it is invalid."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise StoreError("The warehouse's URL cannot be read.", _FORMS, "bad_warehouse") from None
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if parts.scheme == "chdb" and not parts.netloc and len(parts.path) > 1:
        database = parse_qs(parts.query).get("database", [DEFAULT_DATABASE])[0]
        return Address(shown, Path(unquote(parts.path)), "", 0, "", "", database, False)
    is_secure = parts.scheme == "clickhouses"
    if parts.scheme not in ("clickhouse", "clickhouses") or not host:
        raise StoreError(f"{shown[:200]!r} is no warehouse.", _FORMS, "bad_warehouse")
    return Address(
        shown,
        None,
        host,
        port or (8443 if is_secure else 8123),
        unquote(parts.username or "default"),
        unquote(parts.password or ""),
        unquote(parts.path.strip("/")) or DEFAULT_DATABASE,
        is_secure,
    )


class Warehouse:
    """An open warehouse. Not thread-safe. All methods may raise StoreError."""

    def __init__(self, address: Address, client: Client) -> None:
        self.address = address
        self._client = client
        #: The URL without secrets.
        self.url = address.shown

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        with _explaining_errors(self.address):
            self._client.command(statement)

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> Sequence[Sequence[Any]]:
        """The rows of a query. Its parameters are written as ``{name:Type}``."""
        return self.query(query, parameters).result_rows

    def query(self, query: str, parameters: Mapping[str, Any] | None = None) -> QueryResult:
        """The rows of a query, with the names and types of its columns if there are rows."""
        with _explaining_errors(self.address):
            return self._client.query(query, parameters=dict(parameters) if parameters else None)

    def arrow(self, query: str, parameters: Mapping[str, Any]) -> Iterator[pa.Table]:
        """The rows of a query, as a sequence of Arrow tables."""
        with (
            _explaining_errors(self.address),
            self._client.query_arrow_stream(query, parameters=dict(parameters)) as stream,
        ):
            for batch in stream:
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])

    def columns(self, query: str) -> list[tuple[str, str]]:
        """Names and types of a query's columns, for a query that returned no rows."""
        with _explaining_errors(self.address):
            answer = self._client.raw_query(query, fmt="JSONCompact")
        meta = msgspec.json.decode(answer)["meta"]
        return [(column["name"], column["type"]) for column in meta]

    def insert(self, table: str, rows: pa.Table) -> None:
        """Insert rows, matching columns by name. Returns once they are stored, also on a cluster."""
        with _explaining_errors(self.address):
            self._client.insert_arrow(table, rows, settings=_STORED)

    def set(self, settings: Mapping[str, int | str], *, freeze: bool = False) -> None:
        """Change settings for all later statements. With ``freeze``, these can no longer change any setting.

        A user who may not change settings keeps those of the server.
        """
        with _explaining_errors(self.address):
            if self.address.folder is None:
                for name, value in settings.items():
                    with _dropping_settings():
                        self._client.set_client_setting(name, value)
                if freeze and not self._is_read_only():
                    self._client.set_client_setting("readonly", 1)
            else:
                # clickhouse-connect would append the settings to each statement, where a comment could hide
                # them.
                for name, value in settings.items():
                    self._client.command(f"SET {name} = {value if isinstance(value, int) else text(value)}")
                if freeze:
                    self._client.command("SET readonly = 1")

    def _is_read_only(self) -> bool:
        return bool(int(self._client.query("SELECT getSetting('readonly')").result_rows[0][0]))

    def close(self) -> None:
        """Close the connection. Afterwards other processes can open chDB's folder."""
        with contextlib.suppress(Exception):
            self._client.close()


@contextlib.contextmanager
def _dropping_settings() -> Iterator[None]:
    """Skip settings that the server does not allow this user to change."""
    from clickhouse_connect.driver.exceptions import ProgrammingError

    with contextlib.suppress(ProgrammingError):
        yield


@contextlib.contextmanager
def connect(
    url: str, *, create: bool = False, cluster: str | None = None, timeout_s: float = TIMEOUT_S
) -> Iterator[Warehouse]:
    """Open the warehouse at a URL. Raises StoreError.

    Args:
        url: see :func:`parse_url`.
        create: create the database (on all nodes of ``cluster``), and chDB's folder, if they do not exist.
        cluster: the cluster's name in ClickHouse.
        timeout_s: timeout for the server's responses, s.
    """
    address = parse_url(url)
    client = _open(address, create, timeout_s)
    warehouse = Warehouse(address, client)
    try:
        _check_version(warehouse, client.server_version or "")
        if create:
            where = on_cluster(Layout(cluster))
            warehouse.run(f"CREATE DATABASE IF NOT EXISTS {quote(address.database)}{where}")
        elif not warehouse.rows(
            "SELECT 1 FROM system.databases WHERE name = {name:String}", {"name": address.database}
        ):
            raise no_warehouse(address)
        if address.folder is not None:
            warehouse.run(f"USE {quote(address.database)}")
        client.database = address.database
        yield warehouse
    finally:
        warehouse.close()


def no_warehouse(address: Address) -> StoreError:
    """The error for an address without a warehouse."""
    return StoreError(
        f"There is no warehouse at {address.shown}.",
        "Make it: rayscope warehouse init",
        "no_warehouse",
        what="missing",
        address=address.shown,
    )


def _open(address: Address, create: bool, timeout_s: float) -> Client:
    try:
        import clickhouse_connect
    except ImportError as error:
        raise _not_installed() from error
    # Silence the library: our error message has the same content, but without the data that was sent.
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    with _explaining_errors(address):
        if address.folder is None:
            return clickhouse_connect.get_client(
                host=address.host,
                port=address.port,
                username=address.user,
                password=address.password,
                secure=address.is_secure,
                connect_timeout=_CONNECT_TIMEOUT_S,
                send_receive_timeout=int(timeout_s) + 1,
                query_retries=0,
                client_name="rayscope",
            )
        if create:
            address.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        elif not address.folder.is_dir():
            raise no_warehouse(address)
        try:
            return clickhouse_connect.get_client(interface="chdb", path=str(address.folder.absolute()))
        except ImportError as error:
            raise _not_installed() from error


def _not_installed() -> StoreError:
    return StoreError(
        "The packages for a warehouse are not installed.",
        "pip install 'rayscope[warehouse]'",
        "no_warehouse",
        what="packages",
    )


def _check_version(warehouse: Warehouse, version: str) -> None:
    parsed = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if parsed < MIN_VERSION:
        wanted = ".".join(map(str, MIN_VERSION))
        raise StoreError(
            f"{warehouse.url} is ClickHouse {version}; a warehouse needs {wanted} or later.",
            "Upgrade ClickHouse.",
            "older",
            what="clickhouse",
            url=warehouse.url,
            version=version,
            wanted=wanted,
        )


@contextlib.contextmanager
def _explaining_errors(address: Address) -> Iterator[None]:
    """Convert errors from the engine and the connection to StoreError."""
    try:
        yield
    except (StoreError, ImportError):
        raise
    except OSError as error:
        raise StoreError(
            f"{address.shown} cannot be used: {error.strerror or type(error).__name__}.",
            "Check the folder's permissions and the free space.",
            "warehouse",
            what="folder",
            folder=address.shown,
        ) from error
    except Exception as error:
        from clickhouse_connect.driver.exceptions import ClickHouseError

        if not isinstance(error, ClickHouseError):
            raise
        # Hide the cause: its traceback shows the data that was sent.
        raise _explain(address, error) from None


def _explain(address: Address, error: Exception) -> StoreError:
    from clickhouse_connect.driver.exceptions import OperationalError

    message = _without_secrets(address, str(error))
    code = getattr(error, "code", None)
    if address.folder is not None and "initializing EmbeddedServer" in message:
        if "filesystem error" in message:
            return StoreError(
                f"{address.shown} cannot be used as a folder of chDB.",
                "Check the folder's permissions and the free space.",
                "warehouse",
                what="folder",
                folder=address.shown,
            )
        return StoreError(
            f"{address.shown} is in use by another process, or is damaged.",
            "One process at a time can use chDB's folder. Wait for the other, or use a ClickHouse server.",
            "locked",
            what="warehouse",
            folder=address.shown,
        )
    if code in _LOGIN:
        return StoreError(
            f"{address.shown} refused the user {address.user!r} with this password.",
            "Check the user and the password in the URL; write special characters as %XX.",
            "login",
            address=address.shown,
            user=address.user,
        )
    if code in _FULL or "No space left" in message:
        return StoreError(
            f"The disk of {address.shown} is full.",
            "Free some space, and try again.",
            "full",
            what="warehouse_disk",
            address=address.shown,
        )
    if code in _UNKNOWN_TABLES:
        return BadQuery(
            message, "SHOW TABLES lists the tables; rayscope warehouse init makes those of Rayscope."
        )
    if code in _REFUSED:
        return BadQuery(message, "rayscope sql --all reads only, as the ClickHouse user is allowed to.")
    if code == _TIMEOUT:
        return BadQuery(
            "The query took too long and was stopped.", "Narrow it, or raise RAYSCOPE_SQL_TIMEOUT_S."
        )
    if code == _MEMORY:
        return BadQuery("The query needs more memory than allowed.", "Narrow it or aggregate.", "memory")
    if code is None and (isinstance(error, OperationalError) or "HTTP status" in message):
        return StoreError(
            f"{address.shown} cannot be reached: {_reason(message)}.",
            "Check the host, the port (HTTP: 8123, TLS: 8443) and the network.",
            "unreachable",
            what="warehouse",
            address=address.shown,
            reason=_reason(message),
        )
    return BadQuery(message, "See docs/reference/warehouse.md.")


def _reason(message: str) -> str:
    """Why a server is unreachable, from the library's message."""
    for words in (
        "Connection refused",
        "Name or service not known",
        "timed out",
        "CERTIFICATE_VERIFY_FAILED",
    ):
        if words.lower() in message.lower():
            return words
    match = re.search(r"\[Errno -?\d+\] ([\w ]+)", message)
    return match[1] if match else "no answer that ClickHouse would give"


def _without_secrets(address: Address, message: str) -> str:
    """The engine's message without its preamble, version and password."""
    shown = re.sub(r"^.*?DB::Exception: ", "", message.strip(), flags=re.DOTALL)
    shown = re.sub(r"\s*\(version [^)]*\)\.?", "", shown)
    if address.password:
        shown = shown.replace(address.password, "***")
    return shown[:_MAX_MESSAGE_CHARS].rstrip() or "no message"
