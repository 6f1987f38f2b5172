"""List the Chinese pages of the docs that are older than their English page (`make docs`).

    python tools/translations.py                               # list them
    python tools/translations.py --update docs/zh/tutorial.md  # this page is up to date again

`docs/zh/PAGE.md` translates `docs/PAGE.md`. It names the git blob of the translated version, so git can show
later changes.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHINESE = Path("docs/zh")
_SOURCE = re.compile(r"^<!-- Translated from (docs/\S+\.md), blob (\w{12}) -->$", re.MULTILINE)


def main(arguments: list[str], root: Path = ROOT) -> None:
    """Print outdated pages, or mark the named pages as up to date."""
    if arguments[:1] == ["--update"]:
        for name in arguments[1:]:
            update(root, root / name)
    elif arguments:
        raise SystemExit(__doc__)
    else:
        for line in changes(root):
            print(line)


def changes(root: Path) -> Iterator[str]:
    """Yield a line for each Chinese page whose English page has changed."""
    for page in sorted((root / CHINESE).rglob("*.md")):
        english, blob = source(root, page)
        if blob_of(root / english) != blob:
            name = page.relative_to(root)
            yield (
                f"{name} is older than its English page. What changed: git diff {blob} {english}\n"
                f"  After the translation: python tools/translations.py --update {name}"
            )


def update(root: Path, page: Path) -> None:
    """Write the current blob of the English page into a Chinese page."""
    english, _ = source(root, page)
    line = f"<!-- Translated from {english}, blob {blob_of(root / english)} -->"
    page.write_text(_SOURCE.sub(line, page.read_text()))


def source(root: Path, page: Path) -> tuple[str, str]:
    """Return the path of the English page, and the blob that was translated. Raises SystemExit."""
    name = page.relative_to(root)
    english = f"docs/{page.relative_to(root / CHINESE).as_posix()}"
    match = _SOURCE.search(page.read_text())
    if match is None or match[1] != english or not (root / english).exists():
        raise SystemExit(f"{name} needs the line <!-- Translated from {english}, blob 000000000000 -->")
    return english, match[2]


def blob_of(path: Path) -> str:
    """Return git's abbreviated hash of a file's content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()[:12]


if __name__ == "__main__":
    main(sys.argv[1:])
