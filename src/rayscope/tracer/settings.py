"""Names of the environment variables through which the command line speaks to a driver."""

#: Ray's: ``module.function`` that ``ray.init()`` calls in every driver with the runtime environment.
RUNTIME_ENV_HOOK = "RAY_RUNTIME_ENV_HOOK"
#: The hook that was set before ours; it takes our place once ours has run.
CHAINED_HOOK = "RAYSCOPE_CHAINED_RUNTIME_ENV_HOOK"
#: Where to POST ``{"session": ..., "timeout_s": ...}`` before a local cluster is stopped.
DRAIN_URL = "RAYSCOPE_DRAIN_URL"
#: The process id of the `rayscope run` that started the program, if it starts the next server of several.
RUN_PID = "RAYSCOPE_RUN_PID"
#: Ray's: how often a worker sends its task events, ms.
REPORT_INTERVAL_MS = "RAY_task_events_report_interval_ms"
DEFAULT_REPORT_INTERVAL_MS = 1000

#: Our hook as Ray wants it named.
HOOK = "rayscope.tracer.hook.runtime_env_hook"

#: "1" lets drivers and workers trace; without it ``rayscope.pth`` does nothing in them.
TRACE = "RAYSCOPE_TRACE"
#: Ray's: how many profile events of one task a worker may send at a time.
MAX_SPANS = "RAY_task_events_max_num_profile_events_per_task"
