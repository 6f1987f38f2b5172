"""Change a module at random places, one at a time, and count the changes that its tests detect.

    python tools/mutants.py src/rayscope/alerts/state.py             # 25 changes
    python tools/mutants.py MODULE ... --number 50 --seed 7 --tests tests/unit/alerts

Most changes come from Cosmic Ray. Changes of SQL in strings and of whole statements are defined here. They
are made in a copy of the checkout, so the checkout stays unchanged. A change is killed if a test fails, or if
the tests exceed the timeout.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "src/rayscope"
#: Minimum timeout for the tests of a change, in seconds.
MIN_TIMEOUT_S = 60
#: Timeout as a multiple of the duration without a change.
TIMEOUT_FACTOR = 5
#: Tests in other folders that reach a module through a server, by the beginning of its path.
TESTS_BY_SERVER = {
    "views/critical_path/": ("views/gantt/test_api.py",),
    "insights/verdict.py": ("insights/detectors/test_waiting.py",),
    "insights/replay/": ("insights/test_api.py",),
    "insights/detectors/": ("insights/test_api.py",),
    "api/security.py": ("api/test_write_access.py",),
}
#: Changes of SQL.
SQL_WORDS = re.compile(r"\b(SELECT|FROM|WHERE|CASE|JOIN|ORDER BY|GROUP BY|coalesce|FILTER)\b")
SQL_CHANGES = (
    (r"\bAND\b", "OR"),
    (r"\bOR\b(?! REPLACE)", "AND"),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"\bDESC\b", "ASC"),
    (r"\bmin(?=\()", "max"),
    (r"\bmax(?=\()", "min"),
    (r"\bNOT (?=[\w{])", ""),
    (r"\bDISTINCT ", ""),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" = ", " <> "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"(?<![\w.$'])0(?![\w.])", "1"),
    (r"(?<![\w.$'])1(?![\w.])", "2"),
)
#: Cosmic Ray's operators that need arguments.
SKIPPED_OPERATORS = ("core/VariableReplacer", "core/VariableInserter")

Position = tuple[int, int]


class ChangeSql(Operator):  # type: ignore[misc]
    """Changes one word of SQL in a string."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        for _ in self._results(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = list(self._results(node))[index]
        return node

    @staticmethod
    def _results(node: Any) -> Iterator[str]:
        if node.type in ("string", "fstring_string") and SQL_WORDS.search(node.value):
            for pattern, replacement in SQL_CHANGES:
                for match in re.finditer(pattern, node.value):
                    yield node.value[: match.start()] + replacement + node.value[match.end() :]

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class DeleteStatement(Operator):  # type: ignore[misc]
    """Replaces a call or an update by nothing, and the value of a return by None."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if self._replacement(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return parso.parse(node.get_first_leaf().prefix + self._replacement(node))

    @staticmethod
    def _replacement(node: Any) -> str:
        if node.type == "return_stmt" and node.get_code().split() != ["return", "None"]:
            return "return None"
        if node.parent is None or node.parent.type != "simple_stmt":
            return ""
        # Without its first assignment a name is undefined, which any test detects.
        is_update = node.type == "expr_stmt" and (node.children[0].type != "name" or _is_augmented(node))
        return "pass" if node.type == "atom_expr" or is_update else ""

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _is_augmented(statement: Any) -> bool:
    """Return whether it is an augmented assignment such as ``x += 1``."""
    operator = statement.children[1]
    return operator.type == "operator" and operator.value not in ("=", ":")


class SwapMinMax(Operator):  # type: ignore[misc]
    """Replaces min by max, any by all, and vice versa."""

    NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}  # noqa: RUF012

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if node.type == "name" and node.value in self.NAMES and node.parent.type == "atom_expr":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = self.NAMES[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class Mutant(NamedTuple):
    """A changed module."""

    line: int
    change: str
    code: str


def mutants(code: str, number: int, seed: int) -> Iterator[Mutant]:
    """Yield at most ``number`` changes at as many random places, the same ones for the same seed."""
    operators = [get_operator(name)() for name in operator_names() if name not in SKIPPED_OPERATORS]
    operators += [ChangeSql(), DeleteStatement(), SwapMinMax()]
    without_effect = list(_without_effect(ast.parse(code)))
    places: dict[Position, list[tuple[Operator, int]]] = {}
    nodes = list(ast_nodes(get_ast(code)))
    for operator in operators:
        positions = (begin for node in nodes for begin, _ in operator.mutation_positions(node))
        for occurrence, begin in enumerate(positions):
            if not any(first <= begin < last for first, last in without_effect):
                places.setdefault(begin, []).append((operator, occurrence))
    chance = random.Random(seed)
    order = sorted(places)
    chance.shuffle(order)
    original = ast.dump(ast.parse(code))
    for begin in order:
        operator, occurrence = chance.choice(places[begin])
        changed = mutate_code(code, operator, occurrence)
        if number and changed and _dump(changed) not in ("", original):
            number -= 1
            yield Mutant(*_first_difference(code, changed), changed)


def _dump(code: str) -> str:
    try:
        return ast.dump(ast.parse(code))
    except SyntaxError:
        return ""


def _without_effect(tree: ast.Module) -> Iterator[tuple[Position, Position]]:
    """Yield the positions of annotations, docstrings, and imports."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            parts = [node]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            parts += [node.body[0]] if ast.get_docstring(node) else []
        for part in parts:
            if isinstance(part, ast.expr | ast.stmt):
                end = (part.end_lineno or part.lineno, part.end_col_offset or 0)
                yield (part.lineno, part.col_offset), end


def _first_difference(code: str, changed: str) -> tuple[int, str]:
    """Return the line of a change, and the old and new text."""
    before, after = code.splitlines(), changed.splitlines()
    begin = next(at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    tail = 0
    while tail < min(len(before), len(after)) - begin - 1 and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = (
        " ".join(line.strip() for line in lines[begin : len(lines) - tail]) for lines in (before, after)
    )
    return begin + 1, f"{old}  ->  {new}"


def unit_tests(module: str, root: Path) -> list[str]:
    """Return the unit tests of a module: in the folder of its tests, importing it, or listed above."""
    path = Path(module).relative_to(PACKAGE)
    unit = root / "tests" / "unit"
    parent = ".".join(["rayscope", *path.parts[:-1]])
    imports = re.compile(rf"\b{re.escape(parent)}(\.{path.stem}\b| import [^\n]*\b{path.stem}\b)")
    by_server = [names for start, names in TESTS_BY_SERVER.items() if path.as_posix().startswith(start)]
    chosen = {unit / name for names in by_server for name in names}
    # The folder of a room itself holds tests of many modules.
    chosen |= set((unit / path.parent).glob("test_*.py" if len(path.parts) > 2 else f"test_{path.stem}.py"))
    chosen |= {unit / path.parent / "test_api.py"}
    for file in unit.rglob("test_*.py"):
        # Tests of the warehouse are slow, and test other rooms through their own engine.
        if file.relative_to(unit).parts[0] == "warehouse" != path.parts[0]:
            continue
        if imports.search(file.read_text()):
            chosen.add(file)
    return sorted(file.relative_to(root).as_posix() for file in chosen if file.exists())


class Workshop:
    """A copy of the checkout in which a module can be changed."""

    def __init__(self, folder: Path, tests: Iterable[str]) -> None:
        self._folder = folder
        self._tests = list(tests)
        for path in ROOT.iterdir():
            if path.name in ("src", "tests"):
                shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif not path.name.startswith("."):
                (folder / path.name).symlink_to(path)

    def write(self, module: str, code: str) -> None:
        file = self._folder / module
        # Python would not notice a change of the same size within the same second.
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        file.write_text(code)

    def run(self, timeout_s: float | None = None) -> tuple[int, str]:
        """Run the tests. Returns their exit status (-1 after the timeout) and their output."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
        command += ["-m", "not long", *self._tests]
        environment = {**os.environ, "PYTHONPATH": str(self._folder / "src")}
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return -1, ""
        return process.returncode, output


def measure(module: str, tests: list[str], number: int, seed: int) -> bool:
    """Try changes of a module and print the survivors. Returns False if the tests fail without a change."""
    code = (ROOT / module).read_text()
    print(f"# {module}, seed {seed}\n\nTests: {' '.join(tests)}", flush=True)
    survivors, tried, late = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="rayscope-mutants-") as folder:
        workshop = Workshop(Path(folder), tests)
        began = time.monotonic()
        status, output = workshop.run()
        if status != 0:
            print(f"The tests fail without any change:\n\n{output[-3000:]}")
            return False
        timeout_s = MIN_TIMEOUT_S + TIMEOUT_FACTOR * (time.monotonic() - began)
        for mutant in mutants(code, number, seed):
            workshop.write(module, mutant.code)
            status, _ = workshop.run(timeout_s)
            tried += 1
            late += status == -1
            if status == 0:
                survivors.append(f"{module}:{mutant.line}: {mutant.change}")
            print("." if status else "S", end="", flush=True, file=sys.stderr)
    killed = tried - len(survivors)
    share = f"{killed / tried:.0%}" if tried else "nothing to change"
    print(f"\n{tried} changes: {killed} killed ({late} by the timeout), {len(survivors)} survived. {share}")
    print("".join(f"  {survivor}\n" for survivor in survivors), flush=True)
    return True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="+", metavar="MODULE", help=f"below {PACKAGE}")
    parser.add_argument("--number", type=int, default=25, help="how many changes of each module")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", help="instead of the module's unit tests")
    options = parser.parse_args(arguments)
    results = []
    for name in options.modules:
        module = Path(name).resolve().relative_to(ROOT).as_posix()
        tests = options.tests or unit_tests(module, ROOT)
        if not tests:
            parser.error(f"No unit test imports {module} or is called after it. Name some with TESTS=.")
        results.append(measure(module, tests, options.number, options.seed))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
