"""Alert rules: read from files in Prometheus' form, checked, and written back in that form.

Besides ``expr`` there is a short form with ``metric`` (a selector), ``op``, and ``threshold``. A file may
``disable`` and ``enable`` rules by name. A rule in a user's file replaces a shipped rule of that name.
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
from rayscope.alerts.simple_form import OPERATORS, refuse_simple_form
from rayscope.alerts.templates import Template
from rayscope.alerts.yaml_text import BadYaml, parse_yaml, read_text
from rayscope.metrics.promql.evaluate import parsed
from rayscope.storage.errors import BadQuery

SHIPPED = Path(__file__).with_name("shipped.yml")
SEVERITIES = ("critical", "warning", "info")
_MAX_RULES = 500
_MAX_NAME = 200
_LONGEST_S = 366 * 86400
#: Evaluation interval of groups that do not set one, in ns.
INTERVAL_NS = 10 * 10**9
#: Annotation with how long to profile when an alert of the rule begins to fire, and its limit in seconds.
PROFILE = "rayscope_profile"
_MAX_PROFILE_S = 60
#: Minimum evaluation interval, in ns.
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
    """One alert rule. Durations are in ns.

    ``expr`` compares ``value_expr`` with ``threshold`` by ``op``. These three are None if it does not compare
    with a number. ``source`` is the name of the file, or ``shipped``.
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
        """The label ``severity``: ``critical``, ``warning``, ``info``, or another value. ``none`` without the
        label.
        """
        return self.labels.get("severity", "none")

    @property
    def condition(self) -> str:
        """The expression and the duration of `for`, in one line."""
        expr = " ".join(self.expr.split())
        return f"{expr} for {duration_text(self.for_ns)}" if self.for_ns else expr

    @property
    def profile_s(self) -> int:
        """How long to profile when an alert begins to fire, 0 for no profile. Raises BadQuery."""
        if PROFILE not in self.annotations:
            return 0
        text = self.annotations[PROFILE]
        seconds, rest = divmod(duration_ns(text), 10**9)
        if rest or not 1 <= seconds <= _MAX_PROFILE_S:
            raise BadQuery(
                f"{PROFILE} cannot be {text[:50]!r}.",
                f"Use whole seconds, from 1s to {_MAX_PROFILE_S}s.",
                what="rule_profile",
                text=text[:50],
                limit=_MAX_PROFILE_S,
            )
        return seconds

    def templates(self) -> tuple[dict[str, Template], dict[str, Template]]:
        """Return the templates of the labels and annotations."""
        return (
            {name: Template(text) for name, text in self.labels.items()},
            {name: Template(text) for name, text in self.annotations.items()},
        )


class Problem(NamedTuple):
    """A problem with a file or with one of its rules, and the remedy.

    ``rule`` is the name of the rule, or "" for the whole file. The UI translates problems whose ``params``
    say ``what`` they are about.
    """

    file: str
    message: str
    remedy: str
    rule: str = ""
    params: Mapping[str, str | int] = {}


class RuleFile(NamedTuple):
    """A parsed file: its rules, and the names of the rules that it switches off and on."""

    rules: list[Rule]
    disable: list[str]
    enable: list[str]


class _Document(NamedTuple):
    """A file's groups as written, and the names of the rules that it switches off and on."""

    groups: list[Any]
    disable: list[str]
    enable: list[str]


class RuleSet(NamedTuple):
    """All rules of all files: those that are on, those that are switched off, problems, and recording rules
    by name.
    """

    rules: tuple[Rule, ...]
    disabled: tuple[Rule, ...]
    problems: tuple[Problem, ...]
    records: Mapping[str, str] = {}


def duration_ns(text: Any) -> int:
    """Convert a duration such as ``1m30s``, or a number of seconds, to ns. Raises BadQuery."""
    plain = re.fullmatch(r"\d{1,12}(?:\.\d{1,9})?", str(text))  # a plain number is in seconds
    try:
        seconds = float(plain[0]) if plain else duration_s(str(text))
    except ValueError as error:
        said = str(text)[:50]
        raise BadQuery(
            f"{said!r} is not a duration.", "Use the form 30s, 5m, or 1h30m.", what="duration", text=said
        ) from error
    if seconds > _LONGEST_S:
        raise BadQuery(
            f"{str(text)[:50]!r} is too long.",
            "The maximum is one year.",
            what="long_duration",
            text=str(text)[:50],
        )
    return round(seconds * 1000) * 10**6


def duration_text(ns: int) -> str:
    """Convert ns to a duration such as ``1m30s``."""
    return promql_parser.display_duration(timedelta(milliseconds=ns // 10**6)) if ns else "0s"


def parse_rules(text: str, source: str) -> RuleFile:
    """Parse the text of a rule file, which may be a ``PrometheusRule`` of Kubernetes. Raises BadQuery."""
    document = _read_document(text)
    rules = _rules(document.groups, source, _records(document.groups))
    return RuleFile(rules, document.disable, document.enable)


def _read_document(text: str) -> _Document:
    try:
        document = parse_yaml(text)
    except BadYaml as error:
        raise BadQuery(f"It is not valid YAML: {error}.", "Fix or remove it.").with_params(
            error.params
        ) from error
    document = {} if document is None else document
    if isinstance(document, dict) and document.get("kind") == "PrometheusRule":
        document = document.get("spec")
    refuse_simple_form(document)
    if not isinstance(document, dict) or not set(document) <= set(_FILE_KEYS):
        keys = ", ".join(_FILE_KEYS)
        raise BadQuery(
            f"It must be a mapping with {keys}.", "See docs/reference/alerts.md.", what="rule_file", keys=keys
        )
    groups, disable, enable = ([] if document.get(key) is None else document[key] for key in _FILE_KEYS)
    if not isinstance(groups, list) or not _are_texts(disable) or not _are_texts(enable):
        raise BadQuery(
            "`groups` must be a list of groups; `disable` and `enable` must be lists of names.",
            "See docs/reference/alerts.md.",
            what="rule_groups",
        )
    return _Document(groups, disable, enable)


def _rules(
    groups: list[Any], source: str, records: Mapping[str, str], refused: list[Problem] | None = None
) -> list[Rule]:
    """Return the rules in a file's groups. Raises BadQuery.

    With ``refused``, problems with single rules are added to that list, and these rules are left out. Without
    it, the first problem is raised.
    """
    rules: list[Rule] = []
    for group in groups:
        name = group.get("name") or source if isinstance(group, dict) else None
        if not isinstance(name, str) or not isinstance(group.get("rules") or [], list):
            raise BadQuery(
                "A group must have a `name` and a list of `rules`.",
                "See docs/reference/alerts.md.",
                what="rule_group",
            )
        interval_ns = duration_ns(group["interval"]) if "interval" in group else INTERVAL_NS
        for entry in group.get("rules") or []:
            try:
                if isinstance(entry, dict) and "record" in entry:
                    parsed(expand(recorded_expression(entry)[1], records))
                else:
                    rules.append(_rule(entry, name, source, max(_MIN_INTERVAL_NS, interval_ns), records))
            except BadQuery as problem:
                if refused is None:
                    raise
                keys = ("alert", "record", "name", "id") if isinstance(entry, dict) else ()
                rule = str(next((entry[key] for key in keys if entry.get(key)), ""))[:_MAX_NAME]
                message = problem.message.removeprefix(f"{rule}: ")
                refused.append(Problem(source, message, problem.remedy, rule, problem.params))
            if len(rules) > _MAX_RULES:
                raise BadQuery(
                    f"There are more than {_MAX_RULES} rules.",
                    "Remove some.",
                    what="rule_limit",
                    limit=_MAX_RULES,
                )
    return rules


def _records(groups: list[Any]) -> dict[str, str]:
    """Return name -> expression of the valid recording rules in a file's groups."""
    records: dict[str, str] = {}
    for group in groups:
        rules = group.get("rules") if isinstance(group, dict) else None
        for entry in rules if isinstance(rules, list) else ():
            if isinstance(entry, dict) and "record" in entry:
                with contextlib.suppress(BadQuery):
                    name, expr = recorded_expression(entry)
                    parsed(expr)
                    records[name] = expr
    return records


def _rule(entry: Any, group: str, source: str, interval_ns: int, records: Mapping[str, str]) -> Rule:
    refuse_simple_form(entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("alert"), str):
        raise BadQuery(
            "A rule must be a mapping with the name of its `alert`, or of what it is to `record`.",
            "See docs/reference/alerts.md.",
            what="rule_entry",
        )
    name = entry["alert"]
    if len(name) > _MAX_NAME:
        raise BadQuery(
            f"The name {name[:60]!r}… is too long.",
            f"At most {_MAX_NAME} characters.",
            what="rule_name",
            name=name[:60],
            limit=_MAX_NAME,
        )
    unknown = set(entry) - _RULE_KEYS
    if unknown:
        keys, known = ", ".join(sorted(map(str, unknown)))[:100], ", ".join(sorted(_RULE_KEYS))
        raise BadQuery(
            f"{name}: unknown keys: {keys}.",
            f"Known keys: {known}.",
            what="rule_keys",
            keys=keys,
            known=known,
        )
    labels, annotations = (_texts(name, key, entry.get(key)) for key in ("labels", "annotations"))
    try:
        if isinstance(entry.get("expr"), str):
            entry = {**entry, "expr": expand(entry["expr"], records)}
        value_expr, op, threshold = _comparison(entry, name)
        expr = entry["expr"].strip() if "expr" in entry else f"{value_expr} {op} {threshold:g}"
        rule = Rule(
            name,
            expr,
            group,
            source,
            interval_ns,
            duration_ns(entry.get("for", 0)),
            duration_ns(entry.get("keep_firing_for", 0)),
            labels,
            annotations,
            value_expr,
            op,
            threshold,
        )
        rule.templates()
        _ = rule.profile_s
    except BadQuery as problem:
        raise BadQuery(f"{name}: {problem.message}", problem.remedy).with_params(problem.params) from problem
    return rule


def _comparison(entry: Mapping[str, Any], name: str) -> tuple[str | None, str | None, float | None]:
    if "expr" not in entry:
        metric, op, threshold = entry.get("metric"), entry.get("op"), entry.get("threshold")
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not isinstance(metric, str) or op not in OPERATORS or not is_number:
            raise BadQuery(
                "A rule needs `expr`, or `metric`, `op`, and `threshold`.",
                f"`metric` must be a selector, `op` one of {' '.join(OPERATORS)}, and `threshold` a number.",
                what="rule_condition",
                operators=" ".join(OPERATORS),
            )
        parsed(metric)
        try:
            return metric.strip(), op, float(threshold or 0)
        except OverflowError as error:
            raise BadQuery(
                "The threshold is too large.", "Write it as 1e300.", what="rule_threshold"
            ) from error
    if not isinstance(entry["expr"], str) or {"metric", "op", "threshold"} & set(entry):
        raise BadQuery(
            "`expr` must be a string, and replaces the shorthand.",
            "Use only one of the two.",
            what="rule_expr",
        )
    tree = parsed(entry["expr"])
    while isinstance(tree, promql_parser.ParenExpr):
        tree = tree.expr
    if isinstance(tree, promql_parser.BinaryExpr) and str(tree.op) in OPERATORS:
        right = tree.rhs
        if isinstance(right, promql_parser.NumberLiteral) and not isinstance(
            tree.lhs, promql_parser.NumberLiteral
        ):
            return tree.lhs.prettify(), str(tree.op), float(right.val)
    return None, None, None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _texts(rule: str, key: str, texts: Any) -> dict[str, str]:
    texts = {} if texts is None else texts
    if not isinstance(texts, dict) or not all(
        isinstance(name, str) and isinstance(value, (str, int, float)) for name, value in texts.items()
    ):
        raise BadQuery(
            f"{rule}: `{key}` must map names to strings.",
            "See docs/reference/alerts.md.",
            what="rule_texts",
            key=key,
        )
    return {name: str(value) for name, value in texts.items()}


def load_rules(folder: Path) -> RuleSet:
    """Return the shipped rules and those of the files in ``folder``.

    Files and rules that cannot be used are listed as problems. All others are used.
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
            problems.append(Problem(path.name, problem.message, problem.remedy, params=problem.params))
        except (OSError, ValueError) as error:
            message, params = f"Could not read it: {error}", {"what": "rule_text", "reason": str(error)}
            problems.append(Problem(path.name, message, "Check that it is UTF-8 text.", params=params))
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
            problems.append(Problem(name, problem.message, problem.remedy, params=problem.params))
            continue
        problems += refused
        rules |= own
        disable |= set(document.disable)
        enable |= set(document.enable) | set(own)
    problems.sort(key=lambda problem: problem.file)
    off = (set(shipped.disable) - enable) | disable
    for name in sorted((disable | enable) - set(rules)):
        message, params = f"Rule {name!r} not found.", {"what": "rule", "id": name}
        problems.append(Problem("", message, "See `rayscope alerts list`.", params=params))
    return RuleSet(
        tuple(rule for name, rule in rules.items() if name not in off),
        tuple(rule for name, rule in rules.items() if name in off),
        tuple(problems),
        records,
    )


def rule_files(folder: Path) -> list[Path]:
    """Return the rule files, ordered by name. The channels' file is not one of them."""
    return sorted(
        path for path in folder.glob("*.y*ml") if path.suffix in (".yml", ".yaml") and path.stem != "channels"
    )


def export(rules: Iterable[Rule]) -> str:
    """Return the rules as the text of a file that Prometheus can load."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for rule in rules:
        entry: dict[str, Any] = {"alert": rule.name, "expr": rule.expr}
        if rule.for_ns:
            entry["for"] = duration_text(rule.for_ns)
        if rule.keep_firing_ns:
            entry["keep_firing_for"] = duration_text(rule.keep_firing_ns)
        entry |= {key: value for key in ("labels", "annotations") if (value := getattr(rule, key))}
        groups.setdefault((rule.group, rule.interval_ns), []).append(entry)
    names = [name for name, _ in groups]
    document = {
        "groups": [
            {
                # Prometheus requires unique names for the groups in a file.
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
    """Return the rule of that name. Raises BadQuery."""
    for rule in rules:
        if rule.name == name:
            return rule
    raise BadQuery(
        f"Rule {name[:60]!r} not found.",
        f"Known rules: {', '.join(r.name for r in rules)}.",
        what="rule",
        id=name[:60],
    )
