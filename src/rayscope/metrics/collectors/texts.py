"""Collectors for Ray's Prometheus endpoints: machine, network, GPU, memory, objects, and everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rayscope.metrics.collector import Cluster, CollectorError, NotDue
from rayscope.metrics.ray_text import Texts, TextsNotDue
from rayscope.model.metric import Family, Sample, sample
from rayscope.model.usage import NodeStats
from rayscope.ray.agents.scrape import ScrapeResult

#: Maximum age of a node's report, in ns.
_FRESH_NS = 30 * 10**9
#: Maximum number of processes with series of their own.
_MAX_PROCESSES = 1000
#: How long after its failure a node is still reported, in ns.
_DEAD_NS = 600 * 10**9
_NO_AGENT = (
    "They are served by Ray's dashboard agent on each node. Check that it is running "
    "(dashboard_agent.log) and that this machine can reach the nodes' metrics_export_port."
)


def _texts(cluster: Cluster) -> Texts:
    """The Prometheus texts of this step. Raises NotDue, or CollectorError if no node responds."""
    try:
        texts = cluster.text()
    except TextsNotDue as error:
        raise NotDue from error
    if texts.results and all(result.error is not None for result in texts.results):
        first = texts.results[0]
        raise CollectorError(
            f"No node's metrics could be read: {_describe_failure(first)}.",
            _NO_AGENT,
            "collector_no_node",
            said=_describe_failure(first),
        )
    return texts


def _describe_failure(scraped: ScrapeResult) -> str:
    """The endpoint, and why it could not be read."""
    return f"{scraped.endpoint.host}:{scraped.endpoint.port}: {scraped.error}"


def _fresh(cluster: Cluster) -> list[NodeStats]:
    newest_ns = cluster.time_ns - _FRESH_NS
    return sorted(
        (node for node in cluster.usage().nodes.values() if node.time_ns >= newest_ns),
        key=lambda node: node.node_id,
    )


class _Part:
    """A collector for one part of the metrics in the nodes' Prometheus texts."""

    part = "ray"
    interval_s = 0.0
    timeout_s = 12.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """The samples of this part, and their descriptions."""
        texts = _texts(cluster)
        cluster.starts += texts.starts.get(self.part, ())
        yield from texts.families.get(self.part, ())
        yield from texts.samples.get(self.part, ())


class Network(_Part):
    """Bytes sent and received by each machine."""

    part = "network"


class Objects(_Part):
    """The object store's used, free, pinned and spilled memory, and transfers between nodes."""

    part = "objects"


class Ray(_Part):
    """All other metrics of Ray and the application, and the results of scraping."""

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """All other samples, and ``rayscope_scrape_up`` and ``rayscope_scrape_duration_seconds``."""
        texts = _texts(cluster)
        yield from super().collect(cluster)
        yield Family("rayscope_scrape_up", "gauge", "Whether a node's metrics could be read.")
        yield Family("rayscope_scrape_duration_seconds", "gauge", "How long reading a node took.", "s")
        failed = [result for result in texts.results if result.error is not None]
        for result in texts.results:
            where = {"node_id": result.endpoint.node_id, "node_ip": result.endpoint.host}
            yield sample("rayscope_scrape_up", result.error is None, **where)
            yield sample("rayscope_scrape_duration_seconds", result.took_s, **where)
        cluster.left_out += sum(result.left_out for result in texts.results)
        if failed:
            number, whole, said = len(failed), len(texts.results), _describe_failure(failed[0])
            cluster.warnings.append(
                CollectorError(
                    f"{number} of {whole} nodes could not be read: {said}.",
                    _NO_AGENT,
                    "collector_some_nodes",
                    number=number,
                    whole=whole,
                    said=said,
                )
            )
        cluster.left_out += sum(scraped.left_out for scraped in texts.head)
        for scraped in texts.head:
            # A refused connection is not an error: if another cluster on the machine had the port first, Ray
            # serves nothing.
            if scraped.error is not None and not scraped.refused:
                said = _describe_failure(scraped)
                cluster.warnings.append(
                    CollectorError(
                        f"The metrics of the autoscaler or of the dashboard could not be read: {said}.",
                        "Allow this machine to reach that port of the head node.",
                        "collector_head",
                        said=said,
                    )
                )


class Node(_Part):
    """CPU, memory and disk of each machine, whether the node is alive, and its individual workers."""

    part = "node"

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Always includes ``rayscope_node_up``, which matters most when no machine responds."""
        yield Family(
            "rayscope_node_up",
            "gauge",
            "1 if the GCS considers the node alive, 0 if it died in the last 10 minutes.",
        )
        for node in cluster.nodes():
            if node.alive or (node.failed and cluster.time_ns - node.ended_ns < _DEAD_NS):
                yield sample("rayscope_node_up", node.alive, node_id=node.node_id, node_ip=node.host)
        yield from _workers(cluster)
        try:
            yield from super().collect(cluster)
        except CollectorError as error:
            cluster.warnings.append(error)


def _workers(cluster: Cluster) -> Iterator[Sample | Family]:
    yield Family(
        "rayscope_worker_cpu_percent", "gauge", "CPU of a worker, in percent of one core.", "percent"
    )
    yield Family("rayscope_worker_memory_bytes", "gauge", "Resident memory of a worker.", "bytes")
    count = 0
    for node in _fresh(cluster):
        for process in sorted(node.workers, key=lambda process: process.pid):
            count += 1
            if count > _MAX_PROCESSES:
                cluster.left_out += 1
                continue
            who = {"node_id": node.node_id, "node_ip": node.ip, "pid": str(process.pid)}
            yield sample("rayscope_worker_cpu_percent", process.cpu_percent, **who)
            if process.rss_bytes is not None:
                yield sample("rayscope_worker_memory_bytes", process.rss_bytes, **who)


class Gpu(_Part):
    """GPUs, their memory, and the memory used by each process."""

    part = "gpu"

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        """Samples of ``ray_node_gpus_*``, ``ray_node_gram_*`` and ``rayscope_gpu_process_memory_bytes``."""
        yield from super().collect(cluster)
        yield Family("rayscope_gpu_process_memory_bytes", "gauge", "GPU memory of a process.", "bytes")
        count = 0
        for node in _fresh(cluster):
            for gpu in node.gpus:
                for pid, used in sorted(gpu.processes.items()):
                    count += 1
                    if count > _MAX_PROCESSES:
                        cluster.left_out += 1
                        continue
                    yield sample(
                        "rayscope_gpu_process_memory_bytes",
                        used,
                        node_id=node.node_id,
                        node_ip=node.ip,
                        gpu=str(gpu.index),
                        pid=str(pid),
                    )


class Memory(_Part):
    """Memory, CPU and open files of Ray's components on each node."""

    part = "memory"
