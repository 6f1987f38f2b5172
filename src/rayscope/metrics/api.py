"""Routes for metrics: newest values, names, and what Prometheus needs to scrape us and the nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
from fastapi import Query
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Cursor, Limit, Session, Text
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.metrics import schemas
from rayscope.metrics.collectors.cluster import FIGURES
from rayscope.metrics.service import CurrentMetrics, Metrics
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Labels
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.sql.pages import decode_cursor, encode_cursor
from rayscope.version import __version__

_MAX_NAMES = 2000
#: Name of the sort order of the newest values, as stored in cursors.
_ORDER = "name"
#: Number of the newest sessions that our own metrics summarize. Live sessions are always included.
_MAX_SESSIONS = 50

Pairs = Annotated[
    list[str] | None, Query(max_length=20, description="NAME=VALUE; can be repeated, and all must match.")
]


router = Router()


@router.get("/api/v1/metrics")
def latest(
    records: CurrentRecords,
    metrics: CurrentMetrics,
    session: Session = None,
    name: Text = None,
    collector: Text = None,
    label: Pairs = None,
    limit: Limit = 500,
    cursor: Cursor = None,
) -> Json[schemas.LatestAnswer]:
    """The newest value of each series with a name or prefix (``ray_node_*``), of one collector, or of all.

    Rayscope's own names come first.
    """
    chosen = records.resolve(session)
    store = metrics.store(chosen)
    wanted = [_pair(text) for text in label or ()]
    names = _names(store, name)
    if collector:
        of_collector = collected(store, collector)
        names = of_collector if names is None else sorted(set(names) & set(of_collector))
    found, total = store.newest(names, limit + 1, wanted, place_of(cursor, _ORDER) if cursor else None)
    following = None
    if len(found) > limit:
        found.pop()
        following = encode_cursor([_ORDER, found[-1].name, sorted(found[-1].labels.items())])
    return answer(
        {
            "session": chosen,
            "time_ns": store.newest_ns,
            "items": [
                {"name": each.name, "labels": each.labels, "value": each.value, "time_ns": each.time_ns}
                for each in found
            ],
            "next": following,
            "total": total,
            "series": store.series,
            **metrics.state(chosen),
        }
    )


@router.get("/api/v1/metrics/names")
def names(
    records: CurrentRecords, metrics: CurrentMetrics, session: Session = None, q: Text = None
) -> Json[schemas.NamesAnswer]:
    """The available metrics with type, unit, and labels. ``q`` searches their names and help texts."""
    chosen = records.resolve(session)
    store = metrics.store(chosen)
    families, counts = store.families(), store.counts()
    labels = store.all_labels(counts)
    text = (q or "").lower()
    items = [
        (name, family)
        for name in sorted(counts)
        for family in [families.get(name)]
        if text in name.lower() or (family is not None and text in family.help.lower())
    ]
    return answer(
        {
            "session": chosen,
            "items": [
                {
                    "name": name,
                    "type": "unknown" if family is None else family.type,
                    "help": "" if family is None else family.help,
                    "unit": "" if family is None else family.unit,
                    "series": counts[name],
                    "labels": labels[name],
                }
                for name, family in items[:_MAX_NAMES]
            ],
            "total": len(items),
        }
    )


@router.get("/api/v1/metrics/label-values")
def label_values(
    records: CurrentRecords,
    metrics: CurrentMetrics,
    label: Annotated[str, Query(min_length=1, max_length=500)],
    session: Session = None,
    name: Text = None,
    limit: Limit = 1000,
) -> Json[schemas.LabelValuesAnswer]:
    """The values of a label in the series with a name or prefix (``ray_node_*``), or in all series."""
    chosen = records.resolve(session)
    store = metrics.store(chosen)
    items = store.label_values(label, _names(store, name) or store.names())
    return answer({"session": chosen, "items": items[:limit], "total": len(items)})


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
def ours(catalog: CurrentCatalog, metrics: CurrentMetrics) -> Response:
    """Rayscope's own metrics, and a summary of the newest sessions, as Prometheus text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Ours(catalog, metrics))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


@router.get(
    "/api/v1/prometheus/sd",
)
def discovery(metrics: CurrentMetrics) -> Json[list[schemas.DiscoveredTarget]]:
    """The metric endpoints of all live sessions' nodes, for Prometheus' HTTP service discovery."""
    return answer([target for session in metrics.live() for target in _targets(metrics, session)])


def _names(store: SeriesStore, pattern: str | None) -> list[str] | None:
    if not pattern or pattern == "*":
        return None
    if pattern.endswith("*"):
        return [name for name in store.names() if name.startswith(pattern[:-1])]
    return [pattern]


def collected(store: SeriesStore, collector: str) -> list[str]:
    """The names of the metrics that a collector provides. Raises BadQuery if it provides none."""
    families = store.families().values()
    names = [family.name for family in families if family.collector == collector]
    if not names:
        known = sorted({family.collector for family in families} - {""})
        raise BadQuery(
            f"No metric of this session is from a collector {collector[:40]!r}.",
            f"Use one of: {', '.join(known)}." if known else "Leave `collector` out: older records lack it.",
        )
    return names


def place_of(cursor: str, order: str) -> tuple[str, Labels]:
    """The series at which the previous page ended. ``order``: sort order of the list. Raises BadQuery."""
    _, name, labels = decode_cursor(cursor, order, [str, list])
    try:
        return name, msgspec.convert(labels, Labels)
    except msgspec.ValidationError as error:
        raise BadQuery("Invalid cursor.", "Use `next` of the previous page, unchanged.") from error


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadQuery(f"label={text[:100]} has no value.", "Use label=NAME=VALUE, such as label=node_id=...")
    return name, value


def _targets(metrics: Metrics, session: str) -> Iterator[schemas.DiscoveredTarget]:
    for node in metrics.addresses(session):
        if node.alive and node.port > 0:
            host = f"[{node.host}]" if ":" in node.host else node.host
            yield {
                "targets": [f"{host}:{port}" for port in (node.port, *node.head_ports)],
                "labels": {
                    "__meta_rayscope_session": session,
                    "__meta_rayscope_node_id": node.node_id,
                    "__meta_rayscope_node_ip": node.host,
                    "__meta_rayscope_hostname": node.hostname,
                    "__meta_rayscope_is_head": str(node.is_head).lower(),
                },
            }


class _Ours(Collector):
    """The server's own metrics without labels, and a summary of each session with the label ``session``."""

    def __init__(self, catalog: Catalog, metrics: Metrics) -> None:
        self._catalog = catalog
        self._metrics = metrics

    def collect(self) -> Iterable[GaugeMetricFamily | CounterMetricFamily]:
        """Collect the current values."""
        yield GaugeMetricFamily("rayscope_up", "Always 1.", value=1)
        version = GaugeMetricFamily("rayscope_version", "Always 1.", labels=["version"])
        version.add_metric([__version__], 1)
        yield version
        for name, value in self._metrics.server_figures().items():
            family = FIGURES[name]
            kind = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
            yield kind(name, family.help, value=float(value))
        clients = self._metrics.push_clients()
        yield GaugeMetricFamily("rayscope_push_clients", "Open WebSockets of the live push.", value=clients)
        yield from self._sessions()

    def _sessions(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        live = self._metrics.live()
        known = self._catalog.names()
        abouts = []
        for at, name in enumerate(known):
            if name in live or at < _MAX_SESSIONS:
                with contextlib.suppress(NotFound):  # retention has just deleted it
                    abouts.append(self._catalog.about(name))
        yield GaugeMetricFamily("rayscope_sessions", "Sessions on record.", value=len(known))
        gauges = {
            "live": "Whether the session's cluster is being measured.",
            "nodes": "Nodes on record.",
            "actors": "Actors on record.",
            "jobs": "Jobs on record.",
            "task_attempts": "Task attempts on record by state.",
            "metrics_series": "Series of metrics in memory.",
            "metrics_left_out": "Series of metrics dropped because of the limit.",
        }
        made = {
            what: GaugeMetricFamily(
                f"rayscope_session_{what}",
                text,
                labels=["session", "state"] if what == "task_attempts" else ["session"],
            )
            for what, text in gauges.items()
        }
        events = CounterMetricFamily(
            "rayscope_session_events_received_total", "Events ingested.", labels=["session"]
        )
        dropped = CounterMetricFamily(
            "rayscope_session_events_dropped_total", "Events dropped.", labels=["session"]
        )
        for about in abouts:
            name, store = about.session, live.get(about.session)
            made["live"].add_metric([name], float(store is not None))
            made["nodes"].add_metric([name], about.nodes)
            made["actors"].add_metric([name], about.actors)
            made["jobs"].add_metric([name], about.jobs)
            for state, count in sorted(about.states.items()):
                made["task_attempts"].add_metric([name, state], count)
            if store is not None:
                made["metrics_series"].add_metric([name], store.series)
                made["metrics_left_out"].add_metric([name], store.left_out)
            events.add_metric([name], about.events)
            dropped.add_metric([name], about.dropped_total)
        yield from made.values()
        yield from (events, dropped)
