"""Reads the metrics of the nodes during a job."""

from __future__ import annotations

import logging
import math
from collections import defaultdict

from rayscope.insights.finding import Points, ReadSeries
from rayscope.insights.replay.recorded import Recorded
from rayscope.metrics.service import Metrics
from rayscope.model.metric import Matcher
from rayscope.storage.errors import StoreError

log = logging.getLogger("rayscope.insights")

#: Maximum number of samples of a series that detectors get. Longer series are thinned out.
_MAX_POINTS = 200


def series_reader(metrics: Metrics, session: str, recorded: Recorded) -> ReadSeries:
    """A function that reads a metric by node for the time when the job ran. It returns nothing if the metric
    cannot be read.
    """
    begin_ns, end_ns = (recorded.begin_ns + time for time in recorded.driver)
    nodes = {node.node_id: place for place, node in enumerate(recorded.nodes)}

    def read(metric: str, labels: dict[str, str]) -> dict[int, Points]:
        matchers = [Matcher(label, "=", value) for label, value in labels.items()]
        try:
            found = metrics.store(session).select(metric, matchers, begin_ns, end_ns).series
        except StoreError as error:
            log.warning("no metrics of %s: %s", session, error)
            return {}
        sums: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for one in found:
            node = nodes.get(one.labels.get("node_id", ""))
            if node is None:
                continue
            every = max(1, -(-len(one.times_ns) // _MAX_POINTS))
            for time_ns, value in zip(
                one.times_ns[::every].tolist(), one.values[::every].tolist(), strict=True
            ):
                if not math.isnan(value):
                    sums[node][time_ns - recorded.begin_ns] += value
        return {node: sorted(points.items()) for node, points in sums.items()}

    return read
