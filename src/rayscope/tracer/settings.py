"""Names of the environment variables that configure the tracer in drivers and workers."""

#: Ray's variable: the ``module.function`` that ``ray.init()`` calls in every driver with the runtime
#: environment.
RUNTIME_ENV_HOOK = "RAY_RUNTIME_ENV_HOOK"
#: The hook that was configured before ours, restored once ours has run.
CHAINED_HOOK = "RAYSCOPE_CHAINED_RUNTIME_ENV_HOOK"
#: URL to which a driver posts ``{"session": ..., "timeout_s": ...}`` before it stops its local cluster.
DRAIN_URL = "RAYSCOPE_DRAIN_URL"
#: Process ID of the `rayscope run` that started the program and starts a new server if the current one ends.
RUN_PID = "RAYSCOPE_RUN_PID"
#: Ray's variable: the interval at which a worker sends its task events, in ms.
REPORT_INTERVAL_MS = "RAY_task_events_report_interval_ms"
DEFAULT_REPORT_INTERVAL_MS = 1000

#: Our hook, as ``module.function``.
HOOK = "rayscope.tracer.hook.runtime_env_hook"

#: "1" enables tracing in drivers and workers. Otherwise ``rayscope.pth`` does nothing in them.
TRACE = "RAYSCOPE_TRACE"
#: "0" keeps the tracer from measuring the peak memory of attempts, which resets ``VmHWM`` of the workers.
MEMORY = "RAYSCOPE_TRACE_MEMORY"
#: How many samples of stacks the tracer takes per second in each process: 0 to 20, by default 1.
SAMPLES = "RAYSCOPE_TRACE_SAMPLES"
#: "0" keeps the tracer from sending the text of the lines of code that samples show.
SOURCE = "RAYSCOPE_TRACE_SOURCE"
#: Ray's variable: the maximum number of profile events that a worker sends per task and interval.
MAX_SPANS = "RAY_task_events_max_num_profile_events_per_task"
