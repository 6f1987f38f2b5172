"""Compares the edges of a record with those that ``integration/workloads/dataflow.py`` says there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORKLOAD = Path(__file__).parent / "integration" / "workloads" / "dataflow.py"
QUERY = (
    "SELECT producer_task_id, consumer_task_id, CASE WHEN by_value THEN 'by value' ELSE object_id END, kind, "
    "nested, bytes FROM data_edges"
)


def printed_json(output: str, mark: str = "EDGES") -> Any:
    """The JSON that a workload printed after ``mark``."""
    (line,) = [line for line in output.splitlines() if line.startswith(mark + " ")]
    return json.loads(line.removeprefix(mark + " "))


def differences(expected: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Edges that are missing, invented, there twice, or of another size than Ray says."""
    found = {tuple(row[:5]): row[5] for row in rows}
    wanted = {tuple(edge[:5]): edge[5] for edge in expected}
    return [
        *([f"{len(rows) - len(found)} edges twice"] if len(found) != len(rows) else []),
        *(f"missing: {edge}" for edge in set(wanted) - set(found)),
        *(f"invented: {edge}" for edge in set(found) - set(wanted)),
        *(
            f"{found[edge]} bytes, Ray says {size}: {edge}"
            for edge, size in wanted.items()
            if edge in found and (found[edge] is None or size not in (None, found[edge]))
        ),
    ]
