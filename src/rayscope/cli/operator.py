"""``rayscope token`` (formerly ``operator``): the token that allows changes."""

from __future__ import annotations

import typer

from rayscope.cli.options import DataDir, settings_from


def operator(data_dir: DataDir = None) -> None:
    """Print the operator token, which allows changes (jobs, silences, dashboards)."""
    from rayscope.settings import operator_token

    settings = settings_from(data_dir)
    settings.folder.mkdir(parents=True, exist_ok=True)
    typer.echo(operator_token(settings.folder))
