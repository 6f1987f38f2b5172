"""All settings, in one place. Each can be given as a flag, as ``RAYSCOPE_<NAME>`` or keep its default."""

from __future__ import annotations

import ipaddress
import secrets
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_PORT = 8700


class Settings(BaseSettings):
    """What a server needs to know. Sizes are in bytes, times in the unit that the name ends with."""

    model_config = SettingsConfigDict(env_prefix="RAYSCOPE_", extra="ignore")

    data_dir: Path = Field(Path("~/.rayscope"), description="Where sessions, spool and keys are kept.")
    host: str = Field("127.0.0.1", description="Address to bind. Any but loopback needs a token.")
    port: int = Field(DEFAULT_PORT, ge=0, le=65535, description="Port to bind; 0 takes a free one.")
    token: str | None = Field(None, description="What clients must show, except on loopback without it.")
    allowed_hosts: str = Field("", description="More names that clients may call this server by, by comma.")
    max_age_days: float = Field(30, gt=0, description="Ended sessions older than this are dropped.")
    max_bytes: int = Field(20 << 30, gt=0, description="Disk for all sessions; the oldest are dropped.")
    max_sessions: int = Field(200, gt=0, description="How many sessions are kept.")
    max_batch_bytes: int = Field(64 << 20, gt=0, description="A larger event batch is answered 413.")
    max_spool_bytes: int = Field(4 << 30, gt=0, description="Events waiting to be merged, at most.")
    min_free_bytes: int = Field(256 << 20, ge=0, description="Disk space that must stay free.")
    fsync: bool = Field(False, description="Survive a power cut too, not only a kill: fsync each batch.")
    memory_limit: str = Field("320MB", description="Memory DuckDB may take for each open session.")
    sql_timeout_s: float = Field(30, gt=0, description="A SQL query that takes longer is stopped.")

    @property
    def folder(self) -> Path:
        """The data directory with ``~`` resolved."""
        return self.data_dir.expanduser()

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
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


def ingest_key(data_dir: Path) -> str:
    """The data directory's ingest key, made at first use; readable by its owner alone."""
    path = data_dir / "key"
    try:
        key = path.read_text().strip()
        if key:
            return key
    except FileNotFoundError:
        pass
    key = secrets.token_urlsafe(18)
    path.touch(mode=0o600)
    path.write_text(key + "\n")
    return key
