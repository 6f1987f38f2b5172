"""Reading a session: lists with filters, sort and keyset pages, a task's detail, the summary.

Nothing of a request becomes SQL text: columns and orders are looked up in tables of constants, values are
parameters.
"""

from rayscope.store.query.attempts import get_task, list_attempts
from rayscope.store.query.entities import get_entity, list_entities
from rayscope.store.query.figures import (
    counts,
    dropped,
    failures,
    functions,
    nodes,
    orphans,
    resources_total,
    span_count,
    time_range,
)
from rayscope.store.query.flame import PathSums, path_sums
from rayscope.store.query.flow import scheduling, tracing
from rayscope.store.query.logical import LogicalRows, logical_rows
from rayscope.store.query.pages import MAX_LIMIT, Page
from rayscope.store.query.physical import Housed, housed
from rayscope.store.query.range import RangeSums, range_sums
from rayscope.store.query.stack import InFlight, activity, in_flight
from rayscope.store.query.transfers import Transfers, transfers

__all__ = [
    "MAX_LIMIT",
    "Housed",
    "InFlight",
    "LogicalRows",
    "Page",
    "PathSums",
    "RangeSums",
    "Transfers",
    "activity",
    "counts",
    "dropped",
    "failures",
    "functions",
    "get_entity",
    "get_task",
    "housed",
    "in_flight",
    "list_attempts",
    "list_entities",
    "logical_rows",
    "nodes",
    "orphans",
    "path_sums",
    "range_sums",
    "resources_total",
    "scheduling",
    "span_count",
    "time_range",
    "tracing",
    "transfers",
]
