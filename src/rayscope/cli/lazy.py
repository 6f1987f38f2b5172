"""Classes of commands: some load on demand, so that `rayscope --help` is fast, and groups have a default."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class LazyCommand(TyperCommand):
    """A placeholder with the name and the first help line of a command.

    It loads the actual command when it is called.
    """

    where: str

    def load(self) -> Any:
        """Load the command or the group."""
        module, _, attribute = self.where.partition(":")
        found = getattr(import_module(f"rayscope.cli.{module}"), attribute)
        parent = typer.Typer(
            rich_markup_mode="rich", pretty_exceptions_show_locals=False, add_completion=False
        )
        parent.callback()(lambda: None)  # keep it a group even if it has only one command
        if isinstance(found, typer.Typer):
            parent.add_typer(found, name=self.name)
        else:
            parent.command(self.name, context_settings=dict(self.context_settings))(found)
        return typer.main.get_command(parent).commands[self.name]  # type: ignore[attr-defined]

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Return the context of the loaded command, which handles the rest of the call."""
        return self.load().make_context(info_name, args, parent, **extra)


def command_class(where: str) -> type[LazyCommand]:
    """Return a class for ``Typer.command(cls=...)``. ``where``: ``module:attribute`` in ``rayscope.cli``."""
    return type("LazyCommand", (LazyCommand,), {"where": where})


class ListByDefault(TyperGroup):
    """A group of commands that runs `list` by default."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `list` if the arguments do not name a command."""
        names_none = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        if names_none and not ctx.resilient_parsing:  # the shell's completion parses arguments, too
            args = ["list", *args]
        return super().parse_args(ctx, args)
