"""A head node that has too much to do."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding

#: So busy are the head node's CPUs, %, in most samples...
_BUSY_PERCENT = 95.0
_MOST = 0.5
#: ... while those of the others are idle, %.
_IDLE_PERCENT = 50.0
_LEAST = 3


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
        """The head node, if it is. It is the first of the nodes."""
        if len(facts.recorded.nodes) < 2:
            return
        series = facts.series("ray_node_cpu_utilization")
        head = [value for _, value in series.get(0, [])]
        others = [value for node, points in series.items() if node for _, value in points]
        full = sum(value >= _BUSY_PERCENT for value in head)
        if len(head) < _LEAST or not others or full <= _MOST * len(head):
            return
        mean = sum(others) / len(others)
        if mean < _IDLE_PERCENT:
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
