"""The skill: its front matter, its recipes, and the commands that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from rayscope.cli.main import COMMANDS, app
from rayscope.mcp import skill

RECIPES = ["slow", "failure", "compare"]


def test_the_command_prints_the_skill_or_writes_it(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["skill"]).stdout == skill.text()
    assert runner.invoke(app, ["skill", "--output", str(tmp_path / "rayscope")]).exit_code == 0
    assert (tmp_path / "rayscope" / "SKILL.md").read_text() == skill.text()


def test_the_front_matter_is_what_assistants_expect() -> None:
    _, front, body = skill.text().split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["name"] == "rayscope"
    assert 0 < len(about["description"]) <= 1024
    assert re.findall(r"^## Recipe: (\w+)$", body, re.MULTILINE) == RECIPES


def test_the_named_commands_exist() -> None:
    assert set(re.findall(r"`rayscope (\w[\w-]*)", skill.text())) <= set(COMMANDS)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_prompt(name: str) -> None:
    prompt = skill.recipe(name, session="abc", job="")
    assert prompt.startswith("Use Rayscope's tools with session=abc:\n\n1. ")
    assert "## " not in prompt
