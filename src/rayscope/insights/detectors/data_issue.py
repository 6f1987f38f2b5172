"""Issues reported by Ray Data's own detectors."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.risks import find_data_issues


class DataIssue:
    """Ray Data warned about an operator while it executed a dataset: tasks that hang, or use much memory.

    Limits: those of Ray Data's issue detectors, which are configured, switched on and switched off in
    ``DataContext.issue_detectors_config``. Ray 2.60 looks for hanging tasks only if the program adds that
    detector. For each dataset, operator and kind of issue, a process reports only the first message, up to
    1000 characters. Ray 2.50 loses most of them.

    Needs: the tracer in the process that executes the dataset: the driver, or an actor.
    """

    kind = "data_issue"
    title = "Ray Data reports an issue"
    advice = "Ray Data says of the operator {operator} ({issue}): {message}"
    sketch = ""
    doc = "Ray Data: monitoring your workload"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One finding for each operator and issue."""
        return find_data_issues(facts)
