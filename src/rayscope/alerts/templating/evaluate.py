"""Renders a parsed template for an alert, within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rayscope.alerts.templating.functions import FUNCTIONS, Signature, call, path_of
from rayscope.alerts.templating.parser import (
    Block,
    Dot,
    Function,
    Jump,
    Literal,
    Nested,
    Node,
    Operand,
    Output,
    Pipeline,
    Text,
    Variable,
)
from rayscope.alerts.templating.values import AlertData, Sample, TemplateError, Value, member, text_of, truth
from rayscope.storage.errors import StoreError

#: Maximum length of the output of a template, in characters. Longer output is truncated.
MAX_RENDERED = 4000
#: Maximum length of a string that a function returns, in characters.
_MAX_VALUE = 20_000
#: Maximum number of steps for one template. Each node, command, and operand that is evaluated is a step.
_MAX_STEPS = 10_000
#: Maximum number of steps for all templates in one evaluation of a rule.
_MAX_STEPS_PER_EVALUATION = 200_000
#: This many characters or items of a function's argument count as one step.
_SIZE_OF_A_STEP = 100
#: Maximum number of different queries in all templates in one evaluation of a rule.
MAX_QUERIES = 100


@dataclass
class Rendering:
    """The context that all templates share in one evaluation of a rule, with the queries and steps that
    remain.

    ``query`` evaluates PromQL at the time of the evaluation, and may raise BadQuery. Each expression is
    evaluated only once.
    """

    query: Callable[[str], list[Sample]] | None = None
    external_url: str = ""
    queries_left: int = MAX_QUERIES
    steps_left: int = _MAX_STEPS_PER_EVALUATION
    results: dict[str, list[Sample]] = field(default_factory=dict)

    def samples(self, expr: str) -> list[Sample]:
        """Return the result of ``query`` for ``expr``. Raises TemplateError or StoreError."""
        if self.query is None:
            raise TemplateError("queries are not available here")
        if expr not in self.results:
            self.queries_left -= 1
            if self.queries_left < 0:
                raise TemplateError("the rule's templates have too many different queries")
            self.results[expr] = self._evaluated(self.query, expr)
        return self.results[expr]

    @staticmethod
    def _evaluated(query: Callable[[str], list[Sample]], expr: str) -> list[Sample]:
        try:
            return query(expr)
        except (KeyboardInterrupt, SystemExit, StoreError):
            raise
        except BaseException as error:  # panics of native code are not Exceptions
            raise TemplateError(f"{type(error).__name__}: {str(error)[:300]}") from error


class _Full(Exception):
    """The output has reached its maximum length."""


class _Jumped(Exception):
    """Leaves the body of a ``range`` at a ``break`` or ``continue``."""


def render(nodes: Sequence[Node], labels: Mapping[str, str], value: float, rendering: Rendering) -> str:
    """Render a template for an alert with these labels and this value. Raises TemplateError."""
    run = _Run(AlertData(labels, {}, rendering.external_url, value), rendering)
    try:
        run.walk(nodes, run.data)
    except _Full:
        return "".join(run.parts)[: MAX_RENDERED - 1] + "…"
    return "".join(run.parts)


class _Run:
    """The rendering of one template."""

    def __init__(self, data: AlertData, rendering: Rendering) -> None:
        self.data = data
        self.parts: list[str] = []
        self._rendering = rendering
        self._length = 0
        self._steps = 0
        self._variables: list[tuple[str, Value]] = [
            ("$", data),
            ("$labels", data.labels),
            ("$externalLabels", data.external_labels),
            ("$externalURL", data.external_url),
            ("$value", data.value),
        ]
        self._own = {
            "query": Signature(rendering.samples, ("string",)),
            "externalURL": Signature(lambda: data.external_url, ()),
            "pathPrefix": Signature(lambda: path_of(data.external_url), ()),
        }

    def _step(self, steps: int = 1) -> None:
        self._steps += steps
        self._rendering.steps_left -= steps
        if self._steps > _MAX_STEPS or self._rendering.steps_left < 0:
            raise TemplateError("it takes too many steps")

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)
        if self._length > MAX_RENDERED:
            raise _Full

    def walk(self, nodes: Sequence[Node], dot: Value) -> None:
        """Append the output of the nodes."""
        for node in nodes:
            self._step()
            if isinstance(node, Text):
                self._write(node.text)
            elif isinstance(node, Output):
                value = self._pipeline(node.pipeline, dot)
                if not node.pipeline.names:
                    self._write("<no value>" if value is None else text_of(value))
            elif isinstance(node, Jump):
                raise _Jumped(node.kind)
            else:
                known = len(self._variables)
                self._block(node, dot)
                del self._variables[known:]

    def _block(self, block: Block, dot: Value) -> None:
        if block.kind == "range":
            self._range(block, dot)
            return
        value = self._pipeline(block.pipeline, dot)
        if truth(value):
            self.walk(block.body, value if block.kind == "with" else dot)
        else:
            self.walk(block.otherwise, dot)

    def _range(self, block: Block, dot: Value) -> None:
        names = block.pipeline.names
        value = self._pipeline(block.pipeline._replace(names=()), dot)
        if isinstance(value, Mapping):
            items: list[tuple[Value, Value]] = sorted(value.items())
        elif isinstance(value, list):
            items = list(enumerate(value))
        else:
            raise TemplateError(f"range can't iterate over {text_of(value)[:60]}")
        if not items:
            self.walk(block.otherwise, dot)
        known = len(self._variables)
        for pair in items:
            self._step()
            for name, part in zip(names, pair if len(names) == 2 else pair[1:], strict=False):
                self._set(name, part, declares=block.pipeline.declares)
            try:
                self.walk(block.body, pair[1])
            except _Jumped as jump:
                if str(jump) == "break":
                    break
            finally:
                del self._variables[known:]

    def _set(self, name: str, value: Value, *, declares: bool) -> None:
        if declares:
            self._variables.append((name, value))
            return
        for at in range(len(self._variables) - 1, -1, -1):
            if self._variables[at][0] == name:
                self._variables[at] = (name, value)
                return
        raise TemplateError(f"undefined variable {name!r}")

    def _pipeline(self, pipeline: Pipeline, dot: Value) -> Value:
        value: Value = None
        for at, command in enumerate(pipeline.commands):
            value = self._command(command, dot, [value] if at else [])
        for name in pipeline.names:
            self._set(name, value, declares=pipeline.declares)
        return value

    def _command(self, operands: tuple[Operand, ...], dot: Value, last: list[Value]) -> Value:
        """Evaluate a command. ``last`` has the value that is piped into it, if any."""
        self._step()
        function = operands[0]
        if not isinstance(function, Function):
            if len(operands) > 1 or last:
                raise TemplateError("can't give arguments to what is no function")
            return self._value(function, dot)
        name = function.name
        if name in ("and", "or"):
            return self._logical(name == "or", operands[1:], dot, last)
        values = [self._value(operand, dot) for operand in operands[1:]] + last
        self._step(sum(len(value) // _SIZE_OF_A_STEP for value in values if isinstance(value, (str, list))))
        value = call(name, self._own.get(name) or FUNCTIONS[name], values)
        if isinstance(value, str) and len(value) > _MAX_VALUE:
            raise TemplateError(f"{name} makes a text that is too long")
        return value

    def _logical(self, ends: bool, operands: Sequence[Operand], dot: Value, last: list[Value]) -> Value:
        """Return the first argument whose truth value is ``ends``, or else the last one. Later arguments are
        not evaluated.
        """
        if not operands and not last:
            raise TemplateError("wrong number of args for and/or: want at least 1 got 0")
        value: Value = None
        for operand in operands:
            value = self._value(operand, dot)
            if truth(value) is ends:
                return value
        return last[0] if last else value

    def _value(self, operand: Operand, dot: Value) -> Value:
        self._step()
        if isinstance(operand, Literal):
            return operand.value
        if isinstance(operand, Function):
            return self._command((operand,), dot, [])
        if isinstance(operand, Nested):
            return _fields(self._pipeline(operand.pipeline, dot), operand.fields)
        if isinstance(operand, Dot):
            return _fields(dot, operand.fields)
        return _fields(self._variable(operand), operand.fields)

    def _variable(self, variable: Variable) -> Value:
        for name, value in reversed(self._variables):
            if name == variable.name:
                return value
        raise TemplateError(f"undefined variable {variable.name!r}")


def _fields(value: Value, names: tuple[str, ...]) -> Value:
    for name in names:
        value = member(value, name)
    return value


#: Names of all functions that templates may call.
NAMES = frozenset(FUNCTIONS) | {"and", "or", "query", "externalURL", "pathPrefix"}
