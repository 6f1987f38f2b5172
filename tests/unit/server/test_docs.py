"""The documentation under /docs: every link and picture of its pages leads to something."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urldefrag, urljoin

import httpx

from rayscope.server.runner import Server


def test_every_page_opens_and_its_links_lead_somewhere(serve: Callable[..., Server]) -> None:
    with httpx.Client(base_url=serve().url) as client:
        assert client.get("/docs").headers["location"] == "/docs/index.md"
        pages: dict[str, str] = {}
        wanted = ["/docs/index.md"]
        while wanted:
            path = wanted.pop()
            answer = client.get(path)
            assert answer.status_code == 200, path
            if not path.endswith(".md"):
                assert answer.headers["content-type"].startswith("image/"), path
                continue
            pages[path] = answer.text
            links = re.findall(r'(?:href|src)="([^"#:][^":]*)"', answer.text)
            found = {urldefrag(urljoin(path, link))[0] for link in links} - {"/"}
            wanted += sorted(found - pages.keys() - set(wanted))
        assert len(pages) > 30
        for path, text in pages.items():
            for link in re.findall(r'href="([^":]*#[^":]*)"', text):
                target, anchor = urldefrag(urljoin(path, link))
                assert f'id="{anchor}"' in pages[target], (path, link)


def test_chinese_readers_get_the_translation_of_a_page_where_there_is_one(
    serve: Callable[..., Server],
) -> None:
    with httpx.Client(base_url=serve().url) as client:
        answer = client.get("/docs/how-to/diagnose.md", params={"lang": "zh"})
        assert answer.headers["location"] == "/docs/zh/how-to/diagnose.md"
        page = client.get(answer.headers["location"]).text
        assert 'lang="zh-CN"' in page
        assert '<a href="/docs/zh/index.md">文档</a>' in page
        for path, params in (("reference/ui.md", {"lang": "zh"}), ("how-to/diagnose.md", {})):
            answer = client.get(f"/docs/{path}", params=params)
            assert answer.status_code == 200, path
            assert 'lang="en"' in answer.text


def test_nothing_else_is_served(serve: Callable[..., Server]) -> None:
    with httpx.Client(base_url=serve().url) as client:
        for path in (
            "../pyproject.toml",
            "%2e%2e/pyproject.toml",
            "..%2fpyproject.toml",
            "/etc/passwd",
            "none.md",
        ):
            answer = client.get(f"/docs/{path}")
            assert "<main>" not in answer.text, path
            assert "root:" not in answer.text
            assert "hatchling" not in answer.text
