"""The documentation of this version, served from the wheel at ``/docs/``."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path

import markdown
from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from rayscope.api.parameters import CurrentSettings

router = APIRouter(include_in_schema=False)

_IN_WHEEL = Path(str(files("rayscope"))) / "docs"
_IN_SOURCE_TREE = Path(__file__).parents[3] / "docs"
#: The extensions in mkdocs.yml that affect the content, so that anchors, tables, and code match the website.
_EXTENSIONS = ("admonition", "fenced_code", "sane_lists", "tables", "toc")
#: Holds the Chinese pages, at the same paths as the English ones.
_CHINESE = "zh/"
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif }
body { max-width: 52rem; margin: 2rem auto 6rem; padding: 0 1.25rem }
a { color: light-dark(#1271c4, #6db3f2) }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { padding: .35rem .7rem; border: 1px solid light-dark(#dde1e6, #373c45) }
th, td { text-align: left; vertical-align: top }
pre { overflow-x: auto; padding: .8rem 1rem }
pre, code { border-radius: 5px; background: light-dark(#f2f4f7, #22262d); font-size: .9em }
code { padding: .1em .3em }
pre code { padding: 0 }
img { max-width: 100% }
nav { padding-bottom: .6rem; border-bottom: 1px solid light-dark(#dde1e6, #373c45) }
"""


@router.get("/docs")
@router.get("/docs/")
def start(settings: CurrentSettings) -> Response:
    return RedirectResponse(f"{settings.root_path}/docs/index.md")


@router.get("/docs/{path:path}")
def page(settings: CurrentSettings, path: str, lang: str | None = None) -> Response:
    """Return a page by its path in the source tree, so that links between pages work.

    With ``lang=zh``, redirect to the Chinese translation if there is one.
    """
    files = _files()
    found = files.get(path)
    if found is None:
        raise HTTPException(404)
    if lang == "zh" and _CHINESE + path in files:
        return RedirectResponse(f"{settings.root_path}/docs/{_CHINESE}{path}")
    if found.suffix != ".md":
        return FileResponse(found)
    return HTMLResponse(_render(found, path.startswith(_CHINESE), settings.root_path))


@lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    """Return the files that may be requested. Nothing else is ever opened."""
    root = _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_SOURCE_TREE
    return {file.relative_to(root).as_posix(): file for file in root.rglob("*") if file.is_file()}


@lru_cache(maxsize=64)
def _render(file: Path, is_chinese: bool, root_path: str) -> str:
    lang, start, documentation = (
        ("zh-CN", "docs/zh/index.md", "文档") if is_chinese else ("en", "docs/index.md", "Documentation")
    )
    text = file.read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} · Rayscope</title><style>{_STYLE}</style>"
        f'<body><nav><a href="{root_path}/">Rayscope</a> › '
        f'<a href="{root_path}/{start}">{documentation}</a></nav>'
        f"<main>{markdown.markdown(text, extensions=_EXTENSIONS)}</main></body></html>"
    )
