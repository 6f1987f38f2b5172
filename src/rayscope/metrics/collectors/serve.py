"""The collector for Serve's deployments. Only newer versions of Ray have series with their state."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.metrics.collector import Cluster
from rayscope.model.metric import Family, Sample, sample
from rayscope.storage.session_file import SessionFile

#: Maximum number of deployments with series of their own.
_MAX_DEPLOYMENTS = 500
_UNHEALTHY = ("UNHEALTHY", "DEPLOY_FAILED")


class Serve:
    """Health, target number of replicas, and number of running replicas of each deployment."""

    interval_s = 0.0
    timeout_s = 10.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Samples of at most 500 existing deployments. ``left_out`` counts the others."""
        names = (
            "rayscope_serve_deployment_healthy",
            "rayscope_serve_target_replicas",
            "rayscope_serve_running_replicas",
        )
        healthy, target, running = names
        yield Family(
            healthy, "gauge", "0 while Serve calls the deployment UNHEALTHY or DEPLOY_FAILED, else 1."
        )
        yield Family(target, "gauge", "How many replicas a deployment is to have.", "count")
        yield Family(running, "gauge", "How many replicas of a deployment run.", "count")
        rows, others = cluster.record(_deployments)
        for application, deployment, state, replicas, count in rows:
            labels = {"application": application, "deployment": deployment}
            yield sample(healthy, state not in _UNHEALTHY, **labels)
            if replicas is not None:
                yield sample(target, replicas, **labels)
            yield sample(running, count, **labels)
        cluster.left_out += len(names) * others


def _deployments(file: SessionFile) -> tuple[list[tuple[str, str, str | None, int | None, int]], int]:
    with file.reader() as reader:
        found = reader.execute(
            """
            SELECT d.application, d.name, d.state, d.target_replicas, coalesce(r.running, 0), count(*) OVER ()
            FROM serve_deployment_rows d LEFT JOIN (
                SELECT application, deployment, count(*) FILTER (state = 'RUNNING') AS running
                FROM serve_replica_rows GROUP BY ALL
            ) r ON r.application = d.application AND r.deployment = d.name
            WHERE d.state NOT IN ('DELETED', 'CUT_OFF') AND d.application IS NOT NULL AND d.name IS NOT NULL
            ORDER BY d.application, d.name LIMIT ?
            """,
            [_MAX_DEPLOYMENTS],
        ).fetchall()
    return [row[:5] for row in found], found[0][5] - len(found) if found else 0
