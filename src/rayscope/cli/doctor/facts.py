"""What ``rayscope doctor`` goes by: plain data, and what environment variables and URLs mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil

from rayscope.agent.settings import EXPORT_ADDR, FAST_LANE
from rayscope.cli import recording
from rayscope.tracer.settings import TRACE

if TYPE_CHECKING:
    from rayscope.client.types import CrashesAnswer


@dataclass(frozen=True)
class NodeEnv:
    """What a node's processes were started with, as far as it concerns recording; never the ingest key."""

    export_to: str = ""  # scheme://host:port
    ours: bool = False  # the export goes to a server like ours
    key_fits: bool | None = None  # None: the key of the server asked is not known here
    fast_lane: bool = False
    profiling: bool = False
    trace: bool = False
    worker_events: bool = False
    cluster_events: bool = False
    serve_events: bool = False


@dataclass(frozen=True)
class Node:
    """A living node. ``env``, ``agent_pid`` and ``python`` are known of this machine's alone."""

    node_id: str
    address: str = ""
    head: bool = False
    local: bool = False
    env: NodeEnv | None = None
    agent_pid: int | None = None
    python: str = ""  # that runs Ray's agent
    lane: str | None = None  # as the server tells, None: it does not know the session
    lane_code: str | None = None
    lane_reason: str | None = None
    agent: Mapping[str, Any] | None = None  # the agent's own figures, as in GET /api/recording
    us_an_event: float | None = None  # CPU of our code in the agent
    since_start: bool = False  # us_an_event is the average since the agent's start
    received: int | None = None  # events while we measured, by Ray's own counter
    lost: int | None = None  # events since the agent's start, by Ray's own counters


@dataclass(frozen=True)
class Driver:
    """A driver that runs on this machine."""

    pid: int
    worker_events: bool
    profiling: bool
    trace: bool = True


@dataclass(frozen=True)
class ServerFacts:
    """The server that was asked; ``url`` None: there is none. ``known``: it has the session on record."""

    url: str | None = None
    error: str = ""
    remedy: str = ""
    version: str = ""
    health: Mapping[str, Any] = field(default_factory=dict)
    known: bool | None = None
    recording: Mapping[str, Any] = field(default_factory=dict)
    ingest: Mapping[str, Any] = field(default_factory=dict)
    crashes: CrashesAnswer | None = None


@dataclass(frozen=True)
class Reading:
    """One whole reading of the GCS; ``seconds`` None: it failed, see ``error``."""

    seconds: float | None = None
    attempts: int = 0
    entities: int = 0
    dropped: int = 0
    error: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Measured:
    """What happened while we measured. ``cpu``: seconds of this machine's processes, by kind."""

    seconds: float = 0.0
    ended: int | None = None  # attempts, in the whole cluster
    ended_here: int | None = None  # those on nodes of this machine
    cpu: Mapping[str, float] = field(default_factory=dict)
    spans: int | None = None
    probe: bool = False
    probe_error: str = ""


@dataclass(frozen=True)
class Facts:
    """All that is judged. ``config``: the system configuration of the cluster, None if it does not tell."""

    address: str
    session: str
    ray_version: str = ""
    nodes: tuple[Node, ...] = ()
    drivers: tuple[Driver, ...] = ()
    config: Mapping[str, Any] | None = None
    server: ServerFacts = field(default_factory=ServerFacts)
    reading: Reading = field(default_factory=Reading)
    measured: Measured = field(default_factory=Measured)
    data_dir: str = ""  # as the user named it

    def as_json(self) -> dict[str, Any]:
        """For ``--format json``: all but the server's whole answers."""
        told = asdict(self)
        told["server"].pop("recording")
        told["server"].pop("ingest")
        return told


def node_env(environ: Mapping[str, str], key: str = "") -> NodeEnv:
    """What ``environ`` means for recording; ``key`` is that of the server asked, if it is known."""
    target = environ.get(EXPORT_ADDR, "")
    prefix = recording.CONFIG_PREFIX
    return NodeEnv(
        export_to=place(target),
        ours="/api/ingest/" in target,
        key_fits=key_in(target) == key if key and target else None,
        fast_lane=environ.get(FAST_LANE) == "1",
        profiling=recording.PROFILING in environ,
        trace=environ.get(TRACE) == "1",
        worker_events=is_true(environ.get(prefix + recording.WORKER_EVENTS)),
        cluster_events=is_true(environ.get(prefix + recording.CLUSTER_EVENTS)),
        serve_events=is_true(environ.get(recording.SERVE_EVENTS)),
    )


def is_true(value: Any) -> bool:
    """Whether Ray takes a setting's value for true."""
    return str(value).lower() in ("1", "true")


def place(url: str) -> str:
    """``scheme://host:port`` of a URL, without the secrets in the rest; empty if it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}" if host else ""


def same_place(one: str, other: str) -> bool:
    """Whether two URLs lead to one port of one machine, by whichever of its names."""
    first, second = urlsplit(place(one)), urlsplit(place(other))
    if first.port != second.port or not first.hostname or not second.hostname:
        return False
    return first.hostname == second.hostname or (is_here(first.hostname) and is_here(second.hostname))


def is_here(host: str) -> bool:
    own = {one.address for found in psutil.net_if_addrs().values() for one in found}
    return host in ("localhost", "0.0.0.0", "::") or host.startswith("127.") or host in own  # noqa: S104


def key_in(url: str) -> str:
    """The ingest key in a URL, empty if it holds none."""
    return url.partition("/api/ingest/")[2].partition("/")[0]
