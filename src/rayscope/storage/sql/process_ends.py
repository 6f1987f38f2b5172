"""SQL that finds the end of a worker's process, as the node's agent saw it."""

from __future__ import annotations

#: A process whose end the agent saw this long before or after that of a worker is the worker, in ns. Process
#: IDs are reused.
_SAME_NS = 120 * 10**9
#: SQL condition: the process end ``p`` may be that of the worker ``w``.
IS_OF_WORKER = f"p.node_id = w.node_id AND p.pid = w.pid AND abs(p.end_ns - w.end_ns) < {_SAME_NS}"
#: SQL condition for ``QUALIFY``: of those, it is the one closest in time.
IS_CLOSEST = "row_number() OVER (PARTITION BY w.id ORDER BY abs(p.end_ns - w.end_ns)) = 1"
