"""Reads the critical path of a job."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.session_file import SessionFile
from rayscope.views.critical_path import compute
from rayscope.views.critical_path.sql import PathReader

_TIME_S = 10.0
#: Causes in an answer, the largest of a path.
_MAX_CAUSES = 50


def read_path(
    file: SessionFile, last_ns: int, job_id: str | None, *, live: bool
) -> tuple[PathReader, compute.Path]:
    """The path of a job (None: the longest one that ran tasks), and who read it. Raises NotFound."""
    until = time.monotonic() + _TIME_S
    with file.reader() as reader:
        record = PathReader(reader, last_ns, job_id, live=live)
        path = compute.walk(
            record, record.driver, record.begin_ns, out_of_time=lambda: time.monotonic() > until
        )
    return record, path


def is_driver(task_id: str) -> bool:
    """Whether a task is a driver."""
    return task_id.startswith(DRIVER_PREFIX)


def causes_with_shares(causes: Sequence[compute.Cause], whole_ns: int) -> list[dict[str, Any]]:
    """Causes, the largest first, as answers have them: each with its share of a path of ``whole_ns``."""
    return [{**cause._asdict(), "share": cause.total_ns / max(1, whole_ns)} for cause in causes[:_MAX_CAUSES]]
