"""Grafana's requests for the dashboards that Ray ships: each is answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from ray.dashboard.modules.metrics import grafana_dashboard_factory as factory
from tests.measured_session import BEGIN_S, END_S, Metered

DASHBOARDS = [name for name in dir(factory) if name.startswith("generate_")]


def dashboard(name: str) -> dict[str, Any]:
    content, _uid = getattr(factory, name)()
    made: dict[str, Any] = json.loads(content)
    return made


def expressions(panels: list[dict[str, Any]]) -> Iterator[str]:
    for panel in panels:
        yield from (target["expr"] for target in panel.get("targets", ()))
        yield from expressions(panel.get("panels", []))


def filled(expr: str) -> str:
    """An expression as Grafana sends it, with all values of each variable."""
    return re.sub(r"\$\{?\w+\}?", ".*", re.sub(r"\[\$\{?\w+\}?", "[5m", expr))


def test_there_is_a_dashboard_for_each_library() -> None:
    text = " ".join(DASHBOARDS)
    assert all(
        name in text for name in ("default", "serve", "serve_deployment", "serve_llm", "data", "train")
    )


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_panel_is_answered(metered: Metered, name: str) -> None:
    found = list(expressions(dashboard(name)["panels"]))
    assert len(found) > 5
    series = 0
    for expr in found:
        asked = {"query": filled(expr), "start": BEGIN_S, "end": END_S, "step": 15}
        result = metered.data("query_range", **asked)
        assert result["resultType"] == "matrix", expr
        series += len(result["result"])
    assert series > 0


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_variable_is_answered(metered: Metered, name: str) -> None:
    for variable in dashboard(name)["templating"]["list"]:
        if variable["type"] != "query":
            continue
        query = filled(variable["query"]["query"])
        if match := re.fullmatch(r"label_values\((.+), *(\w+)\)", query):
            metered.data(f"label/{match[2]}/values", start=BEGIN_S, end=END_S, **{"match[]": match[1]})
        else:
            (expr,) = re.fullmatch(r"query_result\((.+)\)", query).groups()  # type: ignore[union-attr]
            assert metered.data("query", query=expr, time=END_S)["resultType"] == "vector"
