"""All settings. Each can be set by a flag or by ``RAYSCOPE_<NAME>``. Otherwise it has its default."""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rayscope.files import expand_user, replace_file, set_aside
from rayscope.storage.session_file import MEMORY_LIMIT

DEFAULT_PORT = 8700
_MAX_KEY_CHARS = 1000
#: The first parts of Rayscope's own paths. A root path that begins with one would be ambiguous.
OWN_PATHS = frozenset(
    {"api", "assets", "compare", "docs", "enter_cluster", "metrics", "ray", "runs", "s", "sessions", "ws"}
)
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
log = logging.getLogger("rayscope.server")


class Settings(BaseSettings):
    """Settings of a server. Sizes are in bytes. The names of times end in their unit."""

    model_config = SettingsConfigDict(env_prefix="RAYSCOPE_", extra="ignore")

    data_dir: Path = Field(
        Path("~/.rayscope"), validate_default=True, description="Directory for sessions, spool, and keys."
    )
    host: str = Field("127.0.0.1", description="Address to bind. Any address but loopback requires a token.")
    port: int = Field(DEFAULT_PORT, ge=0, le=65535, description="Port to bind; 0 picks a free one.")
    token: str | None = Field(None, description="API token. Optional on loopback.")
    allowed_hosts: str = Field("", description="Additional host names of this server (comma-separated).")
    max_age_days: float = Field(30, gt=0, description="Ended sessions older than this are deleted.")
    max_bytes: int = Field(
        20 << 30, gt=0, description="Max disk space for all sessions; the oldest are deleted first."
    )
    max_sessions: int = Field(200, gt=0, description="Max number of sessions; the oldest are deleted first.")
    max_runs: int = Field(
        5_000, gt=0, description="Max number of runs whose summaries are kept; the oldest are deleted first."
    )
    archive: str | None = Field(
        None, description="URL of an archive for ended sessions: s3://, gs://, abfss:// or file:///."
    )
    archive_after_min: float = Field(
        5, ge=0, description="Minutes after its end at which a session is archived."
    )
    archive_max_age_days: float | None = Field(
        None, gt=0, description="Archived sessions older than this are deleted; without it, none are."
    )
    warehouse: str | None = Field(
        None,
        description="URL of a warehouse for all sessions: clickhouse://, clickhouses:// or chdb:///folder.",
    )
    warehouse_max_age_days: int | None = Field(
        None, gt=0, description="Sessions in the warehouse older than this are deleted; without it, none are."
    )
    ingest_key: str | None = Field(
        None,
        min_length=16,
        max_length=_MAX_KEY_CHARS,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="Ingest key, the same for servers that share an address; by default each makes its own.",
    )
    max_batch_bytes: int = Field(
        64 << 20, gt=0, description="Larger event batches are rejected with status 413."
    )
    max_spool_bytes: int = Field(4 << 30, gt=0, description="Max size of events waiting to be merged.")
    min_free_bytes: int = Field(256 << 20, ge=0, description="Disk space that must remain free.")
    fsync: bool = Field(False, description="fsync each batch, to survive a power cut as well as a kill.")
    memory_limit: str = Field(MEMORY_LIMIT, description="Max memory of DuckDB for each open session.")
    sql_timeout_s: float = Field(30, gt=0, description="Time limit of a SQL query.")
    metrics_interval_s: float = Field(
        5, ge=1, le=3600, description="Interval at which metrics are collected."
    )
    metrics_full_h: float = Field(1, gt=0, le=24, description="Hours of metrics kept in memory.")
    metrics_keep_days: float = Field(
        30, gt=0, description="How long metrics are kept, aggregated to minutes."
    )
    metrics_max_series: int = Field(
        20_000, ge=100, description="Max series of a session; further series are dropped."
    )
    root_path: str = Field("", description="Path below which a proxy serves Rayscope, such as /rayscope.")
    external_url: str = Field(
        "", description="URL of this server, with its root path, for links in notifications."
    )
    language: Literal["en", "zh"] = Field(
        "en", description="Language of notifications: English or Simplified Chinese."
    )
    prometheus_url: str | None = Field(
        None, pattern=r"^https?://", description="PromQL server to query for long ranges of metrics."
    )
    otlp_endpoint: str | None = Field(
        None,
        pattern=r"^https?://",
        description="URL of an OTLP/HTTP collector that gets the trace of each job after its end.",
    )
    debugger: bool = Field(
        False, description="Let operators attach debuggers to tasks that wait for one (true or false)."
    )
    debugger_limit_s: float = Field(
        900, gt=0, description="Tasks continue once nobody has used their debugger for this long, in seconds."
    )
    push_interval_s: float = Field(2, ge=0.1, description="Refresh interval of live views.")
    keep_logs: Literal["workers", "all", "none"] = Field(
        "workers",
        description="Logs to keep of live clusters: of workers and jobs, all (also Ray's own), or none.",
    )
    max_log_bytes: int = Field(
        1 << 30, ge=1 << 20, description="Max size of a session's kept logs, compressed."
    )

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        """Return an absolute path with ``~`` resolved, because SQL processes run in other directories.

        Raises RayscopeError if the user's home directory is unknown.
        """
        try:
            return expand_user(path).absolute()
        except OSError as error:  # the working directory was deleted
            raise ValueError(str(error)) from error

    @field_validator("root_path")
    @classmethod
    def _root_path(cls, path: str) -> str:
        path = path.rstrip("/")
        if path and not _ROOT_PATH.fullmatch(path):
            raise ValueError("it must look like /rayscope or /tools/rayscope, with letters, digits, and -._~")
        if path and path.split("/")[1] in OWN_PATHS:
            raise ValueError(f"Rayscope itself uses /{path.split('/')[1]}; choose another path")
        return path

    @field_validator("external_url")
    @classmethod
    def _external_url(cls, url: str, others: ValidationInfo) -> str:
        url, root_path = url.rstrip("/"), others.data.get("root_path", "")
        if url and not url.endswith(root_path):
            raise ValueError(f"it must end with the root path, {root_path}")
        return url

    @property
    def folder(self) -> Path:
        """The absolute path of the data directory."""
        return self.data_dir

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)


def ingest_key(settings: Settings) -> str:
    """Return the configured key, or the data directory's key.

    The latter is created on first use, readable only by its owner.
    """
    return settings.ingest_key or _secret(settings.folder / "key")


def operator_token(data_dir: Path) -> str:
    """Return the operator token (see :mod:`rayscope.api.write_access`). It is stored like the ingest key."""
    return _secret(data_dir / "operator")


def server_name(data_dir: Path) -> str:
    """Return the name by which other servers know this one. It is created on first use.

    It is stored in the data directory and moves with it.
    """
    host = re.sub(r"[^\w.-]", "-", socket.gethostname())[:60]
    return _read_or_make(data_dir / "server-name", lambda: f"{host}-{secrets.token_hex(4)}")


def _secret(path: Path) -> str:
    return _read_or_make(path, lambda: secrets.token_urlsafe(18))


def _read_or_make(path: Path, make: Callable[[], str]) -> str:
    """Return the one word that a file contains. It is created on first use, readable only by its owner."""
    try:
        key = path.read_text().strip()
        if key and len(key) <= _MAX_KEY_CHARS and key.isascii() and key.isprintable():
            return key
        is_damaged = bool(key)
    except FileNotFoundError:
        is_damaged = path.is_symlink()
    except (OSError, UnicodeDecodeError):
        is_damaged = True
    if is_damaged:
        aside = set_aside(path)
        log.warning(
            "%s was damaged and is kept as %s; anyone who used its content needs the new one", path, aside
        )
    key = make()
    replace_file(path, f"{key}\n".encode(), mode=0o600)
    return key
