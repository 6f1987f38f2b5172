"""Collectors of task attempts, actors and resources, from the record and the GCS, and of our own metrics."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.libraries.data import sql as data_sql
from rayscope.libraries.train import sql as train_sql
from rayscope.metrics.collector import Cluster, CollectorError
from rayscope.metrics.collectors.ends import (
    class_restarts,
    function_ends,
    platform_events,
    stopped_internals,
)
from rayscope.model.metric import Family, Sample, sample
from rayscope.storage.sql import sessions as sessions_sql

#: Maximum number of functions with series of their own.
_FUNCTIONS = 50
#: Maximum number of actor classes with series of their own.
_CLASSES = 200
#: Maximum number of platform events with series of their own.
_PLATFORM_EVENTS = 50
#: Platform events of the built-in rules. They start at zero, so that the first one is visible as an increase.
_ALERTED_EVENTS = ("OOMKilled", "CrashLoopBackOff")
#: Maximum number of runs of Ray Train with series of their own.
_TRAIN_RUNS = 50
#: Shorter times between the reports of a run count as this, in ns: the record is some seconds behind.
_MIN_REPORT_INTERVAL_NS = 60 * 10**9
#: Maximum number of datasets with series of their own.
_DATASETS = 200


class Tasks:
    """Attempts by state, and finished and failed attempts in total and by function."""

    interval_s = 0.0
    timeout_s = 30.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """The 50 functions with the most attempts have their own series. ``left_out`` counts the others."""
        counts = cluster.record(sessions_sql.counts, "counts")["tasks"]
        yield Family("rayscope_task_attempts", "gauge", "Task attempts on record by state.", "count")
        for state, count in counts.items():
            yield sample("rayscope_task_attempts", count, state=state)
        for what in ("finished", "failed"):
            name = f"rayscope_task_attempts_{what}_total"
            yield Family(name, "counter", f"Task attempts that {what}.", "count")
            yield sample(name, counts.get(what.upper(), 0))
            name = f"rayscope_function_{what}_total"
            yield Family(name, "counter", f"Task attempts of a function that {what}.", "count")
        name = "rayscope_task_attempts_stopped_by_libraries_total"
        yield Family(name, "counter", "Failed attempts that Ray's libraries stopped on purpose.", "count")
        yield sample(name, cluster.record(stopped_internals) if counts.get("FAILED") else 0)
        ends, others = cluster.record(lambda file: function_ends(file, _FUNCTIONS))
        for end in ends:
            yield sample("rayscope_function_finished_total", end.finished, func_name=end.func_name)
            yield sample("rayscope_function_failed_total", end.failed, func_name=end.func_name)
        cluster.left_out += 2 * others


class Actors:
    """Actors, jobs, workers and placement groups by state, restarts of actors, and Ray's libraries."""

    interval_s = 0.0
    timeout_s = 30.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """At most 200 classes and 200 datasets have their own series. ``left_out`` counts the others."""
        counts = cluster.record(sessions_sql.counts, "counts")
        for what in ("actors", "jobs", "workers", "placement_groups", "nodes"):
            words = what.replace("_", " ").capitalize()
            yield Family(f"rayscope_{what}", "gauge", f"{words} on record by state.", "count")
            # Start at zero, so that the first failure is visible as an increase.
            zero = {"FAILED": 0} if what == "jobs" else {}
            for state, count in (zero | counts.get(what, {})).items():
                yield sample(f"rayscope_{what}", count, state=state)
        yield Family("rayscope_train_runs", "gauge", "Runs of Ray Train on record by state.", "count")
        for state, count in ({"ERRORED": 0} | counts.get("train_runs", {})).items():
            yield sample("rayscope_train_runs", count, state=state)
        name = "rayscope_train_overdue_ratio"
        yield Family(
            name,
            "gauge",
            "Time since the last report of a run of Ray Train until the newest data, divided by its longest "
            "time between reports, or by 1 min if that is longer.",
        )
        for run in cluster.record(lambda file: train_sql.progress(file, _TRAIN_RUNS)):
            interval_ns = max(run["longest_ns"], _MIN_REPORT_INTERVAL_NS)
            ratio = run["silent_ns"] / interval_ns
            labels = {"run_id": run["run_id"], "run": run["name"] or "", "job_id": run["job_id"] or ""}
            yield sample(name, ratio, **labels)
        for what, failed in (("experiments", "ERRORED"), ("trials", "ERROR")):
            name, view = f"rayscope_tune_{what}", f"tune_{what}"
            yield Family(name, "gauge", f"{what.capitalize()} of Ray Tune on record by state.", "count")
            for state, count in ({failed: 0} | counts.get(view, {})).items():
                yield sample(name, count, state=state)
        name = "rayscope_dataset_running"
        yield Family(name, "gauge", "1 for each dataset of Ray Data that is being executed.")
        datasets, others = cluster.record(lambda file: data_sql.running_ids(file, _DATASETS))
        for dataset in datasets:
            yield sample(name, 1, dataset=dataset)
        cluster.left_out += others
        name = "rayscope_actor_restarts_total"
        yield Family(name, "counter", "How often actors of a class were restarted.", "count")
        restarts, others = cluster.record(lambda file: class_restarts(file, _CLASSES))
        for entry in restarts:
            yield sample(name, entry.restarts, class_name=entry.class_name)
        cluster.left_out += others
        name = "rayscope_platform_events_total"
        yield Family(name, "counter", "Events that Kubernetes reported about pods.", "count")
        events, others = cluster.record(lambda file: platform_events(file, _PLATFORM_EVENTS))
        for event, number in (dict.fromkeys(_ALERTED_EVENTS, 0) | events).items():
            yield sample(name, number, event=event)
        cluster.left_out += others


class ResourceUse:
    """Total and free CPU, GPU, memory and custom resources of each node, and pending demand."""

    interval_s = 0.0
    timeout_s = 10.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Samples of ``rayscope_resources_total``, ``..._available``, and ``rayscope_pending_demands``."""
        resources = cluster.resources()
        if resources is None:
            raise CollectorError(
                "The cluster's GCS is not being read.",
                "Give its address: rayscope attach ADDRESS",
                "collector_no_gcs",
            )
        yield Family(
            "rayscope_resources_total", "gauge", "Total amount of a resource of a node, in Ray's units."
        )
        yield Family("rayscope_resources_available", "gauge", "Free amount of a resource of a node.")
        hosts = {node.node_id: node.host for node in cluster.nodes()}
        for node_id, node in resources.nodes.items():
            where = {"node_id": node_id, "node_ip": hosts.get(node_id, "")}
            where = {name: value for name, value in where.items() if value}
            for resource, total in node.total.items():
                if resource.startswith(("node:", "bundle_")) or "_group_" in resource:
                    continue
                free = node.available.get(resource, 0.0)
                yield sample("rayscope_resources_total", total, resource=resource, **where)
                yield sample("rayscope_resources_available", free, resource=resource, **where)
        yield Family(
            "rayscope_pending_demands", "gauge", "Tasks and actors that wait for resources.", "count"
        )
        yield sample(
            "rayscope_pending_demands", sum(demand.ready for demand in resources.demands), kind="ready"
        )
        yield sample(
            "rayscope_pending_demands",
            sum(demand.infeasible for demand in resources.demands),
            kind="infeasible",
        )
        yield sample("rayscope_pending_demands", len(resources.groups), kind="placement_group")


class Rayscope:
    """The cost of recording this session, and the server's state."""

    interval_s = 0.0
    timeout_s = 10.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """The metrics in :data:`FIGURES`."""
        figures = cluster.figures()
        for name, value in figures.items():
            yield FIGURES.get(name) or Family(name)
            yield sample(name, value)


#: Our own metrics about the recording of a session, and about the whole server.
FIGURES = {
    family.name: family
    for family in (
        Family("rayscope_events_received_total", "counter", "Events ingested for the session.", "count"),
        Family("rayscope_batches_received_total", "counter", "Batches ingested for the session.", "count"),
        Family("rayscope_events_dropped_total", "counter", "Events that Ray dropped.", "count"),
        Family("rayscope_attempts", "gauge", "Task attempts on record.", "count"),
        Family("rayscope_session_bytes", "gauge", "Disk space of the session.", "bytes"),
        Family("rayscope_metrics_series", "gauge", "Series of metrics in memory.", "count"),
        Family("rayscope_metrics_left_out", "gauge", "Series dropped because of the limit.", "count"),
        Family("rayscope_spool_bytes", "gauge", "Events on disk waiting to be written.", "bytes"),
        Family("rayscope_batches_waiting", "gauge", "Batches waiting to be written.", "count"),
        Family("rayscope_batches_rejected_total", "counter", "Batches that could not be read.", "count"),
        Family("rayscope_behind_seconds", "gauge", "Age of the oldest batch not yet written.", "s"),
        Family("rayscope_store_failing", "gauge", "1 while the record cannot be written."),
        Family("rayscope_process_cpu_seconds_total", "counter", "CPU time used by the server.", "s"),
        Family("rayscope_process_resident_bytes", "gauge", "Memory used by the server.", "bytes"),
        Family("rayscope_process_open_files", "gauge", "Open files of the server.", "count"),
    )
}
