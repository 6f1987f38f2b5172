"""Runs the detectors over a job, and says how much each finding weighs."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from rayscope.insights import gains, sketches
from rayscope.insights.finding import Detector, Facts, Finding, NotEnoughData
from rayscope.insights.gains import Check
from rayscope.insights.replay.changes import BadChange, Change
from rayscope.model.origin import USER
from rayscope.units import duration, size

log = logging.getLogger("rayscope.insights")

GROUP = "rayscope.detectors"
#: From these shares of the job's time on a finding is critical, a warning, or worth telling.
SEVERITIES = (("critical", 0.15), ("warning", 0.05), ("info", 0.01))
#: A risk that costs less is told all the same.
_LEAST = SEVERITIES[-1][1]
#: Findings of one detector, the largest ones.
_MOST = 10
_OF_LIBRARY = " This is code of {library}: change how the job uses it, not the code itself."


class Silent(NamedTuple):
    """A detector that could not say anything, and why."""

    kind: str
    message: str


@functools.cache
def load() -> tuple[Detector, ...]:
    """All installed detectors by name, the built-in ones too. One that cannot be loaded is logged."""
    found: list[Detector] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            found.append(entry.load()())
        except Exception:  # whatever a plug-in does
            log.exception("could not load the detector %s", entry.value)
    return tuple(found)


def detect(
    facts: Facts, base: gains.Baseline | None, detectors: Sequence[Detector], check: Check
) -> tuple[list[dict[str, Any]], list[Silent]]:
    """What the detectors find, the largest first, as :class:`schemas.FindingItem`; and who found no data.

    The saving of a finding is predicted by a replay where there is one that can be trusted, else it is
    unknown and the finding weighs what it costs at most. An attempt costs nothing if the critical path does
    not lead through it. What is only a risk comes last.
    """
    found: list[tuple[Detector, Finding]] = []
    silent: list[Silent] = []
    for detector in detectors:
        check(0.0)
        try:
            largest = sorted(detector.find(facts), key=lambda finding: -finding.cost_ns)[:_MOST]
        except NotEnoughData as reason:
            silent.append(Silent(detector.kind, str(reason)))
        except Exception as error:  # whatever a plug-in does
            log.exception("the detector %s failed", detector.kind)
            silent.append(Silent(detector.kind, f"It failed: {type(error).__name__}: {error}"[:500]))
        else:
            found += ((detector, finding) for finding in largest)
    savings: dict[tuple[Change, ...], int | None] = {}
    most = gains.findings_replayed(len(facts.attempts))
    found.sort(key=lambda one: -one[1].cost_ns)
    items = []
    for detector, uncapped in found:
        finding, on_path_ns = _weighed(facts, uncapped)
        if base is not None and base.withheld is None and finding.changes and len(savings) < most:
            if finding.changes not in savings:
                savings[finding.changes] = _saving(base, finding.changes, check)
            saving = savings[finding.changes]
        else:
            saving = None
        range_ns = None if base is None or saving is None else base.saving_fields(saving)
        share = int(finding.cost_ns if saving is None else saving) / facts.duration_ns
        severity = next((name for name, least in SEVERITIES if share >= least), None)
        if severity is None and finding.is_risk:
            severity = SEVERITIES[-1][0]
        if severity is not None:
            items.append(_item(facts, detector, finding, severity, share, range_ns, on_path_ns))
    return sorted(items, key=lambda item: -item["share"]), silent


def _weighed(facts: Facts, finding: Finding) -> tuple[Finding, int | None]:
    """A finding with what it costs, which is a part of the job's time, and how much the critical path leads
    through it if that counts.
    """
    on_path_ns = facts.on_path_ns(finding)
    # A task or group may have waited since before the job.
    most = facts.duration_ns if on_path_ns is None else min(facts.duration_ns, on_path_ns)
    return dataclasses.replace(finding, cost_ns=max(0, min(int(finding.cost_ns), most))), on_path_ns


def _saving(base: gains.Baseline, changes: tuple[Change, ...], check: Check) -> int | None:
    """What the replay predicts, between nothing and the whole job."""
    try:
        saved = gains.saving(base, changes, check)
    except BadChange:
        return None
    return None if saved is None else max(0, min(saved, base.recorded_ns))


def _item(
    facts: Facts,
    detector: Detector,
    finding: Finding,
    severity: str,
    share: float,
    saving: dict[str, int] | None,
    on_path_ns: int | None,
) -> dict[str, Any]:
    # A detector's numbers may be NumPy's.
    numbers = {
        name: getattr(number, "item", lambda n=number: n)() for name, number in finding.numbers.items()
    }
    origin = facts.origin(finding.function or finding.actor_class or "")
    names = {"function": finding.function, "actor_class": finding.actor_class, "caller": finding.caller}
    return {
        "kind": detector.kind,
        "title": detector.title,
        "severity": severity,
        "share": share,
        **(saving or {"saving_ns": None, "saving_low_ns": None, "saving_high_ns": None}),
        "cost_ns": int(finding.cost_ns),
        "is_risk": share < _LEAST,
        "on_path_ns": on_path_ns,
        "confidence": finding.confidence,
        **names,
        "origin": origin,
        "numbers": numbers,
        "advice": detector.advice.format(**{**names, **texts(numbers)})
        + ("" if origin in (USER, None) else _OF_LIBRARY.format(library=origin)),
        "sketch": sketches.write(
            detector.sketch if finding.sketch is None else finding.sketch, {**names, **numbers}, facts.methods
        ),
        "doc": detector.doc,
        "filters": dict(finding.filters),
    }


def texts(numbers: dict[str, Any]) -> dict[str, Any]:
    """Numbers as people read them: ``_ns`` are durations, ``_bytes`` are sizes."""
    return {name: _text(name, value) for name, value in numbers.items()}


def _text(name: str, value: Any) -> Any:
    if isinstance(value, (int, float)):
        if name.endswith("_ns"):
            return duration(value)
        if name.endswith("_bytes"):
            return size(value)
    return value
