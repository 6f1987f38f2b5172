"""Names of the environment variables that pass a node's settings to its agent."""

#: "1" enables the fast lane. Without it, ``rayscope.pth`` does nothing.
FAST_LANE = "RAYSCOPE_FAST_LANE"
#: Maximum size of events waiting in an agent while the server does not accept them, in bytes.
BUFFER_BYTES = "RAYSCOPE_AGENT_BUFFER_BYTES"
DEFAULT_BUFFER_BYTES = 128 << 20
#: "0" keeps the agent from watching how the processes of its node end.
WATCH_EXITS = "RAYSCOPE_WATCH_EXITS"
#: "0" keeps the agent from watching the GPUs of its node.
WATCH_GPUS = "RAYSCOPE_WATCH_GPUS"
#: Ray's variable for the address to which the agent posts events.
EXPORT_ADDR = "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"
#: Ray's variable for the kinds of events that the agent may send.
EXPOSABLE_TYPES = "RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES"
#: Ray's variable for the ID of a process's node, in hex.
NODE_ID = "RAY_NODE_ID"

#: Events that every Ray from 2.50 to 2.60 can send and Rayscope can read. "ALL" would work for Ray 2.54 and
#: later. Earlier versions treat it as the name of an unknown kind, and send nothing.
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
