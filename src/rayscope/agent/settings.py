"""Names of the environment variables through which a node's settings reach its agent."""

#: "1" lets the agent take the fast lane; without it ``rayscope.pth`` does nothing at all.
FAST_LANE = "RAYSCOPE_FAST_LANE"
#: How many bytes of events may wait in an agent while the server does not take them.
BUFFER_BYTES = "RAYSCOPE_AGENT_BUFFER_BYTES"
DEFAULT_BUFFER_BYTES = 128 << 20
#: Ray's: where the agent posts events.
EXPORT_ADDR = "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"
#: Ray's: which kinds of events it may send.
EXPOSABLE_TYPES = "RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES"
#: Ray's: the id of the node that a process belongs to, hex.
NODE_ID = "RAY_NODE_ID"

#: What each Ray from 2.50 to 2.60 can send and we can read. "ALL" would do for Ray 2.54 and later; to the
#: earlier ones it is the name of a kind that does not exist, and they send nothing.
EVENT_TYPES = (
    "TASK_DEFINITION_EVENT",
    "TASK_LIFECYCLE_EVENT",
    "TASK_EXECUTION_EVENT",
    "ACTOR_TASK_DEFINITION_EVENT",
    "ACTOR_TASK_EXECUTION_EVENT",
    "TASK_PROFILE_EVENT",
    "DRIVER_JOB_DEFINITION_EVENT",
    "DRIVER_JOB_LIFECYCLE_EVENT",
    "SUBMISSION_JOB_DEFINITION_EVENT",
    "SUBMISSION_JOB_LIFECYCLE_EVENT",
    "NODE_DEFINITION_EVENT",
    "NODE_LIFECYCLE_EVENT",
    "ACTOR_DEFINITION_EVENT",
    "ACTOR_LIFECYCLE_EVENT",
    "WORKER_DEFINITION_EVENT",
    "WORKER_LIFECYCLE_EVENT",
    "PLACEMENT_GROUP_DEFINITION_EVENT",
    "PLACEMENT_GROUP_LIFECYCLE_EVENT",
    "PLATFORM_EVENT",
)
