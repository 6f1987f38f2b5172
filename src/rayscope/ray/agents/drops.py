"""What a node's dashboard agent lost of the event stream: its own counters are the only mark of a gap.

The agent serves them as Prometheus text on the node's ``metrics_export_port``, without authentication
(names: ``ray/dashboard/modules/aggregator/`` in Ray's source).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import lru_cache

import httpx

from rayscope.model import Drop

_TIMEOUT_S = 3.0
_MAX_BYTES = 32 * 2**20
PREFIX = "ray_aggregator_agent_"
_CONSUMER = re.compile(r'[{,]?consumer="([^"]*)"', re.I)
# Counters of events that are gone. ``filtered_events`` are left out on request, not lost.
_LOSSES = (
    "queue_dropped_events",
    "publish_failures",
    "events_buffer_add_failures",
    "task_metadata_buffer_dropped_attempts",
)


@lru_cache(maxsize=1)
def _client() -> httpx.Client:
    """One for all: to make one reads the machine's certificates, which takes longer than the question."""
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))


def read_agent_drops(host: str, port: int, timeout_s: float = _TIMEOUT_S) -> list[Drop]:
    """The loss counters of the agent at ``host:port`` that are above zero, one :class:`Drop` for each.

    An agent that cannot be reached gives none: the node table says whether the node lives.
    """
    lines = read_agent_counters(host, port, timeout_s)
    return [] if lines is None else parse_drops(lines, f"agent {_shown(host)}:{port}", time.time_ns())


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def read_agent_counters(host: str, port: int, timeout_s: float = _TIMEOUT_S) -> list[str] | None:
    """The lines of Prometheus text in which an agent counts its events, None if it cannot be asked.

    The text is read as a stream, at most ``timeout_s`` seconds and 32 MiB of it.
    """
    lines: list[str] = []
    deadline = time.monotonic() + timeout_s
    try:
        with _client().stream("GET", f"http://{_shown(host)}:{port}/metrics", timeout=timeout_s) as response:
            if response.status_code != 200:
                return None
            size = 0
            for line in response.iter_lines():
                size += len(line)
                if line.startswith(PREFIX):
                    lines.append(line)
                if size > _MAX_BYTES or time.monotonic() > deadline:
                    break
    except (httpx.HTTPError, httpx.InvalidURL):
        return None
    return lines


def parse_drops(lines: Iterable[str], source: str, now_ns: int) -> list[Drop]:
    """Prometheus text lines to the losses in them, label sets summed."""
    counts: dict[str, float] = {}
    for line in lines:
        if not line.startswith(PREFIX):
            continue
        name, _, rest = line.partition("{")
        if rest:
            value = rest.rpartition("}")[2]
        else:
            name, _, value = line.partition(" ")
        reason = _loss(name[len(PREFIX) :])
        consumer = _CONSUMER.search(rest)
        if reason is None or (consumer is not None and not consumer[1].startswith("http")):
            continue  # what other readers of the agent's events missed, we need not have
        try:
            counts[reason] = counts.get(reason, 0.0) + float(value.split()[0])
        except (ValueError, IndexError):
            continue
    return [
        Drop(source, reason, int(count), now_ns) for reason, count in sorted(counts.items()) if count >= 1
    ]


def _loss(name: str) -> str | None:
    """The loss that a metric counts. Exporters append ``_total`` to a counter's name, some twice."""
    name = name.removesuffix("_total").removesuffix("_total")
    if name.endswith("task_metadata_buffer_dropped_attempts"):
        return name  # one for each publisher
    return name if name in _LOSSES else None
