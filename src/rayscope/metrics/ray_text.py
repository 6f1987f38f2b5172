"""Scrapes the nodes' Prometheus endpoints once per step for all collectors that use a part of the metrics."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rayscope.model.metric import Family, Sample
from rayscope.ray.agents.scrape import Endpoint, Scraper, ScrapeResult
from rayscope.ray.gcs.node_table import NodeAddress

#: Maximum share of one core that scraping may use.
LOAD = 0.1
#: Share of a session's maximum number of series that is available for the nodes' series.
_SHARE = 0.8
#: Number of series that each node may always have, however many nodes there are.
_MIN_SERIES = 12
#: Maximum number of series of the autoscaler and of the dashboard, each.
_MAX_HEAD_SERIES = 500
#: Interval between the requests to two nodes, s. A burst of 1,000 responses would block everything else.
_APART_S = 0.002
#: Prefix of a name -> the collector that provides it. ``ray`` provides all others.
_OWNERS = (
    ("ray_node_network_", "network"),
    ("ray_node_gpu", "gpu"),
    ("ray_node_gram", "gpu"),
    ("ray_component_gpu", "gpu"),
    ("ray_tpu_", "gpu"),
    ("ray_node_", "node"),
    ("ray_component_", "memory"),
    ("ray_memory_manager_", "memory"),
    ("ray_object_", "objects"),
    ("ray_owned_objects", "objects"),
    ("ray_spill_manager_", "objects"),
    ("ray_pull_manager_", "objects"),
    ("ray_push_manager_", "objects"),
)


class Texts(NamedTuple):
    """The content of all endpoints at a step.

    Attributes:
        samples: by collector.
        families: by collector.
        starts: by collector, see :class:`ScrapeResult`.
        results: the result of scraping each node.
        cpu_s: CPU time for scraping, s.
        head: results for the autoscaler and the dashboard on the head node.
    """

    samples: dict[str, list[Sample]]
    families: dict[str, list[Family]]
    starts: dict[str, list[Sample]]
    results: list[ScrapeResult]
    cpu_s: float
    head: Sequence[ScrapeResult] = ()


class TextsNotDue(Exception):
    """The endpoints are not scraped at this step. With many nodes, steps are skipped to save CPU time."""


def owner(name: str) -> str:
    """The collector that provides the metric of Ray's with this name."""
    return next((who for beginning, who in _OWNERS if name.startswith(beginning)), "ray")


class RayText:
    """The endpoints of one cluster.

    Thread-safe: the first caller scrapes them, and others wait for the result.
    """

    def __init__(self, step_s: float, max_series: int, session: str) -> None:
        self._session = session
        self._scraper = Scraper()
        # The nodes' results wait for these two endpoints, which therefore have a short timeout.
        self._head_scraper = Scraper(concurrency=2, timeout_s=1.0)
        self._step_ns = int(step_s * 1e9)
        self._max_series = max_series
        self._lock = threading.Lock()
        self._time_ns = self._due_ns = 0
        self._texts: Texts | None = None
        self._owners: dict[str, str] = {}

    def read(self, time_ns: int, nodes: Sequence[NodeAddress]) -> Texts:
        """Scrape the nodes for a step. Raises TextsNotDue."""
        with self._lock:
            if self._texts is not None and time_ns <= self._time_ns:
                return self._texts
            if time_ns < self._due_ns:
                raise TextsNotDue
            endpoints = [
                Endpoint(node.node_id, node.host, node.port) for node in nodes if node.alive and node.port > 0
            ]
            each = max(_MIN_SERIES, int(self._max_series * _SHARE / max(1, len(endpoints))))
            spread_s = min(len(endpoints) * _APART_S, self._step_ns / 2e9)
            results = self._scraper.scrape(endpoints, each, deadline_s=8.0, spread_s=spread_s)
            head = self._head_scraper.scrape(
                [
                    Endpoint(node.node_id, node.host, port, self._session)
                    for node in nodes
                    for port in node.head_ports
                ],
                _MAX_HEAD_SERIES,
            )
            self._texts, self._time_ns = self._sorted(results, head), time_ns
            pause_ns = int(self._texts.cpu_s / LOAD * 1e9)
            self._due_ns = time_ns + (0 if pause_ns <= self._step_ns else pause_ns)
            return self._texts

    def _sorted(self, results: list[ScrapeResult], head: list[ScrapeResult]) -> Texts:
        samples: dict[str, list[Sample]] = defaultdict(list)
        families: dict[str, dict[str, Family]] = defaultdict(dict)
        starts: dict[str, list[Sample]] = defaultdict(list)
        owners = self._owners
        for scraped in (*results, *head):
            for sample in scraped.samples:
                who = owners.get(sample.name)
                if who is None:
                    who = owners[sample.name] = owner(sample.name)
                samples[who].append(sample)
            for start in scraped.starts:
                starts[owners[start.name]].append(start)
            for family in scraped.families:
                families[owner(family.name)][family.name] = family
        named = {who: list(known.values()) for who, known in families.items()}
        return Texts(
            samples, named, starts, results, sum(scraped.cpu_s for scraped in (*results, *head)), head
        )

    @property
    def interval_s(self) -> float:
        """Current interval between readings, s."""
        return max(self._step_ns, self._due_ns - self._time_ns) / 1e9

    def close(self) -> None:
        """Close the connections."""
        self._scraper.close()
        self._head_scraper.close()
