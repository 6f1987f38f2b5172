"""Reads users' YAML files within limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from rayscope.storage.errors import BadQuery, StoreError

MAX_BYTES = 256 << 10
#: Limits for the parser: number of nodes, and depth of nesting. A file of 500 rules has about 15,000 nodes,
#: and is nested eight levels deep.
_MAX_NODES = 40_000
_MAX_DEPTH = 20


class BadYaml(BadQuery):
    """A text is not valid YAML, or exceeds a limit. The message may quote the text."""


#: The C parser is ten times as fast. PyYAML lacks it where libyaml was missing when it was built.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_size(text: str) -> None:
    """Raise BadYaml for an alias, and if the document is too deep or too large.

    Without these limits, a few bytes of YAML could exhaust the memory or the stack.
    """
    depth = nodes = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.AliasEvent):
            raise BadYaml("aliases (`*name`) are not allowed", what="yaml_alias")
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise BadYaml(
                f"it is nested more than {_MAX_DEPTH} levels deep", what="yaml_depth", limit=_MAX_DEPTH
            )
        if nodes > _MAX_NODES:
            raise BadYaml(f"it has more than {_MAX_NODES:,} entries", what="yaml_entries", limit=_MAX_NODES)


def parse_yaml(text: str) -> Any:
    """Parse a YAML document. Raises BadYaml."""
    if len(text) > MAX_BYTES:
        raise BadYaml(f"it is larger than {MAX_BYTES >> 10} KiB", what="yaml_size", kib=MAX_BYTES >> 10)
    try:
        _check_size(text)
        return yaml.load(text, _Loader)  # noqa: S506  a SafeLoader
    except BadYaml:
        raise
    except Exception as error:  # invalid values can raise any exception, such as a date with month 99
        reason = str(error)[:300]
        raise BadYaml(reason, what="yaml", reason=reason) from error


def read_if_exists(path: Path) -> str:
    """Read a text file like :func:`read_text`, or return "" if there is none. Raises StoreError."""
    try:
        return read_text(path) if path.exists() else ""
    except (OSError, ValueError) as error:
        raise StoreError(
            f"Could not read {path.name}: {error}",
            "Check that it is UTF-8 text.",
            what="read_file",
            file=path.name,
            reason=str(error),
        ) from error


def read_text(path: Path) -> str:
    """Read a text file, but not much beyond the parser's limit. Raises OSError, or ValueError if it is not
    UTF-8.
    """
    if not path.is_file():  # reading a pipe might never end
        raise OSError("it is not a regular file")
    with path.open("rb") as file:
        return file.read(4 * MAX_BYTES).decode()
