"""Commands of the UI's *Copy as*: every option exists in the command, every filter in the client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.main

from rayscope.cli.main import app
from rayscope.client import Client

TABLE = Path(__file__).parents[3] / "web/src/shell/share/commands.json"
LISTS: dict[str, dict[str, str | None]] = json.loads(TABLE.read_text())


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_the_ui_is_one_of_the_command_line_and_the_client(name: str) -> None:
    command = typer.main.get_command(app).commands[name].load()  # type: ignore[attr-defined]
    command = getattr(command, "commands", {}).get("list", command)
    options = {option for parameter in command.params for option in parameter.opts}
    written = {option for option in LISTS[name].values() if option is not None}
    assert written | {"--session", "--server"} <= options

    with Client("http://127.0.0.1:1") as client:
        call = getattr(Client, name.replace("-", "_"))(client, session="s", **dict.fromkeys(LISTS[name], "x"))
    assert set(LISTS[name]) <= set(call.params)
