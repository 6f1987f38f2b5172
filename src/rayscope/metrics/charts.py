"""Definitions of the pages' charts, used by the UI and to generate Grafana's dashboards.

Names and labels are Ray's own (as of Ray 2.60), with `node_id` and `node_ip` added, or begin with
`rayscope_`. Grafana and the UI replace `$node_id` and `$job_id` with the node or job that a page shows.
"""

from __future__ import annotations

from typing import NamedTuple


class Query(NamedTuple):
    """A PromQL expression, and the names of its series, in which `{{label}}` stands for a label's value.

    ``bold``: draw a thick line.
    """

    expr: str
    legend: str
    bold: bool = False


class Chart(NamedTuple):
    """A chart.

    Attributes:
        key: unique among all pages. The UI looks up the translated title by this key.
        unit: "", "bytes", "percent", "s", "bytes/s", "count" or "count/s".
        width: number of columns that the chart takes. A page has three.
    """

    key: str
    title: str
    queries: tuple[Query, ...]
    unit: str
    stacked: bool = False
    width: int = 1


class Variable(NamedTuple):
    """A variable `$NAME`, whose values are those of a metric's label."""

    name: str
    label: str
    metric: str


class Page(NamedTuple):
    """A page of charts."""

    name: str
    title: str
    charts: tuple[Chart, ...]
    variables: tuple[Variable, ...] = ()


def _chart(
    key: str,
    title: str,
    unit: str,
    *queries: tuple[str, str] | Query,
    stacked: bool = False,
    width: int = 1,
) -> Chart:
    return Chart(key, title, tuple(Query(*query) for query in queries), unit, stacked, width)


# Values of Ray's labels, with the names shown for them.
_LOCATIONS = (
    ("MMAP_SHM", "shared memory"),
    ("MMAP_DISK", "fallback on disk"),
    ("WORKER_HEAP", "worker heap"),
    ("SPILLED", "spilled"),
)
#: Pattern of the actor that Ray starts for each submitted job, and of its methods. They are not user code.
_SUPERVISOR = "(.*:)?JobSupervisor([.].*)?"
_USERS = f'Name!~"{_SUPERVISOR}"'
#: Ray counts placement groups that wait once by their state and again as registered.
_GROUPS = 'ray_gcs_placement_group_count{State="Registered"}'
_UNPLACED = 'ray_gcs_placement_group_count{State!="Registered"}'
_SPILLING = (("PendingSpill", "being spilled"), ("PendingRestore", "being restored"))
_TRANSFERS = (
    ("PushedFromLocalPlasma", "sent from memory"),
    ("PushedFromLocalDisk", "sent from disk"),
    ("Received", "received"),
)


def _each(metric: str, label: str, names: tuple[tuple[str, str], ...], of: str = "") -> list[tuple[str, str]]:
    """A query for each value of a label, with the name shown for that value."""
    more = f",{of}" if of else ""
    return [(f'sum({metric}{{{label}="{value}"{more}}})', name) for value, name in names]


def _by_component(metric: str, of: str) -> tuple[tuple[str, str], ...]:
    """Sums by kind of process. Workers are named after the function or class that they run."""
    busy = f'sum by (Component) ({metric}{{{of},Component!="ray::IDLE"}})'
    return (
        (f'label_replace({busy}, "Component", "$1", "Component", "ray::(.*)")', "{{Component}}"),
        (f'sum({metric}{{{of},Component="ray::IDLE"}})', "idle workers"),
    )


def _of_nodes(expr: str, of: str) -> tuple[Query, ...]:
    """A line for each node. The average of several nodes comes first, unless ``of`` selects nodes."""
    average = Query(f"avg({expr}) and count({expr}) > 1", "average", bold=True)
    return (*(() if of else (average,)), Query(expr, "{{node_ip}}"))


def _used(of: str = "") -> tuple[Chart, ...]:
    """Charts of the usage of all nodes, or of those that the label matchers ``of`` select."""
    key = "node" if of else "cluster"
    gpu = "{{node_ip}} GPU {{GpuIndex}}"
    return (
        _chart(
            f"{key}Cpu", "CPU utilization", "percent", *_of_nodes(f"ray_node_cpu_utilization{{{of}}}", of)
        ),
        _chart(
            f"{key}Memory",
            "Memory used",
            "percent",
            *_of_nodes(f"100 * ray_node_mem_used{{{of}}} / ray_node_mem_total{{{of}}}", of),
        ),
        _chart(
            f"{key}Disk",
            "Disk used",
            "percent",
            (f"ray_node_disk_utilization_percentage{{{of}}}", "{{node_ip}}"),
        ),
        _chart(
            f"{key}Network",
            "Network",
            "bytes/s",
            (f"sum(ray_node_network_receive_speed{{{of}}})", "received"),
            (f"sum(ray_node_network_send_speed{{{of}}})", "sent"),
        ),
        _chart(
            f"{key}DiskIo",
            "Disk I/O",
            "bytes/s",
            (f"sum(ray_node_disk_io_read_speed{{{of}}})", "read"),
            (f"sum(ray_node_disk_io_write_speed{{{of}}})", "written"),
        ),
        _chart(f"{key}Gpu", "GPU utilization", "percent", (f"ray_node_gpus_utilization{{{of}}}", gpu)),
        _chart(f"{key}GpuMemory", "GPU memory", "bytes", (f"1024 * 1024 * ray_node_gram_used{{{of}}}", gpu)),
        _chart(
            f"{key}ObjectStore",
            "Object store by location",
            "bytes",
            *_each("ray_object_store_memory", "Location", _LOCATIONS, of),
            stacked=True,
        ),
    )


def _capacity(of: str = "") -> tuple[Chart, ...]:
    """Charts of total, reserved and used resources."""
    key = "node" if of else "cluster"
    all_of = f"{{{of}}}" if of else ""

    def reserved(name: str) -> tuple[tuple[str, str], ...]:
        matchers = f'Name="{name}"' + (f",{of}" if of else "")
        return (
            (f"sum(ray_resources{{{matchers}}})", "total"),
            (f'sum(ray_resources{{{matchers},State="USED"}})', "reserved"),
        )

    return (
        _chart(
            f"{key}Cpus",
            "CPUs",
            "count",
            *reserved("CPU"),
            (f"sum(ray_component_cpu_percentage{all_of}) / 100", "used by Ray"),
        ),
        _chart(
            f"{key}ReservedMemory",
            "Memory",
            "bytes",
            (f"sum(ray_node_mem_total{all_of})", "total"),
            reserved("memory")[1],
            (f"sum(ray_node_mem_used{all_of})", "used"),
        ),
        _chart(
            f"{key}Gpus",
            "GPUs",
            "count",
            *reserved("GPU"),
            (f"sum(ray_node_gpus_utilization{all_of}) / 100", "used"),
        ),
    )


def _of_session(name: str) -> str:
    """A counter's rate of growth. Its name differs between a session's own series and our `/metrics`."""
    return f"sum(rate(rayscope_{name}[1m])) or sum(rate(rayscope_session_{name}[1m]))"


_USED = _used()
_CLUSTER = (
    *_USED[:2],
    _chart(
        "clusterTasksEnded",
        "Tasks ended per second",
        "count/s",
        (f'sum by (State) (rate(ray_tasks{{State=~"FINISHED|FAILED",{_USERS}}}[1m]))', "{{State}}"),
    ),
    _chart(
        "clusterActors",
        "Actors by state",
        "count",
        (f'sum by (State) (ray_actors{{Source="gcs",{_USERS}}})', "{{State}}"),
        stacked=True,
    ),
    *_capacity(),
    *_USED[2:],
    _chart(
        "clusterTasks",
        "Tasks by state",
        "count",
        (f'clamp_min(sum by (State) (ray_tasks{{State!~"FINISHED|FAILED",{_USERS}}}), 0)', "{{State}}"),
        stacked=True,
    ),
    _chart(
        "clusterRunning",
        "Running tasks by function",
        "count",
        (f'clamp_min(sum by (Name) (ray_tasks{{State=~"RUNNING.*",{_USERS}}}), 0)', "{{Name}}"),
        stacked=True,
    ),
    _chart(
        "clusterPending",
        "Tasks waiting to be scheduled, by reason",
        "count",
        ("sum by (Reason) (ray_scheduler_unscheduleable_tasks)", "{{Reason}}"),
        stacked=True,
    ),
    _chart(
        "clusterPlacementGroups",
        "Placement groups by state",
        "count",
        (f"clamp_min(sum({_GROUPS}) - sum({_UNPLACED}), 0)", "placed"),
        (f"sum by (State) ({_UNPLACED})", "{{State}}"),
        stacked=True,
    ),
    _chart("clusterNodes", "Nodes", "count", ("sum(ray_cluster_active_nodes)", "alive")),
    _chart(
        "clusterObjectTransfers",
        "Object transfers between nodes",
        "bytes/s",
        *((f'sum(rate(ray_object_manager_bytes{{Type="{kind}"}}[1m]))', name) for kind, name in _TRANSFERS),
    ),
    _chart(
        "clusterHeap",
        "Worker heap by function and actor",
        "bytes",
        *_by_component(
            "ray_component_uss_bytes",
            f'Component=~"ray::.*",Component!~"ray::(DashboardAgent|RuntimeEnvAgent|{_SUPERVISOR})"',
        ),
        stacked=True,
    ),
    _chart(
        "clusterSpilled",
        "Object spilling",
        "bytes",
        *_each("ray_spill_manager_objects_bytes", "State", _SPILLING),
    ),
)

_NODE_ID = 'node_id="$node_id"'
_NODE = (
    *_capacity(_NODE_ID),
    *_used(_NODE_ID),
    _chart(
        "nodeComponentCpu",
        "CPU by component",
        "percent",
        *_by_component("ray_component_cpu_percentage", _NODE_ID),
        stacked=True,
    ),
    _chart(
        "nodeComponentMemory",
        "Memory by component",
        "bytes",
        *_by_component("ray_component_rss_bytes", _NODE_ID),
        stacked=True,
    ),
    _chart(
        "nodePending",
        "Tasks waiting to be scheduled, by reason",
        "count",
        (f"sum by (Reason) (ray_scheduler_unscheduleable_tasks{{{_NODE_ID}}})", "{{Reason}}"),
        stacked=True,
    ),
)

_JOB_ID = 'JobId="$job_id",Source="executor"'
_JOB = (
    _chart(
        "jobRunning",
        "Running tasks by function",
        "count",
        (f'clamp_min(sum by (Name) (ray_tasks{{{_JOB_ID},State=~"RUNNING.*"}}), 0)', "{{Name}}"),
        stacked=True,
    ),
    _chart(
        "jobTasks",
        "Tasks on workers by state",
        "count",
        (f"clamp_min(sum by (State) (ray_tasks{{{_JOB_ID}}}), 0)", "{{State}}"),
        stacked=True,
    ),
    _chart(
        "jobActors",
        "Live actors by state",
        "count",
        (f"sum by (State) (ray_actors{{{_JOB_ID}}})", "{{State}}"),
        stacked=True,
    ),
)

_RAYSCOPE = (
    _chart(
        "rayscopeEvents",
        "Events ingested / dropped",
        "count/s",
        (_of_session("events_received_total"), "ingested"),
        (_of_session("events_dropped_total"), "dropped"),
    ),
    _chart("rayscopeBehind", "Ingest lag", "s", ("max(rayscope_behind_seconds)", "oldest")),
    _chart("rayscopeSpool", "Write queue", "bytes", ("max(rayscope_spool_bytes)", "on disk")),
    _chart(
        "rayscopeCpu",
        "Server CPU",
        "percent",
        ("100 * sum(rate(rayscope_process_cpu_seconds_total[1m]))", "of one core"),
    ),
    _chart(
        "rayscopeMemory",
        "Server memory",
        "bytes",
        ("sum(rayscope_process_resident_bytes)", "resident"),
    ),
    _chart("rayscopeFiles", "Server open files", "count", ("sum(rayscope_process_open_files)", "open")),
)

PAGES = (
    Page("cluster", "Cluster", _CLUSTER),
    Page("node", "Node", _NODE, (Variable("node_id", "node_id", "ray_node_cpu_utilization"),)),
    Page("job", "Job", _JOB, (Variable("job_id", "JobId", "ray_tasks"),)),
    Page("rayscope", "Rayscope", _RAYSCOPE),
)
