"""Routes for alerts, rules, history, silences, acknowledgements, and channels."""

from __future__ import annotations

import time
from typing import Annotated, Any, cast

from fastapi import Query
from fastapi.responses import Response

from rayscope.alerts import schemas
from rayscope.alerts.backtest import backtest
from rayscope.alerts.history import MAX_EVENTS, newest_first
from rayscope.alerts.notification.channels import ConfiguredChannel, channels_file, kinds
from rayscope.alerts.notification.silences import Silence
from rayscope.alerts.rules import Rule, export, named, parse_rules
from rayscope.alerts.service import AlertService, CurrentAlerts
from rayscope.alerts.topics import alert_info, count_alerts
from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Limit, Session, Text
from rayscope.api.responses import Json, answer, error_info
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorDetail
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.metrics.service import CurrentMetrics
from rayscope.model.metric import Matcher
from rayscope.storage.errors import BadQuery
from rayscope.storage.sql import sessions as sessions_sql

_ALERTS = 300
_YAML: dict[str, Any] = {"description": "A file of rules.", "content": {"application/yaml": {}}}
_HOUR_NS = 3600 * 10**9


router = Router()


@router.get("/api/v1/alerts")
def alerts(
    records: CurrentRecords, alerts: CurrentAlerts, session: Session = None
) -> Json[schemas.AlertsAnswer]:
    """Return firing and pending alerts, and those resolved within the last 15 minutes.

    If the session has ended, return those that fired until then instead of firing and pending ones.
    """
    chosen, now_ns = records.resolve(session), time.time_ns()
    active, resolved = alerts.active(chosen), alerts.resolved(chosen)
    return answer(
        {
            "session": chosen,
            "live": records.is_live(chosen),
            "evaluated_ns": alerts.evaluated_ns(chosen) or None,
            **count_alerts(active),
            "items": [alert_info(alerts, chosen, alert, now_ns) for alert in active[:_ALERTS]],
            "left_out": max(0, len(active) - _ALERTS),
            "resolved": [alert_info(alerts, chosen, alert, now_ns) for alert in resolved[:_ALERTS]],
            "resolved_left_out": max(0, len(resolved) - _ALERTS),
        }
    )


@router.get("/api/v1/alerts/rules")
def rules(
    catalog: CurrentCatalog, records: CurrentRecords, alerts: CurrentAlerts, session: Session = None
) -> Json[schemas.RulesAnswer]:
    """Return all rules with their state in a session, and the files that are invalid.

    ``session`` is null before the first session is recorded.
    """
    chosen = records.resolve(session) if session or catalog.names() else None
    found = alerts.rules
    states = alerts.about_rules(chosen) if chosen else {}
    return answer(
        {
            "session": chosen,
            "items": [
                {**_rule_info(rule), "enabled": enabled, **states.get(rule.name, _OFF)}
                for enabled, rules in ((True, found.rules), (False, found.disabled))
                for rule in rules
            ],
            "problems": [
                {
                    "file": problem.file,
                    "message": problem.message,
                    "remedy": problem.remedy,
                    "rule": problem.rule,
                    "code": BadQuery.code,
                    "params": dict(problem.params),
                }
                for problem in found.problems
            ],
            "folder": str(alerts.folder),
        }
    )


@router.get("/api/v1/alerts/history")
def history(
    records: CurrentRecords,
    alerts: CurrentAlerts,
    session: Session = None,
    rule: Text = None,
    limit: Limit = 100,
) -> Json[schemas.HistoryAnswer]:
    """Return the newest transitions of a session's alerts, each with the series that caused it."""
    chosen = records.resolve(session)
    events = [each for each in alerts.events(chosen) if rule is None or each.rule == rule]
    return answer(
        {
            "session": chosen,
            "items": newest_first(events[-limit:]),
            "total": len(events),
            "kept_at_most": MAX_EVENTS,
        }
    )


@router.get("/api/v1/alerts/silences")
def silences(alerts: CurrentAlerts) -> Json[schemas.SilencesAnswer]:
    """Return active and scheduled silences, and those that expired within five days."""
    now_ns = time.time_ns()
    return answer({"items": [_silence_info(each, now_ns) for each in alerts.silences.list_visible(now_ns)]})


@router.get("/api/v1/alerts/channels")
def channels(alerts: CurrentAlerts) -> Json[schemas.ChannelsAnswer]:
    """Return the channels, their targets, and the state of their deliveries."""
    config = alerts.notifier.config
    return answer(
        {
            "items": [_channel_info(alerts, each) for each in config.channels],
            "kinds": kinds(),
            "file": str(channels_file(alerts.folder)),
            "problem": config.problem,
        }
    )


@router.get("/api/v1/alerts/export", response_class=Response, responses={200: _YAML})
def exported(
    alerts: CurrentAlerts, rule: Annotated[list[str] | None, Query(max_length=100)] = None
) -> Response:
    """Return all rules, or the named ones, as a rule file that Prometheus can load."""
    known = alerts.rules.rules
    chosen = known if rule is None else [named(known, name) for name in rule]
    return Response(export(chosen), media_type="application/yaml")


@router.post("/api/v1/alerts/test")
def tested(
    records: CurrentRecords, metrics: CurrentMetrics, alerts: CurrentAlerts, body: schemas.TestBody
) -> Json[schemas.TestAnswer]:
    """Test a rule against the recorded data: return when it would have fired. Changes nothing."""
    chosen = records.resolve(body.session)
    rule = _parse_rule(alerts, body)
    first_ns, _ = records.read_cached(chosen, "time range", sessions_sql.time_range)
    store = metrics.store(chosen)
    newest_ns = max(records.last_ns(chosen), store.newest_ns)
    until_ns = body.until_ns if body.until_ns is not None else newest_ns
    since_ns = body.since_ns if body.since_ns is not None else max(first_ns or 0, until_ns - _HOUR_NS)
    found = backtest(rule, store, since_ns, until_ns, alerts.rendering)
    return answer(
        {"session": chosen, "rule": _rule_info(rule), "since_ns": since_ns, "until_ns": until_ns, **found}
    )


@router.post(
    "/api/v1/alerts/silences",
    dependencies=OPERATOR_ONLY,
)
def silence(alerts: CurrentAlerts, body: schemas.SilenceBody) -> Json[schemas.SilenceInfo]:
    """Mute notifications of matching alerts for a while."""
    now_ns = time.time_ns()
    starts_ns = max(now_ns, body.starts_ns or 0)
    made = alerts.silences.add(
        [Matcher(each.label, each.op, each.value) for each in body.matchers],
        starts_ns,
        starts_ns + int(body.duration_s * 1e9),
        body.created_by,
        body.comment,
        now_ns=now_ns,
    )
    return answer(_silence_info(made, now_ns))


@router.delete(
    "/api/v1/alerts/silences/{silence_id}",
    dependencies=OPERATOR_ONLY,
)
def unsilence(alerts: CurrentAlerts, silence_id: str) -> Json[schemas.SilenceInfo]:
    """End a silence now."""
    now_ns = time.time_ns()
    return answer(_silence_info(alerts.silences.end(silence_id, now_ns), now_ns))


@router.post(
    "/api/v1/alerts/ack",
    dependencies=OPERATOR_ONLY,
)
def acknowledge(
    records: CurrentRecords, alerts: CurrentAlerts, body: schemas.AckBody
) -> Json[schemas.AlertInfo]:
    """Acknowledge an alert: no reminders are sent until it fires again."""
    chosen, now_ns = records.resolve(body.session), time.time_ns()
    alert = alerts.acknowledge(chosen, body.fingerprint, body.by, body.comment, now_ns)
    return answer(alert_info(alerts, chosen, alert, now_ns))


@router.post(
    "/api/v1/alerts/channels/{name}/test",
    dependencies=OPERATOR_ONLY,
)
def test_channel(catalog: CurrentCatalog, alerts: CurrentAlerts, name: str) -> Json[schemas.ChannelTested]:
    """Send a test notification through a channel, and wait for the result."""
    names = catalog.names()
    error = alerts.test_channel(name, names[0] if names else "", time.time_ns())
    return answer({"ok": error is None, "error": error})


_OFF: schemas.RuleStatus = {
    "state": "inactive",
    "alerts": 0,
    "error": None,
    "template_error": None,
    "problems": [],
    "unknown_metrics": [],
    "cost_s": None,
}


def _parse_rule(alerts: AlertService, body: schemas.TestBody) -> Rule:
    if (body.rule is None) == (body.yaml is None):
        raise BadQuery("No rule given.", "Give the name of a rule, or the YAML of one.", what="rule_given")
    if body.yaml is None:
        known = (*alerts.rules.rules, *alerts.rules.disabled)
        return named(known, str(body.rule))
    rules = parse_rules(body.yaml, "given").rules
    if len(rules) != 1:
        raise BadQuery(
            f"This has {len(rules)} rules.",
            "Give exactly one rule, in a group.",
            what="rules_given",
            number=len(rules),
        )
    return rules[0]


def _rule_info(rule: Rule) -> schemas.RuleDefinition:
    return {
        "name": rule.name,
        "expr": rule.expr,
        "group": rule.group,
        "source": rule.source,
        "labels": rule.labels,
        "annotations": rule.annotations,
        "value_expr": rule.value_expr,
        "op": rule.op,
        "threshold": rule.threshold,
        "interval_s": rule.interval_ns / 1e9,
        "for_s": rule.for_ns / 1e9,
        "keep_firing_for_s": rule.keep_firing_ns / 1e9,
        "severity": rule.severity,
    }


def _silence_info(silence: Silence, now_ns: int) -> schemas.SilenceInfo:
    return {
        "id": silence.id,
        # The cast is safe because SilenceBody allows no other operators.
        "matchers": [
            {"label": each.label, "op": cast(schemas.Operator, each.op), "value": each.value}
            for each in silence.matchers
        ],
        "starts_ns": silence.starts_ns,
        "ends_ns": silence.ends_ns,
        "created_by": silence.created_by,
        "comment": silence.comment,
        "state": silence.state(now_ns),
    }


def _unknown_rule(alerts: AlertService, channel: ConfiguredChannel) -> ErrorDetail | None:
    """The problem of a channel that names a rule which does not exist."""
    try:
        for name in channel.rules:
            named((*alerts.rules.rules, *alerts.rules.disabled), name)
    except BadQuery as problem:
        return error_info(problem)
    return None


def _channel_info(alerts: AlertService, channel: ConfiguredChannel) -> schemas.ChannelInfo:
    status = alerts.notifier.status(channel.name)
    route = channel.route
    return {
        "name": channel.name,
        "type": channel.kind,
        "targets": channel.channel.targets() if channel.channel else [],
        "match": dict(channel.match),
        "rules": list(channel.rules),
        "send_resolved": channel.send_resolved,
        "send_info": channel.send_info,
        "group_by": list(route.group_by),
        "group_wait_s": route.group_wait_ns / 1e9,
        "group_interval_s": route.group_interval_ns / 1e9,
        "repeat_interval_s": route.repeat_interval_ns / 1e9,
        "problem": channel.problem or _unknown_rule(alerts, channel),
        "sent": status.sent,
        "failed": status.failed,
        "dropped": status.dropped,
        "waiting": status.waiting,
        "last_ns": status.last_ns or None,
        "last_ok": status.last_ok,
        "last_error": status.last_error,
        "last_title": status.last_title,
        "tries": status.tries,
        "next_try_ns": status.next_try_ns or None,
    }
