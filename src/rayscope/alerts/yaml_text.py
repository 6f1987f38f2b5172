"""YAML of users: read within limits, whatever stands in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from rayscope.errors import RayscopeError

MAX_BYTES = 256 << 10
#: A file of 500 rules has some 15,000 nodes, and is nested eight deep.
_MAX_NODES = 40_000
_MAX_DEPTH = 20


class BadYaml(RayscopeError):
    """A text cannot be read as YAML; says why, which may quote the text."""


class _Loader(yaml.SafeLoader):
    """Bounded while it reads: a few bytes can stand for more than fits into memory or onto the stack."""

    depth = nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """As the base class; raises BadYaml for an alias, and for what is too deep or too much."""
        if self.check_event(yaml.AliasEvent):
            raise BadYaml("aliases (`*name`) are not allowed")
        self.depth += 1
        self.nodes += 1
        if self.depth > _MAX_DEPTH:
            raise BadYaml(f"it is nested more than {_MAX_DEPTH} levels deep")
        if self.nodes > _MAX_NODES:
            raise BadYaml(f"it has more than {_MAX_NODES:,} entries")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def parse_yaml(text: str) -> Any:
    """The document of a text. Raises BadYaml."""
    if len(text) > MAX_BYTES:
        raise BadYaml(f"it is larger than {MAX_BYTES >> 10} KiB")
    try:
        return yaml.load(text, _Loader)  # noqa: S506  it is a safe one
    except BadYaml:
        raise
    except (
        Exception
    ) as error:  # values raise whatever Python does: a date of month 99, a number of 5,000 digits
        raise BadYaml(str(error)[:300]) from error


def read_text(path: Path) -> str:
    """A file, no more of it than is ever parsed. Raises OSError, and ValueError for what is not UTF-8."""
    if not path.is_file():  # a pipe would never end
        raise OSError("it is not a regular file")
    with path.open("rb") as file:
        return file.read(4 * MAX_BYTES).decode()
