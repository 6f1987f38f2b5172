"""Reads from a node's dashboard agent how many events it lost. Nothing but its counters shows such gaps.

The agent serves the counters as Prometheus text on the node's ``metrics_export_port``, without
authentication. Their names are in ``ray/dashboard/modules/aggregator/`` of Ray's source.
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
# Counters of lost events. ``filtered_events`` is not included, because those events are excluded on purpose.
_LOSSES = (
    "queue_dropped_events",
    "publish_failures",
    "events_buffer_add_failures",
    "task_metadata_buffer_dropped_attempts",
)


@lru_cache(maxsize=1)
def _client() -> httpx.Client:
    """A shared client. Creating one loads the machine's certificates, which takes longer than a request."""
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))


def read_agent_drops(host: str, port: int, timeout_s: float = _TIMEOUT_S) -> list[Drop]:
    """Return a :class:`Drop` for each loss counter above zero of the agent at ``host:port``.

    If the agent is unreachable, the list is empty: the node table shows whether the node is alive.
    """
    lines = read_agent_counters(host, port, timeout_s)
    return [] if lines is None else parse_drops(lines, f"agent {_shown(host)}:{port}", time.time_ns())


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def read_agent_counters(host: str, port: int, timeout_s: float = _TIMEOUT_S) -> list[str] | None:
    """The lines of Prometheus text with an agent's event counters, or None if the agent is unreachable.

    The text is streamed and limited to ``timeout_s`` seconds and 32 MiB.
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
    """Parse losses from lines of Prometheus text. Samples with different labels are added up."""
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
            continue  # events that only other consumers of the agent lost do not concern us
        try:
            counts[reason] = counts.get(reason, 0.0) + float(value.split()[0])
        except (ValueError, IndexError):
            continue
    return [
        Drop(source, reason, int(count), now_ns) for reason, count in sorted(counts.items()) if count >= 1
    ]


def _loss(name: str) -> str | None:
    """The loss counted by a metric, or None. Exporters append ``_total`` to a counter's name, some twice."""
    name = name.removesuffix("_total").removesuffix("_total")
    if name.endswith("task_metadata_buffer_dropped_attempts"):
        return name  # each publisher has its own metric of this kind
    return name if name in _LOSSES else None
