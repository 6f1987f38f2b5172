"""Derives the unit of an expression from the units of its metrics."""

from __future__ import annotations

from collections.abc import Mapping

import promql_parser as parser

from rayscope.metrics.promql.evaluate import parsed
from rayscope.metrics.promql.select import conditions
from rayscope.model.metric import Family

_SAME = frozenset((
    "sum", "avg", "min", "max", "topk", "bottomk", "quantile", "stddev", "abs", "ceil", "floor",
    "round", "clamp", "clamp_min", "clamp_max", "sort", "sort_desc", "increase", "delta", "idelta",
    "avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "last_over_time",
    "predict_linear", "double_exponential_smoothing", "holt_winters",
    "quantile_over_time", "stddev_over_time", "label_replace", "label_join", "vector",
    "scalar", "histogram_quantile",
))  # fmt: skip
_PER_SECOND = frozenset(("rate", "irate", "deriv"))
_COUNTS = frozenset(("count", "count_over_time", "changes", "resets"))
_UNITED = frozenset(("+", "-", "or", "%"))
_LEFT = frozenset(("and", "unless", ">", "<", ">=", "<=", "==", "!="))


def unit_of(expr: str, families: Mapping[str, Family]) -> str:
    """One of `Family`'s units, possibly followed by `/s`, or "" if it is unknown."""
    return _unit(parsed(expr), families) or ""


def _unit(node: parser.Expr, families: Mapping[str, Family]) -> str | None:
    """The unit of a node. None means a plain number, which is compatible with any unit."""
    match node:
        case parser.NumberLiteral():
            return None
        case parser.ParenExpr() | parser.UnaryExpr():
            return _unit(node.expr, families)
        case parser.MatrixSelector():
            return _unit(node.vector_selector, families)
        case parser.VectorSelector():
            name, _ = conditions(node)
            family = families.get(name or "")
            return "" if family is None else family.unit
        case parser.AggregateExpr():
            return _of_function(str(node.op), [node.expr], families)
        case parser.Call():
            return _of_function(node.func.name, list(node.args), families)
        case parser.BinaryExpr():
            return _of_operator(node, families)
    return ""


def _of_function(name: str, args: list[parser.Expr], families: Mapping[str, Family]) -> str | None:
    if name in _COUNTS:
        return "count"
    if name in ("time", "timestamp"):
        return "s"
    units = [_unit(arg, families) for arg in args if not isinstance(arg, parser.StringLiteral)]
    unit = next((unit for unit in units if unit is not None), None)
    if name in _SAME:
        return unit
    if name in _PER_SECOND and unit and not unit.endswith("/s") and unit != "s":
        return f"{unit}/s"
    return ""


def _of_operator(node: parser.BinaryExpr, families: Mapping[str, Family]) -> str | None:
    op = str(node.op)
    left, right = _unit(node.lhs, families), _unit(node.rhs, families)
    if op in _LEFT and not (node.modifier is not None and node.modifier.return_bool):
        return right if left is None else left
    if op in _UNITED:
        if left is None or right is None:
            return right if left is None else left
        return left if left == right else ""
    return None if left is None and right is None else ""
