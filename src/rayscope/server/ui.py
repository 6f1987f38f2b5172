"""The web UI's files, as the wheel brings them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from rayscope.server.security import error_body

STATIC = Path(str(files("rayscope.server"))) / "static"
_MISSING = """<!doctype html><meta charset="utf-8"><title>Rayscope</title>
<body style="font-family: system-ui; max-width: 40rem; margin: 4rem auto; line-height: 1.5">
<h1>Rayscope is running, but its UI was not built</h1>
<p>The API answers under <a href="/openapi.json">/openapi.json</a>. To build the UI from a source tree run
<code>make ui</code>; a wheel from PyPI brings it along.</p></body>"""


def add_ui(app: FastAPI) -> None:
    """Serve the UI: its hashed assets for ever, its page for every path that is not the API's."""
    if (STATIC / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=STATIC / "assets"), name="assets")

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str) -> Response:
        if path == "api" or path.startswith("api/"):
            body = error_body("not_found", "There is no such path.", "See /openapi.json for what there is.")
            return Response(body, 404, media_type="application/json")
        if path == "favicon.svg" and (STATIC / "favicon.svg").is_file():
            return FileResponse(STATIC / "favicon.svg")
        index = STATIC / "index.html"
        if not index.is_file():
            return HTMLResponse(_MISSING, 503)
        return FileResponse(index, headers={"Cache-Control": "no-cache"})
