"""Reads what a comparison needs to know about a run: its duration, path, functions and environment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rayscope.model.program import program_name, script_name
from rayscope.records.reader import SessionReader
from rayscope.runs import sql
from rayscope.runs.sql import FunctionFigures
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id
from rayscope.views.critical_path import compute
from rayscope.views.critical_path.read import is_driver, name_operators, read_shared_path


class Cause(NamedTuple):
    """A cause of a duration: a phase, and the function in phases where each function is a separate cause."""

    phase: str
    function: str = ""
    is_driver: bool = False


class Run(NamedTuple):
    """One run of a program.

    Attributes:
        script: the script of its command, without folder and arguments; '' if unknown.
        parts: the time on the critical path in ns, by cause. They sum to the duration.
        functions: by name.
        facts: what else is known about the run, as text: the command, versions, nodes, settings.
        quality: what the record contains, as text, which decides whether runs can be compared.
    """

    session: str
    job_id: str
    name: str
    script: str
    begin_ns: int
    duration_ns: int
    parts: Mapping[Cause, int]
    functions: Mapping[str, FunctionFigures]
    facts: Mapping[str, str]
    quality: Mapping[str, str]


def read_run(
    records: SessionReader, session: str, file: SessionFile, job: str | None, about: Mapping[str, str]
) -> Run:
    """Read a run. Raises NotFound.

    ``job``: its ID or a prefix of it, or None for the longest job. ``about``: facts about the session.
    """
    found = read_shared_path(records, session, file, find_id(file, "job", job) if job else None)
    job_id, path = found.job_id, found.path
    duration_ns = path.end_ns - path.begin_ns
    with file.reader() as reader:
        row = sql.read_job(reader, job_id)
        functions = sql.read_functions(reader, job_id, records.last_ns(session))
        nodes = sql.read_nodes(reader, path.begin_ns, path.end_ns)
        plans = sql.read_plans(reader, job_id)
        groups = sql.read_placement_groups(reader, job_id)
    command = row.get("entrypoint") or ""
    return Run(
        session,
        job_id,
        program_name(command),
        script_name(command),
        path.begin_ns,
        duration_ns,
        _parts(name_operators(file, path), duration_ns),
        functions,
        {
            **about,
            **_facts(row),
            **_describe_nodes(nodes),
            **_counted("data_plan", plans),
            **_counted("placement_groups", [_describe_group(*group) for group in groups]),
        },
        {
            "tracer": "on" if found.traced else "off",
            "state": "ended" if found.ended else "running",
            "outcome": str(row.get("state") or "unknown"),
            "path": "cut off" if path.truncated else "whole",
        },
    )


def read_call_paths(file: SessionFile, job_id: str, last_ns: int) -> dict[str, FunctionFigures] | None:
    """The functions of a run by call path. None if no call path is recorded."""
    with file.reader() as reader:
        found = sql.read_functions(reader, job_id, last_ns, by_path=True)
    return None if found and all(path.startswith(sql.UNKNOWN_CALLERS) for path in found) else found


def _parts(path: compute.Path, duration_ns: int) -> dict[Cause, int]:
    parts: dict[Cause, int] = {}
    for cause in compute.causes(path, is_driver):
        is_own = cause.phase in compute.OF_FUNCTION
        key = Cause(cause.phase, cause.name, cause.is_driver) if is_own else Cause(cause.phase)
        parts[key] = parts.get(key, 0) + cause.total_ns
    if rest := duration_ns - sum(parts.values()):
        parts[Cause("not_followed")] = rest
    return parts


def _facts(job: Mapping[str, Any]) -> dict[str, str]:
    """A job's command, and each key of its runtime environment and metadata."""
    facts = {}
    if job.get("entrypoint"):
        facts["entrypoint"] = str(job["entrypoint"])
    for what in ("runtime_env", "metadata", "versions"):
        prefix = "" if what == "versions" else f"{what}."
        for key, value in _object(job.get(what)).items():
            if value not in ({}, []):
                facts[f"{prefix}{key}"] = _text(value)
    return facts


def _describe_nodes(nodes: Sequence[tuple[str | None, str | None]]) -> dict[str, str]:
    """The nodes by their resources and type, such as ``2 x CPU 8, GPU 1 g5.xlarge``."""
    described = []
    for total, kind in nodes:
        values = _object(total)
        shown = [f"{name} {values[name]:g}" for name in ("CPU", "GPU") if values.get(name)]
        described.append(" ".join([", ".join(shown) or "no CPU", *([kind] if kind else [])]))
    return _counted("nodes", described)


def _describe_group(strategy: str | None, bundles: str | None) -> str:
    """A placement group by its strategy and its bundles, such as ``PACK: CPU 1 + CPU 1, GPU 1``."""
    name = strategy or "unknown strategy"
    if bundles is None:
        return f"{name}: bundles unknown, because only events were recorded"
    try:
        resources = [bundle["resources"] for bundle in json.loads(bundles)]
        described = [", ".join(f"{key} {_number(one[key])}" for key in sorted(one)) for one in resources]
    except (ValueError, TypeError, KeyError):
        return f"{name}: bundles unknown"
    return f"{name}: {' + '.join(described)}"


def _number(value: float) -> str:
    """A quantity with all its digits, such as bytes of memory."""
    return f"{value:.15g}"


def _counted(what: str, described: Sequence[str]) -> dict[str, str]:
    """A fact about several things, the most frequent first. There is none if nothing is recorded."""
    counts = sorted(Counter(described).items(), key=lambda item: (-item[1], item[0]))
    return {what: "; ".join(f"{count} x {one}" for one, count in counts)} if counts else {}


def _object(text: str | None) -> dict[str, Any]:
    """The JSON object in a text, empty if there is none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
