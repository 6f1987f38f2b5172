"""Publishes how much slower than usual the newest runs of a session were, for alerts."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.metrics.collector import Cluster
from rayscope.model.metric import Family, Sample, sample
from rayscope.runs.judge import groups
from rayscope.runs.service import Runs

SLOWER = Family(
    "rayscope_run_slower_ratio",
    "gauge",
    "By which share of the usual duration the newest run of a script was slower than usual, or 0.",
)
#: Maximum number of groups of a session: those whose newest run began last.
_MAX_GROUPS = 50


class RunCollector:
    """A metrics collector that all sessions share.

    A sample belongs to the session in which the newest run of its group took place, so that only one session
    has it. There is none for a run whose verdict is unknown.
    """

    interval_s = 10.0
    timeout_s = 5.0

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def collector(self) -> RunCollector:
        """The collector of a session."""
        return self

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """The samples of ``rayscope_run_slower_ratio``."""
        yield SLOWER
        runs, judged = self._runs.judged()
        own = {run.group for run in runs if run.summary.session == cluster.session}
        newest = [group[-1] for key, group in groups(runs).items() if key in own]
        newest = [run for run in newest if run.summary.session == cluster.session]
        newest.sort(key=lambda run: -run.begin_ns)
        for run in newest[:_MAX_GROUPS]:
            judgment = judged[run.key]
            if judgment.ratio is None:
                continue
            script, variant = run.group
            value = judgment.ratio - 1 if judgment.verdict == "slower" else 0.0
            yield sample(SLOWER.name, value, job_id=run.summary.job_id, script=script, variant=variant)
