"""Runs the detectors on a job and weighs their findings."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from rayscope.insights import gains, schemas, sketches
from rayscope.insights.finding import Detector, Facts, Finding, NotEnoughData
from rayscope.insights.gains import Check
from rayscope.insights.replay.changes import BadChange, Change
from rayscope.model.origin import USER
from rayscope.units import duration, size

log = logging.getLogger("rayscope.insights")

GROUP = "rayscope.detectors"
#: Each severity with the minimum share of the job's time that it requires. Findings below all of these shares
#: are dropped unless they are risks.
SEVERITIES: tuple[tuple[schemas.FindingSeverity, float], ...] = (
    ("critical", 0.15),
    ("warning", 0.05),
    ("info", 0.01),
)
#: Findings below this share of the job's time are reported only if they are risks.
_MIN_SHARE = SEVERITIES[-1][1]
#: Maximum number of findings per detector. Only the largest ones are reported.
_MAX_FINDINGS = 10
_OF_LIBRARY = " This is code of {library}: change how the job uses it, not the code itself."


@functools.cache
def load() -> tuple[Detector, ...]:
    """All installed detectors, including the built-in ones, sorted by name. Logs those that fail to load."""
    found: list[Detector] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        try:
            found.append(entry.load()())
        except Exception:  # plug-ins may raise anything
            log.exception("could not load the detector %s", entry.value)
    return tuple(found)


def detect(
    facts: Facts, base: gains.Baseline | None, detectors: Sequence[Detector], check: Check
) -> tuple[list[schemas.FindingItem], list[schemas.SilentDetector]]:
    """The findings, largest first, and the detectors that had too little data or failed.

    If the job can be replayed, a replay predicts the saving of a finding. Otherwise the saving is unknown,
    and the finding is ranked by its maximum cost. Attempts that are not on the critical path cost nothing.
    Findings that are only risks come last.
    """
    found: list[tuple[Detector, Finding]] = []
    skipped: list[schemas.SilentDetector] = []
    for detector in detectors:
        check(0.0)
        try:
            largest = sorted(detector.find(facts), key=lambda finding: -finding.cost_ns)[:_MAX_FINDINGS]
        except NotEnoughData as reason:
            skipped.append({"kind": detector.kind, "message": str(reason)})
        except Exception as error:  # plug-ins may raise anything
            log.exception("the detector %s failed", detector.kind)
            message = f"It failed: {type(error).__name__}: {error}"[:500]
            skipped.append({"kind": detector.kind, "message": message})
        else:
            found += ((detector, finding) for finding in largest)
    savings: dict[tuple[Change, ...], int | None] = {}
    most = gains.findings_replayed(len(facts.attempts))
    found.sort(key=lambda one: -one[1].cost_ns)
    items = []
    for detector, uncapped in found:
        finding, on_path_ns = _weigh(facts, uncapped)
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
    return sorted(items, key=lambda item: -item["share"]), skipped


def _weigh(facts: Facts, finding: Finding) -> tuple[Finding, int | None]:
    """Limit the cost of a finding to the time that its attempts take on the critical path, and to the job's
    time. Returns the finding and the time on the path, which is None if it is unknown or does not matter.
    """
    on_path_ns = facts.on_path_ns(finding)
    # A task or placement group may have been waiting since before the job began.
    most = facts.duration_ns if on_path_ns is None else min(facts.duration_ns, on_path_ns)
    return dataclasses.replace(finding, cost_ns=max(0, min(int(finding.cost_ns), most))), on_path_ns


def _saving(base: gains.Baseline, changes: tuple[Change, ...], check: Check) -> int | None:
    """The predicted saving, ns, limited to the job's time, or None if it cannot be predicted."""
    try:
        saved = gains.saving(base, changes, check)
    except BadChange:
        return None
    return None if saved is None else max(0, min(saved, base.recorded_ns))


def _item(
    facts: Facts,
    detector: Detector,
    finding: Finding,
    severity: schemas.FindingSeverity,
    share: float,
    saving: schemas.Saving | None,
    on_path_ns: int | None,
) -> schemas.FindingItem:
    # Detectors may use NumPy's numbers, which JSON encoders reject.
    numbers: dict[str, schemas.FindingNumber] = {
        name: getattr(number, "item", lambda n=number: n)() for name, number in finding.numbers.items()
    }
    origin = facts.origin(finding.function or finding.actor_class or "")
    names = {"function": finding.function, "actor_class": finding.actor_class, "caller": finding.caller}
    return {
        "kind": detector.kind,
        "title": detector.title,
        "severity": severity,
        "share": share,
        "saving_ns": saving and saving["saving_ns"],
        "saving_low_ns": saving and saving["saving_low_ns"],
        "saving_high_ns": saving and saving["saving_high_ns"],
        "cost_ns": int(finding.cost_ns),
        "is_risk": share < _MIN_SHARE,
        "on_path_ns": on_path_ns,
        "confidence": finding.confidence,
        "function": finding.function,
        "actor_class": finding.actor_class,
        "caller": finding.caller,
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


def texts(numbers: Mapping[str, schemas.FindingNumber]) -> dict[str, schemas.FindingNumber]:
    """Numbers formatted for people: ``_ns`` are durations, ``_bytes`` are sizes."""
    return {name: _text(name, value) for name, value in numbers.items()}


def _text(name: str, value: schemas.FindingNumber) -> schemas.FindingNumber:
    if isinstance(value, (int, float)):
        if name.endswith("_ns"):
            return duration(value)
        if name.endswith("_bytes"):
            return size(value)
    return value
