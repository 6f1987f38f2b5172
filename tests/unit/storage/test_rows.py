"""Entities as rows: values in the types of their columns."""

from __future__ import annotations

from rayscope.model import Entity
from rayscope.storage import rows


def test_an_invalid_number_is_unknown() -> None:
    trials = [
        Entity("tune_trial", str(at), {}, {}, 1, {"state": "RUNNING", "time_total_s": value})
        for at, value in enumerate((1.5, 2, "0.5", "soon", True))
    ]
    assert rows.entity_table("tune_trial", trials).column("time_total_s").to_pylist() == [
        1.5,
        2.0,
        0.5,
        None,
        1.0,
    ]
