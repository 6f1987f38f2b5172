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
        "Processes forked at {place}: at least {forks}. A forked process shares Ray's connections, but has "
        "none of the threads that serve them: messages may get mixed up, and the process may hang on a lock "
        'that such a thread held. Start processes with the method "spawn", or use tasks and actors instead.'
    )
    sketch = (
        'context = multiprocessing.get_context("spawn")\n'
        "with ProcessPoolExecutor(mp_context=context) as pool: ..."
    )
    doc = "anti-pattern: forking new processes in application code"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions, and the driver, with the places where they fork."""
        return find_risks(facts, "fork", "forks")
