"""Alert rules: read from files in Prometheus' own form, checked, and written back as such.

Beside ``expr`` there is a shorthand, ``metric`` (a selector), ``op`` and ``threshold``; and a file may
``disable`` and ``enable`` rules by name. A rule of a user's file takes the place of the shipped one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import promql_parser
import yaml

from rayscope.alerts.durations import duration_s
from rayscope.alerts.recorded import expand, recorded_expression
from rayscope.alerts.simple_form import in_our_form
from rayscope.alerts.templates import Template
from rayscope.alerts.yaml_text import BadYaml, parse_yaml, read_text
from rayscope.metrics.promql.evaluate import parsed
from rayscope.storage.errors import BadQuery

SHIPPED = Path(__file__).with_name("shipped.yml")
SEVERITIES = ("critical", "warning", "info")
_OPERATORS = (">", ">=", "<", "<=", "==", "!=")
_MAX_RULES = 500
_MAX_NAME = 200
_LONGEST_S = 366 * 86400
#: How often rules are evaluated whose group does not say so, and how often at most.
INTERVAL_NS = 10 * 10**9
_MIN_INTERVAL_NS = 10**9
_FILE_KEYS = ("groups", "disable", "enable")
_RULE_KEYS = {
    "alert",
    "expr",
    "metric",
    "op",
    "threshold",
    "for",
    "keep_firing_for",
    "labels",
    "annotations",
}


class Rule(msgspec.Struct, frozen=True):
    """One alert rule. Durations in ns.

    ``value_expr``: what is compared, ``op`` and ``threshold`` with what; the three are None where the
    expression is no comparison with a number. ``source``: the file's name, or ``shipped``.
    """

    name: str
    expr: str
    group: str
    source: str
    interval_ns: int = INTERVAL_NS
    for_ns: int = 0
    keep_firing_ns: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    value_expr: str | None = None
    op: str | None = None
    threshold: float | None = None

    @property
    def severity(self) -> str:
        """``critical``, ``warning``, ``info``, or whatever the rule's label says; ``none`` without one."""
        return self.labels.get("severity", "none")

    @property
    def condition(self) -> str:
        """The expression and the duration of `for`, in one line."""
        expr = " ".join(self.expr.split())
        return f"{expr} for {duration_text(self.for_ns)}" if self.for_ns else expr

    def templates(self) -> tuple[dict[str, Template], dict[str, Template]]:
        """The labels and annotations, to be filled in."""
        return (
            {name: Template(text) for name, text in self.labels.items()},
            {name: Template(text) for name, text in self.annotations.items()},
        )


class Problem(NamedTuple):
    """What is wrong with a file or a rule of it, and what to do about it.

    ``rule``: the name of the rule, "" for the whole file.
    """

    file: str
    message: str
    remedy: str
    rule: str = ""


class RuleFile(NamedTuple):
    """What a file says: its rules, and the names of those that it switches off and on."""

    rules: list[Rule]
    disable: list[str]
    enable: list[str]


class _Document(NamedTuple):
    """A file's groups as they stand there, and the names of the rules that it switches off and on."""

    groups: list[Any]
    disable: list[str]
    enable: list[str]


class RuleSet(NamedTuple):
    """All rules, in order; those that are switched off; what cannot be used; and recording rules by name."""

    rules: tuple[Rule, ...]
    disabled: tuple[Rule, ...]
    problems: tuple[Problem, ...]
    records: Mapping[str, str] = {}


def duration_ns(text: Any) -> int:
    """``1m30s`` in ns. Raises BadQuery."""
    if re.fullmatch(r"0+(ms|s|m|h|d|w|y)?", str(text).strip()):
        return 0
    plain = re.fullmatch(r"\d{1,12}(?:\.\d{1,9})?", str(text))  # a number is in seconds
    try:
        seconds = float(plain[0]) if plain else duration_s(str(text))
    except ValueError as error:
        raise BadQuery(f"{str(text)[:50]!r} is not a duration.", "Use the form 30s, 5m, or 1h30m.") from error
    if seconds > _LONGEST_S:
        raise BadQuery(f"{str(text)[:50]!r} is too long.", "The maximum is one year.")
    return round(seconds * 1000) * 10**6


def duration_text(ns: int) -> str:
    """The same back."""
    return promql_parser.display_duration(timedelta(milliseconds=ns // 10**6)) if ns else "0s"


def parse_rules(text: str, source: str) -> RuleFile:
    """What a file says, also a ``PrometheusRule`` of Kubernetes. Raises BadQuery."""
    document = _read_document(text)
    rules = _rules(document.groups, source, _records(document.groups))
    return RuleFile(rules, document.disable, document.enable)


def _read_document(text: str) -> _Document:
    try:
        document = parse_yaml(text)
    except BadYaml as error:
        raise BadQuery(f"It is not valid YAML: {error}.", "Fix or remove it.") from error
    document = {} if document is None else document
    if isinstance(document, dict) and document.get("kind") == "PrometheusRule":
        document = document.get("spec")
    for given in document if isinstance(document, list) else (document,):
        _refuse_simple_form(given)
    if not isinstance(document, dict) or not set(document) <= set(_FILE_KEYS):
        raise BadQuery(f"It must be a mapping with {', '.join(_FILE_KEYS)}.", "See docs/reference/alerts.md.")
    groups, disable, enable = ([] if document.get(key) is None else document[key] for key in _FILE_KEYS)
    if not isinstance(groups, list) or not _are_texts(disable) or not _are_texts(enable):
        raise BadQuery(
            "`groups` must be a list of groups; `disable` and `enable` must be lists of names.",
            "See docs/reference/alerts.md.",
        )
    return _Document(groups, disable, enable)


def _rules(
    groups: list[Any], source: str, records: Mapping[str, str], refused: list[Problem] | None = None
) -> list[Rule]:
    """The rules of a file's groups. Raises BadQuery.

    ``refused``: takes what is wrong with single rules, which are then left out; without it the first one is
    raised.
    """
    rules: list[Rule] = []
    for group in groups:
        name = group.get("name") or source if isinstance(group, dict) else None
        if not isinstance(name, str) or not isinstance(group.get("rules") or [], list):
            raise BadQuery(
                "A group must have a `name` and a list of `rules`.", "See docs/reference/alerts.md."
            )
        interval_ns = duration_ns(group["interval"]) if "interval" in group else INTERVAL_NS
        for given in group.get("rules") or []:
            try:
                if isinstance(given, dict) and "record" in given:
                    parsed(expand(recorded_expression(given)[1], records))
                else:
                    rules.append(_rule(given, name, source, max(_MIN_INTERVAL_NS, interval_ns), records))
            except BadQuery as problem:
                if refused is None:
                    raise
                keys = ("alert", "record", "name", "id") if isinstance(given, dict) else ()
                rule = str(next((given[key] for key in keys if given.get(key)), ""))[:_MAX_NAME]
                message = problem.message.removeprefix(f"{rule}: ")
                refused.append(Problem(source, message, problem.remedy, rule))
            if len(rules) > _MAX_RULES:
                raise BadQuery(f"There are more than {_MAX_RULES} rules.", "Remove some.")
    return rules


def _records(groups: list[Any]) -> dict[str, str]:
    """The recording rules of groups, without those that cannot be used."""
    records: dict[str, str] = {}
    for group in groups:
        rules = group.get("rules") if isinstance(group, dict) else None
        for given in rules if isinstance(rules, list) else ():
            if isinstance(given, dict) and "record" in given:
                with contextlib.suppress(BadQuery):
                    name, expr = recorded_expression(given)
                    parsed(expr)
                    records[name] = expr
    return records


def _refuse_simple_form(given: Any) -> None:
    if (text := in_our_form(given)) is not None:
        raise BadQuery(
            "A rule needs `expr`; this one has `metric`, `operator`, and `threshold`.", f"Write:\n{text}"
        )


def _rule(given: Any, group: str, source: str, interval_ns: int, records: Mapping[str, str]) -> Rule:
    _refuse_simple_form(given)
    if not isinstance(given, dict) or not isinstance(given.get("alert"), str):
        raise BadQuery(
            "A rule must be a mapping with the name of its `alert`, or of what it is to `record`.",
            "See docs/reference/alerts.md.",
        )
    name = given["alert"]
    if len(name) > _MAX_NAME:
        raise BadQuery(f"The name {name[:60]!r}… is too long.", f"At most {_MAX_NAME} characters.")
    unknown = set(given) - _RULE_KEYS
    if unknown:
        raise BadQuery(
            f"{name}: unknown keys: {', '.join(sorted(map(str, unknown)))[:100]}.",
            f"Known keys: {', '.join(sorted(_RULE_KEYS))}.",
        )
    labels, annotations = (_texts(name, key, given.get(key)) for key in ("labels", "annotations"))
    try:
        if isinstance(given.get("expr"), str):
            given = {**given, "expr": expand(given["expr"], records)}
        value_expr, op, threshold = _comparison(given, name)
        expr = given["expr"].strip() if "expr" in given else f"{value_expr} {op} {threshold:g}"
        rule = Rule(
            name,
            expr,
            group,
            source,
            interval_ns,
            duration_ns(given.get("for", 0)),
            duration_ns(given.get("keep_firing_for", 0)),
            labels,
            annotations,
            value_expr,
            op,
            threshold,
        )
        rule.templates()
    except BadQuery as problem:
        raise BadQuery(f"{name}: {problem.message}", problem.remedy) from problem
    return rule


def _comparison(given: Mapping[str, Any], name: str) -> tuple[str | None, str | None, float | None]:
    if "expr" not in given:
        metric, op, threshold = given.get("metric"), given.get("op"), given.get("threshold")
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not isinstance(metric, str) or op not in _OPERATORS or not is_number:
            raise BadQuery(
                "A rule needs `expr`, or `metric`, `op`, and `threshold`.",
                f"`metric` must be a selector, `op` one of {' '.join(_OPERATORS)}, and `threshold` a number.",
            )
        parsed(metric)
        try:
            return metric.strip(), op, float(threshold or 0)
        except OverflowError as error:
            raise BadQuery("The threshold is too large.", "Write it as 1e300.") from error
    if not isinstance(given["expr"], str) or {"metric", "op", "threshold"} & set(given):
        raise BadQuery("`expr` must be a string, and replaces the shorthand.", "Use only one of the two.")
    tree = parsed(given["expr"])
    while isinstance(tree, promql_parser.ParenExpr):
        tree = tree.expr
    if isinstance(tree, promql_parser.BinaryExpr) and str(tree.op) in _OPERATORS:
        right = tree.rhs
        if isinstance(right, promql_parser.NumberLiteral) and not isinstance(
            tree.lhs, promql_parser.NumberLiteral
        ):
            return tree.lhs.prettify(), str(tree.op), float(right.val)
    return None, None, None


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(each, str) for each in given)


def _texts(rule: str, key: str, given: Any) -> dict[str, str]:
    given = {} if given is None else given
    if not isinstance(given, dict) or not all(
        isinstance(name, str) and isinstance(value, (str, int, float)) for name, value in given.items()
    ):
        raise BadQuery(f"{rule}: `{key}` must map names to strings.", "See docs/reference/alerts.md.")
    return {name: str(value) for name, value in given.items()}


def load_rules(folder: Path) -> RuleSet:
    """The shipped rules and those of the files in ``folder``.

    A file or rule that cannot be used is a problem, no more: the others are used.
    """
    shipped = parse_rules(SHIPPED.read_text(), "shipped")
    rules = {rule.name: rule for rule in shipped.rules}
    disable, enable = set[str](), set[str]()
    problems: list[Problem] = []
    documents: dict[str, _Document] = {}
    for path in rule_files(folder):
        try:
            documents[path.name] = _read_document(read_text(path))
        except BadQuery as problem:
            problems.append(Problem(path.name, problem.message, problem.remedy))
        except (OSError, ValueError) as error:
            problems.append(Problem(path.name, f"Could not read it: {error}", "Check that it is UTF-8 text."))
    # A rule may use the recording rules of another file.
    records: dict[str, str] = {}
    for document in documents.values():
        records |= _records(document.groups)
    for name, document in documents.items():
        refused: list[Problem] = []
        try:
            known = {**records, **_records(document.groups)}
            own = {rule.name: rule for rule in _rules(document.groups, name, known, refused)}
        except BadQuery as problem:
            problems.append(Problem(name, problem.message, problem.remedy))
            continue
        problems += refused
        rules |= own
        disable |= set(document.disable)
        enable |= set(document.enable) | set(own)
    problems.sort(key=lambda problem: problem.file)
    off = (set(shipped.disable) - enable) | disable
    for name in sorted((disable | enable) - set(rules)):
        problems.append(Problem("", f"Rule {name!r} not found.", "See `rayscope alerts list`."))
    return RuleSet(
        tuple(rule for name, rule in rules.items() if name not in off),
        tuple(rule for name, rule in rules.items() if name in off),
        tuple(problems),
        records,
    )


def rule_files(folder: Path) -> list[Path]:
    """The files with rules, by name; that of the channels is none."""
    return sorted(
        path for path in folder.glob("*.y*ml") if path.suffix in (".yml", ".yaml") and path.stem != "channels"
    )


def export(rules: Iterable[Rule]) -> str:
    """The rules as a file that Prometheus loads."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for rule in rules:
        told: dict[str, Any] = {"alert": rule.name, "expr": rule.expr}
        if rule.for_ns:
            told["for"] = duration_text(rule.for_ns)
        if rule.keep_firing_ns:
            told["keep_firing_for"] = duration_text(rule.keep_firing_ns)
        told |= {key: value for key in ("labels", "annotations") if (value := getattr(rule, key))}
        groups.setdefault((rule.group, rule.interval_ns), []).append(told)
    names = [name for name, _ in groups]
    document = {
        "groups": [
            {
                # Prometheus wants names of its own for groups of one file.
                "name": name if names.count(name) == 1 else f"{name} every {duration_text(interval_ns)}",
                "interval": duration_text(interval_ns),
                "rules": rules,
            }
            for (name, interval_ns), rules in groups.items()
        ]
    }
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return text


def named(rules: Sequence[Rule], name: str) -> Rule:
    """The rule of that name. Raises BadQuery."""
    for rule in rules:
        if rule.name == name:
            return rule
    raise BadQuery(f"Rule {name[:60]!r} not found.", f"Known rules: {', '.join(r.name for r in rules)}.")
