"""The text of lines of the user's code, and when there is none."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest

from rayscope.tracer.source import MAX_CHARS, Line, read_lines

TEXT = f"""# -*- coding: latin-1 -*-
import functools  # \f a form feed ends no line

@functools.cache
def step(batch):
    total = sum(batch)  # ümlaut

    return total, {"very_" * 40!r}

def step_back(batch): return f"{{batch}} https://user:{"secret" * 20}@host/"

scale = lambda batch: [2 * each for each in batch]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TEXT, encoding="latin-1")
    return path


def code_of(file: Path, name: str = "step") -> CodeType:
    names: dict[str, object] = {}
    exec(compile(TEXT, str(file), "exec"), names)
    function = names[name]
    code: CodeType = getattr(function, "__wrapped__", function).__code__  # type: ignore[attr-defined]
    return code


def read(*lines: Line) -> list[str]:
    return [text for _, text in read_lines((line, "") for line in lines)]


def test_texts_are_stripped_and_short_and_of_lines_that_exist(file: Path) -> None:
    code, now = code_of(file), time.time()
    texts = read_lines(((code, number, now), f"line {number}") for number in (6, 7, 8, 0, 99))
    assert [name for name, _ in texts] == ["line 6", "line 8"]
    assert texts[0][1] == "total = sum(batch)  # ümlaut"
    assert texts[1][1].startswith("return total, 'very_very_")
    assert len(texts[1][1]) == MAX_CHARS
    assert read((code_of(file, "scale"), 12, now)) == ["scale = lambda batch: [2 * each for each in batch]"]
    # A part of an address may have a password that is not recognized.
    assert read((code_of(file, "step_back"), 10, now)) == ['def step_back(batch): return f"{batch} https…']


def test_a_file_that_changed_has_no_lines(file: Path) -> None:
    code, now = code_of(file), time.time()
    os.utime(file, (now, now + 1))
    assert read((code, 6, now)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("import functools\n" * 50 + TEXT),  # another version
        lambda file: file.write_text(TEXT.replace("def step(", "def steps(")),
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b"# -*- coding: nothing -*-\n" + b"def step(): pass\n" * 9),
        lambda file: file.write_text(TEXT + "#" * (1 << 20)),
        lambda file: (file.unlink(), os.mkfifo(file)),
    ],
)
def test_a_file_that_is_another_or_cannot_be_read_has_no_lines(
    file: Path, change: Callable[[Path], object]
) -> None:
    code = code_of(file)
    change(file)
    assert read((code, 6, time.time() + 10)) == []


def test_code_of_libraries_has_no_lines(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "train.py").write_text(TEXT, encoding="latin-1")
    now = time.time()
    assert read((code_of(folder / "train.py"), 6, now), (json.loads.__code__, 330, now)) == []
