"""The web UI's files, served from the wheel."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from rayscope.api.security import error_body
from rayscope.server.old_paths import REDIRECTED, new_path

STATIC = Path(str(files("rayscope.server"))) / "static"
#: Vite, and webpack for Ray's dashboard, add a digest of the content to these names, so the content under a
#: name never changes.
_HASHED = re.compile(r"[-.][\w-]{8,}\.\w+")
_TEXTS = (".js", ".css", ".svg")
_CODES = {404: "not_found", 405: "method_not_allowed"}
_MISSING = """<!doctype html><meta charset="utf-8"><title>Rayscope</title>
<body style="font-family: system-ui; max-width: 40rem; margin: 4rem auto; line-height: 1.5">
<h1>Rayscope is running, but its UI was not built</h1>
<p>The API answers under <a href="./openapi.json">/openapi.json</a>. To build the UI from a source tree run
<code>make ui</code>; a wheel from PyPI brings it along.</p></body>"""


def add_ui(app: FastAPI, root_path: str) -> None:
    """Serve the UI: hashed assets, which browsers cache forever, and the UI's page for every other path.

    Unknown paths and methods under ``/api``, ``/prometheus`` and ``/ray`` get a JSON error.
    """
    if (STATIC / "assets").is_dir():
        app.mount("/assets", Assets(directory=STATIC / "assets"), name="assets")
    app.add_exception_handler(HTTPException, partial(_otherwise, root_path))


class Assets(StaticFiles):
    """Files that browsers cache. Compressed for clients that support it, to a third of the bytes or less."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        found = await super().get_response(path, scope)
        if _HASHED.search(path):
            found.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        if not path.endswith(_TEXTS) or not isinstance(found, FileResponse):
            return found
        found.headers["Vary"] = "Accept-Encoding"
        request = Request(scope)
        accepted = re.search(
            r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", request.headers.get("accept-encoding", "")
        )
        if accepted is None or "range" in request.headers or request.method != "GET":
            return found
        body = await run_in_threadpool(_gzip_file, str(found.path), found.headers["etag"])
        kept = {
            name: found.headers[name] for name in ("etag", "cache-control", "vary") if name in found.headers
        }
        return Response(body, 200, {**kept, "Content-Encoding": "gzip"}, found.media_type)


@lru_cache(maxsize=256)
def _gzip_file(path: str, _etag: str) -> bytes:
    """Return a file compressed with gzip. Cached as long as its ETag does not change."""
    return gzip.compress(Path(path).read_bytes(), mtime=0)


def _otherwise(root_path: str, request: Request, error: Exception) -> Response:
    status, headers = 500, None
    if isinstance(error, HTTPException):
        status, headers = error.status_code, error.headers
    path = request.url.path
    is_page = not (path == "/api" or path.startswith(("/api/", "/assets/", "/prometheus/", "/ray/")))
    if status == 404 and is_page and request.method in ("GET", "HEAD"):
        return _page(path, root_path)
    if status == 405:
        headers = {"Allow": ", ".join(_methods(request))}
    moved = new_path(request.app, path) if status == 404 and path.startswith("/api/") else None
    if moved and path in REDIRECTED:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{root_path}{moved}{query}", 308)
    message = {404: "Path not found.", 405: f"Method {request.method} is not allowed for this path."}
    body = error_body(
        _CODES.get(status, "http_error"),
        message.get(status, "The request could not be processed."),
        f"Use {moved} instead." if moved else "See /openapi.json for the available paths.",
    )
    return Response(body, status, headers, "application/json")


def _methods(request: Request) -> list[str]:
    """Return all methods that a path allows. Each route knows only its own. Exact paths precede patterns."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] != Match.NONE]
    paths = [getattr(route, "path", "") for route in routes]
    path = request.url.path if request.url.path in paths else paths[0] if paths else ""
    of_path = [route for route, each in zip(routes, paths, strict=True) if each == path]
    return sorted({method for route in of_path for method in getattr(route, "methods", None) or ()})


def _page(path: str, root_path: str) -> Response:
    if path == "/favicon.svg" and (STATIC / "favicon.svg").is_file():
        return FileResponse(STATIC / "favicon.svg")
    index = STATIC / "index.html"
    if not index.is_file():
        return HTMLResponse(_below(root_path, _MISSING), 503)
    return HTMLResponse(
        _below(root_path, index.read_text(encoding="utf-8")), headers={"Cache-Control": "no-cache"}
    )


def _below(root_path: str, page: str) -> str:
    """Return a page whose relative addresses are those below the root path, however deep its own path is."""
    return page.replace('="./', f'="{root_path}/')
