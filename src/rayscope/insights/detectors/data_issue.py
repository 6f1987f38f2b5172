"""What Ray Data's own detectors report."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.risks import find_data_issues


class DataIssue:
    """Ray Data warned of an operator while it executed a dataset: tasks that hang, or use much memory.

    Limits: those of Ray Data's issue detectors, which are set and switched on and off in
    ``DataContext.issue_detectors_config``. Ray 2.60 looks for tasks that hang only if the program adds that
    detector. Of each dataset, operator and kind of issue, the first message of a process is told, and 1000
    letters of it. Ray 2.50 loses most of them.

    Needs: the tracer in the process that executes the dataset: the driver, or an actor.
    """

    kind = "data_issue"
    title = "Ray Data reports an issue"
    advice = "Ray Data says of the operator {operator} ({issue}): {message}"
    sketch = ""
    doc = "Ray Data: monitoring your workload"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Operators, and what is said of them."""
        return find_data_issues(facts)
