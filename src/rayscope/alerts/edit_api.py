"""Routes with which the operator adds, changes, and removes rules and channels."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path as InPath
from pydantic import BeforeValidator

from rayscope.alerts import editing, schemas
from rayscope.alerts.rules import duration_text, named
from rayscope.alerts.service import AlertService, CurrentAlerts
from rayscope.alerts.simple_form import as_rule_file
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.write_access import OPERATOR_ONLY

Name = Annotated[str, InPath(min_length=1, max_length=100)]


def _refuse_simple_form(body: Any) -> Any:
    """Reject a rule that has ``metric`` instead of ``expr``, with an error that shows it in Rayscope's
    form.
    """
    if (text := as_rule_file(body)) is not None:
        raise ValueError(f"A rule needs `expr`. As a file of rules this one is:\n{text}")
    return body


NewRule = Annotated[schemas.RuleBody, BeforeValidator(_refuse_simple_form)]

router = Router(dependencies=OPERATOR_ONLY)


@router.put("/api/v1/alerts/rules/{name}")
def put_rule(alerts: CurrentAlerts, name: Name, body: NewRule) -> Json[schemas.Changed]:
    """Add a rule, or replace the rule of that name. It is written to ``ui.yml``."""
    rule = {
        "expr": body.expr,
        "for": duration_text(int(body.for_s * 1e9)),
        "keep_firing_for": duration_text(int(body.keep_firing_for_s * 1e9)),
        "labels": body.labels,
        "annotations": body.annotations,
    }
    editing.put_rule(alerts.folder, name, rule)
    return _changed(alerts, name)


@router.delete("/api/v1/alerts/rules/{name}")
def delete_rule(alerts: CurrentAlerts, name: Name) -> Json[schemas.Changed]:
    """Remove a rule from ``ui.yml``. If it had replaced a built-in rule, that one is restored."""
    editing.delete_rule(alerts.folder, name)
    return _changed(alerts, name)


@router.put("/api/v1/alerts/rules/{name}/enabled")
def switch_rule(alerts: CurrentAlerts, name: Name, body: schemas.EnabledBody) -> Json[schemas.Changed]:
    """Turn a rule on or off, whichever file it is in."""
    known = alerts.rules
    named((*known.rules, *known.disabled), name)
    editing.switch_rule(alerts.folder, name, body.enabled)
    return _changed(alerts, name)


@router.put("/api/v1/alerts/channels/{name}")
def put_channel(alerts: CurrentAlerts, name: Name, body: schemas.ChannelBody) -> Json[schemas.Changed]:
    """Add a channel, or replace the channel of that name in ``channels.yml``."""
    entry = body.model_dump(include={"type", "match", "send_resolved", "send_info"})
    editing.put_channel(alerts.folder, name, entry, body.config)
    return _changed(alerts, name)


@router.delete("/api/v1/alerts/channels/{name}")
def delete_channel(alerts: CurrentAlerts, name: Name) -> Json[schemas.Changed]:
    """Remove a channel from ``channels.yml``."""
    editing.delete_channel(alerts.folder, name)
    return _changed(alerts, name)


def _changed(alerts: AlertService, name: str) -> Json[schemas.Changed]:
    alerts.reload()
    alerts.notifier.reload()
    return answer({"name": name})
