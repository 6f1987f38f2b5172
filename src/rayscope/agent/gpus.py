"""Reads how busy the node's NVIDIA GPUs are, in all and by process, and reports it in batches.

NVML, the library of NVIDIA's driver, samples each GPU's utilization up to six times a second and keeps the
samples for some seconds. A thread of the agent fetches them once a second, so none is lost. It uses Ray's own
copy of pynvml, or the package nvidia-ml-py. Without these, the driver or a GPU, nothing happens.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rayscope.agent.exits import FIRST_NAMESPACE
from rayscope.agent.report import Reporter

log = logging.getLogger("rayscope.agent")

#: Interval between looks at the GPUs, in seconds.
EVERY_S = 1.0
#: Interval between reports of a growing batch, in looks.
_SEND_EVERY = 5
#: Duration of a batch, in ns.
_BATCH_NS = 30 * 10**9
#: A sample covers the time since the one before. If that is longer than this, the time is not covered, in µs.
_MAX_GAP_US = 3_000_000
_MODULES = ("ray._private.thirdparty.pynvml", "pynvml")
#: Errors of NVML: the GPU or the driver has no such figure.
_UNSUPPORTED = frozenset({3, 13})
#: Results of NVML for "no new samples". pynvml raises success (0) as an error if there are no processes.
_NOTHING_NEW = frozenset({0, 6})


class Nvml(Protocol):
    """The functions of pynvml that are used here. NVML's timestamps are µs since the epoch."""

    NVML_GPU_UTILIZATION_SAMPLES: int
    NVMLError: type[Exception]

    def nvmlInit(self) -> Any: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any: ...
    def nvmlDeviceGetUUID(self, handle: Any) -> str | bytes: ...
    def nvmlDeviceGetMigMode(self, handle: Any) -> Sequence[int]: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any: ...
    def nvmlDeviceGetSamples(self, handle: Any, kind: int, since: int) -> tuple[int, Sequence[Any]]: ...
    def nvmlDeviceGetProcessUtilization(self, handle: Any, since: int) -> Sequence[Any]: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> Sequence[Any]: ...


def start(reporter: Reporter) -> None:
    """Start to watch the GPUs if there are any. Never raises."""
    for name in _MODULES:
        try:
            watcher = Watcher(importlib.import_module(name), reporter, time.time_ns())
        except Exception as error:  # no such package, no driver
            log.debug("no GPUs are watched with %s: %r", name, error)
            continue
        if watcher.gpus:
            threading.Thread(target=watcher.run, name="rayscope-gpus", daemon=True).start()
        return


class Watcher:
    """Watches all GPUs of the node. Raises an error of ``nvml`` if there is no driver."""

    def __init__(self, nvml: Nvml, reporter: Reporter, now_ns: int) -> None:
        nvml.nvmlInit()
        self._reporter = reporter
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        uuids = [_text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]
        positions = ray_indices(os.environ.get("CUDA_VISIBLE_DEVICES"), uuids)
        self.gpus = [
            Gpu(nvml, handle, {"gpu_index": index, "gpu_uuid": uuid, "ray_index": position}, now_ns)
            for index, (handle, uuid, position) in enumerate(zip(handles, uuids, positions, strict=True))
        ]
        self._looks = 0

    def run(self) -> None:
        """Watch forever. An error costs a look, never the agent."""
        while True:
            try:
                self.look(time.time_ns())
            except Exception as error:
                log.debug("the GPUs cannot be watched: %r", error)
            self._reporter.gpus_ns = time.thread_time_ns()
            time.sleep(EVERY_S)

    def look(self, now_ns: int) -> None:
        """Read all GPUs, and report what is new every 5 s."""
        self._looks += 1
        for gpu in self.gpus:
            gpu.read(now_ns)
            is_complete = now_ns - gpu.begin_ns >= _BATCH_NS
            if is_complete or self._looks % _SEND_EVERY == 0:
                self._reporter.gpu_sampled(gpu.batch(now_ns))
            if is_complete:
                gpu.start_batch()


class Gpu:
    """A GPU and its current batch: the columns of ``gpu_samples`` (docs/reference/sql.md)."""

    def __init__(self, nvml: Nvml, handle: Any, about: Mapping[str, Any], now_ns: int) -> None:
        self._nvml = nvml
        self._handle = handle
        self._about = about
        #: Until when its samples and those of its processes are read, in µs.
        self._read_us = self._processes_us = now_ns // 1000
        self._sees_pids = _sees_pids()
        self.start_batch()

    def start_batch(self) -> None:
        """Begin an empty batch where the last one ended."""
        self.begin_ns = 1000 * min(self._read_us, self._processes_us)
        self._samples: list[list[int]] = []
        self._looks: list[list[Any]] = []
        self._problem: str | None = None

    def batch(self, now_ns: int) -> dict[str, Any]:
        """The batch as it is now."""
        return {
            **self._about,
            "begin_ns": self.begin_ns,
            "end_ns": now_ns,
            "problem": self._problem,
            "samples": [[*sample] for sample in self._samples],
            "looks": [[*look] for look in self._looks],
        }

    def read(self, now_ns: int) -> None:
        """Read what is new. The utilization of a GPU that is divided by MIG is not known."""
        now_us = now_ns // 1000
        try:
            if self._nvml.nvmlDeviceGetMigMode(self._handle)[0]:
                self._problem = "mig"
                self._read_us = self._processes_us = now_us
                return
        except self._nvml.NVMLError:  # a GPU without MIG
            pass
        try:
            self._read_samples(now_us)
        except self._nvml.NVMLError as error:
            if _code(error) in _UNSUPPORTED:
                self._problem = "unsupported"
            if _code(error) not in _NOTHING_NEW:
                self._read_us = now_us
        memory = None
        with contextlib.suppress(self._nvml.NVMLError):
            memory = self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used
        begin_us = self._processes_us
        processes = self._read_processes(now_us) if self._sees_pids else None
        times = (now_us, begin_us, self._processes_us)
        at, begin, end = (self._offset_ms(each) for each in times)
        self._looks.append([at, memory, begin, end, processes])

    def _offset_ms(self, time_us: int) -> int:
        return max(0, time_us - self.begin_ns // 1000) // 1000

    def _read_samples(self, now_us: int) -> None:
        kind = self._nvml.NVML_GPU_UTILIZATION_SAMPLES
        _, samples = self._nvml.nvmlDeviceGetSamples(self._handle, kind, self._read_us)
        for sample in sorted(samples, key=lambda sample: sample.timeStamp):
            time_us, percent = sample.timeStamp, sample.sampleValue.uiVal
            if not self._read_us < time_us <= now_us + _MAX_GAP_US or percent > 100:
                continue
            begin, end = self._offset_ms(self._read_us), self._offset_ms(time_us)
            if time_us - self._read_us <= _MAX_GAP_US:
                last = self._samples[-1] if self._samples else None
                if last is not None and last[1:] == [begin, percent]:
                    last[1] = end
                else:
                    self._samples.append([begin, end, percent])
            self._read_us = time_us

    def _read_processes(self, now_us: int) -> dict[str, list[Any]] | None:
        """Process ID -> its mean utilization since the last look, in percent, and its memory now, in bytes.

        None if that is not known. A process that NVML does not name did not use the GPU.
        """
        begin_us = self._processes_us
        try:
            samples = self._nvml.nvmlDeviceGetProcessUtilization(self._handle, begin_us)
        except self._nvml.NVMLError as error:
            if _code(error) not in _NOTHING_NEW:
                self._processes_us = now_us
                return None
            samples = ()
        samples = [one for one in samples if begin_us < one.timeStamp <= now_us + _MAX_GAP_US]
        end_us = self._processes_us = max((one.timeStamp for one in samples), default=now_us)
        try:
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except self._nvml.NVMLError:
            running = ()
        if end_us - begin_us > _MAX_GAP_US:
            return None
        found: dict[str, list[Any]] = {str(one.pid): [0.0, one.usedGpuMemory] for one in running}
        seen: dict[int, int] = {}
        for one in sorted(samples, key=lambda one: one.timeStamp):
            used = found.setdefault(str(one.pid), [0.0, None])
            used[0] += min(100, one.smUtil) * (one.timeStamp - seen.get(one.pid, begin_us))
            seen[one.pid] = one.timeStamp
        return {
            pid: [round(used / max(1, end_us - begin_us), 1), held] for pid, (used, held) in found.items()
        }


def ray_indices(visible: str | None, uuids: Sequence[str]) -> list[int | None]:
    """Ray's number of each GPU: its position in ``CUDA_VISIBLE_DEVICES``, or None if it is not there.

    Ray gives a raylet's GPUs consecutive numbers.
    """
    if visible is None:
        return list(range(len(uuids)))
    positions: list[int | None] = [None] * len(uuids)
    for position, name in enumerate(part.strip() for part in visible.split(",")):
        for index, uuid in enumerate(uuids):
            if name == str(index) or (name.startswith("GPU-") and uuid.startswith(name)):
                positions[index] = position
    return positions


def _sees_pids() -> bool:
    """Whether NVML's process IDs are those of Ray. In a container they may be those of the machine."""
    try:
        return os.readlink("/proc/self/ns/pid") == FIRST_NAMESPACE
    except OSError:
        return False


def _code(error: Exception) -> Any:
    return getattr(error, "value", None)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
