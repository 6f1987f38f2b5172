"""Lets the operator change rules and channels, by writing to the files that the server reads.

Rules go to ``ui.yml``, so that hand-written files keep their comments. All channels are in one file, in which
a changed channel replaces its own entry. Changes are checked with the code that reads the files.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from rayscope.alerts.notification.channels import channels_file, load_channels, no_channel
from rayscope.alerts.rules import parse_rules
from rayscope.alerts.yaml_text import parse_yaml, read_if_exists
from rayscope.api.schemas import ErrorDetail
from rayscope.files import replace_file
from rayscope.storage.errors import BadQuery, NotFound, StoreError

RULES_FILE = "ui.yml"
_GROUP = "ui"
#: Keys of a channel's entry that Rayscope reads. All others are settings of the channel's type.
_OURS = {
    "name",
    "type",
    "match",
    "rules",
    "send_resolved",
    "send_info",
    "group_by",
    "group_wait",
    "group_interval",
    "repeat_interval",
}
#: Serializes changes, because each change starts from the file that the previous one wrote.
_lock = threading.Lock()


def put_rule(folder: Path, name: str, rule: Mapping[str, Any]) -> None:
    """Add a rule to the UI's file, or replace it. Raises BadQuery if the rule is invalid."""

    def change(document: dict[str, Any]) -> None:
        rules = _rules(document)
        rules[:] = [*(each for each in rules if each.get("alert") != name), {"alert": name, **rule}]
        _switch(document, "disable", name, on=False)

    _edit_rules(folder, change)


def delete_rule(folder: Path, name: str) -> None:
    """Remove a rule from the UI's file. This restores a built-in rule of that name. Raises NotFound."""

    def change(document: dict[str, Any]) -> None:
        rules = _rules(document)
        if all(each.get("alert") != name for each in rules):
            raise NotFound(
                f"Rule {name[:60]!r} is not in {RULES_FILE}.",
                "Edit the file that it is in.",
                what="rule_elsewhere",
                id=name[:60],
                file=RULES_FILE,
            )
        rules[:] = [each for each in rules if each.get("alert") != name]
        for key in ("disable", "enable"):
            _switch(document, key, name, on=False)

    _edit_rules(folder, change)


def switch_rule(folder: Path, name: str, enabled: bool) -> None:
    """Turn a rule on or off, whichever file it is in."""

    def change(document: dict[str, Any]) -> None:
        _switch(document, "enable", name, on=enabled)
        _switch(document, "disable", name, on=not enabled)

    _edit_rules(folder, change)


def put_channel(folder: Path, name: str, fields: Mapping[str, Any], config: Mapping[str, Any] | None) -> None:
    """Add a channel, or replace it. Raises BadQuery if the channel could not be used.

    ``config`` contains all of the channel's addresses and secrets. None keeps the current ones. They cannot
    be changed one by one, so that a secret is never sent to an address that was set separately.
    """

    def change(document: dict[str, Any]) -> None:
        channels = document.setdefault("channels", [])
        at = _place(channels, name)
        before = {} if at is None else channels[at]
        if config is None and (at is None or before.get("type") != fields["type"]):
            raise BadQuery(
                "The channel has no address.", "Give the address that it sends to.", what="channel_address"
            )
        if set(config or ()) & _OURS:
            raise BadQuery(
                f"`config` must not have {', '.join(sorted(_OURS))}.",
                "Leave them out.",
                what="channel_config",
                keys=", ".join(sorted(_OURS)),
            )
        kept = {key: value for key, value in before.items() if key in _OURS or config is None}
        entry = {**kept, "name": name, **fields, **(config or {})}
        if at is None:
            channels.append(entry)
        else:
            channels[at] = entry

    _edit_channels(folder, change, name)


def delete_channel(folder: Path, name: str) -> None:
    """Remove a channel. Raises NotFound."""

    def change(document: dict[str, Any]) -> None:
        channels = document.setdefault("channels", [])
        at = _place(channels, name)
        if at is None:
            raise no_channel(name)
        del channels[at]

    _edit_channels(folder, change, None)


def _place(channels: list[Any], name: str) -> int | None:
    """Return the index of the channel of that name. A channel without a name is called ``channel-`` and its
    number.
    """
    for at, each in enumerate(channels):
        if isinstance(each, dict) and str(each.get("name") or f"channel-{at + 1}") == name:
            return at
    return None


def _rules(document: dict[str, Any]) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = document.setdefault("groups", [])
    for group in groups:
        if group.get("name") == _GROUP:
            rules: list[dict[str, Any]] = group.setdefault("rules", [])
            return rules
    groups.append({"name": _GROUP, "rules": []})
    return groups[-1]["rules"]  # type: ignore[no-any-return]


def _switch(document: dict[str, Any], key: str, name: str, *, on: bool) -> None:
    names = [each for each in document.get(key) or [] if each != name]
    document[key] = [*names, name] if on else names


def _edit_rules(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    with _lock:
        path = folder / RULES_FILE
        text = read_if_exists(path)
        parse_rules(text, RULES_FILE)  # report problems of the existing file before changing it
        document = parse_yaml(text) or {}
        change(document)
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
        parse_rules(text, RULES_FILE)
        _write(path, text, 0o666)


def _edit_channels(folder: Path, change: Callable[[dict[str, Any]], None], name: str | None) -> None:
    with _lock:
        path = channels_file(folder)
        found = load_channels(path)
        if found.problem is not None:
            raise _refusal(found.problem)
        document = parse_yaml(read_if_exists(path)) or {}
        change(document)
        draft = path.with_name(f".{path.name}.draft")
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
        try:
            _write(draft, text, 0o600)
            made = load_channels(draft)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()
        problem = made.problem
        if problem is None and name is not None:
            problem = made.named(name).problem
        if problem is not None:
            raise _refusal(problem)
        _write(path, text, 0o600)


def _refusal(problem: ErrorDetail) -> BadQuery:
    return BadQuery(problem["message"], problem["remedy"], problem["code"]).with_params(
        problem.get("params", {})
    )


def _write(path: Path, text: str, mode: int) -> None:
    """Write a file with ``mode``. An existing file keeps those bits of its own mode that ``mode`` has."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            mode &= path.stat().st_mode
        replace_file(path, text.encode(), mode=mode)
    except OSError as error:
        raise StoreError(
            f"Could not write {path.name}: {error.strerror or error}.",
            "Make the folder writable.",
            what="write_file",
            file=path.name,
            reason=error.strerror or str(error),
        ) from error
