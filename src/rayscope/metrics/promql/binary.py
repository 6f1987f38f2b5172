"""Binary operators: arithmetic, comparison and sets, with Prometheus' matching of labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import promql_parser as parser

from rayscope.metrics.promql.values import (
    NAME,
    Bools,
    Floats,
    Scalar,
    Vector,
    anywhere,
    bounded,
    empty,
    merged,
    nameless,
    only,
    shown,
    unsupported,
    without,
)
from rayscope.model.metric import Labels
from rayscope.storage.errors import BadQuery

_ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "%": np.fmod,
    "^": np.power,
    "atan2": np.arctan2,
}
#: Operators whose result is a different metric. Prometheus 2.42 forgets one of them.
_RENAMING = _ARITHMETIC.keys() - {"atan2"}
_COMPARISON: dict[str, Callable[[Floats, Floats], Bools]] = {
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
}
_SETS = ("and", "or", "unless")
_Card = parser.VectorMatchCardinality


def combined(
    op: str, left: Vector | Scalar, right: Vector | Scalar, how: parser.BinModifier | None
) -> Vector | Scalar:
    """Apply an operator by its symbol in PromQL. ``how``: its modifiers (bool, on, group_left, ...)."""
    if how is not None and (how.fill_values.lhs is not None or how.fill_values.rhs is not None):
        raise unsupported("fill", "fill")
    as_bool = how is not None and how.return_bool
    if isinstance(left, Vector) and isinstance(right, Vector):
        if op in _SETS:
            return _sets(op, left, right, how)
        return _matched(op, left, right, how, as_bool=as_bool)
    if isinstance(left, Vector):
        return _with_scalar(op, left, left, right, as_bool=as_bool)
    if isinstance(right, Vector):
        return _with_scalar(op, right, left, right, as_bool=as_bool)
    values, kept = _computed(op, left, right)
    return values if op in _ARITHMETIC else kept.astype(np.float64)


def _computed(op: str, left: Floats, right: Floats) -> tuple[Floats, Bools]:
    """The resulting values, and which to keep. A comparison keeps the left values for which it is true."""
    if op in _ARITHMETIC:
        values = _ARITHMETIC[op](left, right)
        return values, np.ones(values.shape, np.bool_)
    if op not in _COMPARISON:
        raise unsupported(f"The operator {op}", str(op))
    kept = _COMPARISON[op](left, right)
    return np.broadcast_to(left, kept.shape), kept


def _with_scalar(
    op: str, vector: Vector, left: Vector | Scalar, right: Vector | Scalar, *, as_bool: bool
) -> Vector:
    values, kept = _computed(
        op,
        left.values if isinstance(left, Vector) else left,
        right.values if isinstance(right, Vector) else right,
    )
    if op in _ARITHMETIC:
        computed = Vector(vector.labels, values, vector.there)
        return nameless(computed) if op in _RENAMING else computed
    if as_bool:
        return nameless(Vector(vector.labels, kept.astype(np.float64), vector.there))
    return Vector(vector.labels, vector.values, vector.there & kept)


def _signatures(vector: Vector, how: parser.BinModifier | None) -> list[Labels]:
    """For each series, the labels that must be equal on both sides."""
    matching = None if how is None else how.matching
    if matching is None:
        return [without(labels, (NAME,)) for labels in vector.labels]
    if matching.type == parser.LabelModifierType.Include:
        return [only(labels, matching.labels) for labels in vector.labels]
    return [without(labels, (NAME, *matching.labels)) for labels in vector.labels]


def _rows(signatures: list[Labels]) -> dict[Labels, list[int]]:
    rows: dict[Labels, list[int]] = defaultdict(list)
    for row, signature in enumerate(signatures):
        rows[signature].append(row)
    return rows


def _sets(op: str, left: Vector, right: Vector, how: parser.BinModifier | None) -> Vector:
    of_left, of_right = _signatures(left, how), _signatures(right, how)
    if op == "or":
        hidden = _present(left, of_left, of_right)
        return merged(
            Vector(
                left.labels + right.labels,
                np.concatenate([left.values, right.values]),
                np.concatenate([left.there, right.there & ~hidden]),
            )
        )
    other = _present(right, of_right, of_left)
    return Vector(left.labels, left.values, left.there & (other if op == "and" else ~other))


def _present(vector: Vector, signatures: list[Labels], other: list[Labels]) -> Bools:
    """For each signature in ``other``, the steps at which the vector has a value with this signature."""
    nowhere = np.zeros(vector.there.shape[1], np.bool_)
    found = {signature: anywhere(vector.there[rows]) for signature, rows in _rows(signatures).items()}
    return np.array([found.get(each, nowhere) for each in other], np.bool_).reshape(len(other), len(nowhere))


def _matched(
    op: str, left: Vector, right: Vector, how: parser.BinModifier | None, *, as_bool: bool
) -> Vector:
    steps = left.values.shape[1]
    card = _Card.OneToOne if how is None else how.card
    swapped = card == _Card.OneToMany
    many_side, one_side = (right, left) if swapped else (left, right)
    of_many, of_one = _signatures(many_side, how), _signatures(one_side, how)
    rows_one = _rows(of_one)
    _check_unique(one_side, rows_one, anywhere(many_side.there), "left" if swapped else "right")
    pairs = [(row, other) for row, signature in enumerate(of_many) for other in rows_one.get(signature, ())]
    if not pairs:
        return empty(steps)
    bounded(len(pairs), steps)
    a, b = (np.array(each, np.intp) for each in zip(*pairs, strict=True))
    values, kept = _computed(
        op,
        (one_side if swapped else many_side).values[b if swapped else a],
        (many_side if swapped else one_side).values[a if swapped else b],
    )
    there = many_side.there[a] & one_side.there[b]
    if as_bool:
        values = kept.astype(np.float64)
    else:
        there &= kept
    drop = as_bool or op in _RENAMING
    labels = [
        _labels(many_side.labels[row], one_side.labels[other], how, card, drop=drop) for row, other in pairs
    ]
    if card == _Card.OneToOne:
        for signature, rows in _rows([of_many[row] for row in a]).items():
            if len(rows) > 1 and (there[rows].sum(axis=0) > 1).any():
                raise BadQuery(
                    f"Several series on the left match {shown(signature)}.",
                    "Many-to-one matching must be explicit: group_left or group_right.",
                    what="many_to_one",
                    labels=shown(signature),
                )
    return merged(Vector(labels, values, there))


def _check_unique(vector: Vector, rows: dict[Labels, list[int]], used: Bools, side: str) -> None:
    for signature, same in rows.items():
        if len(same) > 1 and ((vector.there[same].sum(axis=0) > 1) & used).any():
            raise BadQuery(
                f"Several series on the {side} match {shown(signature)}: {shown(vector.labels[same[0]])}.",
                "Matching is not many-to-many: match on more labels, or aggregate that side first.",
                what="many_to_many",
                labels=shown(signature),
                example=shown(vector.labels[same[0]]),
            )


def _labels(
    many_side: Labels,
    one_side: Labels,
    how: parser.BinModifier | None,
    card: parser.VectorMatchCardinality,
    *,
    drop: bool,
) -> Labels:
    labels = without(many_side, (NAME,)) if drop else many_side
    if how is None:
        return labels
    if card == _Card.OneToOne and how.matching is not None:
        include = how.matching.type == parser.LabelModifierType.Include
        labels = only(labels, how.matching.labels) if include else without(labels, how.matching.labels)
    if how.group_labels:
        rest = without(labels, how.group_labels)
        labels = tuple(sorted((*rest, *((k, v) for k, v in only(one_side, how.group_labels) if v))))
    return labels
