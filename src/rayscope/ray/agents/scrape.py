"""Scrapes Ray's own metrics: the Prometheus text that each node's agent serves on ``metrics_export_port``.

Connections are persistent. Several nodes are scraped concurrently, each with limits on time, size and series.
The text has no node ID, so each series gets the ID of the node that it was scraped from.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from rayscope.model.metric import Family, Sample
from rayscope.ray.agents.persistent_http import PersistentHttp
from rayscope.ray.prometheus_text import Read, TextReader, described

#: Number of nodes scraped at the same time.
_CONCURRENCY = 16
#: A request that would be delayed by no more than this, in seconds, is sent at once.
_SOON_S = 0.01
_MAX_BYTES = 32 << 20
#: Labels to drop, because they are the same everywhere in a session or carry no information.
_NEEDLESS = frozenset(
    ("SessionName", "Version", "otel_scope_name", "otel_scope_schema_url", "otel_scope_version")
)
#: Histograms of Ray's internals with 30 buckets per method. Only their sums and counts are kept.
_INTERNAL = (
    "autoscaler_",
    "ray_dashboard_",
    "ray_gcs_",
    "ray_grpc_",
    "ray_health_check_",
    "ray_io_context_",
    "ray_object_store_dist",
    "ray_operation_",
    "ray_scheduler_placement_time_",
    "ray_worker_register_time_",
)
#: Names of the series to keep if there is room for only a few series per node, most important first.
_FIRST = (
    "ray_node_cpu_utilization",
    "ray_node_mem_used",
    "ray_node_mem_total",
    "ray_object_store_used_memory",
    "ray_object_store_available_memory",
    "ray_node_gpus_utilization",
    "ray_node_gram_used",
    "ray_node_gram_available",
    "ray_node_disk_utilization_percentage",
    "ray_node_network_send_speed",
    "ray_node_network_receive_speed",
    "ray_node_cpu_count",
    "ray_node_disk_io_read_speed",
    "ray_node_disk_io_write_speed",
)
#: If there is room for fewer series per node than this, only those in ``_FIRST`` are parsed.
_NARROW = 50
_RANK = {name: rank for rank, name in enumerate(_FIRST)}
_FIRST_LINES = re.compile(rf"\n((?:{'|'.join(sorted(_FIRST))})[{{ ][^\n]*)")
#: If there is room for only a few series, every 12th response of a node is still parsed in full, to read the
#: descriptions and to count the dropped series.
_FULL_EVERY = 12


class Endpoint(NamedTuple):
    """The address of a node's metrics.

    ``session``: keep only series with this ``SessionName``, because clusters on one machine share the port.
    """

    node_id: str
    host: str
    port: int
    session: str | None = None


class ScrapeResult(NamedTuple):
    """The result of scraping one node.

    Attributes:
        starts: the counters that began since the node was last scraped, with the value that they had then: 0.
        left_out: number of series beyond the limit.
        took_s: duration of the request, s.
        cpu_s: CPU time, s.
        error: why there is no data, or None.
        refused: whether nothing listens on the port.
    """

    endpoint: Endpoint
    samples: list[Sample]
    families: list[Family]
    starts: list[Sample]
    left_out: int
    took_s: float
    cpu_s: float
    error: str | None = None
    refused: bool = False


def is_wanted_first(name: str) -> bool | None:
    """Like :func:`is_wanted`, but None for series that are dropped if there is room for only a few."""
    return True if name in _RANK else None if is_wanted(name) else False


def is_left_out(name: str) -> bool:
    """Whether series of this name are dropped because they are buckets of Ray's internal histograms."""
    return name.endswith("_bucket") and name.startswith(_INTERNAL)


def is_wanted(name: str) -> bool:
    """Whether to keep series of this name from Ray's text.

    Series about the exporter's process, buckets of internal histograms, and buckets of names without the
    prefix ``ray_`` are dropped.
    """
    if name.endswith("_bucket"):
        return name.startswith("ray_") and not is_left_out(name)
    return not name.startswith(("python_", "process_")) and name != "target_info"


class _Target:
    """An endpoint with its connection, and the parser that caches its series."""

    def __init__(self, endpoint: Endpoint, *, narrow: bool) -> None:
        self.endpoint = endpoint
        self.narrow = narrow
        headers = {"Accept": "text/plain;version=0.0.4"}
        self.http = PersistentHttp(endpoint.host, endpoint.port, headers, max_bytes=_MAX_BYTES)
        mine = {"node_id": endpoint.node_id, "node_ip": endpoint.host}
        self._reader = TextReader(
            is_wanted_first if narrow else is_wanted,
            lambda labels: {k: v for k, v in labels.items() if k not in _NEEDLESS} | mine,
        )
        self._readings = 0
        self._left_out = 0

    def read(self, timeout_s: float) -> Read:
        """Fetch and parse the current text. Raises OSError."""
        reply = self.http.request("GET", "/metrics", timeout_s)
        if reply.status != 200:
            raise OSError(f"it answered {reply.status}")
        text = reply.body.decode(errors="replace")
        if self.endpoint.session is not None:
            text = _of_session(text, self.endpoint.session)
        whole = not self.narrow or self._readings % _FULL_EVERY == 0
        read = self._reader.read(text if whole else "\n".join(_FIRST_LINES.findall("\n" + text)))
        self._left_out = read.left_out if whole else self._left_out
        self._readings += 1
        return read._replace(left_out=self._left_out)


def _of_session(text: str, session: str) -> str:
    mark = f'SessionName="{session}"'
    return "\n".join(line for line in text.split("\n") if line.startswith("#") or mark in line)


class Scraper:
    """Scrapes the nodes of one cluster. :meth:`scrape` must be called by one thread at a time."""

    def __init__(self, *, concurrency: int = _CONCURRENCY, timeout_s: float = 3.0) -> None:
        self._timeout_s = timeout_s
        self._targets: dict[Endpoint, _Target] = {}
        self._pool = ThreadPoolExecutor(concurrency, "rayscope-scrape")
        self._closing = threading.Event()

    def scrape(
        self,
        endpoints: Sequence[Endpoint],
        max_series: int,
        *,
        deadline_s: float = 60.0,
        spread_s: float = 0.0,
    ) -> list[ScrapeResult]:
        """Scrape all endpoints.

        Args:
            endpoints: the nodes.
            max_series: maximum number of series kept per node.
            deadline_s: time limit for all nodes together, s.
            spread_s: time over which to spread the requests, to leave CPU time for other work, s.
        """
        for gone in self._targets.keys() - set(endpoints):
            self._targets.pop(gone).http.close()
        narrow = max_series < _NARROW
        for endpoint in endpoints:
            known = self._targets.get(endpoint)
            if known is None or known.narrow != narrow:
                if known is not None:
                    known.http.close()
                self._targets[endpoint] = _Target(endpoint, narrow=narrow)
        targets = [self._targets[endpoint] for endpoint in endpoints]
        began = time.monotonic()
        until = began + deadline_s

        jobs = []
        for at, target in enumerate(targets):
            early_s = began + at * spread_s / len(targets) - time.monotonic()
            if early_s > _SOON_S:
                self._closing.wait(early_s)
            jobs.append(self._pool.submit(self._scrape, target, max_series, until))
        return [job.result() for job in jobs]

    def close(self) -> None:
        """Close the connections. A scrape in progress ends early."""
        self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for target in self._targets.values():
            target.http.close()

    def _scrape(self, target: _Target, max_series: int, until: float) -> ScrapeResult:
        endpoint, began, cpu = target.endpoint, time.monotonic(), time.thread_time()
        samples: list[Sample] = []
        families: list[Family] = []
        starts: list[Sample] = []
        left_out = 0
        error: str | None = None
        refused = False
        if self._closing.is_set() or began > until:
            error = "not asked in time"
        else:
            try:
                read = target.read(min(until - began, self._timeout_s))
                samples, left_out = read.samples, read.left_out
                new = read.new
                if len(samples) > max_series:
                    samples.sort(key=lambda sample: _RANK.get(sample.name, len(_RANK)))
                    left_out += len(samples) - max_series
                    del samples[max_series:]
                    new = []
                families = described({sample.name for sample in samples}, read.families)
                counters = {family.name for family in families if family.is_cumulative}
                starts = [Sample(name, labels, 0.0) for name, labels in new if name in counters]
            except (OSError, ValueError) as problem:
                error = str(problem) or type(problem).__name__
                refused = isinstance(problem, ConnectionRefusedError)
        took_s = time.monotonic() - began
        cpu_s = time.thread_time() - cpu
        return ScrapeResult(endpoint, samples, families, starts, left_out, took_s, cpu_s, error, refused)
