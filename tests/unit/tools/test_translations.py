"""The Chinese pages of the docs: each names its English page, and a change of that page is noticed."""

from __future__ import annotations

import subprocess
from os.path import relpath
from pathlib import Path

import pytest
from tools import translations

ROOT = Path(translations.__file__).parent.parent
PAGES = sorted((ROOT / translations.CHINESE).rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / translations.CHINESE))
def test_a_page_and_its_english_page_lead_to_each_other(page: Path) -> None:
    """The English page may be newer. `make docs` lists these pages, so contributors need not know Chinese."""
    english = ROOT / translations.source(ROOT, page)[0]
    assert f"[English]({relpath(english, page.parent)})" in page.read_text()
    assert f"[简体中文]({relpath(page, english.parent)})" in english.read_text()


def test_a_changed_english_page_is_listed_until_its_translation_is_updated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    english, page = tmp_path / "docs" / "run.md", tmp_path / translations.CHINESE / "run.md"
    page.parent.mkdir(parents=True)
    english.write_text("# Run\n")
    page.write_text("# 运行\n\n<!-- Translated from docs/run.md, blob 000000000000 -->\n\n正文\n")

    def list_pages(*arguments: str) -> str:
        translations.main([*arguments], tmp_path)
        return capsys.readouterr().out

    list_pages("--update", "docs/zh/run.md")
    assert list_pages() == ""
    blob = subprocess.run(["git", "hash-object", english], capture_output=True, text=True, check=True).stdout
    assert page.read_text() == f"# 运行\n\n<!-- Translated from docs/run.md, blob {blob[:12]} -->\n\n正文\n"

    english.write_text("# Run a script\n")
    assert f"git diff {blob[:12]} docs/run.md\n" in list_pages()
    list_pages("--update", "docs/zh/run.md")
    assert list_pages() == ""


def test_a_page_without_an_english_page_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / translations.CHINESE / "run.md"
    page.parent.mkdir(parents=True)
    page.write_text("# 运行\n\n<!-- Translated from docs/other.md, blob 000000000000 -->\n")
    with pytest.raises(SystemExit, match=r"docs/zh/run\.md needs the line <!-- Translated from docs/run\.md"):
        translations.main([], tmp_path)
