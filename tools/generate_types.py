"""Write the types of the Python client and of the UI from the schemas of the server's routes.

``python tools/generate_types.py`` writes both files. With ``--check`` it fails if one is outdated.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
CLIENT_TYPES = ROOT / "src/rayscope/client/types.py"
WEB_TYPES = WEB / "src/api/schema.ts"
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT))

import hatch_build  # noqa: E402

_CLIENT_HEAD = '''"""What the server answers and takes: dicts whose keys docs/reference/api.md explains.

Fields named ``*_ns`` are integer nanoseconds (times since the epoch, or durations), sizes are bytes, ids are
Ray's hex; None is unknown. A newer server may tell more than stands here.

Generated from the server's schemas by `make types`: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired
'''
_WEB_HEAD = """/**
 * What the server answers and takes (docs/reference/api.md). Times are ns, sizes bytes.
 *
 * Generated from the server's schemas by `make types`: do not edit.
 */
"""
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


def schemas() -> dict[str, Any]:
    """Return the schemas of the API's description, by name, as JSON schemas."""
    from rayscope.server.app import create_app
    from rayscope.server.lifecycle import create_services
    from rayscope.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        described = create_app(create_services(Settings(data_dir=Path(folder), port=0))).openapi()
    shapes: dict[str, Any] = described["components"]["schemas"]
    return {name: _plain(shape) for name, shape in sorted(shapes.items()) if "ValidationError" not in name}


def _plain(schema: Any) -> Any:
    """Remove parts for which generators invent names, and allow fields of newer servers."""
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
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace("#/components/schemas/", "#/definitions/")
    return kept


def client_types(description: Path) -> str:
    """Return the Python client's module of types."""
    command = [str(BIN / "datamodel-codegen"), "--input", str(description), "--input-file-type", "jsonschema"]
    command += ["--output-model-type", "typing.TypedDict", "--target-python-version", "3.10"]
    command += ["--use-union-operator", "--use-standard-collections", "--no-use-closed-typed-dict"]
    command += ["--use-schema-description", "--use-single-line-docstring", "--formatters", "builtin"]
    made = _run(command)
    body = made[re.search(r"^class Schemas\(.+?(?=^\S)", made, re.M | re.S).end() :]  # type: ignore[union-attr]
    ruff = [str(BIN / "ruff"), "format", "--config", str(ROOT / "pyproject.toml")]
    return _run([*ruff, "--stdin-filename", str(CLIENT_TYPES), "-"], stdin=f"{_CLIENT_HEAD}\n\n{body}")


def web_types(description: Path) -> str:
    """Return the UI's module of types."""
    node = hatch_build.node_on_path() or hatch_build.node_from_pypi()
    if node is None:
        sys.exit("There is no node: run `make setup`, which installs one from PyPI.")
    tools = WEB / "node_modules" / ".bin"
    if not (tools / "json2ts").exists():
        _run([sys.executable, str(ROOT / "hatch_build.py"), "npm", "ci", "--ignore-scripts"])
    environment = dict(os.environ, PATH=os.pathsep.join([node.bin_dir, os.environ.get("PATH", "")]))
    # json2ts knows tuples only by their name in older JSON schemas.
    stdin = description.read_text().replace('"prefixItems"', '"items"')
    command = [str(tools / "json2ts"), "--unreachableDefinitions", "--additionalProperties=false"]
    made = _run([*command, "--format=false", "--bannerComment="], environment, stdin=stdin)
    made = re.sub(r"\s+\*\s+\* This interface was referenced by .+?\n.+?\n(?= \*/)", "\n", made)
    made = re.sub(r"/\*\*\n \* This interface was referenced by .+?\*/\n", "", made, flags=re.S)
    made = re.sub(r"export interface Schemas \{.*?\}\n", "", made, flags=re.S)
    biome = [str(tools / "biome"), "format", f"--stdin-file-path={WEB_TYPES}"]
    return _run(biome, environment, stdin=_WEB_HEAD + made)


def _run(command: list[str], environment: dict[str, str] | None = None, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, cwd=WEB)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(arguments: list[str]) -> int:
    """Write the types, or check that they are current."""
    with tempfile.TemporaryDirectory() as folder:
        description = Path(folder) / "schemas.json"
        description.write_text(json.dumps({"title": "Schemas", "type": "object", "definitions": schemas()}))
        with ThreadPoolExecutor(2) as pool:
            client, web = pool.submit(client_types, description), pool.submit(web_types, description)
            made = {CLIENT_TYPES: client.result(), WEB_TYPES: web.result()}
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
