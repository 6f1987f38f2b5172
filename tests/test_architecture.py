"""The rules of the house that a tool can check: imports run one way, and the reference tells all there is."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import httpx
import pytest

from rayscope.server.runner import Server
from rayscope.server.settings import Settings
from rayscope.storage.schema import ENTITY_VIEWS
from rayscope.user_sql.run import run_sql

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
VIEWS = (
    "tasks",
    "task_states",
    "spans",
    "data_edges",
    "annotations",
    "phases",
    *(view for view, _ in ENTITY_VIEWS.values()),
)


def test_imports_run_one_way() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_imports_itself_in_a_circle() -> None:
    """Not for types alone either: what needs each other is one module."""
    graph = grimp.build_graph("rayscope")
    sorter = TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    )
    sorter.prepare()  # raises CycleError, which names the modules


def test_every_setting_is_documented_with_its_default() -> None:
    text = (DOCS / "reference" / "settings.md").read_text()
    documented = dict(re.findall(r"^\| `RAYSCOPE_(\w+)` \| (.+?) \|", text, re.MULTILINE))
    defaults = {
        name.upper(): f"`{str(field.default).lower() if field.default is False else field.default}`"
        if field.default not in (None, "")
        else "none"
        for name, field in Settings.model_fields.items()
    }
    assert documented == defaults


def test_the_security_page_has_the_limits_that_the_settings_have() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    units = {"": 1, "s": 1, "MB": 10**6, "MiB": 1 << 20, "GiB": 1 << 30}
    limits = re.findall(r"`RAYSCOPE_(\w+)` \(([\d,]+) ?(\w*)[,)]", text)
    defaults = {name.upper(): field.default for name, field in Settings.model_fields.items()}
    assert len(limits) >= 5
    for name, number, unit in limits:
        amount, _, suffix = str(defaults[name]).partition("MB")
        factor = 1 if amount == str(defaults[name]) else units["MB"]
        assert int(number.replace(",", "")) * units[unit] == float(amount) * factor, name
        assert not suffix


def test_the_page_of_every_command_is_up_to_date() -> None:
    """`make docs` writes it anew."""
    script = runpy.run_path(str(ROOT / "tools" / "cli_reference.py"))
    assert script["PAGE"].read_text() == script["page"]()


def test_the_page_of_every_detector_is_up_to_date() -> None:
    """`make docs` writes it anew."""
    script = runpy.run_path(str(ROOT / "tools" / "detectors_reference.py"))
    text = script["page"]()
    assert script["PAGE"].read_text() == text
    assert text.count("- *Limits:*") == text.count("- *Needs:*") == text.count("\n## ")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
    server.start()
    yield server
    server.stop()


def test_every_path_is_documented(served: Server) -> None:
    paths = httpx.get(f"{served.url}/openapi.json").raise_for_status().json()["paths"]
    pages = "\n".join(page.read_text() for page in sorted(DOCS.rglob("*.md")))
    headings = "\n".join(re.findall(r"^#+ (?:GET|POST|PUT|PATCH|DELETE|WS) .+$", pages, re.MULTILINE))
    named = set(re.findall(r"/api/[a-z_/{}-]*[a-z}]", headings))
    shown = {path.rstrip("/") for path in paths if path.startswith("/api/")}
    # What Ray, our own hook and `rayscope run` call, with the key, is no part of the described API.
    shown |= {f"/api/ingest/{{key}}/{what}" for what in ("ray-events", "agent", "program-end")}
    shown.add("/api/drain/{key}")
    assert named == shown
    assert len(shown) > 15


def test_the_examples_of_the_api_have_the_fields_of_real_answers() -> None:
    """`make docs` writes them anew."""
    script = runpy.run_path(str(ROOT / "tools" / "api_examples.py"))
    shapes = script["shapes"]
    written = shapes(script["PAGE"].read_text())
    assert len(written) == len(script["REQUESTS"]) + len(script["BODIES"])
    assert written == shapes(script["page"]())


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def data_dir(served: Server, sample) -> Path:
    for batch in sample("2.60"):
        httpx.post(served.ingest_url, json=batch).raise_for_status()
    services = served.services
    assert services is not None
    assert services.writer.flush()
    folder = served.settings.folder
    served.stop()
    return folder


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_is_documented(data_dir: Path, view: str) -> None:
    described = sections((DOCS / "reference" / "sql.md").read_text())[view]
    first_cells = "".join(re.findall(r"^\| (`.+?) \|", described, re.MULTILINE))
    documented = re.findall(r"`(\w+)`", first_cells)
    assert len(set(documented)) == len(documented)
    assert set(documented) == {name for name, _ in run_sql(data_dir, f"FROM {view}").columns}


def test_the_page_of_sql_has_the_tables_of_the_record() -> None:
    """`make types` writes them anew."""
    script = runpy.run_path(str(ROOT / "tools" / "sql_reference.py"))
    assert script["FILE"].read_text() == script["reference"]()


EXAMPLES = re.findall(r"```sql\n(.+?)```", (DOCS / "reference" / "sql.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_answers(data_dir: Path, number: int) -> None:
    result = run_sql(data_dir, EXAMPLES[number])
    assert result.rows, EXAMPLES[number]


def test_every_link_between_documents_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    broken = [
        (page.name, target)
        for page in pages
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert len(pages) > 8
    assert broken == []
