"""The port for editors."""

from __future__ import annotations

import pytest

from rayscope.cli.debugger.forward import _root_of


@pytest.mark.parametrize(
    ("file", "root"),
    [
        ("/app/pk/train.py", "/app/pk"),
        (
            "/tmp/ray/s/runtime_resources/working_dir_files/_ray_pkg_1/pk/train.py",
            "working_dir_files/_ray_pkg_1",
        ),
        ("train.py", "."),
        (None, "."),
    ],
)
def test_the_folder_of_the_code(file: str | None, root: str) -> None:
    assert _root_of(file).endswith(root)
    assert "train.py" not in _root_of(file)
