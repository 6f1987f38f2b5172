"""Parses a template into a tree, as Go's ``text/template/parse`` does. ``define`` is not supported."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import NamedTuple, TypeAlias

from rayscope.alerts.templating.values import TemplateError, Value

_MAX_DEPTH = 20
_MAX_INTEGER = 1 << 63
#: Variables that Prometheus defines for the templates of rules.
VARIABLES = ("$", "$labels", "$externalLabels", "$externalURL", "$value")
_KEYWORDS = ("if", "else", "end", "range", "with", "break", "continue")
_UNSUPPORTED = ("define", "template", "block")
_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"""(?P<close>(?:[ \t\r\n]+-)?\}\})|(?P<space>[ \t\r\n]+)|(?P<text>"(?:\\.|[^"\\\n])*"|`[^`]*`)"""
    r"""|(?P<char>'(?:\\[^\n]+?|[^'\\\n])')|(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))"""
    r"""|(?P<field>\.[^\W\d]\w*)|(?P<variable>\$\w*)|(?P<word>[^\W\d]\w*)|(?P<sign>:=|=|\||\(|\)|,|\.)"""
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED |= {"\\": "\\", '"': '"', "'": "'"}


class Text(NamedTuple):
    """Text outside of actions."""

    text: str


class Literal(NamedTuple):
    """A constant."""

    value: Value


class Variable(NamedTuple):
    """``$name.field.field``."""

    name: str
    fields: tuple[str, ...]


class Dot(NamedTuple):
    """``.`` or ``.field.field``."""

    fields: tuple[str, ...]


class Function(NamedTuple):
    """The name of a function."""

    name: str


class Nested(NamedTuple):
    """``(pipeline).field.field``."""

    pipeline: Pipeline
    fields: tuple[str, ...]


Operand: TypeAlias = "Literal | Variable | Dot | Function | Nested"


class Pipeline(NamedTuple):
    """Commands that each pass their value to the next one as its last argument. ``names``: variables to
    set.
    """

    commands: tuple[tuple[Operand, ...], ...]
    names: tuple[str, ...]
    declares: bool


class Output(NamedTuple):
    """An action whose value is printed."""

    pipeline: Pipeline


class Block(NamedTuple):
    """An ``if``, ``with``, or ``range`` block, with the nodes after its ``else``."""

    kind: str
    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


class Jump(NamedTuple):
    """``break`` or ``continue``."""

    kind: str


Node: TypeAlias = Text | Output | Block | Jump


class _Token(NamedTuple):
    kind: str
    text: str


def parse(text: str, functions: Collection[str]) -> tuple[Node, ...]:
    """Return the tree of a template, in which only ``functions`` may be called. Raises TemplateError."""
    return _Parser(_tokens(text), functions).whole()


def _tokens(text: str) -> list[_Token]:
    """Split a template into text outside of actions (``raw``) and the tokens of actions. An action ends with
    ``close``.
    """
    tokens: list[_Token] = []
    at, trims = 0, False
    while True:
        begin = text.find("{{", at)
        raw = text[at:] if begin < 0 else text[at:begin]
        trims_before = (
            begin >= 0 and text[begin + 2 : begin + 3] == "-" and text[begin + 3 : begin + 4] in _SPACE
        )
        raw = raw.lstrip(_SPACE) if trims else raw
        raw = raw.rstrip(_SPACE) if trims_before else raw
        if raw:
            tokens.append(_Token("raw", raw))
        if begin < 0:
            return tokens
        at, trims = _action(text, begin + (3 if trims_before else 2), tokens)


def _action(text: str, at: int, tokens: list[_Token]) -> tuple[int, bool]:
    """Append an action's tokens to ``tokens``. Returns where it ends, and whether whitespace after it is
    dropped.
    """
    comment = re.compile(r"[ \t\r\n]?/\*.*?\*/(\s-)?\}\}", re.DOTALL).match(text, at)
    if comment:
        return comment.end(), bool(comment[1])
    while match := _TOKEN.match(text, at):
        at = match.end()
        tokens.append(_Token(str(match.lastgroup), match[0]))
        if match.lastgroup == "close":
            return at, "-" in match[0]
    if at >= len(text):
        raise TemplateError("unclosed action")
    raise TemplateError(f"unexpected {text[at : at + 20]!r} in an action")


class _Parser:
    def __init__(self, tokens: list[_Token], functions: Collection[str]) -> None:
        self._tokens = tokens
        self._functions = functions
        self._at = 0
        self._depth = 0
        self._loops = 0
        self._variables = list(VARIABLES)

    def whole(self) -> tuple[Node, ...]:
        nodes, end = self._nodes()
        if end is not None:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        return nodes

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip_space(self) -> _Token:
        """Skip whitespace, and return the next token without consuming it."""
        while self._peek().kind == "space":
            self._at += 1
        return self._peek()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TemplateError(f"it is nested more than {_MAX_DEPTH} levels deep")

    def _nodes(self) -> tuple[tuple[Node, ...], str | None]:
        """Parse nodes up to an ``else`` or ``end``. Returns the nodes and that keyword, or None at the end of
        the template.
        """
        nodes: list[Node] = []
        while self._at < len(self._tokens):
            if self._peek().kind == "raw":
                nodes.append(Text(self._next().text))
                continue
            token = self._skip_space()
            if token.kind != "word" or token.text not in (*_KEYWORDS, *_UNSUPPORTED):
                nodes.append(Output(self._pipeline("close")))
                continue
            self._next()
            if token.text in _UNSUPPORTED:
                raise TemplateError(f"{{{{{token.text}}}}} is not supported")
            if token.text in ("else", "end"):
                return tuple(nodes), token.text
            nodes.append(
                self._jump(token.text) if token.text in ("break", "continue") else self._block(token.text)
            )
        return tuple(nodes), None

    def _close(self) -> None:
        if self._skip_space().kind != "close":
            raise TemplateError(f"unexpected {self._peek().text!r} in an action")
        self._next()

    def _jump(self, kind: str) -> Jump:
        if not self._loops:
            raise TemplateError(f"{{{{{kind}}}}} outside of {{{{range}}}}")
        self._close()
        return Jump(kind)

    def _block(self, kind: str) -> Block:
        self._deeper()
        known = len(self._variables)
        pipeline = self._pipeline("close", in_range=kind == "range")
        self._loops += kind == "range"
        body, end = self._nodes()
        self._loops -= kind == "range"
        otherwise: tuple[Node, ...] = ()
        if end == "else":
            if kind == "if" and self._skip_space().text == "if":
                self._next()
                otherwise, end = (self._block("if"),), "end"
                del self._variables[known:]
                self._depth -= 1
                return Block(kind, pipeline, body, otherwise)
            self._close()
            otherwise, end = self._nodes()
        if end != "end":
            raise TemplateError(f"{{{{{kind}}}}} has no {{{{end}}}}")
        self._close()
        del self._variables[known:]
        self._depth -= 1
        return Block(kind, pipeline, body, otherwise)

    def _pipeline(self, end: str, *, in_range: bool = False) -> Pipeline:
        """Parse a pipeline and consume the ``close`` or ``)`` after it."""
        self._deeper()
        names, declares = self._declared(in_range)
        commands: list[tuple[Operand, ...]] = []
        while True:
            operands = self._command()
            if not operands:
                raise TemplateError("missing value for command")
            if commands and not isinstance(operands[0], Function):
                raise TemplateError("a value is piped into something that is no function")
            commands.append(operands)
            token = self._next()
            if token.text == "|":
                continue
            if token.kind == end or token.text == end:
                break
            raise TemplateError(f"unexpected {token.text!r} in an action")
        if declares:
            self._variables += names
        self._depth -= 1
        return Pipeline(tuple(commands), names, declares)

    def _declared(self, in_range: bool) -> tuple[tuple[str, ...], bool]:
        """Parse ``$name :=``, ``$name =``, or, in a range, ``$index, $value :=``. Returns the names, and
        whether it was ``:=``.
        """
        began, names = self._at, []
        while self._skip_space().kind == "variable":
            names.append(self._next().text)
            sign = self._skip_space().text
            if sign in (":=", "="):
                self._next()
                return tuple(names), sign == ":="
            if sign != "," or not in_range or len(names) > 1:
                break
            self._next()
        self._at = began
        return (), False

    def _command(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while self._skip_space().kind != "close" and self._peek().text not in ("|", ")"):
            operands.append(self._operand())
            if self._peek().kind not in ("space", "close") and self._peek().text not in ("|", ")"):
                raise TemplateError(f"unexpected {self._peek().text!r} in an action")
        return tuple(operands)

    def _operand(self) -> Operand:
        kind, text = self._next()
        if kind == "variable":
            if text not in self._variables:
                raise TemplateError(f"undefined variable {text!r}")
            return Variable(text, self._fields())
        if kind == "field":
            return Dot((text[1:], *self._fields()))
        if text == ".":
            return Dot(())
        if text == "(":
            pipeline = self._pipeline(")")
            return Nested(pipeline, self._fields())
        if kind == "word" and text not in ("true", "false", "nil"):
            if text not in self._functions:
                raise TemplateError(f"function {text!r} not defined")
            return Function(text)
        return _literal(kind, text)

    def _fields(self) -> tuple[str, ...]:
        names = []
        while self._peek().kind == "field":
            names.append(self._next().text[1:])
        return tuple(names)


def _literal(kind: str, text: str) -> Literal:
    if kind == "word":
        return Literal({"true": True, "false": False, "nil": None}[text])
    if kind == "text":
        return Literal(text[1:-1] if text[0] == "`" else _unquoted(text))
    if kind == "char" and len(char := _unquoted(text)) == 1:
        return Literal(ord(char))
    if kind == "number":
        try:
            number = int(text, 0) if re.fullmatch(r"[-+]?(0[xX]\w+|0|[1-9]\d*)", text) else float(text)
            if abs(number) < _MAX_INTEGER or (isinstance(number, float) and math.isfinite(number)):
                return Literal(number)
        except ValueError:
            pass
    raise TemplateError(f"unexpected {text!r} in an action")


def _unquoted(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if code in _ESCAPED:
            return _ESCAPED[code]
        number = int(code[1:], 16) if code[0] in "xuU" else int(code, 8) if len(code) == 3 else -1
        if 0 <= number < 0xD800 or 0xE000 <= number < 0x110000:
            return chr(number)
        raise TemplateError(f"invalid escape \\{code} in {text[:40]}")

    return _ESCAPE.sub(plain, text[1:-1])
