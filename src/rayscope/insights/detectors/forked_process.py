"""Drivers and workers that fork."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.risks import find_risks


class ForkedProcess:
    """A driver, task or actor forks, so that the new process shares Ray's connections.

    Limits: one ``os.fork``, as ``multiprocessing`` and ``concurrent.futures`` do it on Linux before Python
    3.14. Programs that ``subprocess`` runs do not count, and neither do forks of torch and of Ray's
    libraries. How often a process does it is rounded down to a power of ten.

    Needs: the tracer in the process that forks.
    """

    kind = "forked_process"
    title = "A driver or worker forks"
    advice = (
        "{place} forked {forks} times or more. The new process has copies of Ray's connections, but not of "
        "the threads that use them and of the locks that those held: messages get mixed up, and it may hang. "
        'Start processes with the method "spawn", or use tasks and actors instead.'
    )
    sketch = (
        'context = multiprocessing.get_context("spawn")\n'
        "with ProcessPoolExecutor(mp_context=context) as pool: ..."
    )
    doc = "anti-pattern: forking new processes in application code"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions, and the driver, by the places where they fork."""
        return find_risks(facts, "fork", "forks")
