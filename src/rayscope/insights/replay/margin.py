"""Estimates the error of a predicted saving from the job's own record.

A real run differs from its replay for three reasons. The replay simplifies, which its calibration shows only
in part. The unchanged replay may differ from the record. And Ray may need more or less time for the same
work, especially on a busy machine.
"""

from __future__ import annotations

from dataclasses import replace

from rayscope.insights.replay.program import Programs

#: The error of a saving that remains even if the unchanged replay is exact, as a share of the saving. With
#: this value, the ranges contained the measured savings of 9 of 10 changes in ``benchmarks/whatif.py``.
MODEL_ERROR = 0.2


def with_slower_ray(programs: Programs) -> Programs:
    """A copy of the programs in which Ray takes twice as long to submit, dispatch and report.

    Starting workers, loading code and moving values take as long as before.
    """
    slower = programs.copy()
    fixed = [start + move for start, move in zip(programs.startup, programs.transfer, strict=True)]
    slower.lead = [2 * lead for lead in programs.lead]
    slower.delay = [2 * delay - rest for delay, rest in zip(programs.delay, fixed, strict=True)]
    slower.tail = [2 * tail for tail in programs.tail]
    slower.waits = [
        replace(wait, after_ns=2 * wait.after_ns - wait.transfer_ns) if wait.after_ns else wait
        for wait in programs.waits
    ]
    return slower


def saving_range(saving_ns: int, error: float, ray_ns: int, most_ns: int) -> tuple[int, int]:
    """The minimum and maximum saving of a change, ns. The range of a change that saves time does not go below
    zero.

    ``error``: the relative error of the calibration. ``ray_ns``: how much a slower Ray delays the job.
    ``most_ns``: the most that can be saved.
    """
    margin = min(abs(saving_ns), round((MODEL_ERROR + abs(error)) * abs(saving_ns)) + ray_ns)
    return saving_ns - margin, min(saving_ns + margin, max(saving_ns, most_ns))
