"""``rayscope alerts``: list alerts, test rules, send test notifications, and export rules."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from rayscope.alerts.durations import duration_s
from rayscope.cli.clients import open_client
from rayscope.cli.console import fail, print_json, shown, stdout, visible
from rayscope.cli.options import UNIT_S, DataDir, Operator, ServerUrl, Session, Token
from rayscope.cli.printing import Format, counted, print_rows
from rayscope.client.calls import Call
from rayscope.units import duration

app = typer.Typer(help="Alerts, rules, and notification channels.", no_args_is_help=True)

#: Exit status if the server refused the request, or if the notification could not be delivered.
FAILED = 1
#: Labels that only repeat the rule's name and severity.
_OF_RULE = ("alertname", "severity")
_STYLES = {"firing": "bold red", "pending": "yellow", "resolved": "green", "inactive": "dim"}


@app.command("list")
def list_alerts(
    session: Session = None,
    form: Annotated[
        Format, typer.Option("--format", help="Print tables, everything as JSON, or the alerts as CSV.")
    ] = Format.table,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """List firing and pending alerts, and every rule with its state."""
    with open_client(server, data_dir, token, status=FAILED) as api:
        rules = api.get("/api/v1/alerts/rules", session=session)
        nothing: dict[str, Any] = {"session": None, "live": True, "firing": 0, "pending": 0, "items": []}
        alerts = api.get("/api/v1/alerts", session=session) if rules["session"] else nothing
    if form is Format.json:
        print_json({**alerts, "rules": rules["items"], "problems": rules["problems"]})
        return
    if form is Format.csv:
        print_rows(form, alerts["items"], ())
        return
    console = stdout()
    if alerts["live"]:
        where = f" in {alerts['session']}" if alerts["session"] else ": nothing is recorded yet"
        console.print(f"{alerts['firing']} firing, {alerts['pending']} pending{where}")
    else:
        console.print(f"{counted(alerts['ended'], 'alert')} fired until the end of {alerts['session']}")
    if alerts["items"]:
        console.print(_alerts(alerts["items"]))
    table = Table("rule", "state", "severity", "for", "expression", box=None, pad_edge=False)
    for rule in rules["items"]:
        state = rule["state"] if rule["enabled"] else "off"
        problem = rule["error"] or rule["template_error"]
        if not problem and rule["unknown_metrics"]:
            problem = f"No series has this name yet: {', '.join(rule['unknown_metrics'])}."
        said = Text(problem, style="yellow") if problem else Text(" ".join(rule["expr"].split()))
        styled = Text(state, style=_STYLES.get(state, "dim"))
        table.add_row(rule["name"], styled, rule["severity"], duration(rule["for_s"] * 1e9), said)
    console.print(table)
    for problem in rules["problems"]:
        where = ": ".join(filter(None, (problem["file"], problem["rule"])))
        console.print(Text(f"{where}: {problem['message']} {problem['remedy']}", style="yellow"))


def _summary(alert: Mapping[str, Any], condition: str) -> str:
    """Return the summary of an alert or a transition, or else the condition, the value, and the labels."""
    if summary := alert["annotations"].get("summary"):
        return str(summary)
    labels = [f"{name}={text}" for name, text in sorted(alert["labels"].items()) if name not in _OF_RULE]
    value = "" if alert["value"] is None else f", value {alert['value']:.4g}"
    return f"{condition}{value} ({', '.join(labels)})" if labels else condition + value


def _alerts(items: list[Mapping[str, Any]]) -> Table:
    table = Table("state", "since", "rule", "summary", box=None, pad_edge=False)
    for alert in items:
        since_ns = alert["fired_ns"] or alert["active_ns"]
        table.add_row(
            Text(alert["state"], style=_STYLES.get(alert["state"], "")),
            _clock(since_ns),
            alert["rule"],
            Text(shown(_summary(alert, alert["condition"]))),
        )
    return table


@app.command("test")
def try_rule(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Name of a rule, or a file with one rule.")],
    since: Annotated[
        str | None, typer.Option("--since", help="Start: 2026-11-22T10:00, or -30m (before the end).")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="End (default: the newest data).")] = None,
    session: Session = None,
    form: Annotated[
        Format, typer.Option("--format", help="Print text, everything as JSON, or the transitions as CSV.")
    ] = Format.table,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Test a rule against the record: when would it have fired?"""
    body: dict[str, Any] = {"session": session}
    path = Path(rule)
    if path.suffix in (".yml", ".yaml"):
        try:
            body["yaml"] = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            fail(f"Could not read {path}: {error}", "Give a file with one rule in Prometheus format.", FAILED)
    else:
        body["rule"] = rule
    body["until_ns"] = None if until is None else _time_ns(until, time.time_ns())
    with open_client(server, data_dir, token, status=FAILED) as api:
        if since is not None:
            newest_ns = next(iter(api.sessions(name=session)))["last_ns"]
            body["since_ns"] = _time_ns(since, body["until_ns"] or newest_ns)
        found = api.post("/api/v1/alerts/test", body)
    if form is Format.json:
        print_json(found)
        return
    if form is Format.csv:
        print_rows(form, found["transitions"], ())
        return
    console = stdout()
    times = {0: "would not have fired", 1: "would have fired once"}
    said = times.get(found["fired"], f"would have fired {found['fired']} times")
    console.print(
        f"{found['rule']['name']} {said} between {_clock(found['since_ns'])} and {_clock(found['until_ns'])} "
        f"({counted(found['evaluations'], 'evaluation')})."
    )
    if found["transitions"]:
        table = Table("time", "from", "to", "value", "summary", box=None, pad_edge=False)
        for one in found["transitions"]:
            value = "" if one["value"] is None else f"{one['value']:.4g}"
            summary = _summary(one, " ".join(found["rule"]["expr"].split()))
            after = Text(one["after"], style=_STYLES.get(one["after"], ""))
            table.add_row(_clock(one["time_ns"]), one["before"], after, value, Text(shown(summary)))
        console.print(table)
    if found["left_out"]:
        console.print(f"{counted(found['left_out'], 'more transition')} not shown")


@app.command("add")
def add_rule(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the rule; replaces a rule of that name.")
    ],
    expr: Annotated[
        str,
        typer.Argument(metavar="EXPR", help="PromQL that gives the series to alert on, such as 'm > 80'."),
    ],
    for_s: Annotated[
        str, typer.Option("--for", help="How long the condition must hold, such as 60s or 5m.")
    ] = "0s",
    severity: Annotated[
        str, typer.Option("--severity", help="critical, warning, info, or a word of your own.")
    ] = "warning",
    summary: Annotated[str, typer.Option("--summary", help="What the alert says, in one line.")] = "",
    operator: Operator = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Add an alert rule, or replace one."""
    try:
        seconds = duration_s(for_s)
    except ValueError:
        fail(f"{for_s[:50]!r} is not a duration.", "Use the form 30s, 5m, or 1h30m.", FAILED)
    with open_client(server, data_dir, token, needs_server=True, operator=operator, status=FAILED) as api:
        body = {
            "expr": expr,
            "for_s": seconds,
            "labels": {"severity": severity},
            "annotations": {"summary": summary} if summary else {},
        }
        path = f"/api/v1/alerts/rules/{quote(name, safe='')}"
        added: dict[str, Any] = api.ask(Call("PUT", path, body=body, needs_operator=True))
    stdout().print(f"Added {name}. Try it on what is on record: rayscope alerts test {name}")
    for warning in added["warnings"]:
        stdout().print(Text(shown(f"{warning['message']} {warning['remedy']}"), style="yellow"))


@app.command("notify")
def notify(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Name of a channel in channels.yml.")],
    operator: Operator = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Send a test notification through a channel."""
    with open_client(server, data_dir, token, needs_server=True, operator=operator, status=FAILED) as api:
        path = f"/api/v1/alerts/channels/{quote(channel, safe='')}/test"
        found: dict[str, Any] = api.ask(Call("POST", path, needs_operator=True))
    if not found["ok"]:
        fail(
            f"{channel} rejected the test notification: {found['error']['message']}",
            "See the server's log.",
            FAILED,
        )
    stdout().print(f"{channel} accepted a test notification.")


@app.command("export")
def export_rules(
    rules: Annotated[
        list[str] | None, typer.Argument(metavar="[RULE]...", help="Rules to export (default: all).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file (default: stdout).")
    ] = None,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Print the rules as a file that Prometheus loads (`promtool check rules` accepts it)."""
    with open_client(server, data_dir, token, status=FAILED) as api:
        text = api.text("/api/v1/alerts/export", **({"rule": rules} if rules else {}))
    if output is None:
        sys.stdout.write(visible(text))
        return
    try:
        output.write_text(text)
    except OSError as error:
        fail(f"Could not write {output}: {error.strerror}.", "Choose another file.", FAILED)


def _clock(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns / 1e9):%Y-%m-%d %H:%M:%S}"


def _time_ns(text: str, end_ns: int) -> int:
    """Parse ``-30m`` (before ``end_ns``) or an ISO time, by default in this machine's time zone."""
    if match := re.fullmatch(r"-(\d+)([smhd])", text):
        return end_ns - int(match[1]) * UNIT_S[match[2]] * 10**9
    try:
        return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1e6) * 1000
    except ValueError:
        fail(f"{text!r} is not a valid time.", "Use 2026-11-22T10:00, or -30m.", FAILED)
