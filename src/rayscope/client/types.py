"""What the server answers and takes: dicts whose keys docs/reference/api.md explains.

Fields named ``*_ns`` are integer nanoseconds (times since the epoch, or durations), sizes are bytes, ids are
Ray's hex; None is unknown. A newer server may tell more than stands here.

Generated from the server's schemas by `make types`: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class AckBody(TypedDict):
    """Acknowledge an alert."""

    session: NotRequired[str | None]
    fingerprint: str
    by: str
    comment: NotRequired[str]


class AckInfo(TypedDict):
    """The acknowledgement of an alert."""

    by: str
    comment: str
    time_ns: int


class ActivityAnswer(TypedDict):
    """How many attempts were in flight, ran, and failed in equal parts of the session's time."""

    session: str
    begin_ns: int | None
    end_ns: int | None
    bucket_ns: int | None
    in_flight: list[float]
    running: list[float]
    failed: list[int]


class ActorsChange(TypedDict):
    """A class has ``count`` more actors, which share its calls."""

    kind: Literal["actors"]
    class_name: str
    count: int


class AgentFigures(TypedDict):
    """Figures reported by a node's agent. Counts are totals since its process started."""

    pid: int
    ray_version: str
    rayscope_version: str
    time_ns: int
    since_ns: int
    received: int
    sent: int
    waiting: int
    raw_bytes: int
    sent_bytes: int
    bodies: int
    refused: int
    trouble: str | None
    busy_s: float
    cpu_s: float
    lost: int
    dropped_attempts: int


class AlertEvent(TypedDict):
    """A transition, and the series that caused it."""

    time_ns: int
    rule: str
    fingerprint: str
    before: Literal["inactive", "pending", "firing", "resolved", "ended"]
    after: Literal["inactive", "pending", "firing", "resolved", "ended"]
    labels: dict[str, str]
    annotations: dict[str, str]
    value: float | None
    threshold: float | None
    op: str | None
    times_ms: list[int]
    values: list[float | None]


class AlertInfo(TypedDict):
    """
    One alert. Times that do not apply are 0. ``silenced_by`` has the silences that match it now.

    ``condition`` is the rule's expression with the duration for which it must hold.
    """

    fingerprint: str
    rule: str
    condition: str
    labels: dict[str, str]
    annotations: dict[str, str]
    state: Literal["pending", "firing", "resolved", "ended"]
    severity: str
    value: float | None
    active_ns: int
    fired_ns: int
    resolved_ns: int
    keep_ns: int
    ack: AckInfo | None
    silenced_by: list[str]


class AlertsAnswer(TypedDict):
    """
    The alerts of a session. If it is not ``live``, ``items`` are those firing or pending at its end.

    ``firing`` includes alerts that fired until the session ended. ``info`` of these have the severity
    ``info``.
    """

    session: str
    live: bool
    evaluated_ns: int | None
    firing: int
    info: int
    pending: int
    items: list[AlertInfo]
    left_out: int
    resolved: list[AlertInfo]
    resolved_left_out: int


class AmountOf(TypedDict):
    """The amounts of one resource."""

    total: float
    available: float
    used: float


class AnnotationItem(TypedDict):
    """An annotation of a task by user code."""

    attempt: int
    kind: str
    name: str
    value: str
    number: float | None
    time_ns: int


class Attached(TypedDict):
    """The session of the attached cluster."""

    session: str


class AutoscalerStatus(TypedDict):
    """
    The autoscaler's own report: nodes by type, and what it could not start.

    ``failed``: node types and reasons. ``infeasible``: shapes that no type of node can hold.
    """

    version: int
    active: dict[str, int]
    idle: dict[str, int]
    pending: dict[str, int]
    failed: list[tuple[str, str]]
    infeasible: list[dict[str, float]]
    time_ns: int | None


class AwaitedFunction(TypedDict):
    """A function of whose tasks an attempt awaits ``count``; ``task_id``: one of them."""

    name: str
    count: int
    task_id: str


class AwaitedTask(TypedDict):
    """A task whose value another one awaits as an argument, and which is not ready yet."""

    task_id: str
    name: str | None
    state: str | None


class BatchChange(TypedDict):
    """Each call of a function does the work of ``size`` calls."""

    kind: Literal["batch"]
    function: str
    size: int


class Calibration(TypedDict):
    """
    How long the job took, how long its unchanged replay takes, and the relative difference.

    ``ray_ns``: how much longer it takes if Ray needs twice the time for its own part; null if nothing is
    predicted.
    """

    recorded_ns: int
    replayed_ns: int | None
    error: float | None
    ray_ns: int | None


class CellNodes(TypedDict):
    """
    Nodes as columns, the head first and then by name. ``workers`` excludes Ray's own processes, which
    ``internal`` counts.
    """

    id: list[str]
    name: list[str]
    is_head: list[bool]
    workers: list[int]
    internal: list[int]
    running: list[int]


class CellWorkers(TypedDict):
    """
    Workers as columns, sorted by node. ``key``: the beginning of the ID. Numbers, except ``pid`` and
    ``running``, are indexes into ``nodes``, ``kinds``, ``classes`` and ``functions``; -1 means none.
    """

    key: list[str]
    node: list[int]
    kind: list[int]
    pid: list[int]
    actor_class: list[int]
    function: list[int]
    running: list[int]


class Changed(TypedDict):
    """The rule or channel that was changed."""

    name: str


class ChannelBody(TypedDict):
    """A channel. ``config`` has its type's settings, such as ``urls``; null keeps the current ones."""

    type: str
    config: NotRequired[dict[str, Any] | None]
    match: NotRequired[dict[str, str]]
    send_resolved: NotRequired[bool]
    send_info: NotRequired[bool]


class ChannelInfo(TypedDict):
    """A channel, its targets (without secrets), and the state of its deliveries. Times are in ns or s."""

    name: str
    type: str
    targets: list[str]
    match: dict[str, str]
    send_resolved: bool
    send_info: bool
    group_by: list[str]
    group_wait_s: float
    group_interval_s: float
    repeat_interval_s: float
    problem: str | None
    remedy: str | None
    sent: int
    failed: int
    dropped: int
    waiting: int
    tries: int
    last_ns: int | None
    last_ok: bool | None
    last_error: str | None
    last_title: str | None
    next_try_ns: int | None


class ChannelTested(TypedDict):
    """The result of a test notification."""

    ok: bool
    error: str | None


class ChannelsAnswer(TypedDict):
    """The channels of ``channels.yml``."""

    items: list[ChannelInfo]
    kinds: list[str]
    file: str
    problem: str | None
    remedy: str | None


class ChartQuery(TypedDict):
    """PromQL and the names of its series, where `{{label}}` is the label's value. ``bold``: a thick line."""

    expr: str
    legend: NotRequired[str | None]
    bold: NotRequired[bool]


class Cluster(TypedDict):
    """A cluster to attach to: the GCS address ``host:port``, and Ray's token if it requires one."""

    address: str
    ray_token: NotRequired[str | None]


class CollectorItem(TypedDict):
    """The state of a collector. ``ok`` is null before its first result. If ``ok``, ``error`` is a warning."""

    name: str
    target: str
    ok: bool | None
    error: str | None
    remedy: str | None
    code: str | None
    params: dict[str, str | int] | None
    cost_s: float
    took_s: float
    last_ns: int | None
    samples: int
    left_out: int
    interval_s: float
    timeout_s: float


class CpusChange(TypedDict):
    """The largest node has ``count`` more CPUs."""

    kind: Literal["cpus"]
    count: int


class CrashHarm(TypedDict):
    """
    Whether a crash did harm. ``code``: explained in docs/reference/faults.md. ``number``: the count that
    it refers to.
    """

    harm: Literal["none", "harmed", "unknown"]
    code: str
    number: int
    message: str


class CrashedWorker(TypedDict):
    """
    A worker or driver that crashed: what it did, how it ended according to Ray, and its log.

    ``function``: the last one that it ran. ``script``: its job's script. ``signal``, ``reason``, ``file``,
    ``offset``: of the crash report in its log, None without one. ``is_race``: the crash is a known race of
    Ray's processes at their end. ``lines``: the last lines of its log, or those around the report.
    """

    worker_id: str
    worker_type: str | None
    node_id: str | None
    pid: int | None
    job_id: str | None
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    function: str | None
    script: str | None
    exit_type: str | None
    exit_detail: str | None
    end_ns: int | None
    signal: str | None
    reason: str | None
    is_race: bool
    harm: CrashHarm
    file: str | None
    offset: int | None
    lines: list[str]


class CrashesAnswer(TypedDict):
    """Crashed workers, newest first. ``workers``: how many the session had. ``left_out``: not listed."""

    session: str
    workers: int
    total: int
    harmed: int
    unknown: int
    in_race: int
    left_out: int
    items: list[CrashedWorker]


class DashboardChart(TypedDict):
    """A chart of a dashboard: one expression (`expr`) or several (`queries`)."""

    title: str
    expr: NotRequired[str | None]
    queries: NotRequired[list[ChartQuery]]
    unit: NotRequired[str]
    width: NotRequired[Literal[1, 2, 3]]
    stacked: NotRequired[bool]


class DashboardGiven(TypedDict):
    """A dashboard to store."""

    title: str
    charts: list[DashboardChart]


class DashboardInShort(TypedDict):
    """A dashboard without its charts. ``changed_ns``: when its file was written."""

    name: str
    title: str
    charts_total: int
    changed_ns: int


class DashboardsAnswer(TypedDict):
    """All dashboards. ``unreadable``: files that are not dashboards."""

    items: list[DashboardInShort]
    unreadable: list[str]


class DatasetWarning(TypedDict):
    """A warning of Ray Data about an operator. ``issue``: its kind, in Ray Data's words."""

    time_ns: int
    operator: str
    issue: str | None
    message: str | None


class DeadNode(TypedDict):
    """A node that is dead."""

    id: str
    name: str | None
    node_ip: str | None
    is_head: bool | None
    end_ns: int | None
    death_reason: str | None
    resources_total: str | None


class Deleted(TypedDict):
    """Whether Ray has deleted the job. Rayscope's record is kept."""

    deleted: bool


class DiscoveredTarget(TypedDict):
    """A target in Prometheus' format: https://prometheus.io/docs/prometheus/latest/http_sd/"""

    targets: list[str]
    labels: dict[str, str]


class Disk(TypedDict):
    """A file system. ``used_bytes`` and ``free_bytes`` are the part that users can fill."""

    path: str
    total_bytes: int
    used_bytes: int
    free_bytes: int


class DroppedBy(TypedDict):
    """A loss that ``source`` counted."""

    source: str
    reason: str
    event_type: str
    count: int
    first_ns: int | None
    last_ns: int | None


class EdgeItem(TypedDict):
    """An object and the two tasks that it connects."""

    producer_task_id: str | None
    producer_name: str | None
    consumer_task_id: str | None
    consumer_name: str | None
    object_id: str
    bytes: int | None
    kind: str
    nested: bool
    by_value: bool
    begin_ns: int | None
    end_ns: int | None
    gets: int
    blocked_ns: int | None
    is_remote: bool | None


class EnabledBody(TypedDict):
    """Whether a rule is evaluated."""

    enabled: bool


class ErrorDetail(TypedDict):
    """A problem and its remedy. ``params`` has the values in the message, if there are few."""

    code: str
    message: str
    remedy: str
    params: NotRequired[dict[str, str | int] | None]


class Event(TypedDict):
    """An event, or ``count`` similar ones until ``last_ns``. Times in ns."""

    time_ns: int
    severity: Literal["ERROR", "WARNING", "INFO"]
    kind: Literal["node", "worker", "actor", "job", "placement_group", "task", "dataset", "loss"]
    event: str
    id: str | None
    title: str | None
    message: str | None
    node_id: str | None
    job_id: str | None
    count: int
    last_ns: int | None


class EventsBySeverity(TypedDict):
    """The number of events by severity, regardless of the requested severity."""

    ERROR: int
    WARNING: int
    INFO: int


class FailedAttempt(TypedDict):
    """A failed attempt of a group, the outcome of its task, and its own message."""

    task_id: str
    attempt: int
    outcome: Literal["final", "retrying", "recovered"]
    end_ns: int | None
    node_id: str | None
    message: str | None


class FailureGroup(TypedDict):
    """
    Failed attempts with one signature: function, error type, message (``#``: variable parts), file, line.

    ``final``, ``retrying`` and ``recovered``: the number of its ``tasks`` by outcome; ``outcome`` is the most
    severe of these. ``latest``: up to 20 of its attempts. ``origin`` and ``operator`` are those of its
    function.
    """

    func_name: str | None
    origin: str | None
    operator: str | None
    error_type: str | None
    message: str | None
    example: str | None
    path: str | None
    file: str | None
    line: int | None
    outcome: Literal["final", "retrying", "recovered"]
    attempts: int
    tasks: int
    final: int
    retrying: int
    recovered: int
    first_ns: int | None
    last_ns: int | None
    latest: list[FailedAttempt]


class FailureItem(TypedDict):
    """A failed attempt."""

    task_id: str
    attempt: int
    name: str | None
    error_type: str | None
    error_message: str | None
    error_summary: str | None
    end_ns: int | None


class FileProblem(TypedDict):
    """A rule file, or one of its rules (``rule``, else empty), that cannot be used."""

    file: str
    rule: str
    message: str
    remedy: str


class FindingItem(TypedDict):
    """
    Something that slows the job down or puts it at risk, and what to do about it.

    ``saving_ns`` is predicted by a replay, null if that is impossible; ``cost_ns`` is the maximum cost.
    ``share``: the saving, or else the cost, as a share of the job's time. ``is_risk``: it costs less than 1 %
    of that time, but may cause trouble later. ``on_path_ns``: the time of its attempts on the critical path
    (0: nothing waits for them), null if that does not matter. ``function`` or ``actor_class``: the code that
    it is about; ``origin``: ``user``, a library's name, or null if unknown; ``caller``: the function in which
    it happens, "" for the driver. ``numbers``: the evidence (names ending in ``_ns`` are durations).
    ``sketch``: code that fixes it. ``doc``: the URL of Ray's documentation. ``filters``: filters of the list
    of tasks.
    """

    saving_ns: int | None
    saving_low_ns: int | None
    saving_high_ns: int | None
    kind: str
    title: str
    severity: Literal["critical", "warning", "info"]
    share: float
    cost_ns: int
    is_risk: bool
    on_path_ns: int | None
    confidence: Literal["high", "medium", "low"]
    function: str | None
    actor_class: str | None
    caller: str | None
    origin: str | None
    numbers: dict[str, int | float | str]
    advice: str
    sketch: str
    doc: str
    filters: dict[str, str]


class FlameFrame(TypedDict):
    """A call path. ``own`` covers its own attempts, ``value`` also those below it."""

    id: str
    parent: str | None
    name: str | None
    kind: Literal["driver", "call", "library", "unknown", "other"]
    depth: int
    own: int
    value: int
    attempts: int
    failed: int
    running: int
    duration_ns: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    bytes: int
    cpu_ns: int
    cpu_known: int
    first_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    folded: int
    baseline_own: int | None
    baseline_value: int | None


class FlameTree(TypedDict):
    """Frames, parents before children. ``folded`` of ``frames_total`` were merged into frames ``other``."""

    frames: list[FlameFrame]
    frames_total: int
    folded: int


class FleetServer(TypedDict):
    """A server that shares the warehouse, last seen ``age_s`` ago, with the ``sessions`` that it records."""

    server: str
    url: str
    is_alive: bool
    age_s: float
    sessions: int


class FoldedLibrary(TypedDict):
    """
    A library or a library's operator, and how many of its functions are in the graph.

    Consecutive calls of it are one frame.
    """

    library: str
    functions: int


class FolderAnswer(TypedDict):
    """The URI by which the cluster's nodes find the folder."""

    uri: str


Format: TypeAlias = Literal["perfetto", "speedscope", "parquet"]


class FoundItem(TypedDict):
    """
    A hit. ``id``: its ID, or its name if it is a function, a log file or a metric.

    ``detail``: distinguishes it from others of the same name: class, address, entrypoint, help text.
    """

    id: str
    name: str | None
    detail: str | None
    state: str | None
    attempt: int | None
    node_id: str | None


class FramesRequest(TypedDict):
    """The workers to sample: every busy one, those at or below one stack line, or the listed ones."""

    session: NotRequired[str | None]
    node: NotRequired[str | None]
    workers: NotRequired[list[str] | None]
    whole: NotRequired[bool]


class FramesWorker(TypedDict):
    """A requested worker. If it runs nothing, only its ID is known."""

    worker_id: str
    node_id: str | None
    pid: int | None


class FunctionGain(TypedDict):
    """
    The job's gain if a function took half the time.

    ``own_ns``: how long its attempts executed. ``origin``: ``user``, a library's name, or null if unknown.
    """

    saving_ns: int
    saving_low_ns: int
    saving_high_ns: int
    function: str
    origin: str | None
    is_driver: bool
    attempts: int
    own_ns: int
    predicted_ns: int
    share: float


class FunctionItem(TypedDict):
    """
    A function's attempts, the quantiles of their ``duration_ns``, and the sums of their times (ns).

    ``origin``: ``user``, a library's name, or null if unknown. ``operator``: the purpose for which a library
    runs it, such as "Data: MapBatches(parse)" or "Serve: internals". ``stopped_by_libraries``: failed
    attempts that a library stopped on purpose, which are not failures.
    """

    func_name: str | None
    type: str | None
    origin: str | None
    operator: str | None
    attempts: int
    finished: int
    failed: int
    stopped_by_libraries: int
    running: int
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    duration_ns: int
    waiting_ns: int
    total_ns: int


class FunctionOnPath(TypedDict):
    """A function's share of the critical path of a replay."""

    function: str
    is_driver: bool
    total_ns: int
    by_phase: dict[str, int]
    share: float


class FunctionProgress(TypedDict):
    """
    A function of a job: its attempts by state, and the sums of their times (ns).

    ``stopped_by_libraries``: failed attempts that a library stopped on purpose, which are not failures.
    """

    func_name: str | None
    type: str | None
    attempts: int
    duration_ns: int
    waiting_ns: int
    total_ns: int
    states: dict[str, int]
    stopped_by_libraries: int


class FunctionSchedulingItem(TypedDict):
    """Where the time of a function's attempts went, as sums (ns), and where they ran."""

    waiting_args_ns: int | None
    waiting_node_ns: int | None
    starting_worker_ns: int | None
    queued_ns: int | None
    loading_ns: int | None
    fetching_ns: int | None
    executing_ns: int | None
    awaiting_ns: int | None
    blocked_ns: int | None
    storing_ns: int | None
    func_name: str | None
    type: str | None
    attempts: int
    total_ns: int
    waiting_ns: int
    duration_ns: int
    cpu_ns: int | None
    local: int
    spilled: int


class GanttBars(TypedDict):
    """Bars as columns of equal length. Times are relative to ``origin_ns``, phases to the bar's begin."""

    lane: list[int]
    row: list[int]
    begin: list[int]
    end: list[int]
    count: list[int]
    busy: list[int]
    failed: list[int]
    name: list[int]
    state: list[int]
    task_id: list[str]
    attempt: list[int]


class GanttDetails(TypedDict):
    """Begins of the phases of wide bars. ``bar`` is the index of a bar."""

    bar: list[int]
    created: list[int | None]
    waiting_node: list[int | None]
    queued: list[int | None]
    executing: list[int | None]
    storing: list[int | None]


class GanttLane(TypedDict):
    """
    A worker, node, actor, or function, over the whole extent.

    ``functions`` are the first of ``functions_total`` functions that a worker ran. ``waiting`` counts
    attempts that wait for a worker or, on the lane of an actor or its worker, for the actor.
    """

    id: str
    kind: str
    label: str | None
    depth: int | None
    node_id: str | None
    node_ip: str | None
    pid: int | None
    actor_id: str | None
    class_name: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    attempts: int
    waiting: int
    busy_ns: int
    rows: int
    folded: int


class GanttSpans(TypedDict):
    """Stretches in which the attempts of wide bars were blocked, or awaited something else."""

    bar: list[int]
    begin: list[int]
    end: list[int]
    is_awaiting: list[bool]


class GpuProcess(TypedDict):
    """A process that uses memory of a GPU, and its worker."""

    pid: int
    memory_bytes: int
    percent: float | None
    worker_id: str | None
    actor_class: str | None
    actor_id: str | None


class GpuShare(TypedDict):
    """
    A GPU that Ray assigned, and the assigned share of it. ``index``: as returned by ``ray.get_gpu_ids``.

    If the index is unknown, ``share`` is the sum of the requested shares.
    """

    index: str | None
    share: float


class Group(TypedDict):
    """Objects with the same ``key`` (null: unknown). Identifies the process if it is the key."""

    objects: int
    references: int
    bytes: int
    unknown_size: int
    types: dict[str, int]
    key: str | None
    is_put: NotRequired[bool | None]
    node_id: NotRequired[str | None]
    pid: NotRequired[int | None]
    is_driver: NotRequired[bool | None]
    actor_id: NotRequired[str | None]
    job_id: NotRequired[str | None]


class HiddenLibrary(TypedDict):
    """A library's internals hidden by ``only=mine``, with the number of their functions and attempts."""

    library: str
    functions: int
    attempts: int


class HistoryAnswer(TypedDict):
    """The newest transitions. Only ``kept_at_most`` are kept."""

    session: str
    items: list[AlertEvent]
    total: int
    kept_at_most: int


class IngestError(TypedDict):
    """Why the store cannot be written."""

    message: str
    remedy: str


class Job(TypedDict):
    """
    A driver or submitted job. ``tasks``: its attempts by state.

    ``stopped_by_libraries``: failed attempts that a library stopped on purpose, which are not failures.
    """

    job_id: str
    state: str | None
    type: str | None
    submission_id: str | None
    entrypoint: str | None
    driver_pid: int | None
    driver_ip: str | None
    driver_node_id: str | None
    message: str | None
    error_type: str | None
    exit_code: int | None
    is_internal: bool
    alias_of: str | None
    runtime_env: str | None
    metadata: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    tasks: dict[str, int]
    stopped_by_libraries: int


class JobDetail(TypedDict):
    """All fields of a job."""

    history: list[dict[str, Any]]
    job_id: str
    state: str | None
    type: str | None
    submission_id: str | None
    entrypoint: str | None
    driver_pid: int | None
    driver_ip: str | None
    driver_node_id: str | None
    message: str | None
    error_type: str | None
    exit_code: int | None
    is_internal: bool
    alias_of: str | None
    runtime_env: str | None
    metadata: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    tasks: dict[str, int]
    stopped_by_libraries: int


class JobRequest(TypedDict):
    """A job to submit, with the fields of Ray's job API."""

    entrypoint: str
    submission_id: NotRequired[str | None]
    runtime_env: NotRequired[dict[str, Any] | None]
    metadata: NotRequired[dict[str, str] | None]
    entrypoint_num_cpus: NotRequired[float | None]
    entrypoint_num_gpus: NotRequired[float | None]
    entrypoint_memory: NotRequired[int | None]
    entrypoint_resources: NotRequired[dict[str, float] | None]


class Keeping(TypedDict):
    """The copied logs (``workers``, ``all``, ``none``), their bytes, and why copying is paused."""

    mode: Literal["workers", "all", "none"]
    bytes: int
    max_bytes: int
    error: dict[str, str] | None


class KeptChart(TypedDict):
    """A stored chart."""

    title: str
    queries: list[ChartQuery]
    unit: str
    width: int
    stacked: bool


class LabelValuesAnswer(TypedDict):
    """The values of a label."""

    session: str
    items: list[str]
    total: int


class LaneReason(TypedDict):
    """Why some nodes do not take the fast lane; ``node_id`` and ``address`` are one of them."""

    lane: Literal["fast", "json", "none", "unknown"]
    code: str
    reason: str | None
    nodes: int
    node_id: str
    address: str | None


class LatestItem(TypedDict):
    """The newest value of a series that has not ended."""

    name: str
    labels: dict[str, str]
    value: float
    time_ns: int


class LibraryProblem(TypedDict):
    """Why the state of a library cannot be read at present, and a remedy."""

    message: str
    remedy: str


class ListedChart(TypedDict):
    """A chart of a page."""

    key: str
    title: str
    queries: list[ChartQuery]
    unit: str
    stacked: bool
    width: int


class ListedVariable(TypedDict):
    """A variable `$name` in a page's expressions, whose values are those of a metric's label."""

    name: str
    label: str
    metric: str


class LogFile(TypedDict):
    """
    A log file. ``live``: its node lists it now. ``kept``: copied bytes. ``size``: bytes.

    ``is_empty``: nothing was printed into it, as far as known; it may contain Ray's own marks.
    """

    worker_id: str | None
    job_id: str | None
    pid: int | None
    submission_id: str | None
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    script: str | None
    node_id: str
    name: str
    kind: str
    is_empty: bool
    size: int | None
    kept: int
    live: bool
    last_ns: int | None


class LogProblem(TypedDict):
    """Why something is unavailable at present."""

    code: str
    message: str
    remedy: str


class LogStyle(TypedDict):
    """
    The style of a range of a line's text (Unicode code points; ``end`` excluded), as set by the program.

    ``color`` and ``background``: ``red``, ``bright-red`` and the like, or ``#rrggbb``.
    """

    begin: int
    end: int
    color: str | None
    background: str | None
    bold: bool
    dim: bool
    italic: bool
    underline: bool


class LogicalCall(TypedDict):
    """Attempts of ``target`` that ``source`` submitted."""

    attempts: int
    failed: int
    duration_ns: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    output_bytes: int
    total_p50_ns: int | None
    total_p95_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    id: str
    source: str
    target: str


class LogicalData(TypedDict):
    """Objects that ``source`` produced and ``target`` consumed, and their bytes."""

    id: str
    source: str
    target: str
    objects: int
    bytes: int
    arguments: int
    argument_bytes: int
    gets: int
    get_bytes: int


class LogicalFolded(TypedDict):
    """Numbers of functions, drivers, instances by class, and attempts by function without own nodes."""

    functions: int
    attempts: int
    duration_ns: int
    drivers: int
    instances: dict[str, int]
    calls: dict[str, int]


class LogicalLibrary(TypedDict):
    """A library or a library's operator, the number of its functions, and whether they are one node."""

    library: str
    functions: int
    is_folded: bool


class LogicalNode(TypedDict):
    """
    A function, one of its calls, a driver, an actor class or instance, or a library.

    ``parent`` is the box around it. The ``name`` of a driver is its script. With ``only=mine``, ``library``
    is the library or the library's operator that it is folded into, such as "Serve: internals".
    """

    attempts: int
    failed: int
    duration_ns: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    output_bytes: int
    total_p50_ns: int | None
    total_p95_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    id: str
    kind: str
    name: str | None
    parent: str | None
    class_name: str | None
    actor_id: str | None
    task_id: str | None
    job_id: str | None
    library: str | None
    actors: int | None
    is_expanded: bool
    states: dict[str, int]


class Login(TypedDict):
    """The server's token, to be stored as a cookie."""

    token: str


class MatcherBody(TypedDict):
    """A condition on a label."""

    label: str
    op: NotRequired[Literal["=", "!=", "=~", "!~"]]
    value: str


class MeasuredGpu(TypedDict):
    """A GPU. ``processes``: bytes of its memory by process ID; ``process_percent``: share of its cores."""

    index: int
    name: str
    uuid: str
    utilization: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    power_watts: float | None
    temperature_c: float | None
    processes: dict[str, int]
    process_percent: dict[str, float]


class MemoryAmount(TypedDict):
    """A memory in bytes, and the used share of it (percent)."""

    total_bytes: int | None
    used_bytes: int | None
    available_bytes: int | None
    percent: float | None


class MergedFrame(TypedDict):
    """Stacks with the same frames from the outermost to this one."""

    id: str
    parent: str | None
    depth: int
    kind: Literal["code", "thread", "cut", "await", "none"]
    name: str
    file: str
    line: int | None
    count: int
    own: int
    active: int
    workers: int
    examples: list[str]


class MetricLine(TypedDict):
    """A metric of one rank: pairs of column and mean value."""

    rank: int
    points: list[tuple[int, float]]


class NameItem(TypedDict):
    """A name with its description, its number of series, and the number of values of each label."""

    name: str
    type: str
    help: str
    unit: str
    series: int
    labels: dict[str, int]


class NamedProcess(TypedDict):
    """One of Ray's own processes: the raylet, an agent, the GCS."""

    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None
    name: str
    pid: int


class NamesAnswer(TypedDict):
    """All matching names of a session's series."""

    session: str
    items: list[NameItem]
    total: int


class NodeCounts(TypedDict):
    """The numbers of living and dead nodes."""

    alive: int
    dead: int


class NodeFrames(TypedDict):
    """The frames below one node of the stack."""

    node: str
    workers: int
    idle_threads: int
    frames: list[MergedFrame]


class NodeGpu(TypedDict):
    """A GPU and the processes that use it."""

    index: int
    name: str
    uuid: str
    utilization: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    power_watts: float | None
    temperature_c: float | None
    processes: list[GpuProcess]


class NodeLane(TypedDict):
    """The transport of one node's events."""

    node_id: str
    state: str | None
    address: str | None
    hostname: str | None
    lane: Literal["fast", "json", "none", "unknown"]
    lane_code: str | None
    lane_reason: str | None
    agent: AgentFigures | None


class NodePercents(TypedDict):
    """Percentages of each node; -1 means unknown."""

    cpu: list[float]
    memory: list[float]
    gpu: list[float]
    gpu_memory: list[float]
    disk: list[float]
    object_store: list[float]


class NodesChange(TypedDict):
    """The cluster has ``count`` more nodes like the last one."""

    kind: Literal["nodes"]
    count: int


class NotRecorded(TypedDict):
    """
    A reason why the record of a job is incomplete. ``events``: how many were dropped during the job, null
    if there was no tracer.
    """

    code: Literal["tracer_off", "dropped"]
    events: int | None
    message: str


class NotSearched(TypedDict):
    """Bytes that were not searched. The reason is ``gone``, ``long``, ``stopped`` or ``not_kept``."""

    node_id: str
    name: str
    why: str
    bytes: int


class NumCpusChange(TypedDict):
    """A function or a class of actors requests ``num_cpus`` CPUs."""

    kind: Literal["num_cpus"]
    function: str
    num_cpus: float


class ObjectCopies(TypedDict):
    """
    The copies of an object at present, according to its owner.

    ``nodes`` have a copy in their object store. An object without ``problem`` that is on no node and not
    spilled or pending is small: its owner stores it. ``bytes`` is null if the owner does not know it.
    """

    session: str
    object_id: str
    owner_id: str | None
    nodes: list[str]
    bytes: int | None
    is_pending: bool
    is_spilled: bool
    spilled_node_id: str | None
    problem: Literal["not_live", "owner_unknown", "owner_gone", "no_answer", "released"] | None


class ObjectHolder(TypedDict):
    """A process that holds an object."""

    worker_id: str
    node_id: str
    pid: int
    is_driver: bool
    actor_id: str | None
    type: str


class OneGetChange(TypedDict):
    """Loops that get the values of a function one by one get all of them at once."""

    kind: Literal["one_get"]
    function: str


class OperatorItem(TypedDict):
    """
    An operator of a dataset. ``progress`` and ``total``: blocks, None if Ray does not know.

    ``inputs``: the IDs of the operators that feed it, None if the tracer did not report them.
    """

    operator_id: str
    name: str
    state: str | None
    position: int
    progress: int | None
    total: int | None
    total_rows: int | None
    queued_blocks: int | None
    inputs: list[str] | None


class OperatorLogin(TypedDict):
    """The operator's token, to be checked."""

    token: str


class OptionGain(TypedDict):
    """The job's gain from an option that is not about a single function."""

    saving_ns: int
    saving_low_ns: int
    saving_high_ns: int
    option: Literal["no_startup", "no_stragglers", "no_retries", "no_transfer", "twice_the_cpus"]
    predicted_ns: int
    share: float


class Parent(TypedDict):
    """The task that submitted this one."""

    task_id: str
    name: str | None
    state: str | None


class PathActor(TypedDict):
    """
    The actor of a function with the most time on the path. ``actors`` actors spent ``total_ns`` there.

    ``pid`` and ``host`` are null if they are not known.
    """

    actor_id: str
    pid: int | None
    node_id: str | None
    host: str | None
    actors: int
    total_ns: int


class PathCause(TypedDict):
    """
    Time on the path due to one function that executed, or to a phase of ``functions`` functions.

    ``name`` is the function with the most of it ("" if unknown). ``held_ns`` is how much of the time others
    waited for the worker or actor. The largest causes include ``actor``, whose method is ``name``.
    """

    phase: str
    name: str
    is_driver: bool
    functions: int
    total_ns: int
    held_ns: int
    share: float
    actor: PathActor | None


class PathFunction(TypedDict):
    """One function's time on the critical path, and the duration of the path without it."""

    name: str
    is_driver: bool
    links: int
    total_ns: int
    share: float
    by_phase: dict[str, int]
    held_ns: int
    without_ns: int


class PathLink(TypedDict):
    """A stretch of the critical path."""

    task_id: str
    attempt: int
    name: str
    phase: str
    begin_ns: int
    end_ns: int
    held_ns: int
    share: float


class PathStretch(TypedDict):
    """A stretch of the critical path of a replay. ``begin_ns``: since the job began."""

    task_id: str | None
    attempt: int | None
    function: str
    is_driver: bool
    phase: Literal["executing", "waiting", "starting"]
    begin_ns: int
    duration_ns: int


class PendingHolder(TypedDict):
    """A holder of a scarce resource: a running task (its ``attempt``), an actor or a placement group."""

    kind: Literal["actor", "task", "placement_group"]
    name: str
    id: str
    attempt: int | None
    amount: float
    since_ns: int | None


class Phase(TypedDict):
    """A phase of the execution: deserialize, execute, store, total."""

    name: str
    begin_ns: int
    end_ns: int


class PhysicalBundle(TypedDict):
    """A bundle of a placement group on a node. ``resources``: null if unknown."""

    group: str
    name: str | None
    index: int
    node: int
    resources: dict[str, float] | None


class PhysicalBundles(TypedDict):
    """Bundles as columns of indexes into ``groups``, the nodes, and ``amounts`` (-1 if unknown)."""

    group: list[int]
    index: list[int]
    node: list[int]
    resources: list[int]


class PhysicalGroup(TypedDict):
    """A placement group with bundles here."""

    id: str
    name: str | None


class PhysicalNode(TypedDict):
    """
    A node, its resources, the reserved part of them, and the sums of everything on it.

    ``workers``, ``actors``, ``running``, ``blocked``, and ``bytes`` exclude Ray's own processes, which
    ``internal`` counts.
    """

    id: str
    name: str
    node_ip: str | None
    is_head: bool
    is_known: bool
    start_ns: int | None
    total: dict[str, float] | None
    used: dict[str, float]
    internal: int
    workers: int
    actors: int
    running: int
    blocked: int
    bytes: int
    left_out: int


class PhysicalNodes(TypedDict):
    """Nodes as columns of equal length. ``total`` and ``used`` are indexes into ``amounts``, or -1."""

    id: list[str]
    name: list[str]
    node_ip: list[str | None]
    is_head: list[bool]
    is_known: list[bool]
    start_ns: list[int | None]
    total: list[int]
    used: list[int]
    internal: list[int]
    workers: list[int]
    actors: list[int]
    running: list[int]
    blocked: list[int]
    bytes: list[int]
    left_out: list[int]


class PhysicalWorkers(TypedDict):
    """Workers as columns of equal length. Values are indexes into the response's lists, -1 if unknown."""

    key: list[str]
    node: list[int]
    kind: list[int]
    is_internal: list[bool]
    pid: list[int]
    job: list[int]
    actor_class: list[int]
    actor_state: list[int]
    function: list[int]
    running: list[int]
    blocked: list[int]
    reserved: list[int]
    bundle: list[int]
    bytes: list[int]
    annotation: list[int]


class PlacementGroup(TypedDict):
    """A placement group."""

    placement_group_id: str
    state: str | None
    name: str | None
    strategy: str | None
    job_id: str | None
    creator_actor_id: str | None
    is_detached: bool | None
    bundles: str | None
    stats: str | None
    created_ns: int | None
    end_known_by: str | None


class PlacementGroupDetail(TypedDict):
    """All fields of a placement group."""

    history: list[dict[str, Any]]
    placement_group_id: str
    state: str | None
    name: str | None
    strategy: str | None
    job_id: str | None
    creator_actor_id: str | None
    is_detached: bool | None
    bundles: str | None
    stats: str | None
    created_ns: int | None
    end_known_by: str | None


class PlainChange(TypedDict):
    """
    No attempt takes longer than usual for its function; or nothing is spent on starting workers, on
    fetching values, or on failed attempts that were retried.
    """

    kind: Literal["no_stragglers", "no_startup", "no_transfer", "no_retries"]


class Problem(TypedDict):
    """Why metrics cannot be stored on disk."""

    code: str
    message: str
    remedy: str


class ProgressAnswer(TypedDict):
    """``share``: the finished share of a job's answer, 0 to 1; null if no long request computes it."""

    share: float | None


class QueriedSeries(TypedDict):
    """One series of an expression: a value for each of the answer's times."""

    labels: dict[str, str]
    values: list[float | None]


class QueryAnswer(TypedDict):
    """An expression's values from ``from_ns`` to ``to_ns``."""

    session: str
    expr: str
    from_ns: int
    to_ns: int
    step_ns: int
    times_ms: list[int]
    series: list[QueriedSeries]
    left_out: int
    warnings: list[str]
    source: Literal["record", "prometheus"]
    unit: str


class RangeFunction(TypedDict):
    """A function's attempts inside the range."""

    name: str
    attempts: int
    failed: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    busy_ns: int
    mean: float


class RangeLane(TypedDict):
    """
    A worker, node, actor, or function, inside the range.

    ``functions`` are the first of ``functions_total`` functions that a worker ran.
    """

    id: str
    kind: str
    label: str | None
    depth: int | None
    node_id: str | None
    node_ip: str | None
    pid: int | None
    actor_id: str | None
    class_name: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    attempts: int
    busy_ns: int
    rows: int | None
    share: float | None


class RangeRunning(TypedDict):
    """How many attempts were on workers at a time."""

    mean: float
    most: int | None


class RankTimes(TypedDict):
    """The times of a rank over all steps."""

    rank: int
    steps: int
    own_ns: int | None
    data_ns: int | None
    report_ns: int
    straggles: int
    p50_ns: int | None
    max_ns: int | None


class RayProcess(TypedDict):
    """One of Ray's own processes, as reported by the node's agent."""

    pid: int
    cmdline: str
    cpu_percent: float
    rss_bytes: int | None
    uss_bytes: int | None
    num_fds: int | None
    create_ns: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None


class ReasonItem(TypedDict):
    """Why a request is pending (docs/reference/nodes.md explains the codes)."""

    code: str
    never: bool
    message: str
    resource: str | None
    wanted: float | None
    total: float | None
    free: float | None
    node_id: str | None
    nodes: int
    error: str | None
    remedy: str


class ReportedMetric(TypedDict):
    """A metric reported by workers. ``not_finite_step``: the first step in which it was NaN or infinite."""

    name: str
    not_finite_step: int | None
    not_finite_rank: int | None
    lines: list[MetricLine]


class ResourceHolder(TypedDict):
    """A holder of resources: ``actor``, ``task`` or ``placement_group``. ``id``: set for a single one."""

    kind: Literal["actor", "task", "placement_group"]
    name: str
    id: str | None
    count: int
    resources: dict[str, float]


class RestProgress(TypedDict):
    """The sums of all functions beyond the first 100."""

    functions: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int


class RuleBody(TypedDict):
    """A rule that the operator sets."""

    expr: str
    for_s: NotRequired[float]
    keep_firing_for_s: NotRequired[float]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]


class RuleInfo(TypedDict):
    """
    A rule and its state in the session. ``threshold`` applies to ``value_expr``.

    ``error`` is why it could not be evaluated, and ``template_error`` why one of its texts could not be
    rendered. ``unknown_metrics`` are names in a user's rule for which there are no series (yet).
    """

    name: str
    group: str
    source: str
    severity: str
    expr: str
    value_expr: str | None
    op: str | None
    threshold: float | None
    interval_s: float
    for_s: float
    keep_firing_for_s: float
    labels: dict[str, str]
    annotations: dict[str, str]
    enabled: bool
    state: Literal["inactive", "pending", "firing", "resolved", "ended"]
    alerts: int
    error: str | None
    template_error: str | None
    unknown_metrics: list[str]
    cost_s: float | None


class RulesAnswer(TypedDict):
    """All rules, including those that are switched off."""

    session: str
    items: list[RuleInfo]
    problems: list[FileProblem]
    folder: str


class RunningAttempt(TypedDict):
    """
    An attempt on a worker since ``since_ns``, in its situation since ``situation_ns`` (ns).

    A driver has its script as ``name`` and the ``type`` DRIVER_TASK. If it is blocked, ``call`` is the call
    that blocks (such as ``ray.get``), and ``blocked_on`` has the functions that it waits for, if known.
    """

    task_id: str
    attempt: int
    name: str
    type: str | None
    since_ns: int | None
    situation: Literal[
        "waiting_args",
        "waiting_node",
        "starting_worker",
        "queued",
        "loading",
        "fetching",
        "running",
        "blocked",
        "storing",
        "ended",
        "unknown",
    ]
    situation_ns: int | None
    call: str | None
    blocked_on: list[AwaitedFunction]


class SandwichAnswer(TypedDict):
    """A function's callers and callees."""

    session: str
    weight: Literal["executing", "awaiting", "duration", "cpu", "count", "bytes", "critical_path"]
    of: str
    own: int
    value: int
    attempts: int
    total: int
    levels: int
    callers: FlameTree
    callees: FlameTree
    libraries: list[FoldedLibrary]


class SchedulingAnswer(TypedDict):
    """Functions by the time of their attempts."""

    session: str
    items: list[FunctionSchedulingItem]


class SchedulingItem(TypedDict):
    """Where the time of an attempt went (ns)."""

    waiting_args_ns: int | None
    waiting_node_ns: int | None
    starting_worker_ns: int | None
    queued_ns: int | None
    loading_ns: int | None
    fetching_ns: int | None
    executing_ns: int | None
    awaiting_ns: int | None
    blocked_ns: int | None
    storing_ns: int | None
    task_id: str
    attempt: int
    func_name: str | None
    type: str | None
    state: str | None
    job_id: str | None
    total_ns: int | None
    node_id: str | None
    cpu_ns: int | None
    submitter_node_id: str | None
    is_local: bool | None
    waiting_ns: int | None
    duration_ns: int | None


class Searched(TypedDict):
    """The amount of data that was searched."""

    files: int
    of: int
    bytes: int


class SeenWorker(TypedDict):
    """A worker whose frames are in the response. ``title`` is its process's title."""

    worker_id: str
    node_id: str | None
    pid: int | None
    title: str


class ServeCalls(TypedDict):
    """
    Calls from one deployment to another, both given by ID, as counted by the tracer.

    ``errors``: calls whose caller got an error. Quantiles: the duration of a call, accurate to 6 %.
    """

    caller: str
    callee: str
    calls: int
    errors: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None


class ServeChange(TypedDict):
    """A change of state, when it was observed, and the reason in Serve's words."""

    time_ns: int
    state: str
    trigger: str | None
    reason: str | None


class ServeController(TypedDict):
    """A controller. ``health``: how well it keeps up, to two digits; times as Serve names them (s, ms)."""

    actor_id: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    node_id: str | None
    node_ip: str | None
    worker_id: str | None
    log_file: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    proxy_location: str | None
    http_options: dict[str, Any] | None
    grpc_options: dict[str, Any] | None
    health: dict[str, float] | None
    history: list[ServeChange]


class ServeDeployment(TypedDict):
    """
    A deployment with its configuration.

    The documents are Serve's own, without secrets. ``left_out``: set if a document was too long to be stored.
    ``autoscaling``: the state of the autoscaler with its newest decisions.
    """

    deployment_id: str
    name: str
    application: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    status_trigger: str | None
    message: str | None
    target_replicas: int | None
    running_replicas: int
    replicas: dict[str, int]
    is_ingress: bool | None
    calls: list[str] | None
    required_resources: dict[str, Any] | None
    config: dict[str, Any] | None
    autoscaling: dict[str, Any] | None
    history: list[ServeChange]


class ServeDeploymentItem(TypedDict):
    """
    A deployment.

    ``since_ns``: when it was first observed in its state. ``end_known_by``: ``session`` if its end is
    inferred; ``last_state`` is then the last state that Serve reported. ``replicas``: the number of replicas
    by state, including dead ones. ``calls``: the IDs of the deployments that it calls, None if this version
    of Ray does not report them.
    """

    deployment_id: str
    name: str
    application: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    status_trigger: str | None
    message: str | None
    target_replicas: int | None
    running_replicas: int
    replicas: dict[str, int]
    is_ingress: bool | None
    calls: list[str] | None


class ServeProxy(TypedDict):
    """The proxy of a node."""

    node_id: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    actor_id: str | None
    node_ip: str | None
    worker_id: str | None
    log_file: str | None
    history: list[ServeChange]


class ServeReplica(TypedDict):
    """
    A replica.

    ``log_file``: relative to the log folder of its node. ``death_reason`` and ``death_cause``: why its actor
    died. ``start_error``: the exception of its constructor, with the traceback.
    """

    replica_id: str
    name: str
    application: str
    deployment: str
    state: str | None
    actor_id: str | None
    node_id: str | None
    node_ip: str | None
    worker_id: str | None
    pid: int | None
    log_file: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    death_reason: str | None
    death_cause: str | None
    start_error: str | None


class ServeRequestStep(TypedDict):
    """
    A part of a request: in the proxy (``deployment`` is None), or a call of a deployment.

    ``depth``: the number of its callers. ``begin_ns`` and ``end_ns``: those of the call, or of the replica's
    part if the call is not recorded. ``queue_ns``: the time until a replica took it. ``replica_ns``: how long
    the replica processed it, None if the replica did not report it; this includes ``downstream_ns``, during
    which some of its own ``call_count`` calls were running. ``error``: the class of the exception.
    ``log_file`` as in ServeReplica.
    """

    application: str
    deployment: str | None
    depth: int
    begin_ns: int
    end_ns: int
    queue_ns: int | None
    replica_ns: int | None
    downstream_ns: int | None
    call_count: int
    method: str | None
    status: str | None
    failed: bool
    error: str | None
    actor_id: str | None
    node_id: str | None
    log_file: str | None


class SessionDeleted(TypedDict):
    """The session whose record was deleted."""

    session: str


class SessionItem(TypedDict):
    """
    A Ray session. ``name``: set by the operator, or else the first job's ``script`` and the number of
    further jobs.

    ``location``: whether its record is on the server's disk (``local``), in the archive, or in both.
    """

    session: str
    name: str | None
    script: str | None
    host: str | None
    note: str
    tags: list[str]
    recording: Literal["events", "snapshot", "events+snapshot"]
    state: Literal["live", "ended", "unreadable"]
    error: str | None
    first_ns: int
    last_ns: int
    tasks: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    actors: int
    nodes: int
    jobs: int
    disk_bytes: int
    location: Literal["local", "both", "archive", "warehouse"]
    ray_version: str | None
    gcs_address: str | None
    dropped_total: int


class SessionLabel(TypedDict):
    """The operator's name and notes of a session. Omitted fields stay unchanged; an empty name is removed."""

    name: NotRequired[str | None]
    note: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class Shape(TypedDict):
    """A shape of requests that the nodes report as pending."""

    resources: dict[str, float]
    ready: int
    infeasible: int
    backlog: int
    label_selectors: list[dict[str, str]]


class SilenceBody(TypedDict):
    """A new silence: from now, or ``starts_ns``, for ``duration_s``."""

    matchers: list[MatcherBody]
    duration_s: float
    starts_ns: NotRequired[int | None]
    created_by: str
    comment: NotRequired[str]


class SilenceInfo(TypedDict):
    """A silence and its state."""

    id: str
    matchers: list[MatcherBody]
    starts_ns: int
    ends_ns: int
    created_by: str
    comment: str
    state: Literal["active", "pending", "expired"]


class SilencesAnswer(TypedDict):
    """All silences that are active, scheduled, or ended within five days."""

    items: list[SilenceInfo]


class SilentDetector(TypedDict):
    """A detector that was skipped for this job, and why."""

    kind: str
    message: str


class Snapshots(TypedDict):
    """The state of the snapshots of the GCS."""

    ok: bool
    error: str | None
    remedy: str | None
    tasks: bool
    cost_s: float
    interval_s: float | None
    last_ns: int | None
    last_tasks_ns: int | None


class SpanItem(TypedDict):
    """A measured span of time inside an attempt."""

    name: str
    attempt: int
    begin_ns: int
    end_ns: int | None
    extra: str | None
    blocked_on: list[str] | None


class SpeedChange(TypedDict):
    """A function runs ``times`` as fast; below 1 it is slower. ``driver`` stands for the driver."""

    kind: Literal["speed"]
    function: str
    times: float


class SqlAnswer(TypedDict):
    """The rows of a SQL query on the record as of ``snapshot_ns``."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int
    snapshot_ns: int


class SqlQuestion(TypedDict):
    """A single SELECT on the documented views."""

    sql: str
    session: NotRequired[str | None]
    limit: NotRequired[int]


class StackBlockedOn(TypedDict):
    """A target of the waits of a node's attempts. ``count`` is the number of (waiter, target) pairs."""

    node: str
    name: str
    type: str | None
    situation: Literal[
        "waiting_args",
        "waiting_node",
        "starting_worker",
        "queued",
        "loading",
        "fetching",
        "running",
        "blocked",
        "storing",
        "ended",
        "unknown",
    ]
    count: int
    examples: list[str]


class StackExample(TypedDict):
    """One attempt of a node: its location, and the time since which it has been in its situation."""

    since_ns: int
    task_id: str
    attempt: int
    node_id: str | None
    worker_pid: int | None


class StackLink(TypedDict):
    """One step of a chain of waits."""

    node: str
    name: str
    type: str | None
    situation: Literal[
        "waiting_args",
        "waiting_node",
        "starting_worker",
        "queued",
        "loading",
        "fetching",
        "running",
        "blocked",
        "storing",
        "ended",
        "unknown",
    ]
    count: int


class StackNode(TypedDict):
    """
    Attempts of one function in one situation under the same chain of callers.

    The ``name`` of a driver is its script, or ``driver``.
    """

    id: str
    parent: str | None
    depth: int
    name: str
    type: str | None
    situation: Literal[
        "waiting_args",
        "waiting_node",
        "starting_worker",
        "queued",
        "loading",
        "fetching",
        "running",
        "blocked",
        "storing",
        "ended",
        "unknown",
    ]
    count: int
    others: int
    total: int
    oldest_ns: int | None
    newest_ns: int | None
    deepest: int
    awaited: bool
    examples: list[StackExample]
    blocked_on: list[StackBlockedOn]
    folded_nodes: int
    folded_count: int


class StateTime(TypedDict):
    """When a state was entered."""

    state: str
    time_ns: int


class StepCell(TypedDict):
    """The times of a rank in a column, which is one or several steps."""

    rank: int
    steps: int
    own_ns: int | None
    data_ns: int | None
    report_ns: int
    straggles: int
    column: int


class Stopped(TypedDict):
    """Whether the job was still running."""

    stopped: bool


class StoreOfNode(TypedDict):
    """A node's object store, and the ``memory`` of its machine."""

    node_id: str
    memory: MemoryAmount
    object_store: MemoryAmount
    used_bytes: int | None
    available_bytes: int | None
    primary_bytes: int | None
    fallback_bytes: int | None
    objects: int | None
    spilled_bytes_total: int | None
    restored_bytes_total: int | None
    references: int
    error: str | None
    waiting: bool


class Stretch(TypedDict):
    """A range of bytes of a file that is unavailable."""

    begin: int
    end: int


class Submitted(TypedDict):
    """The submission ID of the new job."""

    submission_id: str


class Sums(TypedDict):
    """Objects (each counted once), the references to them, their known bytes, and objects by type."""

    objects: int
    references: int
    bytes: int
    unknown_size: int
    types: dict[str, int]


class Suspect(TypedDict):
    """Objects of a function that a process has held for a long time."""

    objects: int
    references: int
    bytes: int
    unknown_size: int
    types: dict[str, int]
    function: str | None
    is_put: bool
    node_id: str
    worker_id: str
    pid: int
    oldest_ns: int


class TaskFailure(TypedDict):
    """Ray's error type and the text. ``is_cut``: Ray kept only its end."""

    type: str
    message: str | None
    is_cut: bool


class TaskItem(TypedDict):
    """One attempt of a task."""

    task_id: str
    attempt: int
    name: str | None
    func_name: str | None
    type: str | None
    state: str
    reported_state: str
    end_known_by: str | None
    job_id: str | None
    actor_id: str | None
    parent_task_id: str | None
    caller_task_id: str | None
    node_id: str | None
    worker_id: str | None
    worker_pid: int | None
    placement_group_id: str | None
    error_type: str | None
    error_message: str | None
    error_summary: str | None
    created_ns: int | None
    start_ns: int | None
    end_ns: int | None
    cpu_ns: int | None
    duration_ns: int | None
    waiting_ns: int | None
    total_ns: int | None


class TaskNames(TypedDict):
    """Filters that find tasks in the list of tasks."""

    func_name: str | None
    name: str | None


class TasksByOutcome(TypedDict):
    """The number of tasks by outcome."""

    final: int
    retrying: int
    recovered: int


class TestAnswer(TypedDict):
    """When the rule would have changed its state."""

    session: str
    rule: RuleInfo | dict[str, Any]
    from_ns: int
    to_ns: int
    evaluations: int
    fired: int
    transitions: list[dict[str, Any]]
    left_out: int
    firing_at_end: list[dict[str, Any]]


class TestBody(TypedDict):
    """A rule to evaluate on recorded series: its name, or the text of a file with one rule."""

    session: NotRequired[str | None]
    rule: NotRequired[str | None]
    yaml: NotRequired[str | None]
    from_ns: NotRequired[int | None]
    to_ns: NotRequired[int | None]


class TopicState(TypedDict):
    """The current state of a session's topic. ``data`` has the topic's own fields."""

    topic: str
    session: str
    params: dict[str, str]
    kind: str
    seq: int
    time_ns: int
    data: dict[str, Any]


class TracerSaid(TypedDict):
    """A state of tracers other than simply on, and the number of tracers in it."""

    text: str
    workers: int


class TrainAttempt(TypedDict):
    """An attempt of a run: a group of workers. ``reports``: the largest number of reports by one worker."""

    attempt_id: str
    state: str | None
    status_detail: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    worker_count: int
    reports: int


class TrainCheckpoint(TypedDict):
    """A checkpoint, and how many ranks reported it. ``path``: the path reported by the first of them."""

    step: int
    rank: int
    ranks: int
    path: str
    time_ns: int
    report_ns: int


class TrainRunItem(TypedDict):
    """
    A training run. ``end_known_by``: ``job`` or ``session`` if the end is inferred.

    ``worker_count``: the workers of its largest attempt.
    """

    run_id: str
    name: str | None
    state: str | None
    status_detail: str | None
    job_id: str | None
    entrypoint: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    attempt_count: int
    failed_attempts: int
    worker_count: int


class TrainRunPage(TypedDict):
    """The training runs of a session, newest first. ``problem``: why some may be missing or out of date."""

    session: str
    items: list[TrainRunItem]
    total: int
    problem: LibraryProblem | None


class TrainWorker(TypedDict):
    """
    A worker of an attempt.

    ``reporting_since_ns``: when its current report began, in which it waits for all other ranks; None if it
    is not in a report, or for less than a second.
    """

    train_worker_id: str
    state: str | None
    world_rank: int | None
    local_rank: int | None
    node_rank: int | None
    actor_id: str | None
    node_id: str | None
    node_ip: str | None
    pid: int | None
    gpus: list[int]
    log_file: str | None
    reporting_since_ns: int | None


class TransferPair(TypedDict):
    """Objects produced on ``source`` and consumed on ``target``."""

    source: str
    target: str
    objects: int
    bytes: int
    unsized: int


class TransfersAnswer(TypedDict):
    """Transfers between nodes in a time range."""

    session: str
    since_ns: int | None
    until_ns: int
    pairs: list[TransferPair]
    pairs_total: int
    objects: int
    bytes: int
    sampled: int


class TuneExperimentItem(TypedDict):
    """
    An experiment: one ``Tuner.fit()``. ``end_known_by``: ``job`` or ``session`` if the end is inferred.

    ``state``: RUNNING, FINISHED, ERRORED (no trial succeeded), INTERRUPTED (it ended before its trials), or
    CUT_OFF with its job or session. ``trial_states``: the number of trials by state. ``stopped_early``:
    trials that the scheduler or a stopper ended. ``best_trial_id`` and ``best_value``: according to the last
    result of each trial, None without a metric and a mode.
    """

    experiment_id: str
    name: str | None
    state: str | None
    path: str | None
    job_id: str | None
    entrypoint: str | None
    metric: str | None
    mode: Literal["min", "max"] | None
    scheduler: str | None
    search_algorithm: str | None
    num_samples: int | None
    is_restored: bool
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    trial_count: int
    trial_states: dict[str, int]
    stopped_early: int
    results: int
    best_trial_id: str | None
    best_value: float | None


class TuneExperimentPage(TypedDict):
    """The experiments of a session, newest first. ``problem``: why some may be missing."""

    session: str
    items: list[TuneExperimentItem]
    total: int
    problem: LibraryProblem | None


class TuneLine(TypedDict):
    """The metric of one trial: pairs of iteration and value."""

    trial_id: str
    points: list[tuple[int, float]]


class TuneParameter(TypedDict):
    """A parameter of an experiment's trials, and the number of its different values."""

    name: str
    is_number: bool
    varies: bool
    values: int


class TuneTrial(TypedDict):
    """
    A trial.

    ``parameters`` and ``metrics`` (of its last result): the names of nested values are joined with "/".
    ``end_reason``: ``finished`` by itself, ``criterion`` (it met the stop criterion), ``early`` (the
    scheduler or a stopper ended it). ``value``: the last value of the answer's metric; ``best_value``: the
    best one. Numbers that are not finite are None there, and texts in ``metrics``. ``failures``: how often it
    failed. ``actor_id``: the last actor that ran it. ``results`` and ``checkpoints``: how many are recorded.
    """

    trial_id: str
    name: str | None
    state: str | None
    end_reason: Literal["finished", "criterion", "early"] | None
    parameters: dict[str, str | int | float | bool]
    metrics: dict[str, str | int | float]
    iterations: int | None
    time_total_s: float | None
    value: float | None
    best_value: float | None
    best_iteration: int | None
    results: int
    checkpoints: int
    failures: int
    error: str | None
    path: str | None
    actor_id: str | None
    earlier_actor_ids: list[str]
    node_id: str | None
    start_ns: int | None
    end_ns: int | None


class Usage(TypedDict):
    """The use of a node. ``current``: the node is alive and has reported within the last 30 s."""

    usage_ns: int | None
    cpu_percent: float | None
    load_1: float | None
    mem_percent: float | None
    mem_used_bytes: int | None
    mem_total_bytes: int | None
    disk_percent: float | None
    disk_used_bytes: int | None
    disk_total_bytes: int | None
    disk_read_bytes_s: float | None
    disk_write_bytes_s: float | None
    net_sent_bytes_s: float | None
    net_recv_bytes_s: float | None
    gpus: int | None
    gpu_percent: float | None
    gpu_mem_percent: float | None
    gpu_mem_used_bytes: int | None
    gpu_mem_total_bytes: int | None
    object_store_percent: float | None
    object_store_used_bytes: int | None
    object_store_total_bytes: int | None
    current: bool


class Utilisation(TypedDict):
    """The mean number of attempts on workers in buckets of ``bucket_ns``, starting at ``origin_ns``."""

    bucket_ns: int
    running: list[float]


class Verdict(TypedDict):
    """
    The largest cause of the job's duration, and what would help most.

    ``code``: ``driver``, ``actor`` (a method kept its actor busy while calls waited), ``cluster`` (a function
    kept the CPUs busy while tasks waited), ``function``, or the phase that took the most time (``preparing``:
    the driver before the first task; ``finishing``: the driver after the last task). ``name``: the function,
    "" if unknown. ``remedy``: a finding by its kind and place (function or class of actors), a function at
    half its time, or an option; null if nothing would save 1 %. ``actor``: the actor that took most of the
    time, if ``name`` is a method.
    """

    saving_ns: int | None
    saving_low_ns: int | None
    saving_high_ns: int | None
    code: Literal[
        "driver",
        "actor",
        "cluster",
        "function",
        "awaiting",
        "waiting_args",
        "waiting_node",
        "starting_worker",
        "queued",
        "loading",
        "fetching",
        "storing",
        "blocked",
        "retrying",
        "preparing",
        "finishing",
        "unknown",
    ]
    name: str
    total_ns: int
    share: float
    remedy: Literal["finding", "function", "option"] | None
    remedy_name: str | None
    remedy_place: str | None
    text: str
    actor: PathActor | None


class VersionNote(TypedDict):
    """
    A version in the cluster that does not match the server.

    ``other_agent``: ``nodes`` run ``version`` of rayscope-agent, the server is ``ours``. ``untested_ray``:
    the cluster runs ``version`` of Ray, the newest tested one is ``ours``.
    """

    code: Literal["other_agent", "untested_ray"]
    version: str
    ours: str
    nodes: int | None
    message: str
    remedy: str


class Warehouse(TypedDict):
    """The warehouse, this server's name, its number of unpublished rows, and the other servers."""

    url: str
    server: str
    waiting_rows: int
    servers: list[FleetServer]
    error: IngestError | None


Changes: TypeAlias = (
    SpeedChange
    | CpusChange
    | NodesChange
    | ActorsChange
    | PlainChange
    | NumCpusChange
    | OneGetChange
    | BatchChange
)


class WhatIfBody(TypedDict):
    """Changes to replay together, in a job of a session (default: the longest job that ran tasks)."""

    session: NotRequired[str | None]
    job_id: NotRequired[str | None]
    changes: list[Changes]


class Withheld(TypedDict):
    """Why nothing is predicted."""

    code: Literal["inaccurate", "no_driver", "not_traced", "stuck", "takes_long", "too_large"]
    message: str


class WithoutEvents(TypedDict):
    """Tasks that are not recorded because their events are disabled. ``class_name``: null for functions."""

    class_name: str | None
    tasks: int


class Worker(TypedDict):
    """A worker process: what identifies it, its current activity, and its measurements."""

    running: int
    blocked: int
    attempts: list[RunningAttempt]
    gpus: list[GpuShare]
    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None
    actor_class: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    script: str | None
    worker_id: str
    state: str | None
    worker_type: str | None
    node_id: str | None
    pid: int | None
    ip: str | None
    job_id: str | None
    exit_type: str | None
    exit_detail: str | None
    launch_ns: int | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    tracer: str | None
    is_internal: bool


class WorkerDetail(TypedDict):
    """All fields of a worker."""

    history: list[dict[str, Any]]
    running: int
    blocked: int
    attempts: list[RunningAttempt]
    gpus: list[GpuShare]
    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None
    actor_class: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    script: str | None
    worker_id: str
    state: str | None
    worker_type: str | None
    node_id: str | None
    pid: int | None
    ip: str | None
    job_id: str | None
    exit_type: str | None
    exit_detail: str | None
    launch_ns: int | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    tracer: str | None
    is_internal: bool


class Actor(TypedDict):
    """An actor in its current or last state. ``gpus``: the GPUs that Ray assigned to it."""

    actor_id: str
    state: str | None
    class_name: str | None
    name: str | None
    ray_namespace: str | None
    job_id: str | None
    node_id: str | None
    worker_id: str | None
    pid: int | None
    repr_name: str | None
    is_detached: bool | None
    num_restarts: int | None
    max_restarts: int | None
    required_resources: str | None
    placement_group_id: str | None
    label_selector: str | None
    runtime_env: str | None
    call_site: str | None
    death_reason: str | None
    death_cause: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    is_internal: bool
    gpus: list[GpuShare]


class ActorDetail(TypedDict):
    """All fields of an actor."""

    history: list[dict[str, Any]]
    actor_id: str
    state: str | None
    class_name: str | None
    name: str | None
    ray_namespace: str | None
    job_id: str | None
    node_id: str | None
    worker_id: str | None
    pid: int | None
    repr_name: str | None
    is_detached: bool | None
    num_restarts: int | None
    max_restarts: int | None
    required_resources: str | None
    placement_group_id: str | None
    label_selector: str | None
    runtime_env: str | None
    call_site: str | None
    death_reason: str | None
    death_cause: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    is_internal: bool
    gpus: list[GpuShare]


class Archive(TypedDict):
    """The archive for ended sessions, and why it cannot be used now."""

    url: str
    error: IngestError | None


class AttemptDetail(TypedDict):
    """
    All fields of an attempt. ``start_is_lost``: the start of its function was not reported.

    ``gpus``: the GPUs that Ray assigned to it, or to the actor of a method.
    """

    task_id: str
    attempt: int
    name: str | None
    func_name: str | None
    type: str | None
    state: str
    reported_state: str
    end_known_by: str | None
    job_id: str | None
    actor_id: str | None
    parent_task_id: str | None
    caller_task_id: str | None
    node_id: str | None
    worker_id: str | None
    worker_pid: int | None
    placement_group_id: str | None
    error_type: str | None
    error_message: str | None
    error_summary: str | None
    created_ns: int | None
    start_ns: int | None
    end_ns: int | None
    cpu_ns: int | None
    duration_ns: int | None
    waiting_ns: int | None
    total_ns: int | None
    start_is_lost: bool
    states: list[StateTime]
    phases: list[Phase]
    error: TaskFailure | None
    required_resources: str | None
    gpus: list[GpuShare]
    label_selector: str | None
    runtime_env: str | None
    call_site: str | None
    language: str | None
    actor_repr_name: str | None
    stdout_file: str | None
    stderr_file: str | None
    stdout_start: int | None
    stdout_end: int | None
    stderr_start: int | None
    stderr_end: int | None


class ClusterAnswer(TypedDict):
    """The numbers of all kinds of entities."""

    session: str
    recording: Literal["events", "snapshot", "events+snapshot"]
    nodes: NodeCounts
    resources_total: dict[str, float]
    tasks: dict[str, int]
    actors: dict[str, int]
    jobs: dict[str, int]
    workers: dict[str, int]
    placement_groups: dict[str, int]
    libraries: dict[str, dict[str, int]]


class CriticalPathAnswer(TypedDict):
    """The chain that determined how long a job took."""

    session: str
    job_id: str | None
    begin_ns: int
    end_ns: int
    duration_ns: int
    links: list[PathLink]
    links_total: int
    left_out_ns: int
    functions: list[PathFunction]
    causes: list[PathCause]
    phases: dict[str, int]
    held_ns: int
    so_far: bool
    driver_traced: bool
    truncated: bool


class Dashboard(TypedDict):
    """A stored dashboard. Its name is that of its file."""

    name: str
    title: str
    charts: list[KeptChart]


class DatasetItem(TypedDict):
    """A dataset that was executed. ``end_known_by``: ``job`` or ``session`` if the end is inferred."""

    dataset_id: str
    name: str
    job_id: str | None
    entrypoint: str | None
    state: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    progress: int | None
    total: int | None
    total_rows: int | None
    operators: list[OperatorItem]


class DatasetPage(TypedDict):
    """The datasets of a session, newest first. ``problem``: why the data may be out of date."""

    session: str
    items: list[DatasetItem]
    total: int
    problem: LibraryProblem | None


class Dropped(TypedDict):
    """The losses of a record."""

    total: int
    spans: int
    by: list[DroppedBy]
    unresolved_attempts: int
    starts_lost: int
    repaired_total: int
    repaired_ns: int | None
    repaired_partly: bool


class ErrorAnswer(TypedDict):
    """The body of every error response."""

    error: ErrorDetail


class EventsAnswer(TypedDict):
    """A page of events, newest first."""

    items: list[Event]
    next: str | None
    total: int
    by_severity: EventsBySeverity
    dropped: Dropped


class ExplainedCause(TypedDict):
    """A part of the critical path. ``text``: an explanation and advice, "" below 15 % of the path."""

    phase: str
    name: str
    is_driver: bool
    functions: int
    total_ns: int
    held_ns: int
    share: float
    actor: PathActor | None
    text: str


class FailuresAnswer(TypedDict):
    """
    Failures by signature; ``tasks``: all of their tasks by outcome.

    ``stopped_by_libraries``: attempts that Ray's libraries stopped on purpose. They are left out unless
    requested.
    """

    session: str
    items: list[FailureGroup]
    total: int
    stopped_by_libraries: int
    tasks: TasksByOutcome


class FlameAnswer(TypedDict):
    """A flame graph. ``path_job_id`` is the job whose critical path the widths are shares of."""

    frames: list[FlameFrame]
    frames_total: int
    folded: int
    session: str
    weight: Literal["executing", "awaiting", "duration", "cpu", "count", "bytes", "critical_path"]
    path_job_id: str | None
    total: int
    attempts: int
    baseline_total: int | None
    focus: str | None
    ancestors: list[FlameFrame]
    libraries: list[FoldedLibrary]


class FoundGroup(TypedDict):
    """The best hits of a kind, best first, and the total number."""

    kind: Literal[
        "function",
        "task",
        "actor",
        "node",
        "worker",
        "job",
        "placement_group",
        "dataset",
        "serve_application",
        "train_run",
        "tune_experiment",
        "tune_trial",
        "log_file",
        "metric",
    ]
    items: list[FoundItem]
    total: int


class FramesProblem(TypedDict):
    """Why there are no frames of ``count`` workers."""

    code: str
    message: str
    remedy: str
    count: int
    workers: list[FramesWorker]


class FunctionsAnswer(TypedDict):
    """Functions by time."""

    session: str
    items: list[FunctionItem]
    hidden: list[HiddenLibrary]


class GanttAnswer(TypedDict):
    """The Gantt chart of a window."""

    session: str
    by: str
    origin_ns: int
    begin_ns: int
    end_ns: int
    attempts: int
    resolution_ns: int
    lanes: list[GanttLane]
    lanes_from: int
    lanes_total: int
    names: list[str]
    states: list[str]
    bars: GanttBars
    details: GanttDetails
    blocked: GanttSpans
    in_window: int
    merged: int
    left_out: int
    hidden: list[HiddenLibrary]
    utilisation: Utilisation | None


class HealthAnswer(TypedDict):
    """
    Whether the server is healthy. All fields except ``status`` and ``version`` require a token.

    ``damaged`` has files of the data directory that were set aside.
    """

    status: Literal["ok", "degraded"]
    version: str
    sessions: NotRequired[int]
    pending_batches: NotRequired[int]
    stalled_bodies: NotRequired[int]
    rejected_batches: NotRequired[int]
    damaged: NotRequired[list[str]]
    archive: NotRequired[Archive | None]
    warehouse: NotRequired[Warehouse | None]
    error: NotRequired[IngestError | None]


class HeldObject(TypedDict):
    """One of the largest objects."""

    object_id: str
    bytes: int | None
    function: str | None
    is_put: bool | None
    age_ns: int | None
    types: list[str]
    call_site: str | None
    holders: list[ObjectHolder]
    holders_total: int


class Hit(TypedDict):
    """A matching line, and the attempt that printed it if Ray reported that."""

    offset: int
    length: int
    text: str
    time_ns: int | None
    level: Literal["debug", "info", "warning", "error", "critical"] | None
    is_mark: bool
    is_cut: bool
    is_whole: bool
    styles: list[LogStyle]
    node_id: str
    name: str
    task_id: str | None
    attempt: int | None
    func_name: str | None


class Ingest(TypedDict):
    """The state of ingestion."""

    events: int
    batches: int
    pending_batches: int
    rejected_batches: int
    unknown: dict[str, int]
    last_batch_ns: int | None
    behind_ns: int
    error: IngestError | None


class InsightsAnswer(TypedDict):
    """
    The causes of a job's duration and the changes that would make it faster, the largest savings first.

    ``findings``: those that cost at least 1 % of the job's time, and risks, which come last. ``silent``:
    detectors that had too little data. ``not_recorded``: what is missing from the record, and may hide
    findings. ``causes``: the job's time, divided by its critical path. ``verdict``: the main cause and the
    best remedy, in one sentence. ``functions``: those of ``functions_total`` that take the most time.
    ``so_far``: the job is still running. ``end_ns``: when it ended, or the time of this answer.
    """

    session: str
    job_id: str
    attempts: int
    so_far: bool
    end_ns: int
    calibration: Calibration
    withheld: Withheld | None
    not_recorded: list[NotRecorded]
    verdict: Verdict | None
    causes: list[ExplainedCause]
    utilisation: float | None
    findings: list[FindingItem]
    silent: list[SilentDetector]
    functions: list[FunctionGain]
    functions_total: int
    options: list[OptionGain]


class JobPage(TypedDict):
    """A page of jobs."""

    next: str | None
    total: int
    internal_hidden: int
    dropped: Dropped
    items: list[Job]


class Lanes(TypedDict):
    """The number of living nodes by transport: binary, Ray's JSON, none, or unknown."""

    fast: int
    json: int
    none: int
    unknown: int
    reasons: list[LaneReason]
    versions: list[VersionNote]


class LatestAnswer(TypedDict):
    """
    The newest values. ``total``: number of matching series; ``next``: cursor of the next page.

    ``left_out``: series for which the session has no room.
    """

    session: str
    time_ns: int
    items: list[LatestItem]
    next: str | None
    total: int
    series: int
    left_out: int
    problem: Problem | None
    note: str | None
    collectors: list[CollectorItem]


class ListedPage(TypedDict):
    """The charts of a page."""

    name: str
    title: str
    charts: list[ListedChart]
    variables: list[ListedVariable]


class LogLine(TypedDict):
    """
    A line. ``level``: its own or that of the continued line. ``is_mark``: Ray's own mark.

    ``is_cut``: the text is incomplete. ``is_whole``: it has an end. ``styles``: colors of the terminal.
    """

    offset: int
    length: int
    text: str
    time_ns: int | None
    level: Literal["debug", "info", "warning", "error", "critical"] | None
    is_mark: bool
    is_cut: bool
    is_whole: bool
    styles: list[LogStyle]


class LogNode(TypedDict):
    """A node. ``files``: the number of its known log files, None if it was not asked."""

    node_id: str
    state: str | None
    node_ip: str | None
    hostname: str | None
    is_head: bool
    files: int | None
    problem: LogProblem | None


class LogPage(TypedDict):
    """Lines of a file. ``next``: ``offset`` of the next page; ``prev``: ``before`` of the previous one."""

    session: str
    node_id: str
    name: str
    kind: str
    live: bool
    problem: LogProblem | None
    kept: int
    begin: int
    end: int
    size: int
    next: int
    prev: int | None
    more: bool
    missing: list[Stretch]
    lines: list[LogLine]


class LogPart(TypedDict):
    """A range of a file that belongs to the requested entity, and its last lines."""

    worker_id: str | None
    job_id: str | None
    pid: int | None
    submission_id: str | None
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    script: str | None
    node_id: str
    name: str
    stream: str
    begin: int
    end: int | None
    page: LogPage | None
    problem: LogProblem | None


class LogSearchAnswer(TypedDict):
    """Matching lines, the files that contain them, and the bytes that were not searched."""

    session: str
    items: list[Hit]
    files: list[LogFile]
    searched: Searched
    complete: bool
    not_searched: list[NotSearched]


class LogicalAnswer(TypedDict):
    """A logical graph of at most ``limit`` nodes and edges."""

    session: str
    attempts: int
    nodes: list[LogicalNode]
    calls: list[LogicalCall]
    data: list[LogicalData]
    folded: LogicalFolded
    libraries: list[LogicalLibrary]
    limit: int
    is_estimated: bool
    data_sampled: int
    data_unnamed: int


class LogsOfAnswer(TypedDict):
    """The ranges. ``notes``: codes of surprising facts. ``left_out``: workers that are not listed."""

    session: str
    live: bool
    parts: list[LogPart]
    notes: list[str]
    left_out: int


class Measured(TypedDict):
    """
    Measurements of nodes and workers, in their order; -1 means unknown.

    ``cpu``: percent of one core; ``memory``, ``gpu_memory``, ``mem_total`` and ``gpu_mem_total``: bytes;
    ``time_ns``: when the newest report was received.
    """

    nodes: NodePercents
    time_ns: int | None
    cpu: list[float]
    memory: list[int]
    gpu_memory: list[int]
    mem_total: list[int]
    gpu_mem_total: list[int]
    cpus: list[int]


class MeasuredWorker(TypedDict):
    """A worker of the node with its measurements."""

    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None
    running: int
    blocked: int
    attempts: list[RunningAttempt]
    gpus: list[GpuShare]
    key: str
    id: str
    kind: str
    pid: int | None
    job_id: str | None
    start_ns: int | None
    is_internal: bool
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    actor_state: str | None
    functions: int
    bytes: int
    reserved: dict[str, float]
    bundle: int


class MemoryAnswer(TypedDict):
    """
    The memory held by each group. Not ``live`` if it is the last stored reading; ``totals`` is null if
    there is none.

    ``state`` is ``being_read`` while some nodes have not answered yet. ``time_ns``: when the oldest part was
    read.
    """

    session: str
    live: bool
    time_ns: int | None
    state: Literal["whole", "being_read"]
    nodes_waiting: int
    nodes: list[StoreOfNode]
    references_read: int
    references_total: int
    call_sites: bool
    by: Literal["function", "type", "call_site", "process", "node", "job"]
    totals: Sums | None
    groups: list[Group]
    groups_total: int
    objects: list[HeldObject]
    objects_total: int
    suspects: list[Suspect]


class Node(TypedDict):
    """A node, and the number of its living workers."""

    usage: Usage | None
    usage_missing: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: dict[str, str | int] | None
    node_id: str
    state: str | None
    node_ip: str | None
    node_name: str | None
    hostname: str | None
    is_head: bool | None
    instance_id: str | None
    instance_type: str | None
    labels: str | None
    resources_total: str | None
    death_reason: str | None
    death_message: str | None
    metrics_export_port: int | None
    dashboard_agent_port: int | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    lane: Literal["fast", "json", "none", "unknown"]
    lane_code: str | None
    lane_reason: str | None
    workers: int | None


class NodeMeasured(TypedDict):
    """The complete report of a node at ``time_ns``. ``load``: averages of 1, 5 and 15 minutes."""

    node_id: str
    time_ns: int
    hostname: str
    ip: str
    cpu_percent: float | None
    cpus: int | None
    mem_total_bytes: int | None
    mem_used_bytes: int | None
    mem_available_bytes: int | None
    shm_bytes: int | None
    swap_total_bytes: int | None
    swap_used_bytes: int | None
    load: list[float]
    boot_ns: int | None
    disks: list[Disk]
    disk_read_bytes: int | None
    disk_write_bytes: int | None
    disk_read_bytes_s: float | None
    disk_write_bytes_s: float | None
    disk_read_ops_s: float | None
    disk_write_ops_s: float | None
    net_sent_bytes: int | None
    net_recv_bytes: int | None
    net_sent_bytes_s: float | None
    net_recv_bytes_s: float | None
    gpus: list[MeasuredGpu]
    processes: dict[str, RayProcess]


class NodePage(TypedDict):
    """A page of nodes."""

    next: str | None
    total: int
    internal_hidden: int
    dropped: Dropped
    items: list[Node]


class NodeWorker(TypedDict):
    """All fields of a worker of a node."""

    running: int
    blocked: int
    attempts: list[RunningAttempt]
    gpus: list[GpuShare]
    key: str
    id: str
    kind: str
    pid: int | None
    job_id: str | None
    start_ns: int | None
    is_internal: bool
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    actor_state: str | None
    functions: int
    bytes: int
    reserved: dict[str, float]
    bundle: int


class OperatorTasks(TypedDict):
    """
    The tasks that ran for an operator: times in ns, sizes in bytes (None without the tracer).

    ``steady_ns``: the total time if the first task in each worker, which imports modules, took as long as the
    others.
    """

    names: list[TaskNames]
    states: dict[str, int]
    at_once: int | None
    first_ns: int | None
    last_ns: int | None
    time_ns: int | None
    steady_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    output_bytes: int | None
    p50_bytes: int | None
    max_bytes: int | None


class PendingItem(TypedDict):
    """
    A pending request: ``count`` similar tasks or actors, or one placement group.

    ``since_ns``: when the first of them began to wait; ``reason.remedy``: what would let it run. ``holders``:
    the largest holders of the short resource, on the nodes that could run it.
    """

    kind: Literal["actor", "task", "placement_group"]
    name: str
    id: str | None
    job_id: str | None
    count: int
    since_ns: int | None
    state: str
    resources: dict[str, float]
    bundles: list[dict[str, float]] | None
    strategy: str | None
    runtime_env: str | None
    reason: ReasonItem
    holders: list[PendingHolder]
    holders_left_out: int


class PhysicalAnswer(TypedDict):
    """Contents of the nodes at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    nodes: PhysicalNodes
    workers: PhysicalWorkers
    bundles: PhysicalBundles
    groups: list[PhysicalGroup]
    amounts: list[dict[str, float]]
    kinds: list[str]
    jobs: list[str]
    scripts: dict[str, str]
    classes: list[str]
    states: list[str]
    functions: list[str]
    reserved: list[dict[str, float]]
    values: list[str]
    nodes_total: int
    workers_total: int
    bundles_total: int
    workers_left_out: int
    annotations: list[str]
    measured: Measured | None


class PlacementGroupPage(TypedDict):
    """A page of placement groups."""

    next: str | None
    total: int
    internal_hidden: int
    dropped: Dropped
    items: list[PlacementGroup]


class Progress(TypedDict):
    """All attempts of a job or actor by state, and by function."""

    id: str
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    functions: list[FunctionProgress]
    rest: RestProgress


class RangeAnswer(TypedDict):
    """A time range."""

    session: str
    by: str
    since_ns: int
    until_ns: int
    attempts: int
    states: dict[str, int]
    phases: dict[str, int]
    busy_ns: int
    running: RangeRunning
    functions: list[RangeFunction]
    functions_total: int
    functions_left_out_ns: int
    lanes: list[RangeLane]
    lanes_total: int
    lanes_left_out_ns: int


class ServeApplicationAnswer(TypedDict):
    """
    A single application.

    ``replicas``: some of the ``replicas_total``: living ones first, then the newest. ``edges``: the calls
    between its deployments that the tracer counted.
    """

    name: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    message: str | None
    route_prefix: str | None
    docs_path: str | None
    source: str | None
    deployed_ns: int | None
    deployments: list[ServeDeployment]
    config: dict[str, Any] | None
    history: list[ServeChange]
    replicas: list[ServeReplica]
    replicas_total: int
    edges: list[ServeCalls]
    session: str


class ServeApplicationItem(TypedDict):
    """An application with its deployments. ``name`` identifies it. Times as in ServeDeploymentItem."""

    name: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    message: str | None
    route_prefix: str | None
    docs_path: str | None
    source: str | None
    deployed_ns: int | None
    deployments: list[ServeDeploymentItem]


class ServePage(TypedDict):
    """Serve in a session. ``problem``: why the data may be out of date."""

    session: str
    items: list[ServeApplicationItem]
    total: int
    proxies: list[ServeProxy]
    controllers: list[ServeController]
    problem: LibraryProblem | None


class ServeRequest(TypedDict):
    """
    A request.

    ``request_id``: the ID that its client sees. ``total_ns`` is the sum of ``proxy_ns``, ``queue_ns``,
    ``replica_ns`` and ``downstream_ns``. Unknown parts are None: the first two if the request did not come
    through a proxy, all except ``queue_ns`` if the replica did not report it.
    """

    request: str
    request_id: str
    time_ns: int
    total_ns: int
    proxy_ns: int | None
    queue_ns: int | None
    replica_ns: int | None
    downstream_ns: int | None
    route: str
    method: str
    status: str
    failed: bool
    error: str | None
    deployments: list[str]
    steps: list[ServeRequestStep]


class ServeRequestPage(TypedDict):
    """
    Slow and failed requests of an application, and the number of them in the record.

    ``left_out``: at least this many others were only counted.
    """

    session: str
    items: list[ServeRequest]
    total: int
    left_out: int


class SessionPage(TypedDict):
    """A page of sessions."""

    items: list[SessionItem]
    next: str | None
    total: int
    dropped: Dropped


class StackAnswer(TypedDict):
    """The attempts in flight at ``at_ns``, and their waits."""

    session: str
    at_ns: int | None
    live: bool
    in_flight: int
    left_out: int
    callers_left_out: bool
    nodes: list[StackNode]
    folded_nodes: int
    chains: list[list[StackLink]]


class StatusAnswer(TypedDict):
    """The resources of the cluster, their holders, and pending requests. ``error``: why these are unknown."""

    session: str
    live: bool
    time_ns: int | None
    error: str | None
    remedy: str | None
    error_code: str | None
    error_params: dict[str, str | int] | None
    resources: dict[str, AmountOf]
    by: list[ResourceHolder]
    by_left_out: int
    pending: list[PendingItem]
    pending_left_out: int
    shapes: list[Shape]
    autoscaler: AutoscalerStatus | None


class TaskDetail(TypedDict):
    """All fields of a task. ``waits_for``: the tasks that create its missing arguments."""

    task_id: str
    attempts: list[AttemptDetail]
    parent: Parent | None
    call_path: list[str]
    children: list[TaskItem]
    children_total: int
    spans: list[SpanItem]
    spans_total: int
    data_in: list[EdgeItem]
    data_in_total: int
    data_in_bytes: int
    data_out: list[EdgeItem]
    data_out_total: int
    data_out_bytes: int
    annotations: list[AnnotationItem]
    scheduling: list[SchedulingItem]
    waits_for: list[AwaitedTask]


class TaskPage(TypedDict):
    """A page of task attempts."""

    items: list[TaskItem]
    next: str | None
    total: int
    dropped: Dropped


class Tracing(TypedDict):
    """The number of traced workers among those that ran tasks, and tasks that only the tracer saw."""

    traced: int
    untraced: int
    said: list[TracerSaid]
    summed_calls: int
    tasks_without_events: int
    without_events: list[WithoutEvents]


class TrainRunAnswer(TypedDict):
    """
    A single training run, with the workers of one of its attempts and their reports.

    A column of ``cells`` and ``metrics`` is ``bucket`` steps. ``ranks`` are complete; ``cells`` and lines are
    those of the first ``shown_ranks`` of them. ``reports_left_out``: reports in such quick succession that
    they were only counted.
    """

    run_id: str
    name: str | None
    state: str | None
    status_detail: str | None
    job_id: str | None
    entrypoint: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    attempt_count: int
    failed_attempts: int
    worker_count: int
    session: str
    controller_actor_id: str | None
    controller_log_file: str | None
    controller_node_id: str | None
    settings: dict[str, str]
    attempts: list[TrainAttempt]
    attempt_id: str | None
    workers: list[TrainWorker]
    steps: int
    bucket: int
    cells: list[StepCell]
    ranks: list[RankTimes]
    shown_ranks: int
    metrics: list[ReportedMetric]
    checkpoints: list[TrainCheckpoint]
    reports_left_out: int


class TuneExperimentAnswer(TypedDict):
    """
    A single experiment with its trials, sorted by ID.

    ``shown_metric`` and ``shown_mode``: the objective of ``shown_best_trial_id``, the values and the
    ``lines``. ``restored_from``: the experiment that this one continues. ``metrics``: the names of the
    reported metrics. A line has one point for each ``bucket`` iterations. Only the best trials have a line;
    ``lines_left_out`` trials have none. ``results_left_out``: results in such quick succession that they were
    only counted.
    """

    experiment_id: str
    name: str | None
    state: str | None
    path: str | None
    job_id: str | None
    entrypoint: str | None
    metric: str | None
    mode: Literal["min", "max"] | None
    scheduler: str | None
    search_algorithm: str | None
    num_samples: int | None
    is_restored: bool
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    trial_count: int
    trial_states: dict[str, int]
    stopped_early: int
    results: int
    best_trial_id: str | None
    best_value: float | None
    session: str
    restored_from: str | None
    trials: list[TuneTrial]
    trials_left_out: int
    parameters: list[TuneParameter]
    metrics: list[str]
    shown_metric: str | None
    shown_mode: Literal["min", "max"] | None
    shown_best_trial_id: str | None
    iterations: int
    bucket: int
    lines: list[TuneLine]
    lines_left_out: int
    results_left_out: int


class WhatIfAnswer(TypedDict):
    """
    The predicted duration of a job with changes. ``baseline_ns``: how long it took until ``end_ns``.

    ``path``: the longest stretches of the new critical path in the order of time; ``functions``: all of the
    path by function.
    """

    saving_ns: int | None
    saving_low_ns: int | None
    saving_high_ns: int | None
    session: str
    job_id: str
    attempts: int
    so_far: bool
    end_ns: int
    calibration: Calibration
    withheld: Withheld | None
    baseline_ns: int
    predicted_ns: int | None
    speedup: float | None
    utilisation_before: float | None
    utilisation: float | None
    path: list[PathStretch]
    functions: list[FunctionOnPath]


class WorkerPage(TypedDict):
    """A page of workers."""

    next: str | None
    total: int
    internal_hidden: int
    dropped: Dropped
    items: list[Worker]


class ActorPage(TypedDict):
    """A page of actors."""

    next: str | None
    total: int
    internal_hidden: int
    dropped: Dropped
    items: list[Actor]


class CellsAnswer(TypedDict):
    """Every node and worker in compact form."""

    session: str
    live: bool
    at_ns: int | None
    nodes: CellNodes
    workers: CellWorkers
    kinds: list[str]
    classes: list[str]
    functions: list[str]
    measured: Measured
    usage_error: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: dict[str, str | int] | None
    dead: list[DeadNode]
    nodes_total: int
    workers_total: int
    workers_left_out: int


class ChartsAnswer(TypedDict):
    """The charts of all pages, which Grafana's dashboards show, too."""

    pages: list[ListedPage]


class FindAnswer(TypedDict):
    """Hits by kind, without kinds that have none."""

    session: str
    groups: list[FoundGroup]


class FramesAnswer(TypedDict):
    """The Python frames of workers at ``at_ns``."""

    session: str
    at_ns: int
    whole: bool
    asked: int
    left_out: int
    nodes: list[NodeFrames]
    folded_frames: int
    workers: list[SeenWorker]
    problems: list[FramesProblem]


class LogFilesAnswer(TypedDict):
    """
    Nodes and files. ``total``: matching files; ``left_out``: matching files that are not listed;
    ``empty``: matching files into which nothing was printed.
    """

    session: str
    live: bool
    nodes: list[LogNode]
    files: list[LogFile]
    total: int
    left_out: int
    empty: int
    keeping: Keeping


class NodeAnswer(TypedDict):
    """One node at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    scripts: dict[str, str]
    node: PhysicalNode
    labels: str | None
    end_ns: int | None
    workers: list[NodeWorker]
    workers_total: int
    bundles: list[PhysicalBundle]


class NodeDetail(TypedDict):
    """All fields of a node."""

    history: list[dict[str, Any]]
    usage: Usage | None
    usage_missing: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: dict[str, str | int] | None
    measured: NodeMeasured | None
    gpus: list[NodeGpu]
    processes: list[NamedProcess]
    resources: dict[str, AmountOf] | None
    is_draining: bool | None
    idle_ms: int | None
    by: list[ResourceHolder]
    at_ns: int | None
    workers: list[MeasuredWorker]
    workers_total: int
    bundles: list[PhysicalBundle]
    node_id: str
    state: str | None
    node_ip: str | None
    node_name: str | None
    hostname: str | None
    is_head: bool | None
    instance_id: str | None
    instance_type: str | None
    labels: str | None
    resources_total: str | None
    death_reason: str | None
    death_message: str | None
    metrics_export_port: int | None
    dashboard_agent_port: int | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    lane: Literal["fast", "json", "none", "unknown"]
    lane_code: str | None
    lane_reason: str | None


class OperatorDetail(TypedDict):
    """
    An operator with the tasks that ran for it.

    ``least_ns``: the minimum duration of the tasks at their maximum concurrency. ``running``: the mean number
    of running tasks in each bucket of time. ``actors``: actors created for its pool. ``actor_start_ns``: the
    median time until these were ready.
    """

    operator_id: str
    name: str
    state: str | None
    position: int
    progress: int | None
    total: int | None
    total_rows: int | None
    queued_blocks: int | None
    inputs: list[str] | None
    tasks: OperatorTasks | None
    least_ns: int
    running: list[float]
    actors: int
    actor_start_ns: int | None


class RecordingAnswer(TypedDict):
    """How a session is recorded."""

    session: str
    recording: Literal["events", "snapshot", "events+snapshot"]
    events: int
    batches: int
    spans: int
    lanes: Lanes
    nodes: list[NodeLane]
    nodes_total: int
    tracing: Tracing
    dropped: Dropped
    snapshots: Snapshots
    cannot_see: list[str]


class Summary(TypedDict):
    """A session at a glance."""

    session: str
    recording: Literal["events", "snapshot", "events+snapshot"]
    tasks: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    first_ns: int | None
    last_ns: int | None
    functions: list[FunctionItem]
    failures: list[FailureItem]
    dropped: Dropped
    lanes: Lanes
    tracing: Tracing
    ingest: Ingest
    cannot_see: list[str]


class DatasetAnswer(TypedDict):
    """A single dataset."""

    dataset_id: str
    name: str
    job_id: str | None
    entrypoint: str | None
    state: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["job", "session"] | None
    progress: int | None
    total: int | None
    total_rows: int | None
    operators: list[OperatorDetail]
    warnings: list[DatasetWarning]
    bottleneck: str | None
    begin_ns: int | None
    bucket_ns: int | None
    session: str
