"""The facts of ``rayscope doctor`` as plain data, and helpers to interpret environment variables and URLs."""

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
    from rayscope.ray.gcs.snapshot import TaskSource


@dataclass(frozen=True)
class NodeEnv:
    """The recording settings with which a node's processes were started, without the ingest key."""

    export_to: str = ""  # scheme://host:port and the root path
    ours: bool = False  # whether the export goes to a Rayscope server
    key_fits: bool | None = None  # None if the key of the queried server is unknown here
    fast_lane: bool = False
    profiling: bool = False
    trace: bool = False
    worker_events: bool = False
    cluster_events: bool = False
    serve_events: bool = False


@dataclass(frozen=True)
class Node:
    """A live node. ``env``, ``agent_pid``, and ``python`` are known only for the nodes on this machine.

    ``debugpy``: whether tasks there can wait for a debugger. It is None if that is unknown or if RAY_DEBUG
    selects another debugger.
    """

    node_id: str
    address: str = ""
    head: bool = False
    local: bool = False
    env: NodeEnv | None = None
    agent_pid: int | None = None
    python: str = ""  # the Python that runs Ray's agent
    lane: str | None = None  # as the server reports it, or None if it does not know the session
    lane_code: str | None = None
    lane_reason: str | None = None
    agent: Mapping[str, Any] | None = None  # the agent's own figures, as in GET /api/v1/recording
    us_an_event: float | None = None  # CPU time of our code in the agent per event, in µs
    since_start: bool = False  # whether us_an_event is the average since the agent's start
    received: int | None = None  # events during the measurement, by Ray's own counter
    lost: int | None = None  # events since the agent's start, by Ray's own counters
    debugpy: bool | None = None


@dataclass(frozen=True)
class Driver:
    """A driver that is running on this machine."""

    pid: int
    worker_events: bool
    profiling: bool
    trace: bool = True


@dataclass(frozen=True)
class ServerFacts:
    """The queried server. ``url`` is None if there is none. ``known``: it has the session on record."""

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
    """The result of reading the whole GCS once. If it failed, ``seconds`` is None and ``error`` says why.

    ``tasks_from``: the service that has the tasks, or None if there are none.
    """

    seconds: float | None = None
    attempts: int = 0
    entities: int = 0
    dropped: int = 0
    tasks_from: TaskSource | None = None
    error: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Measured:
    """Results of the measurement. ``cpu``: CPU seconds of processes on this machine, by kind of process."""

    seconds: float = 0.0
    ended: int | None = None  # attempts in the whole cluster
    ended_here: int | None = None  # attempts on nodes of this machine
    cpu: Mapping[str, float] = field(default_factory=dict)
    spans: int | None = None
    probe: bool = False
    probe_error: str = ""


@dataclass(frozen=True)
class Facts:
    """All facts. ``config`` is the cluster's system configuration, or None if it is unknown."""

    address: str
    session: str
    ray_version: str = ""
    nodes: tuple[Node, ...] = ()
    drivers: tuple[Driver, ...] = ()
    config: Mapping[str, Any] | None = None
    server: ServerFacts = field(default_factory=ServerFacts)
    reading: Reading = field(default_factory=Reading)
    measured: Measured = field(default_factory=Measured)
    data_dir: str = ""  # as given by the user

    def as_json(self) -> dict[str, Any]:
        """Return the facts for ``--format json``, without the server's complete responses."""
        fields = asdict(self)
        fields["server"].pop("recording")
        fields["server"].pop("ingest")
        return fields


def node_env(environ: Mapping[str, str], key: str = "") -> NodeEnv:
    """Return the recording settings in ``environ``. ``key`` is the queried server's ingest key, if known."""
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
    """Return whether Ray interprets the value of a setting as true."""
    return str(value).lower() in ("1", "true")


def place(url: str) -> str:
    """Return ``scheme://host:port`` of a URL ('' without a host), and the root path of an ingest URL.

    The rest, possibly secret, is dropped.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    root_path, is_ours, _ = parts.path.partition("/api/ingest/")
    return (
        f"{parts.scheme}://{host}{f':{port}' if port else ''}{root_path if is_ours else ''}" if host else ""
    )


def same_place(url: str, other_url: str) -> bool:
    """Return whether two URLs refer to the same port of the same machine, under any of its names."""
    first, second = urlsplit(place(url)), urlsplit(place(other_url))
    if first.port != second.port or not first.hostname or not second.hostname:
        return False
    return first.hostname == second.hostname or (is_here(first.hostname) and is_here(second.hostname))


def is_here(host: str) -> bool:
    own = {each.address for found in psutil.net_if_addrs().values() for each in found}
    return host in ("localhost", "0.0.0.0", "::") or host.startswith("127.") or host in own  # noqa: S104


def key_in(url: str) -> str:
    """Return the ingest key that a URL contains, or ''."""
    return url.partition("/api/ingest/")[2].partition("/")[0]
