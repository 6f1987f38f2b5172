"""A head node that is overloaded."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding

#: The head node's CPUs count as full from this use on, %.
_FULL_PERCENT = 95.0
#: The head node must be full in more than this share of the samples.
_MIN_FULL_SHARE = 0.5
#: The average CPU use of the other nodes must be below this, %.
_MAX_OTHERS_PERCENT = 50.0
#: Minimum number of samples for a judgment.
_MIN_SAMPLES = 3


class HeadOverloaded:
    """The head node's CPUs are all busy for most of the job while the other nodes are idle.

    Limits: 95 % or more in most samples, 3 at least, while the others are below 50 % on average.

    Needs: two nodes or more, and their CPU metric from the job's time.
    """

    kind = "head_overloaded"
    title = "The head node is overloaded"
    advice = (
        "The head node's CPUs were {head_busy:.0%} busy on average, and those of the other {workers} nodes "
        "{others_busy:.0%}. The scheduler, the object directory and mostly the driver run there, and wait "
        "for CPU too. Keep tasks and actors off the head node (num_cpus=0), or take a larger machine for it."
    )
    sketch = "ray start --head --num-cpus=0"
    doc = "configuring the head node of large clusters"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """The head node if it is overloaded. It is always the first of the nodes."""
        if len(facts.recorded.nodes) < 2:
            return
        series = facts.series("ray_node_cpu_utilization")
        head = [value for _, value in series.get(0, [])]
        others = [value for node, points in series.items() if node for _, value in points]
        full = sum(value >= _FULL_PERCENT for value in head)
        if len(head) < _MIN_SAMPLES or not others or full <= _MIN_FULL_SHARE * len(head):
            return
        mean = sum(others) / len(others)
        if mean < _MAX_OTHERS_PERCENT:
            yield Finding(
                round(facts.duration_ns * full / len(head)),
                confidence="medium",
                numbers={
                    "head_busy": sum(head) / len(head) / 100,
                    "others_busy": mean / 100,
                    "workers": len(series) - 1,
                    "full_share": full / len(head),
                },
            )
