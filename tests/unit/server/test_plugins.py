"""Routers of other packages, installed as pip installs them: a module and its metadata on the path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.story import SESSION, Story

from rayscope.server.runner import Server

MODULE = """
from fastapi import APIRouter
from rayscope.api.parameters import CurrentCatalog
from rayscope.api.write_access import OPERATOR_ONLY

router = APIRouter()

@router.get("/sessions")
def sessions(catalog: CurrentCatalog):
    return catalog.names()

@router.post("/act", dependencies=OPERATOR_ONLY)
def act():
    return "done"
"""
ENTRIES = """
[rayscope.routers]
shop = shop_routes:router
broken = shop_broken:router
number = shop_routes:__name__
../up = shop_routes:router
"""
TOKEN = "a-long-token-of-the-tests"


def test_a_router_is_mounted_and_a_broken_one_is_named(
    serve: Callable[..., Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "shop_routes.py").write_text(MODULE)
    (tmp_path / "shop_broken.py").write_text("1 / 0")
    metadata = tmp_path / "shop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    server = serve(token=TOKEN)
    for name, reason in (
        ("broken", "ZeroDivisionError"),
        ("number", "no fastapi.APIRouter"),
        ("../up", "its name"),
    ):
        assert f"The router {name} " in caplog.text
        assert reason in caplog.text
    services = server.services
    assert services is not None
    services.writer.submit_records(Story().batch, "events")
    assert services.writer.flush()
    with httpx.Client(base_url=f"{server.url}/api/plugins/shop") as client:
        assert client.get("/sessions").json()["error"]["code"] == "unauthorized"
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        assert client.get("/sessions", headers={"Host": "evil.example"}).status_code == 403
        assert client.get("/sessions").json() == [SESSION]
        assert client.post("/act").json()["error"]["code"] == "needs_operator"
        acting = {"X-Rayscope-Operator": services.secrets.operator_token}
        assert client.post("/act", headers=acting).json() == "done"
    described = httpx.get(f"{server.url}/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert not any(path.startswith("/api/plugins") for path in described["paths"])
