"""``rayscope jobs``: list jobs, and submit, stop, and delete them through Ray's job API."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, say, shown, visible
from rayscope.cli.lazy import ListByDefault
from rayscope.cli.lists import list_command, took, without_none
from rayscope.cli.options import DataDir, ServerUrl, Session, Token
from rayscope.cli.printing import Column, Row, error_line, failed_of, state_text, text, when
from rayscope.client import Client
from rayscope.model import CUT_OFF
from rayscope.model.program import program_name
from rayscope.ray.common import headline

app = typer.Typer(
    cls=ListByDefault, help="List, submit, stop, and delete jobs.\n\nWithout a command, it lists them."
)

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Job ID or submission ID.", show_default=False)]


def progress(job: Row) -> str:
    """Return how many attempts of a job have ended, and how: ``120/200, 3 failed, 2 cut off``."""
    tasks: dict[str, int] = job.get("tasks") or {}
    failed, cut_off = tasks.get("FAILED", 0), tasks.get(CUT_OFF, 0)
    ended = tasks.get("FINISHED", 0) + failed + cut_off
    failed = failed_of(failed, job)
    how = (f", {failed:,} failed" if failed else "") + (f", {cut_off:,} cut off" if cut_off else "")
    return f"{ended:,}/{sum(tasks.values()):,}{how}"


def job_state(job: Row) -> Text:
    """Return Ray's state of a job. A FINISHED job may have failed: its driver's exit status is unknown."""
    if job.get("state") == "FINISHED":
        return Text("FINISHED, exit status unknown", style="yellow")
    return state_text(job.get("state"))


COLUMNS = (
    Column("entrypoint", lambda row: shown(program_name(row.get("entrypoint") or "")), long=True),
    Column("state", job_state),
    Column("tasks", lambda row: Text(progress(row))),
    text("job_id"),
    took("start_ns", "end_ns"),
    when("start_ns", "started"),
    text("submission_id"),
    error_line("message", "message"),
    text("type"),
)


list_ = list_command("jobs", "List jobs, newest first.", COLUMNS, "state type query", has_node=False)
app.command("list")(list_)


@app.command("submit", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def submit(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND [ARGS]...", help="Command to run in the cluster.", show_default=False
        ),
    ],
    submission_id: Annotated[
        str | None, typer.Option("--submission-id", help="Submission ID of your choice.")
    ] = None,
    working_dir: Annotated[
        str | None,
        typer.Option("--working-dir", help="URI, or a local folder or ZIP, which Ray's client uploads."),
    ] = None,
    runtime_env: Annotated[
        str | None, typer.Option("--runtime-env-json", help="Runtime environment as JSON.")
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", help="Environment variable (NAME=VALUE).")] = None,
    num_cpus: Annotated[
        float | None,
        typer.Option("--entrypoint-num-cpus", min=0, help="CPUs reserved for the command itself."),
    ] = None,
    num_gpus: Annotated[
        float | None,
        typer.Option("--entrypoint-num-gpus", min=0, help="GPUs reserved for the command itself."),
    ] = None,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Submit a job to the session's cluster, and print its submission ID. Requires the operator token."""
    words = command[1:] if command[:1] == ["--"] else command
    if not words:
        fail("Nothing to run.", "For example: rayscope jobs submit -- python train.py")
    environment = _environment(runtime_env, env or [])
    request: dict[str, Any] = without_none(submission_id=submission_id)
    for name, value in (("entrypoint_num_cpus", num_cpus), ("entrypoint_num_gpus", num_gpus)):
        request |= {} if value is None else {name: value}
    if working_dir is not None:
        environment["working_dir"] = working_dir
    if environment:
        request["runtime_env"] = environment
    entrypoint = shlex.join(words)
    with open_client(server, data_dir, token, session, needs_server=True) as client:
        folder = environment.get("working_dir")
        if folder is not None and "://" not in str(folder):
            _check_folder(Path(str(folder)))
            made = _submit_with_folder(client, entrypoint, request)
        else:
            made = client.submit_job(entrypoint, **request)
    typer.echo(visible(made))


@app.command("stop")
def stop(
    job: JobId,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Stop a submitted job. Requires the operator token."""
    with open_client(server, data_dir, token, session, needs_server=True) as client:
        stopped = client.stop_job(job)
    say(f"stopping {job}" if stopped else f"{job} had already ended")


@app.command("delete")
def delete(
    job: JobId,
    session: Session = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Delete a submitted job that has ended from Ray. The record is kept. Requires the operator token."""
    with open_client(server, data_dir, token, session, needs_server=True) as client:
        deleted = client.delete_job(job)
    say(f"deleted {job} from Ray; it stays on record" if deleted else f"Ray did not delete {job}")


def _check_folder(folder: Path) -> None:
    """Raise RayscopeError or exit if `POST /api/v1/jobs/folder` would refuse the folder."""
    if folder.suffix == ".zip" and folder.is_file():
        from rayscope.cluster.jobs.folders import check_folder

        check_folder(folder.read_bytes())
    elif not folder.is_dir():
        fail(f"Not a folder or ZIP: {folder}.", "Use a local folder, a .zip or a URI as --working-dir.")


def _submit_with_folder(client: Client, entrypoint: str, request: dict[str, Any]) -> str:
    """Submit a job with Ray's own client, which packs the folder and uploads it to the cluster."""
    ray_client = client.job_client()
    try:
        return str(ray_client.submit_job(entrypoint=entrypoint, **request))
    except (RuntimeError, ValueError, OSError) as error:
        fail(
            f"Ray rejected the job: {headline(str(error)) or type(error).__name__}",
            "Fix the problem it names.",
        )


def _environment(text: str | None, variables: list[str]) -> dict[str, Any]:
    try:
        environment = json.loads(text) if text else {}
    except ValueError as error:
        fail(f"Could not parse --runtime-env-json: {error}.", "Use a JSON object.")
    if not isinstance(environment, dict) or not isinstance(environment.get("env_vars", {}), dict):
        fail("--runtime-env-json is not a runtime environment.", "Use a JSON object.")
    for variable in variables:
        name, is_set, value = variable.partition("=")
        if not name or not is_set:
            fail(f"Invalid --env: {variable!r}.", "Use NAME=VALUE.")
        environment.setdefault("env_vars", {})[name] = value
    return environment
