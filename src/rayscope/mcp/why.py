"""The tool ``why``: verdict, cause, evidence, and a link, in one answer."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from rayscope.client.filters import TaskFilters
from rayscope.errors import RayscopeError
from rayscope.mcp.answer import Answer, time
from rayscope.mcp.target import SessionView
from rayscope.units import duration, duration_range

if TYPE_CHECKING:
    from rayscope.client.types import Death, FindingItem, InsightsAnswer, LogPart, SavingIfKnown, Subject

Question = Literal["slow", "failed", "pending", "stuck", "died"]

#: Number of attempts that are shown as evidence.
_EVIDENCE = 3
_ATTEMPT = ("task_id", "attempt", "func_name", "state", "duration_ns", "waiting_ns", "node_id", "worker_pid")
#: Number of log lines of the newest failed attempt.
_LOG_LINES = 15
#: Number of deaths of each kind that are requested, which is the server's maximum, and shown.
_DEATHS, _SHOWN_DEATHS = 1000, 50
#: Maximum number of groups of attempts that have not started.
_GROUPS = 50
#: Maximum number of functions whose waits are requested.
_FUNCTIONS = 200
#: Findings about work that does not begin, and about work that does not end.
_PENDING_KINDS = ("unschedulable", "unschedulable_group", "pending_resources", "worker_startup")
_STUCK_KINDS = ("deadlock", "hang", "waiting_actor", *_PENDING_KINDS)
_KINDS: tuple[Subject, ...] = ("job", "node", "actor", "worker")
#: Kinds that belong to a class of actors.
_CLASS_KINDS: tuple[Subject, ...] = ("actor", "worker")
_NOT_STARTED = """
SELECT func_name, state, required_resources, count(*) AS attempts, min(created_ns) AS created_ns,
       min(task_id) AS task_id
FROM tasks WHERE start_ns IS NULL AND state NOT IN ('FINISHED', 'FAILED'){conditions}
GROUP BY ALL ORDER BY attempts DESC"""
_FUNCTION_NAMES = "SELECT DISTINCT func_name FROM tasks WHERE func_name IS NOT NULL"


def why(view: SessionView, question: Question, job: str, of: str) -> Answer:
    """Return the answer to a question about a job, or about the task, entity, or function ``of``."""
    return _ANSWERS[question](view, job, of)


def _slow(view: SessionView, job: str, of: str) -> Answer:
    insights = view.client.insights(job or None, view.name)
    answer = view.answer("insights", job_id=job)
    _verdict(answer, insights)
    findings = [each for each in insights["findings"] if not of or of in _places(each)]
    _findings(answer, findings)
    filters: Mapping[str, Any] = {}
    if of and not findings:
        answer.say("No finding is about that. Its longest attempts follow, if there are any.")
        filters = _task_filters(view, of)
    elif findings:
        filters = findings[0]["filters"]
    elif insights["verdict"] is not None and insights["verdict"]["name"] not in ("", "driver"):
        filters = {"func_name": insights["verdict"]["name"]}
    if filters:
        known = {
            name: value
            for name, value in filters.items()
            if name in TaskFilters.__annotations__ or name == "job_id"
        }
        attempts = view.client.tasks(
            session=view.name, sort="-duration_ns", limit=_EVIDENCE, **{"job_id": insights["job_id"], **known}
        )
        answer.items("Evidence: its longest attempts", _ATTEMPT, attempts)
    causes = (
        (cause["phase"], cause["name"], duration(cause["total_ns"]), f"{cause['share']:.1%}", cause["text"])
        for cause in insights["causes"]
    )
    answer.table("Where the job's time went", ("phase", "function", "time", "share", "explanation"), causes)
    gains = (
        (each["function"], duration(each["own_ns"]), duration(each["saving_ns"]), _range(each))
        for each in insights["functions"]
    )
    columns = ("function", "own time", "saving at half its time", "9 of 10 cases")
    answer.table("Predicted savings", columns, gains)
    return answer


def _verdict(answer: Answer, insights: InsightsAnswer) -> None:
    took = duration(insights["calibration"]["recorded_ns"])
    so_far = " so far" if insights["so_far"] else ""
    verdict = insights["verdict"]
    lines = [f"Job {insights['job_id']} took {took}{so_far} for {insights['attempts']} attempts."]
    lines.append(verdict["text"] if verdict else "No verdict: the record does not show what took the time.")
    lines += [f"Missing from the record: {each['message']}" for each in insights["not_recorded"]]
    if insights["withheld"]:
        lines.append(f"Savings are not predicted: {insights['withheld']['message']}")
    answer.data("Verdict", lines)


def _findings(
    answer: Answer, findings: Iterable[FindingItem], title: str = "Findings, the largest first"
) -> None:
    found = list(findings)
    rows = (
        (
            each["kind"],
            each["severity"],
            each["function"] or each["actor_class"],
            each["caller"],
            duration(each["cost_ns"]),
            None if each["saving_ns"] is None else duration(each["saving_ns"]),
            _range(each),
            f"{each['share']:.1%}",
            " ".join(f"{name}={_number(name, value)}" for name, value in each["numbers"].items()),
        )
        for each in found
    )
    columns = ("kind", "severity", "where", "caller", "cost", "saving", "9 of 10 cases", "share", "evidence")
    answer.table(title, columns, rows)
    for each in found[:1]:
        answer.data(
            "Advice for the first finding", [each["title"], each["advice"], *each["sketch"].splitlines()]
        )


def _failed(view: SessionView, job: str, of: str) -> Answer:
    filters = {**_task_filters(view, of), **({"job_id": job} if job else {})}
    failures = view.client.failures(session=view.name, **filters)
    answer = view.answer("failures", job_id=job)
    outcomes = failures["tasks"]
    answer.say(
        f"Tasks: {outcomes['final']} failed for good, {outcomes['retrying']} are being retried, "
        f"{outcomes['recovered']} succeeded after a retry. Different failures: {failures['total']}."
    )
    rows = (
        (
            each["func_name"],
            each["error_type"],
            each["message"],
            f"{each['file']}:{each['line']}" if each["file"] else None,
            each["outcome"],
            each["attempts"],
            time(each["last_ns"]),
        )
        for each in failures["items"]
    )
    columns = ("function", "error", "message", "place", "outcome", "attempts", "last")
    if not failures["items"]:
        answer.say(f"Verdict: nothing{' of that' if of or job else ''} failed.")
    else:
        first = failures["items"][0]
        newest = first["latest"][:1]
        message = first["example"] or first["message"] or ""
        lines = [f"{first['func_name']} failed: {first['error_type']}: {message}"]
        lines += [f"in {first['path'] or first['file']}, line {first['line']}"] if first["file"] else []
        lines += [f"because: {link['message']} (source: {link['source']})" for link in first["causes"]]
        answer.data("Verdict: the gravest failure", lines)
        names = ("task_id", "attempt", "outcome", "end_ns", "node_id", "message")
        answer.items("Evidence: its newest attempt", names, newest)
        answer.table("All failures, by function, error and line", columns, rows)
        for attempt in newest:
            _log(answer, view, attempt["task_id"], attempt["attempt"])
    return answer


def _log(answer: Answer, view: SessionView, task_id: str, attempt: int) -> None:
    try:
        parts = view.client.logs(task_id=task_id, attempt=attempt, limit=_LOG_LINES, session=view.name)[
            "parts"
        ]
    except RayscopeError as error:
        answer.data("Its log is not available", [error.message])
        return
    lines = [text for part in parts for text in log_texts(part)]
    answer.data("The last lines of its log", lines[-_LOG_LINES:])


def log_texts(part: LogPart) -> list[str]:
    """Return the lines of a part of a log, without Ray's marks."""
    lines = part["page"]["lines"] if part["page"] else []
    return [line["text"] for line in lines if not line["is_mark"]]


def _pending(view: SessionView, job: str, of: str) -> Answer:
    from rayscope.client.calls import Call

    answer = view.answer("jobs" if not job else f"jobs/{job}")
    status: Any = view.client.ask(Call("GET", "/api/v1/cluster/status", {"session": view.name}))
    pending = [
        each
        for each in status["pending"]
        if (_is_of(each["name"], of) or (each["id"] or "").startswith(of))
        and (not job or job == each["job_id"])
    ]
    if status["error"]:
        answer.data("The cluster cannot be asked now", [status["error"], status["remedy"] or ""])
        answer.say("Verdict: unknown, because the cluster cannot be asked. The record follows.")
    elif not pending:
        what = "nothing of that" if of or job else "nothing"
        when = "waits for resources now" if status["live"] else "waited for resources when the cluster ended"
        answer.say(f"Verdict: {what} {when}.")
    if status["pending_left_out"]:
        answer.say(f"{status['pending_left_out']} more pending requests were not checked.")
    for each in pending[:1]:
        lines = [
            f"{each['count']} {each['name']}: {each['reason']['message']}",
            each["reason"].get("remedy") or "",
        ]
        answer.data("Verdict: the most serious pending request", lines)
    rows = (
        (
            each["kind"],
            each["name"],
            each["count"],
            time(each["since_ns"]),
            each["resources"] or each["bundles"],
            each["reason"]["message"],
            [f"{held['name']} {held['amount']:g}" for held in each["holders"]],
        )
        for each in pending
    )
    columns = ("kind", "name", "count", "since", "requests", "reason", "holders of what is short")
    answer.table("What is pending now", columns, rows)
    _job_findings(answer, view, job, _PENDING_KINDS)
    conditions = f" AND job_id = {_literal(job)}" if job else ""
    if of:
        name, method = _literal(of), _literal(f"{of}.")
        conditions += (
            f" AND (func_name = {name} OR starts_with(func_name, {method}) OR starts_with(task_id, {name}))"
        )
    never = view.client.sql(_NOT_STARTED.format(conditions=conditions), session=view.name, limit=_GROUPS)
    if never["truncated"]:
        answer.say(f"Only the {_GROUPS} largest groups of attempts that have not started are shown.")
    names = [name for name, _ in never["columns"]]
    items = (dict(zip(names, row, strict=True)) for row in never["rows"])
    answer.items("Evidence: attempts that have not started", names, items)
    _waits(answer, view, job, of)
    return answer


def _waits(answer: Answer, view: SessionView, job: str, of: str) -> None:
    """Add how long the attempts of each function waited, by reason."""
    items = view.client.scheduling(session=view.name, job_id=job or None, limit=_FUNCTIONS)["items"]
    waits = ("waiting_args", "waiting_node", "starting_worker", "queued")
    rows: list[list[Any]] = []
    for each in items:
        item: Mapping[str, Any] = each
        if _is_of(item["func_name"], of):
            rows.append(
                [item["func_name"], item["attempts"], *(duration(item.get(f"{name}_ns")) for name in waits)]
            )
    if len(items) == _FUNCTIONS:
        answer.say(f"Waits were only checked of the {_FUNCTIONS} functions with the most time.")
    answer.table("How long attempts waited in total", ("function", "attempts", *waits), rows)


def _job_findings(answer: Answer, view: SessionView, job: str, kinds: tuple[str, ...]) -> None:
    try:
        insights = view.client.insights(job or None, view.name)
    except RayscopeError as error:
        answer.data("Findings are not available", [error.message])
        return
    found = [each for each in insights["findings"] if each["kind"] in kinds]
    _findings(answer, found, "Findings about what waited")


def _stuck(view: SessionView, job: str, of: str) -> Answer:
    filters = {**_task_filters(view, of), **({"job_id": job} if job else {})}
    stack = view.client.stack(session=view.name, **filters)
    answer = view.answer("stack", job_id=job)
    answer.say(f"Attempts in flight at {time(stack['at_ns'])}: {stack['in_flight']}.")
    chains = (
        " waits for ".join(f"{link['name']} ({link['situation']} ×{link['count']})" for link in chain)
        for chain in stack["chains"]
    )
    answer.data("Verdict: chains of waits, the longest first", chains)
    if not stack["chains"]:
        answer.say("Verdict: nothing in flight waited for other tasks.")
    _job_findings(answer, view, job, _STUCK_KINDS)
    at_ns = stack["at_ns"] or 0
    oldest = sorted(
        (node for node in stack["nodes"] if node["count"]), key=lambda node: node["oldest_ns"] or at_ns
    )
    rows = (
        (
            node["name"],
            node["situation"],
            node["count"],
            duration(at_ns - node["oldest_ns"]) if node["oldest_ns"] else None,
            [link["name"] for link in node["blocked_on"]],
            node["examples"][0]["task_id"] if node["examples"] else None,
        )
        for node in oldest
    )
    columns = ("function", "situation", "attempts", "for up to", "blocked on", "a task")
    answer.table("Evidence: attempts in flight, the oldest first", columns, rows)
    running = [node for node in oldest if node["situation"] == "running" and node["examples"]]
    for node in running[:1]:
        _lines_of(answer, view, node["examples"][0]["task_id"])
    paused = view.client.paused_tasks(view.name)["items"]
    names = ("task_id", "name", "state", "file", "line", "since_ns")
    answer.items("Tasks that wait for a debugger", names, paused)
    return answer


def _lines_of(answer: Answer, view: SessionView, task_id: str) -> None:
    sampled = view.client.lines(task_id=task_id, session=view.name)
    if sampled["missing"] is not None:
        answer.say(f"No line is known of the oldest that runs: {sampled['missing']['message']}")
    names = ("file", "line", "function", "self_samples", "total_samples")
    if sampled["lines"]:
        answer.items(f"Lines of {task_id}, by {sampled['samples']} samples", names, sampled["lines"][:5])


def _died(view: SessionView, job: str, of: str) -> Answer:
    of = of or job
    deaths, left_out = _deaths(view, of)
    answer = view.answer("actors")
    unexpected = [death for death in deaths if not death["is_expected"]]
    unknown = sum(death["cause"] == "unknown" for death in unexpected)
    shown = unexpected if not of else deaths
    answer.say(
        f"{len(unexpected) - unknown} ended unexpectedly, {unknown} for an unknown reason, "
        f"{len(deaths) - len(unexpected)} as they were meant to."
        + (f" {left_out} older ones were not checked." if left_out else "")
    )
    if not deaths:
        answer.say("Verdict: no end is on record.")
    elif not unexpected:
        checked = f"none of the newest {len(deaths)}" if left_out else "nothing"
        answer.say(f"Verdict: {checked} died that was not meant to.")
    if len(shown) > _SHOWN_DEATHS:
        answer.say(f"The newest {_SHOWN_DEATHS} of {len(shown)} are shown.")
    for death in shown[:1]:
        lines = [
            f"The {death['kind']} {death['id']} ended at {time(death['end_ns'])}. Cause: {death['cause']}."
        ]
        lines += [f"{link['message']} (source: {link['source']})" for link in death["chain"]]
        lines += [f"Possible: {each['message']}" for each in death["candidates"]]
        lines += [f"Unknown: {death['missing']['message']}"] if death["missing"] else []
        lines += [f"Ray says: {death['ray']}"] if death["ray"] else []
        answer.data("Verdict: the newest", lines)
    rows = (
        (
            death["kind"],
            death["id"],
            time(death["end_ns"]),
            death["cause"],
            death["chain"][-1]["message"] if death["chain"] else None,
            death["chain"][-1]["source"] if death["chain"] else None,
        )
        for death in shown[:_SHOWN_DEATHS]
    )
    answer.table("Evidence", ("kind", "id", "ended", "cause", "explanation", "source"), rows)
    crashes = view.client.crashes(session=view.name)
    columns = ("end_ns", "pid", "function", "actor_class", "signal", "reason")
    answer.items("Crashed processes", columns, crashes["items"])
    return answer


def _deaths(view: SessionView, of: str) -> tuple[list[Death], int]:
    """Return the newest deaths of an entity, of a class of actors, or all, and how many are left out."""
    if of and not _is_id(of):
        answers = [
            view.client.deaths(kind, class_name=of, session=view.name, limit=_DEATHS) for kind in _CLASS_KINDS
        ]
    else:
        ids = {kind: _whole_id(view, kind, of) for kind in _KINDS}
        answers = [
            view.client.deaths(kind, identity or None, session=view.name, limit=_DEATHS)
            for kind, identity in ids.items()
            if identity is not None
        ]
    if not answers:
        raise RayscopeError(
            f"There is no worker, actor, node or job {of!r}.", "The tool `rows` lists them.", "not_found"
        )
    deaths = [death for each in answers for death in each["items"]]
    deaths.sort(key=lambda death: death["end_ns"] or 0, reverse=True)
    return deaths, sum(each["left_out"] for each in answers)


def _whole_id(view: SessionView, kind: Subject, beginning: str) -> str | None:
    """Return the ID that begins so, "" for any, or None if nothing of this kind has it."""
    if not beginning:
        return ""
    try:
        return str(view.client.one(f"{kind}s", beginning, view.name)[f"{kind}_id"])
    except RayscopeError as error:
        if error.status != 404:
            raise
        return None


_ANSWERS: Mapping[Question, Callable[[SessionView, str, str], Answer]] = {
    "slow": _slow,
    "failed": _failed,
    "pending": _pending,
    "stuck": _stuck,
    "died": _died,
}


def _places(finding: FindingItem) -> tuple[str | None, ...]:
    return finding["kind"], finding["function"], finding["actor_class"], finding["caller"]


def _range(item: SavingIfKnown | Mapping[str, Any]) -> str | None:
    low, high = item["saving_low_ns"], item["saving_high_ns"]
    return None if low is None or high is None else duration_range(low, high)


def _number(name: str, value: Any) -> str:
    return duration(value) if name.endswith("_ns") and not isinstance(value, str) else str(value)


def _task_filters(view: SessionView, of: str) -> Mapping[str, Any]:
    """Return the filters for the attempts of a function, of the methods of a class, or of an ID.

    Raises RayscopeError if there are none, because a wrong name must not look like a good result.
    """
    choices: list[Mapping[str, Any]] = [{"func_name": of}, {"name": f"{of}."}]
    if not of:
        choices = [{}]
    elif _is_id(of):
        choices = [{"q": of}, {"actor_id": of}, {"worker_id": of}, {"node_id": of}]
    for filters in choices:
        if not filters or view.client.tasks(session=view.name, limit=1, **filters).to_list():
            return filters
    names = [row[0] for row in view.client.sql(_FUNCTION_NAMES, session=view.name)["rows"]]
    near = ", ".join(difflib.get_close_matches(of, names, 5, 0.4))
    raise RayscopeError(
        f"There is no task of {of!r}.",
        f"The nearest functions are: {near}." if near else "The tool `overview` lists functions.",
        "not_found",
    )


def _is_of(name: str, of: str) -> bool:
    """Return whether a function is the given one, or a method of the given class. "" stands for all."""
    return not of or name == of or name.startswith(f"{of}.")


def _literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _is_id(text: str) -> bool:
    """Return whether a text is an ID of Ray or its beginning."""
    return len(text) >= 8 and all(letter in "0123456789abcdef" for letter in text)
