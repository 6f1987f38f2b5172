"""The vocabulary of a Ray cluster's execution, and the merge rule. No I/O."""

from rayscope.model.agent import AgentReport
from rayscope.model.attempt import (
    CUT_OFF,
    PHASES,
    STATES,
    TASK_TYPES,
    Attempt,
    TaskError,
)
from rayscope.model.entity import KINDS, STATES_OF, Entity, Kind, merge_entities
from rayscope.model.records import NO_OBJECT, Annotation, Drop, Edge, RecordBatch, Span

__all__ = [
    "CUT_OFF",
    "KINDS",
    "NO_OBJECT",
    "PHASES",
    "STATES",
    "STATES_OF",
    "TASK_TYPES",
    "AgentReport",
    "Annotation",
    "Attempt",
    "Drop",
    "Edge",
    "Entity",
    "Kind",
    "RecordBatch",
    "Span",
    "TaskError",
    "merge_entities",
]
