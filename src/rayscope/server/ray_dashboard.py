"""Serves the front end of Ray's dashboard for each session, from the Ray installed beside this server.

The front end asks for its data relative to its own address. The routes of ``rayscope.ray_api`` answer.
"""

from __future__ import annotations

from urllib.parse import quote

from fastapi import Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount

from rayscope.api.parameters import CurrentRecords, CurrentSettings
from rayscope.ray.frontend import find_frontend
from rayscope.ray_api.routes import RayRouter
from rayscope.server.ui import Assets
from rayscope.storage.errors import NotFound

_PAGE = """<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>{title}</title>
<body style="font-family: system-ui; max-width: 40rem; margin: 4rem auto; line-height: 1.5">
<h1>{title}</h1><p>{text}</p><pre>pip install "ray[default]"</pre><p><a href="{url}">{link}</a></p></body>"""
#: The page for servers without the front end, by language.
_MISSING = {
    "en": {
        "title": "Ray's dashboard is not installed",
        "text": "Rayscope shows the dashboard of the Ray in its own Python environment, but none is "
        "installed there. Install it and restart Rayscope:",
        "link": "Open this session in Rayscope",
    },
    "zh": {
        "title": "未安装 Ray Dashboard",
        "text": "Rayscope 使用自身 Python 环境中 Ray 自带的 Dashboard，但该环境未安装 Ray。"
        "请在该环境中安装，然后重启 Rayscope：",
        "link": "在 Rayscope 中打开此会话",
    },
}

router = RayRouter()


@router.get("/ray/{session}")
def redirect(settings: CurrentSettings, session: str) -> Response:
    """Relative addresses need the slash at the end."""
    return RedirectResponse(f"{settings.root_path}/ray/{quote(session, safe='')}/")


@router.get("/enter_cluster/{namespace}/{name}/{session}")
def enter(settings: CurrentSettings, session: str) -> Response:
    """The address of a session in KubeRay's History Server. It leads to the session in our UI.

    That page may be opened by a link from elsewhere, and it signs users in.
    """
    page = "" if session == "live" else f"s/{quote(session, safe='')}"
    return RedirectResponse(f"{settings.root_path}/{page}")


@router.get("/ray/{session}/")
def page(records: CurrentRecords, settings: CurrentSettings, session: str, request: Request) -> Response:
    """The front end's page."""
    session = records.resolve(session)
    build = find_frontend()
    if build is not None:
        return FileResponse(build / "index.html", headers={"Cache-Control": "no-cache"})
    lang = "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"
    url = f"{settings.root_path}/s/{quote(session)}"
    return HTMLResponse(_PAGE.format(lang=lang, url=url, **_MISSING[lang]), 503)


@router.get("/ray/{session}/favicon.ico")
def icon() -> Response:
    """The icon of the page."""
    build = find_frontend()
    if build is None:
        raise NotFound("Ray's dashboard is not installed.", "")
    return FileResponse(build / "favicon.ico")


if (_build := find_frontend()) is not None:
    router.routes.append(Mount("/ray/{session}/static", Assets(directory=_build / "static")))
