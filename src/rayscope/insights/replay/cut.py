"""Ends everything that was still running at the end of a job's record."""

from __future__ import annotations

import dataclasses

import numpy as np

from rayscope.insights.replay.recorded import BY_DRIVER, Bools, Recorded, Wait


def cut(recorded: Recorded) -> Recorded:
    """A copy of the record in which everything ends no later than the driver.

    A signal such as Ctrl-C may have ended the driver's last wait. In that case everything ends with that
    wait, so that the job is replayed as it was just before the signal.
    """
    a, end = recorded.attempts, _end(recorded)
    # The recorded end of a cut-off attempt is that of its job or worker, which is too late.
    has_no_end: Bools = (a.returned < 0) | a.state.equals("CUT_OFF")
    is_open = has_no_end & (a.ran > 0) & (a.start >= 0) & (a.start <= end)
    attempts = dataclasses.replace(
        a, returned=np.where(is_open, end, a.returned), ended=np.where(is_open, end, a.ended)
    )
    ended = dataclasses.replace(recorded, attempts=attempts)
    ended.open_waits = {
        key: dataclasses.replace(wait, end=max(wait.begin, _end_of(ended, *key, end)))
        for key, wait in recorded.open_waits.items()
    }
    return ended


def _end(recorded: Recorded) -> int:
    last: Wait | None = next(reversed(recorded.waits.of(BY_DRIVER, 0)), None)
    return last.end if last is not None and last.is_interrupted else recorded.driver[1]


def _end_of(recorded: Recorded, task: int, number: int, end: int) -> int:
    """When an attempt or the driver ended."""
    if task == BY_DRIVER:
        return end
    numbers = recorded.attempts.number
    row = next((row for row in recorded.rows_of_task(task) if numbers[row] == number), -1)
    returned = int(recorded.attempts.returned[row]) if row >= 0 else -1
    return returned if returned >= 0 else end
