"""Following the loading of a foreign module."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rayscope.importing import after_import

NAME = "rayscope_test_watched"


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / f"{NAME}.py").write_text("ANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    yield NAME
    sys.meta_path[:] = before
    sys.modules.pop(NAME, None)


def test_it_is_called_once_with_the_loaded_module(watched: str) -> None:
    seen: list[ModuleType] = []
    before = list(sys.meta_path)
    for _ in range(2):  # Python may read .pth files twice
        after_import(watched, seen.append)
    # Looking whether there is such a module, as many libraries do, neither loads it nor ends the watch.
    assert importlib.util.find_spec(watched) is not None
    assert seen == []
    module = importlib.import_module(watched)
    assert seen == [module]
    assert module.ANSWER == 42
    assert sys.meta_path == before
    after_import(watched, seen.append)  # it is loaded
    assert sys.meta_path == before


def test_a_module_that_is_not_there_stays_so(watched: str) -> None:
    after_import("rayscope_test_nowhere", lambda _: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("rayscope_test_nowhere")
