"""What the nodes' Prometheus endpoints say, asked once a step for all collectors that tell parts of it."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rayscope.model.metric import Family, Sample
from rayscope.ray.agents.scrape import Endpoint, Scraper, ScrapeResult
from rayscope.ray.gcs.node_table import NodeAddress

#: Reading the texts may take this share of one core.
LOAD = 0.1
#: Share of a session's series that the nodes' own may take, and what a node has in any case.
_SHARE = 0.8
_MIN_SERIES = 12
#: Series of the autoscaler, and of the dashboard.
_MAX_HEAD_SERIES = 500
#: How far apart nodes are asked, s: in a burst of 1,000 texts nothing else would be answered.
_APART_S = 0.002
#: Which collector tells the names with a beginning; ``ray`` tells the rest.
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
    """All texts of one step. ``samples`` and ``families`` by collector; ``asked``: the endpoint of each node.

    ``head``: those of the autoscaler and the dashboard on the head node.
    """

    samples: dict[str, list[Sample]]
    families: dict[str, list[Family]]
    asked: list[ScrapeResult]
    cpu_s: float
    head: Sequence[ScrapeResult] = ()


class TextsNotDue(Exception):
    """The texts of so many nodes are read less often than each step."""


def owner(name: str) -> str:
    """The collector that tells a name of Ray's text."""
    return next((who for beginning, who in _OWNERS if name.startswith(beginning)), "ray")


class RayText:
    """The endpoints of one cluster. Thread-safe: the first caller reads them, the others wait for it."""

    def __init__(self, step_s: float, max_series: int, session: str) -> None:
        self._session = session
        self._scraper = Scraper()
        # The nodes' figures wait for these two, so they get little time.
        self._head_scraper = Scraper(concurrency=2, timeout_s=1.0)
        self._step_ns = int(step_s * 1e9)
        self._max_series = max_series
        self._lock = threading.Lock()
        self._time_ns = self._due_ns = 0
        self._texts: Texts | None = None
        self._owners: dict[str, str] = {}

    def read(self, time_ns: int, nodes: Sequence[NodeAddress]) -> Texts:
        """What the nodes say at a step. Raises TextsNotDue."""
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
            asked = self._scraper.scrape(endpoints, each, deadline_s=8.0, spread_s=spread_s)
            head = self._head_scraper.scrape(
                [
                    Endpoint(node.node_id, node.host, port, self._session)
                    for node in nodes
                    for port in node.head_ports
                ],
                _MAX_HEAD_SERIES,
            )
            self._texts, self._time_ns = self._sorted(asked, head), time_ns
            pause_ns = int(self._texts.cpu_s / LOAD * 1e9)
            self._due_ns = time_ns + (0 if pause_ns <= self._step_ns else pause_ns)
            return self._texts

    def _sorted(self, asked: list[ScrapeResult], head: list[ScrapeResult]) -> Texts:
        samples: dict[str, list[Sample]] = defaultdict(list)
        families: dict[str, dict[str, Family]] = defaultdict(dict)
        owners = self._owners
        for scraped in (*asked, *head):
            for sample in scraped.samples:
                who = owners.get(sample.name)
                if who is None:
                    who = owners[sample.name] = owner(sample.name)
                samples[who].append(sample)
            for family in scraped.families:
                families[owner(family.name)][family.name] = family
        named = {who: list(known.values()) for who, known in families.items()}
        return Texts(samples, named, asked, sum(scraped.cpu_s for scraped in (*asked, *head)), head)

    @property
    def interval_s(self) -> float:
        """How often the texts are read at present."""
        return max(self._step_ns, self._due_ns - self._time_ns) / 1e9

    def close(self) -> None:
        """Close the connections."""
        self._scraper.close()
        self._head_scraper.close()
