"""Evaluates PromQL over a session's series, by Prometheus' own rules (docs/reference/promql.md lists the
supported part).

All steps of a range are evaluated at once: a vector is a matrix of series by steps. The rules are those of
Prometheus 2.42 (the tests compare with its ``promtool``): ranges include both ends, and a sample counts as
its series' value for five minutes, inclusive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import promql_parser as parser
from numpy.typing import NDArray

from rayscope.api.schemas import ErrorDetail
from rayscope.metrics.promql import functions, range_functions
from rayscope.metrics.promql.aggregate import aggregated, count_values
from rayscope.metrics.promql.binary import combined
from rayscope.metrics.promql.select import Context, Windows, conditions, instant, subquery_windows, windows
from rayscope.metrics.promql.values import (
    DOCS,
    NAME,
    Scalar,
    Value,
    Vector,
    bad_at_time,
    in_seconds,
    nameless,
    unsupported,
)
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.metrics.tsdb.target_labels import mentioned
from rayscope.model.metric import Labels
from rayscope.ray.agents.scrape import is_left_out
from rayscope.storage.errors import BadQuery

MAX_EXPR_CHARS = 4000
MAX_STEPS = 2000
#: Expressions whose value is a range of samples for each step.
RANGES = (parser.MatrixSelector, parser.SubqueryExpr)
#: Maximum depth of nested parentheses in an expression.
_MAX_DEPTH = 50
#: Maximum number of operators in an expression.
_MAX_OPERATORS = 100
#: Maximum number of prefixes parsed to locate an error.
_MAX_TRIES = 300
_SCALAR = parser.ValueType.Scalar
# The parser knows only the name that Prometheus 3 uses, double_exponential_smoothing.
parser.register_extra_functions(
    [parser.Function("holt_winters", [parser.ValueType.Matrix, _SCALAR, _SCALAR], parser.ValueType.Vector)]
)
_OPERATOR = re.compile(r"[-+*/%^]|[=!<>]+|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)


@dataclass(slots=True)
class Result:
    """The value of an expression.

    Attributes:
        times_ns: the steps.
        series: the labels of each series, and its value at each step, which is None if there is none and may
            be NaN. Sorted by labels, or by value for an instant whose outermost function is ``sort``,
            ``topk`` or similar.
        left_out: number of series that were not read (``warnings`` names the metrics).
        others: number of series that were read but exceed the requested number.
        names: the metrics used, or None if a selector has no name.
    """

    times_ns: list[int]
    series: list[tuple[dict[str, str], list[float | None]]]
    left_out: int = 0
    warnings: list[ErrorDetail] = field(default_factory=list)
    others: int = 0
    names: frozenset[str] | None = None


def evaluate(
    store: SeriesStore, expr: str, start_ns: int, end_ns: int, step_ns: int, limit: int | None = None
) -> Result:
    """Evaluate an expression at start and at every step up to end, or once if both times are equal.

    ``limit``: return only this many series, those with the greatest mean.

    Raises:
        BadQuery: the expression is invalid, unsupported, has no value by PromQL's rules, or is too expensive.
    """
    if end_ns < start_ns or (step_ns <= 0 and end_ns > start_ns):
        raise BadQuery(
            "The range ends before it starts, or has no step.",
            "Give from, to, and a step above 0.",
            what="time_range",
        )
    steps = 1 if end_ns == start_ns else (end_ns - start_ns) // step_ns + 1
    if steps > MAX_STEPS:
        raise BadQuery(
            f"{steps} steps are more than {MAX_STEPS}.",
            "Use a longer step or a shorter range.",
            what="steps",
            number=steps,
            limit=MAX_STEPS,
        )
    tree = parsed(expr)
    names = mentioned(expr) if store.target_labels else frozenset[str]()
    times_ns = start_ns + np.arange(steps, dtype=np.int64) * max(step_ns, 0)
    context = Context(store, times_ns, names, (start_ns, end_ns))
    value = compute(tree, context)
    if isinstance(value, str):
        raise unsupported("A text as a result", "string")
    value, rows = in_result_order(tree, value, is_instant=steps == 1)
    shown = _greatest(value, rows, len(rows) if limit is None else limit)
    series = []
    for row in shown:
        there = value.there[row]
        values: list[float | None] = value.values[row].tolist()
        if not there.all():
            for at in np.flatnonzero(~there):
                values[at] = None
        series.append((dict(value.labels[row]), values))
    others = len(rows) - len(shown)
    times_ns = context.times_ns.tolist()
    return Result(times_ns, series, context.left_out, context.warnings, others, context.names)


def compute(tree: parser.Expr, context: Context) -> Value:
    """The value of a parsed expression at all steps of a context. Raises BadQuery if it has none."""
    with np.errstate(all="ignore"):
        return _Evaluation(context).value(tree)


def compute_range(tree: parser.MatrixSelector | parser.SubqueryExpr, context: Context) -> Windows:
    """The samples of a range selector or a subquery at all steps of a context. Raises BadQuery."""
    with np.errstate(all="ignore"):
        return _Evaluation(context).windows(tree, None)


def in_result_order(
    tree: parser.Expr, value: Vector | Scalar, *, is_instant: bool
) -> tuple[Vector, NDArray[np.intp]]:
    """A value as a vector, and its rows that have a value at any step, in the order of a result.

    The order is by labels, or by value for an instant whose outermost function sorts.
    """
    if not isinstance(value, Vector):
        value = _vector_of(value)
    outermost = _name(tree)
    if is_instant and outermost in ("topk", "bottomk"):
        value = functions.in_order(value, descending=outermost == "topk")
    order = np.arange(len(value.labels))
    if not is_instant or outermost not in ("topk", "bottomk", "sort", "sort_desc"):
        order = np.array(sorted(order, key=value.labels.__getitem__), np.intp)
    return value, order[value.there[order].any(axis=1)]


def _greatest(vector: Vector, rows: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """The given rows whose finite values have the greatest means, at most ``limit``, in original order."""
    if len(rows) <= limit:
        return rows
    values = vector.values[rows]
    finite = vector.there[rows] & np.isfinite(values)
    count = finite.sum(axis=1)
    total = np.where(finite, values, 0.0).sum(axis=1)
    mean = np.where(count > 0, total / np.maximum(count, 1), -np.inf)
    return rows[np.sort(np.argsort(-mean, kind="stable")[:limit])]


def parsed(expr: str) -> parser.Expr:
    """Parse an expression. Raises BadQuery with the position of an error."""
    if len(expr) > MAX_EXPR_CHARS:
        raise BadQuery(
            f"The expression is longer than {MAX_EXPR_CHARS} characters.",
            "Shorten it.",
            what="long_expr",
            limit=MAX_EXPR_CHARS,
        )
    _check_bounds(expr)
    try:
        return parser.parse(expr)
    except ValueError as error:
        at = _where(expr, str(error))
        raise BadQuery(
            f"{str(error)[:300]} (at character {at + 1})",
            _remedy(expr, at),
            what="promql",
            reason=str(error)[:300],
            character=at + 1,
        ) from error


def _check_bounds(expr: str) -> None:
    """Raise BadQuery if an expression is nested too deeply, or has too many operators.

    This is checked before parsing, because a deep tree is slow to walk. Also rejects times before 1970, which
    the parser would change to 1970.
    """
    bare = re.sub(r"\{[^{}]*\}", "", re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`", "", expr))
    depth = deepest = 0
    for sign in bare:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    if deepest > _MAX_DEPTH or len(_OPERATOR.findall(bare)) > _MAX_OPERATORS:
        raise BadQuery(
            f"It has more than {_MAX_OPERATORS} operators, or is nested more than {_MAX_DEPTH} levels deep.",
            "Split it into several expressions.",
            what="deep_expr",
            operators=_MAX_OPERATORS,
            depth=_MAX_DEPTH,
        )
    if re.search(r"@\s*-", bare):
        raise bad_at_time()


def check(expr: str) -> None:
    """Raise BadQuery if an expression cannot be evaluated, whatever series exist."""
    evaluate(SeriesStore(), expr, 0, 0, 0)


def _where(expr: str, said: str) -> int:
    """Position of an error: at the token named in the message, or after the longest valid prefix."""
    named = re.search(
        r"(?:function with name|call to function|set operator) '(\w+)'|illegal regex for (.+)", said
    )
    if named:
        at = expr.find(named[1] or named[2])
        if at >= 0:
            return at
    if said.startswith(("unclosed", "unterminated")):
        return _unclosed(expr)
    ends = [match.end() for match in re.finditer(r"\w+|\S", expr)]
    for end in reversed(ends[:-1][:_MAX_TRIES]):
        try:
            parser.parse(expr[:end])
        except ValueError:
            continue
        rest = expr[end:]
        return end + len(rest) - len(rest.lstrip())
    return len(expr) - len(expr.lstrip())


def _unclosed(expr: str) -> int:
    """Position of the innermost parenthesis, brace, bracket or quote that is not closed."""
    opened: list[int] = []
    quote = ""
    escaped = False
    for at, sign in enumerate(expr):
        if quote:
            if sign == quote and not escaped:
                quote = ""
                opened.pop()
            escaped = sign == "\\" and not escaped and quote != "`"
        elif sign in "\"'`":
            quote = sign
            opened.append(at)
        elif sign in "([{":
            opened.append(at)
        elif sign in ")]}" and opened:
            opened.pop()
    return opened[-1] if opened else 0


def _remedy(expr: str, at: int) -> str:
    rest = expr[at : at + 30].strip()
    return f"Look at `{rest}`. {DOCS}" if rest else DOCS


def bare(tree: parser.Expr) -> parser.Expr:
    """Remove enclosing parentheses."""
    while isinstance(tree, parser.ParenExpr):
        tree = tree.expr
    return tree


def _name(tree: parser.Expr) -> str:
    tree = bare(tree)
    if isinstance(tree, parser.AggregateExpr):
        return str(tree.op)
    return tree.func.name if isinstance(tree, parser.Call) else ""


class _Evaluation:
    """Evaluates the nodes of a tree at all steps of a context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def value(self, node: parser.Expr) -> Value:
        """A node's value. Raises BadQuery if it has none."""
        self._context.check()
        match node:
            case parser.NumberLiteral():
                return np.full(self._context.steps, node.val)
            case parser.StringLiteral():
                return node.val
            case parser.ParenExpr():
                return self.value(node.expr)
            case parser.VectorSelector():
                return instant(self._context, node)
            case parser.UnaryExpr():
                return self._negative(node)
            case parser.BinaryExpr():
                return combined(str(node.op), self._number(node.lhs), self._number(node.rhs), node.modifier)
            case parser.AggregateExpr():
                return self._aggregate(node)
            case parser.Call():
                return self._call(node)
            case parser.MatrixSelector():
                raise BadQuery(
                    "A range of samples is not a value.",
                    "Wrap it in rate(), avg_over_time(), or a similar function.",
                    what="bare_range",
                )
            case parser.SubqueryExpr():
                raise BadQuery(
                    "The values of a subquery are not a value.",
                    "Wrap it in max_over_time(), rate(), or a similar function.",
                    what="bare_subquery",
                )
        raise unsupported(type(node).__name__, type(node).__name__)

    def _negative(self, node: parser.UnaryExpr) -> Vector | Scalar:
        value = self._number(node.expr)
        if isinstance(value, Vector):
            return nameless(Vector(value.labels, -value.values, value.there))
        return -value

    def _aggregate(self, node: parser.AggregateExpr) -> Vector:
        vector, check = self._vector(node.expr), self._context.check
        parameter = None if node.param is None else self.value(node.param)
        if isinstance(parameter, str):
            return count_values(vector, node.modifier, parameter, check)
        if parameter is None or isinstance(parameter, Vector):
            parameter = np.zeros(self._context.steps)
        return aggregated(str(node.op), vector, node.modifier, parameter, check)

    def _number(self, node: parser.Expr) -> Vector | Scalar:
        value = self.value(node)
        if isinstance(value, str):
            raise BadQuery("Expected a number, got a string.", DOCS, what="not_text")
        return value

    def _vector(self, node: parser.Expr) -> Vector:
        value = self.value(node)
        if not isinstance(value, Vector):
            raise BadQuery(
                "Expected series, got a number.", "Convert it with vector(...).", what="needs_series"
            )
        return value

    def _scalar(self, node: parser.Expr) -> Scalar:
        value = self.value(node)
        if isinstance(value, (str, Vector)):
            raise BadQuery(
                "Expected a number.", "Convert a single series with scalar(...).", what="needs_number"
            )
        return value

    def _text(self, node: parser.Expr) -> str:
        value = self.value(node)
        if not isinstance(value, str):
            raise BadQuery("Expected a string in quotes.", DOCS, what="needs_text")
        return value

    def _call(self, node: parser.Call) -> Value:
        name, args = node.func.name, list(node.args)
        if name in range_functions.FUNCTIONS or name == "absent_over_time":
            return self._of_range(name, args)
        if name in functions.PLAIN:
            return functions.plain(name, self._vector(args[0]))
        now = in_seconds(self._context.times_ns)
        if name in functions.DATES:
            return functions.date_part(name, self._vector(args[0]) if args else _vector_of(now))
        match name:
            case "time":
                return now
            case "pi":
                return np.full(self._context.steps, np.pi)
            case "vector":
                return _vector_of(self._scalar(args[0]))
            case "scalar":
                return functions.scalar(self._vector(args[0]))
            case "timestamp":
                return self._timestamp(args[0], now)
            case "round":
                to = self._scalar(args[1]) if len(args) > 1 else np.ones(self._context.steps)
                return functions.rounded(self._vector(args[0]), to)
            case "clamp" | "clamp_min" | "clamp_max":
                bounds = [self._scalar(arg) for arg in args[1:]]
                open_end = np.full(self._context.steps, np.inf)
                low = -open_end if name == "clamp_max" else bounds[0]
                high = open_end if name == "clamp_min" else bounds[-1]
                return functions.clamped(self._vector(args[0]), low, high)
            case "sort" | "sort_desc":
                return functions.in_order(self._vector(args[0]), descending=name == "sort_desc")
            case "absent":
                return _absent(args[0], self._vector(args[0]))
            case "histogram_quantile":
                return functions.histogram_quantile(self._scalar(args[0]), self._vector(args[1]))
            case "label_replace":
                target, replacement, source, pattern = (self._text(arg) for arg in args[1:])
                return functions.label_replace(self._vector(args[0]), target, replacement, source, pattern)
            case "label_join":
                target, separator, *sources = (self._text(arg) for arg in args[1:])
                return functions.label_join(self._vector(args[0]), target, separator, sources)
        raise unsupported(f"The function {name}", name)

    def _of_range(self, name: str, args: list[parser.Expr]) -> Vector:
        inner = [bare(arg) for arg in args]
        (ranged,) = (arg for arg in inner if isinstance(arg, RANGES))
        scalars = [self._scalar(arg) for arg in inner if arg is not ranged]
        argument = np.stack(scalars) if scalars else np.zeros((1, self._context.steps))
        if name == "absent_over_time":
            ranges = self.windows(ranged, None)
            found = range_functions.apply("present_over_time", ranges, argument, self._context.check)
            return _absent(getattr(ranged, "vector_selector", ranged), found)
        take = range_functions.TAKES.get(name)
        return range_functions.apply(name, self.windows(ranged, take), argument, self._context.check)

    def windows(self, node: parser.MatrixSelector | parser.SubqueryExpr, take: str | None) -> Windows:
        """The samples of a range in the windows of all steps. ``take``: see ``SeriesStore.select``."""
        if isinstance(node, parser.MatrixSelector):
            return windows(self._context, node, take)
        return subquery_windows(self._context, node, lambda inner: _Evaluation(inner)._vector(node.expr))

    def _timestamp(self, node: parser.Expr, now: Scalar) -> Vector:
        inner = bare(node)
        if isinstance(inner, parser.VectorSelector):
            return nameless(instant(self._context, inner, stamps=True))
        vector = self._vector(node)
        return nameless(Vector(vector.labels, np.broadcast_to(now, vector.values.shape), vector.there))


def _vector_of(value: Scalar) -> Vector:
    """A number as a series without labels."""
    return Vector([()], value[None], np.ones((1, len(value)), np.bool_))


def _absent(node: parser.Expr, vector: Vector) -> Vector:
    """1 at the steps where ``node`` has no value. Empty for series of Ray's that are never recorded."""
    selector = bare(node)
    name = conditions(selector)[0] if isinstance(selector, parser.VectorSelector) else None
    missing = functions.absent(_equality_labels(node), vector.there)
    if name is not None and is_left_out(name):
        return Vector([], missing.values[:0], missing.there[:0])
    return missing


def _equality_labels(node: parser.Expr) -> Labels:
    """The labels that a selector compares with `=`, which become the labels of an absent series."""
    node = bare(node)
    if not isinstance(node, parser.VectorSelector):
        return ()
    _, matchers = conditions(node)
    of_label: dict[str, list[str]] = {}
    for matcher in matchers:
        if matcher.label != NAME:
            of_label.setdefault(matcher.label, []).append(matcher.value if matcher.op == "=" else "")
    return tuple(
        sorted((label, values[0]) for label, values in of_label.items() if len(values) == 1 and values[0])
    )
