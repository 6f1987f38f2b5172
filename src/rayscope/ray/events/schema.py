"""Our protobuf schema of Ray's exported events, the union of those of Ray 2.50 to 2.60.

The Ray installed next to the server may be older or newer than the cluster's, so we do not use its generated
classes. Numbers and types are from ``ray/protobuf/public/events_*.proto`` and ``common.proto``. Nested
messages get names of their own, and messages that we ignore are declared as ``bytes``. Fields that are not
declared are new in Ray: :func:`unknown_fields` finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf import __version__ as _protobuf_version
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from rayscope.model.decoding import DECODE_ERRORS

_UNION_TEXT = """
enum EventType {
  EVENT_TYPE_UNSPECIFIED = 0; TASK_DEFINITION_EVENT = 1; TASK_LIFECYCLE_EVENT = 2;
  ACTOR_TASK_DEFINITION_EVENT = 3; TASK_PROFILE_EVENT = 4; DRIVER_JOB_DEFINITION_EVENT = 5;
  DRIVER_JOB_LIFECYCLE_EVENT = 6; NODE_DEFINITION_EVENT = 7; NODE_LIFECYCLE_EVENT = 8;
  ACTOR_DEFINITION_EVENT = 9; ACTOR_LIFECYCLE_EVENT = 10; PLACEMENT_GROUP_DEFINITION_EVENT = 11;
  PLACEMENT_GROUP_LIFECYCLE_EVENT = 12; SUBMISSION_JOB_DEFINITION_EVENT = 13;
  SUBMISSION_JOB_LIFECYCLE_EVENT = 14; PLATFORM_EVENT = 15; WORKER_LIFECYCLE_EVENT = 16;
  WORKER_DEFINITION_EVENT = 17;
}
enum Severity {
  EVENT_SEVERITY_UNSPECIFIED = 0; TRACE = 1; DEBUG = 2; INFO = 3; WARNING = 4; ERROR = 5; FATAL = 6;
}
message RayEvent {
  bytes event_id = 1; int32 source_type = 2; EventType event_type = 3; Timestamp timestamp = 4;
  Severity severity = 5; string message = 6; string session_name = 7;
  TaskDefinitionEvent task_definition_event = 8;
  TaskLifecycleEvent task_lifecycle_event = 9;
  ActorTaskDefinitionEvent actor_task_definition_event = 10;
  TaskProfileEvents task_profile_events = 11;
  DriverJobDefinitionEvent driver_job_definition_event = 12;
  DriverJobLifecycleEvent driver_job_lifecycle_event = 13;
  NodeDefinitionEvent node_definition_event = 14;
  NodeLifecycleEvent node_lifecycle_event = 15;
  ActorDefinitionEvent actor_definition_event = 16;
  ActorLifecycleEvent actor_lifecycle_event = 17;
  bytes node_id = 18;
  PlacementGroupDefinitionEvent placement_group_definition_event = 19;
  PlacementGroupLifecycleEvent placement_group_lifecycle_event = 20;
  SubmissionJobDefinitionEvent submission_job_definition_event = 21;
  SubmissionJobLifecycleEvent submission_job_lifecycle_event = 22;
  PlatformEvent platform_event = 23;
  WorkerLifecycleEvent worker_lifecycle_event = 24;
  WorkerDefinitionEvent worker_definition_event = 25;
}
message RayEventsData { repeated bytes events = 1; TaskEventsMetadata task_events_metadata = 2; }
message TaskEventsMetadata { repeated TaskAttempt dropped_task_attempts = 2; }
message TaskAttempt { bytes task_id = 1; int32 attempt_number = 2; }

enum Platform { PLATFORM_UNSPECIFIED = 0; KUBERNETES = 1; }
message Source { Platform platform = 1; string component = 2; map<string, string> metadata = 3; }
message PlatformEvent {
  Source source = 1; string object_kind = 2; string object_name = 3; string message = 4; string reason = 5;
  map<string, string> custom_fields = 6;
}

enum TaskType { NORMAL_TASK = 0; ACTOR_CREATION_TASK = 1; ACTOR_TASK = 2; DRIVER_TASK = 3; }
enum Language { PYTHON = 0; JAVA = 1; CPP = 2; }
message FunctionDescriptor {
  JavaFunctionDescriptor java_function_descriptor = 1;
  PythonFunctionDescriptor python_function_descriptor = 2;
  CppFunctionDescriptor cpp_function_descriptor = 3;
}
message JavaFunctionDescriptor { string class_name = 1; string function_name = 2; string signature = 3; }
message PythonFunctionDescriptor {
  string module_name = 1; string class_name = 2; string function_name = 3; string function_hash = 4;
}
message CppFunctionDescriptor { string function_name = 1; string caller = 2; string class_name = 3; }
message RuntimeEnvInfo { string serialized_runtime_env = 1; bytes uris = 2; bytes runtime_env_config = 3; }
message TaskDefinitionEvent {
  bytes task_id = 1; int32 task_attempt = 2; TaskType task_type = 3; Language language = 4;
  FunctionDescriptor task_func = 5; string task_name = 6; map<string, double> required_resources = 7;
  RuntimeEnvInfo runtime_env_info = 8; bytes job_id = 9; bytes parent_task_id = 10;
  bytes placement_group_id = 11; repeated bytes ref_ids = 12; string serialized_runtime_env = 13;
  string call_site = 14; map<string, string> label_selector = 15; bytes fallback_strategy = 16;
  bool is_detached_actor = 17;
}
message ActorTaskDefinitionEvent {
  bytes task_id = 1; int32 task_attempt = 2; Language language = 3; FunctionDescriptor actor_func = 4;
  string actor_task_name = 5; map<string, double> required_resources = 6;
  RuntimeEnvInfo runtime_env_info = 7; bytes job_id = 8; bytes actor_id = 9; bytes parent_task_id = 10;
  bytes placement_group_id = 11; repeated bytes ref_ids = 12; string serialized_runtime_env = 13;
  string call_site = 14; map<string, string> label_selector = 15; bytes fallback_strategy = 16;
  bool is_detached_actor = 17;
}

enum TaskStatus {
  NIL = 0; PENDING_ARGS_AVAIL = 1; PENDING_NODE_ASSIGNMENT = 2; PENDING_OBJ_STORE_MEM_AVAIL = 3;
  PENDING_ARGS_FETCH = 4; SUBMITTED_TO_WORKER = 5; PENDING_ACTOR_TASK_ARGS_FETCH = 6;
  PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY = 7; RUNNING = 8; RUNNING_IN_RAY_GET = 9;
  RUNNING_IN_RAY_WAIT = 10; FINISHED = 11; FAILED = 12; GETTING_AND_PINNING_ARGS = 13;
}
enum ErrorType {
  WORKER_DIED = 0; ACTOR_DIED = 1; OBJECT_UNRECONSTRUCTABLE = 2; TASK_EXECUTION_EXCEPTION = 3;
  OBJECT_IN_PLASMA = 4; TASK_CANCELLED = 5; ACTOR_CREATION_FAILED = 6; RUNTIME_ENV_SETUP_FAILED = 7;
  OBJECT_LOST = 8; OWNER_DIED = 9; OBJECT_DELETED = 10; DEPENDENCY_RESOLUTION_FAILED = 11;
  OBJECT_UNRECONSTRUCTABLE_MAX_ATTEMPTS_EXCEEDED = 12; OBJECT_UNRECONSTRUCTABLE_LINEAGE_EVICTED = 13;
  OBJECT_FETCH_TIMED_OUT = 14; LOCAL_RAYLET_DIED = 15; TASK_PLACEMENT_GROUP_REMOVED = 16;
  ACTOR_PLACEMENT_GROUP_REMOVED = 17; TASK_UNSCHEDULABLE_ERROR = 18; ACTOR_UNSCHEDULABLE_ERROR = 19;
  OUT_OF_DISK_ERROR = 20; OBJECT_FREED = 21; OUT_OF_MEMORY = 22; NODE_DIED = 23;
  END_OF_STREAMING_GENERATOR = 24; ACTOR_UNAVAILABLE = 25;
  GENERATOR_TASK_FAILED_FOR_OBJECT_RECONSTRUCTION = 26; OBJECT_UNRECONSTRUCTABLE_PUT = 27;
  OBJECT_UNRECONSTRUCTABLE_RETRIES_DISABLED = 28; OBJECT_UNRECONSTRUCTABLE_BORROWED = 29;
  OBJECT_UNRECONSTRUCTABLE_REF_NOT_FOUND = 30; OBJECT_UNRECONSTRUCTABLE_TASK_CANCELLED = 31;
  OBJECT_UNRECONSTRUCTABLE_LINEAGE_DISABLED = 32; WORKER_STARTUP_FAILED = 33;
  STREAMING_GENERATOR_REPLAY_INCONSISTENT = 34;
}
message TaskStateTransition { TaskStatus state = 1; Timestamp timestamp = 2; }
message RayErrorInfo {
  bytes actor_died_error = 2; bytes runtime_env_setup_failed_error = 3; bytes actor_unavailable_error = 4;
  string error_message = 5; ErrorType error_type = 11;
}
message TaskLogInfo {
  string stdout_file = 1; string stderr_file = 2; int64 stdout_start = 3; int64 stdout_end = 4;
  int64 stderr_start = 5; int64 stderr_end = 6;
}
message TaskLifecycleEvent {
  bytes task_id = 1; int32 task_attempt = 2; repeated TaskStateTransition state_transitions = 3;
  RayErrorInfo ray_error_info = 4; bytes node_id = 5; bytes worker_id = 6; int32 worker_pid = 7;
  bytes job_id = 8; bool is_debugger_paused = 9; string actor_repr_name = 10; TaskLogInfo task_log_info = 11;
}

message TaskProfileEvents {
  bytes task_id = 1; int32 attempt_number = 2; bytes job_id = 3; ProfileEvents profile_events = 4;
}
message ProfileEvents {
  string component_type = 1; bytes component_id = 2; string node_ip_address = 3;
  repeated ProfileEventEntry events = 4;
}
message ProfileEventEntry {
  int64 start_time = 1; int64 end_time = 2; string extra_data = 3; string event_name = 4;
}

message JobConfig { string serialized_runtime_env = 1; map<string, string> metadata = 2; }
message DriverJobDefinitionEvent {
  bytes job_id = 1; int64 driver_pid = 3; bytes driver_node_id = 4; string entrypoint = 5;
  JobConfig config = 6;
}
enum DriverJobState { UNSPECIFIED = 0; CREATED = 1; FINISHED = 2; }
message DriverJobStateTransition { DriverJobState state = 1; Timestamp timestamp = 2; }
message DriverJobLifecycleEvent {
  bytes job_id = 1; repeated DriverJobStateTransition state_transitions = 2;
}
message SubmissionJobDefinitionEvent {
  string submission_id = 1; string entrypoint = 2; JobConfig config = 3; bytes entrypoint_resources = 4;
}
enum SubmissionJobState {
  UNSPECIFIED = 0; PENDING = 1; RUNNING = 2; STOPPED = 3; SUCCEEDED = 4; FAILED = 5;
}
message SubmissionJobStateTransition {
  SubmissionJobState state = 1; Timestamp timestamp = 2; string message = 3; string error_type = 4;
  bytes driver_node_id = 5; string driver_agent_http_address = 6; optional int32 driver_exit_code = 7;
}
message SubmissionJobLifecycleEvent {
  string submission_id = 1; repeated SubmissionJobStateTransition state_transitions = 2;
}

message NodeDefinitionEvent {
  bytes node_id = 1; string node_ip_address = 2; map<string, string> labels = 3;
  Timestamp start_timestamp = 4; string hostname = 5; string node_name = 6; string instance_id = 7;
  string instance_type_name = 8;
}
enum NodeState { ALIVE = 0; DEAD = 1; }
enum NodeDeathReason {
  UNSPECIFIED = 0; EXPECTED_TERMINATION = 1; UNEXPECTED_TERMINATION = 2; AUTOSCALER_DRAIN_PREEMPTED = 3;
  AUTOSCALER_DRAIN_IDLE = 4;
}
message NodeDeathInfo { NodeDeathReason reason = 1; string reason_message = 2; }
message NodeStateTransition {
  NodeState state = 1; Timestamp timestamp = 2; map<string, double> resources = 3;
  NodeDeathInfo death_info = 4; int32 alive_sub_state = 5;
}
message NodeLifecycleEvent { bytes node_id = 1; repeated NodeStateTransition state_transitions = 2; }

message ActorDefinitionEvent {
  bytes actor_id = 1; bytes job_id = 2; bool is_detached = 3; string name = 4; string ray_namespace = 5;
  string serialized_runtime_env = 6; string class_name = 7; map<string, double> required_resources = 8;
  bytes placement_group_id = 9; map<string, string> label_selector = 11; string call_site = 12;
  bytes parent_id = 13; repeated bytes ref_ids = 14;
}
enum ActorState { DEPENDENCIES_UNREADY = 0; PENDING_CREATION = 1; ALIVE = 2; RESTARTING = 3; DEAD = 4; }
enum ActorRestartReason { ACTOR_FAILURE = 0; LINEAGE_RECONSTRUCTION = 1; NODE_PREEMPTION = 2; }
message ActorStateTransition {
  ActorState state = 1; Timestamp timestamp = 2; bytes node_id = 3; bytes worker_id = 4; string repr_name = 5;
  ActorDeathCause death_cause = 6; uint32 pid = 7; int32 port = 8; ActorRestartReason restart_reason = 9;
}
message ActorLifecycleEvent { bytes actor_id = 1; repeated ActorStateTransition state_transitions = 2; }
message ActorDeathCause {
  RayException creation_task_failure_context = 1; ErrorContext runtime_env_failed_context = 2;
  ActorDiedErrorContext actor_died_error_context = 3; ErrorContext actor_unschedulable_context = 4;
  OomContext oom_context = 5;
}
message RayException {
  int32 language = 1; bytes serialized_exception = 2; string formatted_exception_string = 3;
}
message ErrorContext { string error_message = 1; }
message OomContext { string error_message = 1; bool fail_immediately = 2; }
enum ActorDiedReason {
  UNSPECIFIED = 0; WORKER_DIED = 1; OWNER_DIED = 2; NODE_DIED = 3; RAY_KILL = 4; OUT_OF_SCOPE = 5;
  REF_DELETED = 6;
}
message ActorDiedErrorContext {
  string error_message = 1; bytes owner_id = 2; string owner_ip_address = 3; string node_ip_address = 4;
  uint32 pid = 5; string name = 6; string ray_namespace = 7; string class_name = 8; bytes actor_id = 9;
  bool never_started = 10; bytes node_death_info = 11; ActorDiedReason reason = 12;
}

enum WorkerType { WORKER = 0; DRIVER = 1; SPILL_WORKER = 2; RESTORE_WORKER = 3; }
message WorkerDefinitionEvent {
  bytes worker_id = 1; bytes node_id = 2; WorkerType worker_type = 3; uint32 pid = 4;
}
enum WorkerState { ALIVE = 0; DEAD = 1; }
enum WorkerExitType {
  SYSTEM_ERROR = 0; INTENDED_SYSTEM_EXIT = 1; USER_ERROR = 2; INTENDED_USER_EXIT = 3; NODE_OUT_OF_MEMORY = 4;
}
message WorkerDeathInfo {
  WorkerExitType exit_type = 1; string exit_detail = 2; optional int64 memory_used_bytes = 3;
}
message WorkerStateTransition {
  WorkerState state = 1; Timestamp timestamp = 2; uint64 worker_launch_time_ms = 3;
  uint64 worker_launched_time_ms = 4; uint64 start_time_ms = 5; uint64 end_time_ms = 6;
  WorkerDeathInfo death_info = 7;
}
message WorkerLifecycleEvent {
  bytes worker_id = 1; bytes job_id = 2; repeated WorkerStateTransition state_transitions = 3;
}

enum PlacementStrategy { PACK = 0; SPREAD = 1; STRICT_PACK = 2; STRICT_SPREAD = 3; }
message PlacementGroupDefinitionEvent {
  bytes placement_group_id = 1; string name = 2; string ray_namespace = 3; PlacementStrategy strategy = 4;
  bool is_detached = 5; bytes creator_job_id = 6; bytes creator_actor_id = 7; repeated bytes bundles = 8;
  bytes soft_target_node_id = 9; int64 creation_request_received_ns = 10;
}
enum PlacementGroupState { PENDING = 0; PREPARED = 1; CREATED = 2; REMOVED = 3; RESCHEDULING = 4; }
enum SchedulingState {
  QUEUED = 0; SCHEDULING_REMOVED = 1; SCHEDULING_STARTED = 2; NO_RESOURCES = 3; INFEASIBLE = 4;
  FAILED_TO_COMMIT_RESOURCES = 5; FINISHED = 6;
}
message BundlePlacement { int32 bundle_index = 1; bytes node_id = 2; }
message PlacementGroupStateTransition {
  PlacementGroupState state = 1; Timestamp timestamp = 2; SchedulingState scheduling_state = 3;
  uint32 scheduling_attempt = 4; double highest_retry_delay_ms = 5;
  repeated BundlePlacement bundle_placements = 6;
}
message PlacementGroupLifecycleEvent {
  bytes placement_group_id = 1; repeated PlacementGroupStateTransition state_transitions = 2;
}
"""

_DECLARATION = re.compile(r"(message|enum) (\w+) \{([^}]*)\}")
_FIELD = re.compile(r"(repeated |optional )?(?:map<(\w+), (\w+)>|(\w+)) (\w+) = (\d+)")
_Field = descriptor_pb2.FieldDescriptorProto
_TIMESTAMP_FILE = timestamp_pb2.DESCRIPTOR
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}


#: Exceptions for bytes that are not a valid message, and for messages that :func:`as_json` cannot represent.
ERRORS: tuple[type[Exception], ...] = (DecodeError, json_format.Error, OverflowError, *DECODE_ERRORS)
# The option of ``MessageToDict`` has another name in protobuf 4.
_WITH_DEFAULTS = {
    "including_default_value_fields"
    if _protobuf_version.startswith("4.")
    else "always_print_fields_with_no_presence": True
}


def compile_messages(schema: str) -> Mapping[str, Any]:
    """Compile a schema. Returns the message classes by name, in a separate descriptor pool.

    The schema may use a part of the .proto language: messages and enums without nesting, and ``Timestamp``
    for ``google.protobuf.Timestamp``.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="rayscope/events.proto", package="rayscope", syntax="proto3", dependency=[_TIMESTAMP_FILE.name]
    )
    declared = {name: (kind, body) for kind, name, body in _DECLARATION.findall(schema)}
    for name, (kind, body) in declared.items():
        message = file.message_type.add(name=name)
        if kind == "enum":
            # Names of enum values must be unique in their scope, hence a message for each enum.
            values = message.enum_type.add(name="Value").value
            for field in body.split(";")[:-1]:
                value, _, number = field.split()
                values.add(name=value, number=int(number))
        else:
            for field in body.split(";")[:-1]:
                _add_field(message, field.strip(), {n for n, (kind, _) in declared.items() if kind == "enum"})
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_TIMESTAMP_FILE.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"rayscope.{name}"))
        for name, (kind, _) in declared.items()
        if kind == "message"
    }


def _add_field(message: Any, text: str, enums: set[str]) -> None:
    matched = _FIELD.fullmatch(text)
    assert matched, text  # noqa: S101
    label, key, value, kind, name, number = matched.groups()
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    if label == "repeated ":
        field.label = _Field.LABEL_REPEATED
    elif label == "optional ":
        field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    if key:
        field.label = _Field.LABEL_REPEATED
        entry = message.nested_type.add(name="".join(map(str.capitalize, name.split("_"))) + "Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_SCALARS[key])
        entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL, type=_SCALARS[value])
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".rayscope.{message.name}.{entry.name}"
    elif kind in _SCALARS:
        field.type = _SCALARS[kind]
    elif kind in enums:
        field.type, field.type_name = _Field.TYPE_ENUM, f".rayscope.{kind}.Value"
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = ".google.protobuf.Timestamp" if kind == "Timestamp" else f".rayscope.{kind}"


UNION = compile_messages(_UNION_TEXT)


def enum_names(enum: str) -> dict[int, str]:
    """Number -> name of an enum in ``UNION``."""
    holder = UNION["RayEvent"].DESCRIPTOR.file.message_types_by_name[enum]
    return {value.number: value.name for value in holder.enum_types_by_name["Value"].values}


def as_json(message: Any) -> dict[str, Any]:
    """Convert a message to JSON like Ray's exporter. Raises one of :data:`ERRORS`."""
    return dict(json_format.MessageToDict(message, **_WITH_DEFAULTS))


def unknown_fields(message: Any) -> Iterator[str]:
    """Undeclared fields in a message of ``UNION``, such as ``TaskLifecycleEvent #12``.

    If a field holds several messages, only the first one is checked.
    """
    for field in UnknownFieldSet(message):
        yield f"{message.DESCRIPTOR.name} #{field.field_number}"
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        inner = value if hasattr(value, "DESCRIPTOR") else value[0]
        yield from unknown_fields(inner)
