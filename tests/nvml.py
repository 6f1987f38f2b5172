"""NVML with recorded samples, in the structures of pynvml (Ray's copy), for tests without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ray._private.thirdparty.pynvml import pynvml

#: NVML's interval between samples, in µs.
PERIOD_US = 166_667


class RecordedGpu:
    """A GPU. ``busy``: its times in use, as (begin, end) in ms after ``origin_ns``, or by process ID.

    ``samples_error``, ``processes_error``: the error that NVML raises instead of samples.
    """

    def __init__(
        self,
        origin_ns: int,
        busy: Sequence[tuple[float, float]] | dict[int, Sequence[tuple[float, float]]],
        *,
        uuid: str = "GPU-5b7cf2c4-0000",
        is_mig: bool = False,
        memory: dict[int, int] | None = None,
        samples_error: int | None = None,
        processes_error: int | None = None,
    ) -> None:
        self._origin_us = origin_ns // 1000
        self._by_pid = busy if isinstance(busy, dict) else {100: busy}
        self.uuid = uuid
        self.is_mig = is_mig
        self.memory = memory or {}
        self.samples_error = samples_error
        self.processes_error = processes_error
        #: No samples are kept between these times (ms after the origin).
        self.lost = (0.0, 0.0)

    def _percent(self, end_us: int, pids: Sequence[int]) -> int:
        """The share of a sample's period in which one of ``pids`` used the GPU."""
        end = (end_us - self._origin_us) / 1000
        begin = end - PERIOD_US / 1000
        times = [span for pid in pids for span in self._by_pid[pid]]
        used = sum(max(0.0, min(end, until) - max(begin, since)) for since, until in times)
        return min(100, round(100 * used / (end - begin)))

    def _ends(self, since_us: int, now_us: int) -> list[int]:
        """When NVML took samples."""
        first = since_us // PERIOD_US * PERIOD_US
        ends = [end for end in range(first, now_us + 1, PERIOD_US) if end > since_us]
        begin, until = (self._origin_us + 1000 * ms for ms in self.lost)
        return [end for end in ends if not begin < end < until]

    def samples(self, since_us: int, now_us: int) -> list[Any]:
        """All samples since then, as ``c_nvmlSample_t``."""
        found = []
        for end in self._ends(since_us, now_us):
            value = pynvml.c_nvmlValue_t(uiVal=self._percent(end, list(self._by_pid)))
            found.append(pynvml.c_nvmlSample_t(timeStamp=end, sampleValue=value))
        return found

    def process_samples(self, since_us: int, now_us: int) -> list[Any]:
        """All samples of processes since then, as ``c_nvmlProcessUtilizationSample_t``."""
        return [
            pynvml.c_nvmlProcessUtilizationSample_t(pid=pid, timeStamp=end, smUtil=self._percent(end, [pid]))
            for pid in self._by_pid
            for end in self._ends(since_us, now_us)
        ]


class RecordedNvml:
    """The functions of pynvml that the agent uses. ``now_ns`` is the time of the machine."""

    NVML_GPU_UTILIZATION_SAMPLES = pynvml.NVML_GPU_UTILIZATION_SAMPLES
    NVMLError = pynvml.NVMLError

    def __init__(self, *gpus: RecordedGpu) -> None:
        self._gpus = gpus
        self.now_ns = 0

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetCount(self) -> int:
        return len(self._gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> RecordedGpu:
        return self._gpus[index]

    def nvmlDeviceGetUUID(self, gpu: RecordedGpu) -> str:
        return gpu.uuid

    def nvmlDeviceGetMigMode(self, gpu: RecordedGpu) -> list[int]:
        if gpu.is_mig:
            return [1, 1]
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlDeviceGetMemoryInfo(self, gpu: RecordedGpu) -> Any:
        return pynvml.c_nvmlMemory_t(used=500 + sum(gpu.memory.values()))

    def nvmlDeviceGetSamples(self, gpu: RecordedGpu, kind: int, since: int) -> tuple[int, list[Any]]:
        assert kind == self.NVML_GPU_UTILIZATION_SAMPLES
        if gpu.samples_error is not None:
            raise pynvml.NVMLError(gpu.samples_error)
        if not (found := gpu.samples(since, self.now_ns // 1000)):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, found

    def nvmlDeviceGetProcessUtilization(self, gpu: RecordedGpu, since: int) -> list[Any]:
        if gpu.processes_error is not None:
            raise pynvml.NVMLError(gpu.processes_error)
        if not (found := gpu.process_samples(since, self.now_ns // 1000)):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return found

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: RecordedGpu) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in gpu.memory.items()]


def duty(percent: float, begin: float, end: float, cycle: float = 500) -> list[tuple[float, float]]:
    """Times of use that are ``percent`` of each cycle, in ms."""
    times = []
    while begin < end:
        times.append((begin, min(end, begin + cycle * percent / 100)))
        begin += cycle
    return times
