"""Every message that the UI shows has a Chinese text.

The UI finds the text by the message's code and its parameter ``what`` (``web/src/base/serverMessage.ts``).
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from rayscope.api.responses import error
from rayscope.api.security import BodyRefused
from rayscope.cluster.deaths import causes
from rayscope.errors import RayscopeError

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/rayscope"
CHINESE = ROOT / "web/src/base/i18n/zh.serverMessages.ts"
#: Packages that run elsewhere, or whose messages only a terminal, an assistant or Ray's clients show.
_NOT_IN_THE_SERVER = ("agent", "cli", "client", "mcp", "ray_api", "tracer")
#: Module -> keys of its messages that need no text, because the UI does not show them.
_NOT_SHOWN = {
    # The list of rules shows this in its own words.
    "alerts/edit_api.py": {"unknown_metrics"},
    # Requests that the UI does not send.
    "api/routes.py": {"unknown_parameter"},
    "cluster/deaths/api.py": {"bad_query"},
    "cluster/events/sql.py": {"bad_query"},
    "cluster/logs/api.py": {"bad_query"},
    "cluster/objects/api.py": {"bad_query"},
    "cluster/sessions/api.py": {"bad_query"},
    "cluster/tasks/failures_sql.py": {"bad_query"},
    "cluster/tasks/sql.py": {"bad_query"},
    "metrics/api.py": {"bad_query"},
    "metrics/query_api.py": {"bad_query"},
    "metrics/tsdb/matching.py": {"bad_query"},
    "report/api.py": {"bad_query"},
    "report/page.py": {"ui_missing"},
    "server/push/realtime.py": {"bad_message", "bad_query"},
    # The server does not start.
    "server/lifecycle.py": {"store_error"},
    "server/ray_dashboard.py": {"not_found"},
    "storage/sql/entities.py": {"bad_query"},
    "storage/sql/lanes.py": {"bad_query"},
    "storage/sql/pages.py": {"bad_query"},
    "views/flame/api.py": {"bad_query"},
    "views/flame/sql.py": {"bad_query"},
    "views/physical/api.py": {"bad_query"},
    "views/export/collector.py": {"collector"},
    "views/export/export.py": {"bad_query"},
    # Answers to Grafana and other clients of Prometheus.
    "metrics/prometheus/api.py": {"bad_query"},
    "metrics/prometheus/protocol.py": {"bad_data"},
    "metrics/prometheus/results.py": {"bad_query"},
    # Answers to Ray's agents and to programs.
    "api/security.py": {"bad_key"},
    "ingest/agent_reports.py": {"store_error"},
    "ingest/api.py": {"malformed", "unknown_form"},
    "ingest/bodies.py": {"cut_off"},
    "storage/catalog.py": {"bad_session", "too_many_sessions"},
    # Messages of commands: start the server, attach it, query without it or query the warehouse.
    "archive/location.py": {"bad_archive"},
    "files.py": {"no_home"},
    "ray/address.py": {"failed"},
    "ray/gcs/client.py": {"bad_address"},
    "server/runner.py": {"failed"},
    "user_sql/run.py": {"bad_query", "not_found"},
    "warehouse/client.py": {"bad_query", "bad_warehouse"},
    "warehouse/query.py": {"bad_query"},
    # The banners have texts of their own.
    "cluster/recording/versions.py": {"other_agent", "untested_ray"},
}


class Message(NamedTuple):
    """A message in the code. ``key`` is that of its text, and ``values`` are those it can contain."""

    place: str
    line: int
    key: str
    values: frozenset[str]


def _constant(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    return named.get(name) or (call.args[position] if len(call.args) > position else None)


def _code_and_params(node: ast.AST, module: ModuleType) -> tuple[str | None, dict[str, ast.expr | None]]:
    """The code of a message that ``node`` creates, None if it creates none, and its parameters."""
    if isinstance(node, ast.Dict):
        entries = {_constant(key): value for key, value in zip(node.keys, node.values, strict=True)}
        if not {"code", "message", "remedy"} <= entries.keys():
            return None, {}
        return _constant(entries["code"]), _entries(entries.get("params"))
    if not isinstance(node, ast.Call):
        return None, {}
    params: dict[str, ast.expr | None] = {str(keyword.arg): keyword.value for keyword in node.keywords}
    if isinstance(node.func, ast.Attribute) and node.func.attr == "warn":
        return "warning", {**params, "what": _argument(node, "what", 1)}
    if not isinstance(node.func, ast.Name):
        return None, {}
    made = getattr(module, node.func.id, None)
    if made is error:
        return _constant(_argument(node, "code", 1)), _entries(_argument(node, "params", 5))
    if node.func.id == "_Refused":  # of a query by the process that runs it
        return "bad_query", params
    if isinstance(made, type) and issubclass(made, RayscopeError):
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return None, {}
        code = _argument(node, "code", 1 if made is BodyRefused else 2)
        return (made.code if code is None else _constant(code)), params
    return None, {}


def _entries(params: ast.expr | None) -> dict[str, ast.expr | None]:
    if not isinstance(params, ast.Dict):
        return {}
    return {str(_constant(key)): value for key, value in zip(params.keys, params.values, strict=True)}


def _messages(path: Path) -> Iterator[Message]:
    """The messages that a module creates, except those with the code or the parameters of another error."""
    name = "rayscope." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    module = importlib.import_module(name.removesuffix(".__init__"))
    nodes = list(ast.walk(ast.parse(path.read_text())))
    again = {
        id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "with_params"
    }
    for node in nodes:
        code, params = _code_and_params(node, module)
        what = _constant(params.get("what"))
        if code is None or id(node) in again or (what is None and "what" in params):
            continue
        key = code if what is None else f"{code}_{what}"
        place = str(path.relative_to(SOURCE))
        yield Message(place, node.lineno, key, frozenset(params))  # type: ignore[attr-defined]


def _chinese() -> dict[str, set[str]]:
    """Key -> the values that the text contains."""
    entries = re.findall(r"^    (\w+): \{(.*?)\},?\n(?=    \w+: \{|  \},)", CHINESE.read_text(), re.M | re.S)
    return {key: set(re.findall(r"\{\{(\w+)\}\}", text)) for key, text in entries}


def _all_messages() -> list[Message]:
    folders = [path for path in SOURCE.iterdir() if path.name not in _NOT_IN_THE_SERVER]
    modules = [
        path for folder in folders for path in ([folder] if folder.is_file() else folder.rglob("*.py"))
    ]
    return [
        message
        for path in sorted(modules)
        if path.suffix == ".py" and path.name != "__main__.py"
        for message in _messages(path)
    ]


def test_messages_have_a_chinese_text_that_needs_no_other_values() -> None:
    chinese = _chinese()
    messages = _all_messages()
    assert len(messages) > 250
    shown = [message for message in messages if message.key not in _NOT_SHOWN.get(message.place, ())]
    missing = [message for message in shown if message.key not in chinese]
    assert not missing, f"These have no text in {CHINESE}: {missing}"
    assert not [message for message in shown if chinese[message.key] - message.values]


def test_the_exceptions_are_needed() -> None:
    chinese = _chinese()
    untranslated = {(message.place, message.key) for message in _all_messages() if message.key not in chinese}
    assert {(place, key) for place, keys in _NOT_SHOWN.items() for key in keys} == untranslated


def test_causes_of_death_have_a_chinese_text_with_their_values() -> None:
    chinese = _chinese()
    texts = {
        **{f"death_{code}": cause.text for code, cause in causes.CAUSES.items()},
        **{f"death_maybe_{code}": text for code, text in causes.CANDIDATES.items()},
        **{f"death_missing_{code}": text for code, text in causes.MISSING.items()},
    }
    assert {key for key in chinese if key.startswith("death_")} == texts.keys()
    for key, text in texts.items():
        assert chinese[key] == set(re.findall(r"\{(\w+)\}", text)), key


@pytest.mark.parametrize(
    ("modules", "functions", "texts"),
    [
        ("cluster/nodes", {"Reason": 0}, "web/src/pages/nodes/zh.ts"),
        ("cluster/crashes", {"lost": 0, "because": 0, "Harm": 1}, "web/src/pages/overview/zh.ts"),
    ],
)
def test_reasons_and_verdicts_have_a_chinese_text(
    modules: str, functions: dict[str, int], texts: str
) -> None:
    """These have their own texts, by their code alone."""
    calls = [
        node
        for path in (SOURCE / modules).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
    ]
    codes = {_constant(call.args[functions[call.func.id]]) for call in calls} - {None}  # type: ignore[attr-defined]
    assert len(codes) > 5
    assert codes <= set(re.findall(r"^ +(\w+): ?'?", (ROOT / texts).read_text(), re.M))
