"""Types of Ray's exported events in JSON (``ray/protobuf/public/events_*.proto``).

Only fields that we read are declared: msgspec skips the others at parser speed. IDs are base64 in JSON and
``bytes`` here. 64-bit integers are strings. An enum value without a name in Ray is a number. Timestamps stay
strings, see :func:`rayscope.ray.timestamps.parse_ns`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Enum = str | int
Int64 = str | int
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]


class _Part(msgspec.Struct, rename="camel", gc=False):
    pass


class Function(_Part):
    class_name: str = ""
    function_name: str = ""
    module_name: str = ""  # only for Python functions, like ``function_hash``
    function_hash: str = ""


class FunctionDescriptor(_Part):
    python_function_descriptor: Function | None = None
    java_function_descriptor: Function | None = None
    cpp_function_descriptor: Function | None = None


class RuntimeEnvInfo(_Part):
    serialized_runtime_env: str = ""
    runtime_env_config: Any = None  # how to create the environment, not what it contains


class TaskDefinition(_Part):
    """TASK_DEFINITION_EVENT and, with the ``actor_`` names, ACTOR_TASK_DEFINITION_EVENT."""

    task_id: bytes
    task_attempt: Int32 = 0
    task_type: Enum = "ACTOR_TASK"
    language: Enum = "PYTHON"
    task_func: FunctionDescriptor | None = None
    actor_func: FunctionDescriptor | None = None
    task_name: str = ""
    actor_task_name: str = ""
    required_resources: dict[str, float] = {}
    job_id: bytes = b""
    actor_id: bytes = b""
    parent_task_id: bytes = b""
    placement_group_id: bytes = b""
    serialized_runtime_env: str = ""
    runtime_env_info: RuntimeEnvInfo | None = None  # Ray 2.50
    call_site: str | None = None
    label_selector: dict[str, str] = {}


class StateTransition(_Part):
    timestamp: str
    state: Enum = 0


class ErrorInfo(_Part):
    error_message: str = ""
    error_type: Enum = "WORKER_DIED"


class TaskLogInfo(_Part):
    stdout_file: str = ""
    stderr_file: str = ""
    stdout_start: Int64 = 0
    stdout_end: Int64 = 0
    stderr_start: Int64 = 0
    stderr_end: Int64 = 0


class TaskLifecycle(_Part):
    """TASK_LIFECYCLE_EVENT, called TASK_EXECUTION_EVENT in Ray 2.50."""

    task_id: bytes
    task_attempt: Int32 = 0
    state_transitions: list[StateTransition] = []
    task_state: dict[str, str] = {}  # Ray 2.50: number of a TaskStatus -> timestamp
    ray_error_info: ErrorInfo | None = None
    node_id: bytes = b""
    worker_id: bytes = b""
    worker_pid: Int32 = 0
    job_id: bytes = b""
    actor_repr_name: str | None = None
    task_log_info: TaskLogInfo | None = None


class ProfileEvent(_Part):
    event_name: str
    start_time: Int64
    end_time: Int64
    extra_data: str = ""


class ProfileEvents(_Part):
    component_type: str = ""
    component_id: bytes = b""
    events: list[ProfileEvent] = []


class TaskProfile(_Part):
    task_id: bytes
    attempt_number: Int32 = 0
    job_id: bytes = b""
    profile_events: ProfileEvents | None = None


class Event(_Part):
    """The envelope. Only ``session_name`` identifies the cluster of an event."""

    event_type: Enum
    session_name: str = ""
    timestamp: str = ""
    event_id: Any = None  # read for platform events only, like ``severity``
    severity: Any = None
    task_definition_event: TaskDefinition | None = None
    actor_task_definition_event: TaskDefinition | None = None
    task_lifecycle_event: TaskLifecycle | None = None
    task_execution_event: TaskLifecycle | None = None
    task_profile_events: TaskProfile | None = None
    driver_job_definition_event: dict[str, Any] | None = None
    driver_job_lifecycle_event: dict[str, Any] | None = None
    submission_job_definition_event: dict[str, Any] | None = None
    submission_job_lifecycle_event: dict[str, Any] | None = None
    node_definition_event: dict[str, Any] | None = None
    node_lifecycle_event: dict[str, Any] | None = None
    actor_definition_event: dict[str, Any] | None = None
    actor_lifecycle_event: dict[str, Any] | None = None
    worker_definition_event: dict[str, Any] | None = None
    worker_lifecycle_event: dict[str, Any] | None = None
    placement_group_definition_event: dict[str, Any] | None = None
    placement_group_lifecycle_event: dict[str, Any] | None = None
    platform_event: dict[str, Any] | None = None


#: Keys in events of Ray 2.50 to 2.60 that we ignore on purpose, so they are not reported as unknown.
IGNORED_KEYS = frozenset(
    (
        *("sourceType", "message", "nodeId", "nodeIpAddress"),
        *("refIds", "fallbackStrategy", "isDetachedActor", "isDebuggerPaused"),
        *("actorDiedError", "runtimeEnvSetupFailedError", "actorUnavailableError", "signature", "caller"),
    )
)
