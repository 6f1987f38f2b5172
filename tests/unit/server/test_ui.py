"""The UI's files: packed for those that unpack them, and kept by browsers where their name says what is in them."""

from __future__ import annotations

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from rayscope.server import ui

_SCRIPT = b"export const words = 'the same again';\n" * 200


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "index-AbCd-_12.js").write_bytes(_SCRIPT)
    (assets / "first-paint.js").write_bytes(_SCRIPT)
    (assets / "picture-AbCd-_12.png").write_bytes(b"png")
    monkeypatch.setattr(ui, "STATIC", tmp_path)
    app = FastAPI()
    ui.add_ui(app, "")
    return app


def _fetch_asset(app: FastAPI, name: str, headers: dict[str, str]) -> tuple[int, bytes, httpx.Headers]:
    """Status, body as it was sent, and headers."""

    async def fetch() -> tuple[int, bytes, httpx.Headers]:
        transport = httpx.ASGITransport(app)
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            client.stream("GET", f"/assets/{name}", headers=headers) as answer,
        ):
            return answer.status_code, b"".join([part async for part in answer.aiter_raw()]), answer.headers

    with ThreadPoolExecutor(1) as threads:  # this thread may run a loop for a browser
        return threads.submit(asyncio.run, fetch()).result()


def _raw(app: FastAPI, name: str, **headers: str) -> tuple[bytes, httpx.Headers]:
    return _fetch_asset(app, name, headers)[1:]


def test_packed_for_those_that_unpack(app: FastAPI) -> None:
    body, headers = _raw(app, "index-AbCd-_12.js", **{"accept-encoding": "gzip, br"})
    assert gzip.decompress(body) == _SCRIPT
    assert headers["content-encoding"] == "gzip"
    assert len(body) == int(headers["content-length"]) < len(_SCRIPT) / 10
    assert headers["content-type"].startswith("text/javascript")
    for accepted in ("identity", "br", "gzip;q=0", "gzip; q=0.0, br"):
        body, headers = _raw(app, "index-AbCd-_12.js", **{"accept-encoding": accepted})
        assert body == _SCRIPT, accepted
        assert "content-encoding" not in headers
        assert headers["vary"] == "Accept-Encoding"
    body, headers = _raw(app, "index-AbCd-_12.js", **{"accept-encoding": "gzip", "range": "bytes=0-9"})
    assert body == _SCRIPT[:10]
    body, headers = _raw(app, "picture-AbCd-_12.png", **{"accept-encoding": "gzip"})
    assert body == b"png"


def test_kept_where_the_name_says_what_is_in_it(app: FastAPI) -> None:
    _, headers = _raw(app, "index-AbCd-_12.js", **{"accept-encoding": "gzip"})
    assert "immutable" in headers["cache-control"]
    _, headers = _raw(app, "first-paint.js", **{"accept-encoding": "gzip"})
    assert "cache-control" not in headers
    assert _fetch_asset(app, "first-paint.js", {"if-none-match": headers["etag"]})[0] == 304


def test_changed_content_is_packed_again(app: FastAPI, tmp_path: Path) -> None:
    _raw(app, "first-paint.js", **{"accept-encoding": "gzip"})
    (tmp_path / "assets/first-paint.js").write_bytes(b"other")
    body, _ = _raw(app, "first-paint.js", **{"accept-encoding": "gzip"})
    assert gzip.decompress(body) == b"other"
