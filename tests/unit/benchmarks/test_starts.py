"""Every benchmark starts: its imports exist, also in functions and in programs that it keeps as text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: Prints what cannot be imported, as JSON. In a process of its own, since a benchmark may change Ray when imported.
CHECK = """
import ast, importlib, json, pathlib, sys

files = sorted(pathlib.Path("benchmarks").glob("*.py"))
ours = {"rayscope", "tests", *(file.stem for file in files)}

def programs(source):
    tree = ast.parse(source)
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            try:
                yield ast.parse(node.value)
            except SyntaxError:
                pass  # not a program

def imports(source):
    for program in programs(source):
        for node in ast.walk(program):
            if isinstance(node, ast.Import):
                yield from ((alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.module, alias.name) for alias in node.names)

def problem(module, name):
    try:
        imported = importlib.import_module(module)
        if name is not None and not hasattr(imported, name):
            importlib.import_module(f"{module}.{name}")
    except Exception as error:
        return f"{type(error).__name__}: {error}"

wrong = []
for file in files:
    checks = [(file.stem, None), *imports(file.read_text())]
    for module, name in dict.fromkeys(checks):
        if module.split(".")[0] in ours and (message := problem(module, name)):
            wrong.append(f"{file}: {message}")
print(json.dumps([len(files), wrong]))
"""


def test_every_benchmark_starts() -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("src", "benchmarks", "."))
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    number, wrong = json.loads(done.stdout.splitlines()[-1])
    assert number > 20
    assert wrong == []
