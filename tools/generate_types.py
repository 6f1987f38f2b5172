"""Write the server's OpenAPI description, and the UI's types of its schemas and paths, to files.

``python tools/generate_types.py`` writes both files. With ``--check`` it fails if one is outdated.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
OPENAPI = ROOT / "docs/reference/openapi.json"
WEB_TYPES = WEB / "src/api/schema.ts"
sys.path.insert(0, str(ROOT))

import hatch_build  # noqa: E402

_HEAD = """/**
 * What the server returns and accepts (docs/reference/api.md). Times are in ns, sizes in bytes.
 *
 * Generated from the server's OpenAPI description by `make types`: do not edit.
 */
"""
_PREFIX = "/api/v1"
#: Sets of parameters that many paths share, each with a parameter that only these paths have.
_SHARED = {"FilterName": "caller_task_id", "EntityFilterName": "class_name"}
#: Parts of schemas that types cannot express: titles and bounds.
_LEFT_OUT = {
    "title",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
}


def openapi() -> dict[str, Any]:
    """Return the server's OpenAPI description."""
    from rayscope.server.app import create_app
    from rayscope.server.lifecycle import create_services
    from rayscope.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        return create_app(create_services(Settings(data_dir=Path(folder), port=0))).openapi()


def schemas(description: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas as JSON schemas, by name."""
    return {name: _plain(shape) for name, shape in sorted(description["components"]["schemas"].items())}


def paths(description: dict[str, Any]) -> str:
    """Return an interface with the answer and the parameters of each path that returns JSON."""
    answers, names = {}, {}
    for path, methods in sorted(description["paths"].items()):
        operation = methods.get("get", {})
        content = operation.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
        if path.startswith(_PREFIX) and content.get("schema"):
            answers[path] = " | ".join(re.findall(r"schemas/(\w+)", json.dumps(content["schema"])))
            given = operation.get("parameters", ())
            names[path] = {one["name"] for one in given if one["in"] in ("query", "path")}
    shared = {
        alias: set.intersection(*(given for given in names.values() if marker in given))
        for alias, marker in _SHARED.items()
    }
    made = [f"export type {alias} = {_union(given)};" for alias, given in shared.items()]
    made.append("/** The answers and parameters of the paths that the UI requests, without their prefix. */")
    made.append("export interface Paths {")
    for path, given in names.items():
        aliases = [alias for alias, marker in _SHARED.items() if marker in given]
        own = given.difference(*(shared[alias] for alias in aliases))
        params = " | ".join(aliases + ([_union(own)] if own else [])) or "never"
        made.append(f"'{path.removeprefix(_PREFIX)}': {{ answer: {answers[path]}; params: {params} }};")
    return "\n".join([*made, "}\n"])


def _union(names: set[str]) -> str:
    return " | ".join(f"'{name}'" for name in sorted(names))


def _plain(schema: Any) -> Any:
    """Remove parts for which generators invent names, and all but the first paragraph of descriptions."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = {"title"} if "prefixItems" in schema else _LEFT_OUT
    kept = {
        key: _plain(value)
        for key, value in schema.items()
        if not (key in left_out and isinstance(value, (str, int)))
        and (key, value) != ("additionalProperties", False)
    }
    if isinstance(kept.get("description"), str):
        kept["description"] = kept["description"].partition("\n\n")[0]
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace("#/components/schemas/", "#/definitions/")
    return kept


def web_types(description: dict[str, Any]) -> str:
    """Return the UI's module of types."""
    node = hatch_build.node_on_path() or hatch_build.node_from_pypi()
    if node is None:
        sys.exit("There is no node: run `make setup`, which installs one from PyPI.")
    tools = WEB / "node_modules" / ".bin"
    if not (tools / "json2ts").exists():
        _run([sys.executable, str(ROOT / "hatch_build.py"), "npm", "ci", "--ignore-scripts"])
    environment = dict(os.environ, PATH=os.pathsep.join([node.bin_dir, os.environ.get("PATH", "")]))
    described = {"title": "Schemas", "type": "object", "definitions": schemas(description)}
    # json2ts knows tuples only by their name in older JSON schemas.
    stdin = json.dumps(described).replace('"prefixItems"', '"items"')
    command = [str(tools / "json2ts"), "--unreachableDefinitions", "--additionalProperties=false"]
    made = _run([*command, "--format=false", "--bannerComment="], environment, stdin=stdin)
    made = re.sub(r"\s+\*\s+\* This interface was referenced by .+?\n.+?\n(?= \*/)", "\n", made)
    made = re.sub(r"/\*\*\n \* This interface was referenced by .+?\*/\n", "", made, flags=re.S)
    made = re.sub(r"export interface Schemas \{.*?\}\n", "", made, flags=re.S)
    made = re.sub(r"/\*\*\n \* ([^\n]{1,100})\n \*/\n", r"/** \1 */\n", made)
    biome = [str(tools / "biome"), "format", f"--stdin-file-path={WEB_TYPES}"]
    return _run(biome, environment, stdin=_HEAD + made + paths(description))


def _run(command: list[str], environment: dict[str, str] | None = None, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, cwd=WEB)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def as_text(description: dict[str, Any]) -> str:
    """Return the description as JSON with a line for each path and schema, so that changes are readable."""
    parts = {
        "paths": description["paths"],
        "schemas": description["components"]["schemas"],
    }
    lines = []
    for name, items in parts.items():
        inner = ",\n".join(f"{json.dumps(key)}: {json.dumps(items[key])}" for key in sorted(items))
        lines.append(f'"{name}": {{\n{inner}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write the files, or check that they are current."""
    description = openapi()
    made = {OPENAPI: as_text(description), WEB_TYPES: web_types(description)}
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" not in arguments:
        for path in stale:
            path.write_text(made[path])
        return 0
    for path in stale:
        print(f"{path.relative_to(ROOT)} is stale: run `make types` and commit it.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
