"""Generates Grafana dashboards from our pages' charts: `python -m rayscope.metrics.grafana OUT`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rayscope.metrics.charts import PAGES, Chart, Page, Variable

_UNITS = {
    "percent": "percent",
    "bytes": "bytes",
    "bytes/s": "Bps",
    "s": "s",
    "count": "short",
    "count/s": "cps",
    "": "short",
}
#: Size of a panel in Grafana's grid, which is 24 columns wide.
_WIDTH = 8
_HEIGHT = 8
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard(page: Page) -> dict[str, Any]:
    """Convert a page to Grafana's JSON model (schema version 39)."""
    panels, x, y = [], 0, 0
    for number, chart in enumerate(page.charts, 1):
        width = _WIDTH * chart.width
        if x + width > 24:
            x, y = 0, y + _HEIGHT
        panels.append(_panel(number, chart, {"h": _HEIGHT, "w": width, "x": x, "y": y}))
        x += width
    return {
        "uid": f"rayscope-{page.name}",
        "title": f"Rayscope: {page.title}",
        "tags": ["rayscope", "ray"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "graphTooltip": 1,
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_datasource(), *map(_variable, page.variables)]},
        "panels": panels,
    }


def _panel(number: int, chart: Chart, place: dict[str, int]) -> dict[str, Any]:
    stacking = {"mode": "normal" if chart.stacked else "none", "group": "A"}
    return {
        "id": number,
        "type": "timeseries",
        "title": chart.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {
                "unit": _UNITS[chart.unit],
                "min": 0,
                "custom": {
                    "fillOpacity": 30 if chart.stacked else 0,
                    "showPoints": "never",
                    "stacking": stacking,
                },
            },
            "overrides": [
                {
                    "matcher": {"id": "byFrameRefID", "options": chr(ord("A") + at)},
                    "properties": [{"id": "custom.lineWidth", "value": 3}],
                }
                for at, query in enumerate(chart.queries)
                if query.bold
            ],
        },
        "options": {
            "tooltip": {"mode": "multi", "sort": "desc"},
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        },
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": _SOURCE,
                "expr": query.expr,
                "legendFormat": query.legend,
                "range": True,
            }
            for at, query in enumerate(chart.queries)
        ],
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, Any]:
    query = f"label_values({variable.metric}, {variable.label})"
    return {
        "name": variable.name,
        "type": "query",
        "datasource": _SOURCE,
        "definition": query,
        "query": {"query": query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
    }


def write(folder: Path) -> list[Path]:
    """Write all dashboards into a folder. Returns the paths of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for page in PAGES:
        file = folder / f"rayscope-{page.name}.json"
        file.write_text(json.dumps(dashboard(page), indent=2) + "\n")
        files.append(file)
    return files


if __name__ == "__main__":
    for written in write(Path(sys.argv[1] if len(sys.argv) > 1 else "deploy/grafana")):
        sys.stdout.write(f"{written}\n")
