"""Routes with which the operator adds, changes, and removes rules and channels."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Path as InPath
from pydantic import BeforeValidator

from rayscope.alerts import editing, schemas
from rayscope.alerts.rules import duration_text, named
from rayscope.alerts.service import AlertService, CurrentAlerts
from rayscope.alerts.simple_form import RENAMED, refuse_simple_form, translate_names
from rayscope.api.parameters import CurrentCatalog, CurrentRecords
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorDetail
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.storage.errors import BadQuery

Name = Annotated[str, InPath(min_length=1, max_length=100)]


def _refuse_simple_form(body: Any) -> Any:
    """Reject a rule that has ``metric`` instead of ``expr``, with an error that shows it in Rayscope's
    form.
    """
    try:
        refuse_simple_form(body)
    except BadQuery as problem:
        raise ValueError(str(problem)) from problem
    return body


NewRule = Annotated[schemas.RuleBody, BeforeValidator(_refuse_simple_form)]

router = Router(dependencies=OPERATOR_ONLY)


@router.put("/api/v1/alerts/rules/{name}")
def put_rule(
    catalog: CurrentCatalog, records: CurrentRecords, alerts: CurrentAlerts, name: Name, body: NewRule
) -> Json[schemas.RuleChanged]:
    """Add a rule, or replace the rule of that name. It is written to ``ui.yml``.

    ``warnings``: what may keep the rule from ever firing, such as metrics that no series has yet.
    """
    rule = {
        "expr": body.expr,
        "for": duration_text(int(body.for_s * 1e9)),
        "keep_firing_for": duration_text(int(body.keep_firing_for_s * 1e9)),
        "labels": body.labels,
        "annotations": body.annotations,
    }
    editing.put_rule(alerts.folder, name, rule)
    alerts.reload()
    newest = records.resolve(None) if catalog.names() else None
    unknown = alerts.unknown_metrics(named(alerts.rules.rules, name), newest, time.time_ns())
    return answer({"name": name, "warnings": _unknown_names(unknown, body.expr)})


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
    entry = body.model_dump(include={"type", "match", "rules", "send_resolved", "send_info"})
    editing.put_channel(alerts.folder, name, entry, body.config)
    return _changed(alerts, name)


@router.delete("/api/v1/alerts/channels/{name}")
def delete_channel(alerts: CurrentAlerts, name: Name) -> Json[schemas.Changed]:
    """Remove a channel from ``channels.yml``."""
    editing.delete_channel(alerts.folder, name)
    return _changed(alerts, name)


def _unknown_names(names: list[str], expr: str) -> list[ErrorDetail]:
    """Return a warning about metrics that no series has, with the names that Rayscope has for them."""
    if not names:
        return []
    old = [name for name in names if name in RENAMED]
    remedy = "Check the spelling, unless it is reported later."
    if old:
        try:
            remedy = f"Write: {translate_names(expr)}"
        except BadQuery:
            remedy = f"Write: {', '.join(f'{RENAMED[name]} for {name}' for name in old)}."
    quoted = ", ".join(names)
    return [
        {
            "code": "unknown_metrics",
            "message": f"No series has this name yet: {quoted}.",
            "remedy": remedy,
            "params": {"names": quoted},
        }
    ]


def _changed(alerts: AlertService, name: str) -> Json[schemas.Changed]:
    alerts.reload()
    alerts.notifier.reload()
    return answer({"name": name})
