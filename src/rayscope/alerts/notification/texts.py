"""Titles and texts of notifications, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Literal

from rayscope.alerts.state import Alert, State

Language = Literal["en", "zh"]
#: Maximum number of firing alerts, and of resolved alerts, that a notification lists. The others are only
#: counted.
_LIMIT = 20
_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "firing": "Firing",
        "resolved": "Resolved",
        "ended": "Cluster ended",
        "rule": "Rule",
        "severity": "Severity",
        "condition": "Condition",
        "value": "Value",
        "since": "Firing since",
        "until": "Over at",
        "id": "ID",
        "labels": "Labels",
        "profile": "Profile",
        "no_profile": "none, see the alert",
        "session": "Session",
        "more": "more",
        "colon": ": ",
        "comma": ", ",
        "[firing]": "FIRING",
        "[resolved]": "RESOLVED",
        "[ended]": "CLUSTER ENDED",
        "[test]": "TEST ",
    },
    "zh": {
        "firing": "告警",
        "resolved": "已恢复",
        "ended": "集群已结束",
        "rule": "规则",
        "severity": "级别",
        "condition": "条件",
        "value": "当前值",
        "since": "触发时间",
        "until": "结束时间",
        "id": "ID",
        "labels": "标签",
        "profile": "性能剖析",
        "no_profile": "未采集，原因见告警",
        "session": "会话",
        "more": "条未列出",
        "colon": "：",
        "comma": "、",
        "[firing]": "告警",
        "[resolved]": "已恢复",
        "[ended]": "集群已结束",
        "[test]": "测试 ",
    },
}


def title(firing: Sequence[Alert], resolved: Sequence[Alert], language: Language, is_test: bool) -> str:
    """Return one line: the summary of the alert or, if there are several, the names of their rules."""
    words, alerts = _WORDS[language], firing or resolved
    states = {alert.state for alert in alerts}
    state = words["[firing]" if firing else "[ended]" if states == {State.ENDED} else "[resolved]"]
    if len(alerts) == 1:
        what = " ".join(summary(alerts[0], language).split())
    else:
        state += f" {len(alerts)}"
        what = words["comma"].join(sorted({alert.rule for alert in alerts}))
    return f"[{words['[test]'] if is_test else ''}{state}] {what}"[:200]


def body(
    firing: Sequence[Alert], resolved: Sequence[Alert], language: Language, session: str, url: str | None
) -> str:
    """Return plain text with a paragraph for each alert, for at most 20 firing and 20 resolved alerts."""
    words = _WORDS[language]
    lines: list[str] = []
    for kind, alerts in (("firing", firing), ("resolved", resolved)):
        for alert in alerts[:_LIMIT]:
            word = words["ended" if alert.state is State.ENDED else kind]
            lines += [
                f"{word}{words['colon']}{summary(alert, language)}",
                *_paragraph(alert, language, url),
                "",
            ]
        if len(alerts) > _LIMIT:
            lines += [f"{words[kind]}{words['colon']}{len(alerts) - _LIMIT} {words['more']}", ""]
    lines += [f"{words['session']}{words['colon']}{session}", *([url] if url else [])]
    return "\n".join(lines)


def summary(alert: Alert, language: Language) -> str:
    """Return the summary of an alert, or the name of its rule if it has none."""
    return _annotation(alert, "summary", language) or alert.rule


def _paragraph(alert: Alert, language: Language, url: str | None) -> list[str]:
    words = _WORDS[language]
    description = _annotation(alert, "description", language)
    facts = {
        "rule": alert.rule,
        "severity": alert.labels.get("severity", ""),
        "condition": alert.condition,
        "value": "" if alert.value is None else f"{alert.value:.6g}",
        "since": _time(alert.fired_ns or alert.active_ns),
        "until": _time(alert.resolved_ns) if alert.resolved_ns else "",
        "id": alert.fingerprint,
        "labels": ", ".join(f"{name}={value}" for name, value in sorted(alert.labels.items())),
        "profile": _profile(alert, language, url),
    }
    lines = [f"{words[name]}{words['colon']}{fact}" for name, fact in facts.items() if fact]
    return [description, *lines] if description else lines


def _profile(alert: Alert, language: Language, url: str | None) -> str:
    """Return the address of the alert's profile, or the command that shows it."""
    if alert.profile is None:
        return ""
    profile_id = alert.profile["profile_id"]
    if profile_id is None:
        return _WORDS[language]["no_profile"]
    return f"{url}?profile={profile_id}" if url else f"rayscope lines --profile {profile_id}"


def _annotation(alert: Alert, name: str, language: Language) -> str:
    english = alert.annotations.get(name, "")
    return english if language == "en" else alert.annotations.get(f"{name}_{language}") or english


def _time(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns // 10**9, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
