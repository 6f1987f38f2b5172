"""Reading a session: lists with filters, sort and keyset pages, a task's detail, the summary.

Nothing of a request becomes SQL text: columns and orders are looked up in tables of constants, values are
parameters.
"""

from rayscope.store.query.attempts import get_task, list_attempts
from rayscope.store.query.data_edges import unnamed_objects
from rayscope.store.query.entities import Beside, get_entity, jobs_of_driver, list_entities
from rayscope.store.query.events import list_events
from rayscope.store.query.failures import failure_groups
from rayscope.store.query.figures import (
    counts,
    dropped,
    failures,
    functions,
    nodes,
    orphans,
    resources_total,
    span_count,
    stored_attempts,
    time_range,
)
from rayscope.store.query.flame import PathSums, path_part, path_sums, paths_to
from rayscope.store.query.flow import scheduling, tracing
from rayscope.store.query.logical import LogicalRows, attempts_where, logical_part, logical_rows
from rayscope.store.query.logical_laid_out import can_lay_out, is_laid_out, lay_out, logical_laid_out
from rayscope.store.query.logs import (
    actors_of_workers,
    job_places,
    log_nodes,
    node_of_worker,
    nodes_of_workers,
    workers_of_actor,
    workers_of_job,
)
from rayscope.store.query.memory import Maker, makers
from rayscope.store.query.pages import MAX_LIMIT, Page, given
from rayscope.store.query.physical import Housed, housed
from rayscope.store.query.progress import functions_of, tasks_by_job
from rayscope.store.query.range import RangeSums, range_sums
from rayscope.store.query.stack import InFlight, activity, in_flight
from rayscope.store.query.transfers import Transfers, transfers
from rayscope.store.query.waiting import Pending, dead_nodes, last_nodes, pending, workers_alive

__all__ = [
    "MAX_LIMIT",
    "Beside",
    "Housed",
    "InFlight",
    "LogicalRows",
    "Maker",
    "Page",
    "PathSums",
    "Pending",
    "RangeSums",
    "Transfers",
    "activity",
    "actors_of_workers",
    "attempts_where",
    "can_lay_out",
    "counts",
    "dead_nodes",
    "dropped",
    "failure_groups",
    "failures",
    "functions",
    "functions_of",
    "get_entity",
    "get_task",
    "given",
    "housed",
    "in_flight",
    "is_laid_out",
    "job_places",
    "jobs_of_driver",
    "last_nodes",
    "lay_out",
    "list_attempts",
    "list_entities",
    "list_events",
    "log_nodes",
    "logical_laid_out",
    "logical_part",
    "logical_rows",
    "makers",
    "node_of_worker",
    "nodes",
    "nodes_of_workers",
    "orphans",
    "path_part",
    "path_sums",
    "paths_to",
    "pending",
    "range_sums",
    "resources_total",
    "scheduling",
    "span_count",
    "stored_attempts",
    "tasks_by_job",
    "time_range",
    "tracing",
    "transfers",
    "unnamed_objects",
    "workers_alive",
    "workers_of_actor",
    "workers_of_job",
]
