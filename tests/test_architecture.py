"""The rules of the house that a tool can check: imports run one way, and the reference is complete."""

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

from rayscope.alerts.rules import duration_ns, load_rules
from rayscope.archive.tables import SMALL_FILES
from rayscope.cli.main import COMMANDS
from rayscope.client import Client
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.schema import ENTITY_VIEWS
from rayscope.user_sql.run import run_sql
from rayscope.views.export.tables_sql import VIEWS as EXPORTED

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


def test_the_architecture_page_names_each_room() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "rayscope").glob("*/__init__.py")}
    rows = re.findall(r"^\| (`.+?) \|", (DOCS / "explanation" / "architecture.md").read_text(), re.MULTILINE)
    assert rooms == set(re.findall(r"`(\w+)/`", " ".join(rows)))


def test_every_setting_is_documented_with_its_default() -> None:
    server, _, rest = (DOCS / "reference" / "settings.md").read_text().partition("\n## Of commands")
    documented = dict(re.findall(r"^\| `RAYSCOPE_(\w+)` \| (.+?) \|", server, re.MULTILINE))
    defaults = {
        name.upper(): f"`{str(field.default).lower() if field.default is False else field.default}`"
        if field.default not in (None, "")
        else "none"
        for name, field in Settings.model_fields.items()
    }
    assert documented == defaults
    sources = "".join(path.read_text() for path in (ROOT / "src" / "rayscope").rglob("*.py"))
    others = set(re.findall(r'"RAYSCOPE_([A-Z_]+)"', sources)) - defaults.keys()
    assert set(re.findall(r"^\| `RAYSCOPE_(\w+)` \|", rest, re.MULTILINE)) == others


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


def test_every_page_of_the_ui_is_documented() -> None:
    views, _, _ = (ROOT / "web" / "src" / "base" / "url.ts").read_text().partition("} as const")
    text = (DOCS / "reference" / "ui.md").read_text()
    documented = set(re.findall(r"`/s/SESSION/([\w-]+)`", text))
    # A session without the name of a page is the list of its tasks.
    assert set(re.findall(r"^  '?([\w-]+)'?: \{", views, re.MULTILINE)) == documented | {"tasks"}


def test_the_page_of_every_command_is_up_to_date() -> None:
    """`make docs` regenerates it."""
    script = runpy.run_path(str(ROOT / "tools" / "cli_reference.py"))
    assert script["PAGE"].read_text() == script["page"]()


def test_the_page_of_every_detector_is_up_to_date() -> None:
    """`make docs` regenerates it."""
    script = runpy.run_path(str(ROOT / "tools" / "detectors_reference.py"))
    text = script["page"]()
    assert script["PAGE"].read_text() == text
    assert text.count("- *Limits:*") == text.count("- *Needs:*") == text.count("\n## ")


def test_every_command_is_explained() -> None:
    headings = re.findall(r"^## rayscope (.+)$", (DOCS / "reference" / "cli.md").read_text(), re.MULTILINE)
    assert {name for heading in headings for name in heading.split(", ")} == set(COMMANDS)


def test_every_method_of_the_client_is_documented() -> None:
    text = (DOCS / "reference" / "client.md").read_text()
    methods = {name for name in dir(Client) if not name.startswith("_")}
    assert methods - set(re.findall(r"`(\w+)\(", text)) == set()
    cells = "".join(re.findall(r"^\| (`.+?\(.+?) \|", text, re.MULTILINE))
    assert set(re.findall(r"`(\w+)\(", cells)) - methods == set()


def test_every_file_of_an_export_is_documented() -> None:
    _, _, parquet = (DOCS / "reference" / "export.md").read_text().partition("\n## parquet\n")
    cells = "".join(re.findall(r"^\|[^|]+\| (`.+) \|$", parquet, re.MULTILINE))
    assert re.findall(r"`(\w+)`", cells) == list(EXPORTED)


def test_every_built_in_rule_is_documented(tmp_path: Path) -> None:
    found = load_rules(tmp_path)
    rules = {(rule.name, rule.for_ns, rule.severity, False) for rule in found.rules}
    rules |= {(rule.name, rule.for_ns, rule.severity, True) for rule in found.disabled}
    text = (DOCS / "reference" / "alerts.md").read_text()
    rows = re.findall(r"^\| `(\w+)`(.*?) \| .+? \| (.+?) \| (\w+) \|$", text, re.MULTILINE)
    documented = [
        (
            name,
            0 if wait == "immediately" else duration_ns(wait.replace(" ", "").replace("min", "m")),
            severity,
            "off:" in note,
        )
        for name, note, wait, severity in rows
    ]
    assert sorted(documented) == sorted(rules)
    assert f"There are {len(rules)} built-in rules" in (DOCS / "how-to" / "alerts.md").read_text()


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
    named = set(re.findall(r"/api/[a-z0-9_/{}-]*[a-z}]", headings))
    shown = {path.rstrip("/") for path in paths if path.startswith("/api/")}
    # What Ray, our own hook and `rayscope run` call, with the key, is no part of the described API.
    shown |= {f"/api/ingest/{{key}}/{what}" for what in ("ray-events", "agent", "program-end")}
    shown.add("/api/drain/{key}")
    assert named == shown
    assert len(shown) > 15


def test_the_examples_of_the_api_have_the_fields_of_real_answers() -> None:
    """`make docs` regenerates them."""
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


def test_every_file_of_a_data_directory_is_documented(data_dir: Path) -> None:
    _, _, section = (DOCS / "reference" / "settings.md").read_text().partition("\n## In the data directory\n")
    listing = re.findall(r"^    ( *)(\S+?)/? {2,}", section.partition("\n## ")[0], re.MULTILINE)
    names = {name for _, name in listing} | {"sessions", "alerts"}
    found = {path.name for path in (*data_dir.iterdir(), *data_dir.glob("sessions/*/*"))} | set(SMALL_FILES)
    assert found - names == set()
    sources = "".join(path.read_text() for path in (ROOT / "src" / "rayscope").rglob("*.py"))
    plain = {name for name in names if re.fullmatch(r"[\w.-]+", name)}
    assert {name for name in plain if f'"{name}"' not in sources} == set()


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_is_documented(data_dir: Path, view: str) -> None:
    described = sections((DOCS / "reference" / "sql.md").read_text())[view]
    first_cells = "".join(re.findall(r"^\| (`.+?) \|", described, re.MULTILINE))
    documented = re.findall(r"`(\w+)`", first_cells)
    assert len(set(documented)) == len(documented)
    assert set(documented) == {name for name, _ in run_sql(data_dir, f"FROM {view}").columns}


def test_the_page_of_sql_has_the_tables_of_the_record() -> None:
    """`make types` regenerates them."""
    script = runpy.run_path(str(ROOT / "tools" / "sql_reference.py"))
    assert script["FILE"].read_text() == script["reference"]()


EXAMPLES = re.findall(r"```sql\n(.+?)```", (DOCS / "reference" / "sql.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_answers(data_dir: Path, number: int) -> None:
    result = run_sql(data_dir, EXAMPLES[number])
    assert result.rows, EXAMPLES[number]


def test_the_first_page_leads_to_every_guide() -> None:
    linked = re.findall(r"\]\((how-to/[\w-]+\.md)\)", (DOCS / "index.md").read_text())
    assert sorted(set(linked)) == sorted(f"how-to/{page.name}" for page in (DOCS / "how-to").iterdir())


def test_every_picture_is_shown_and_can_be_taken_again() -> None:
    script = runpy.run_path(str(ROOT / "tools" / "pictures.py"))
    taken = {picture.name for picture in script["PICTURES"]}
    pages = "".join(page.read_text() for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")))
    shown = set(re.findall(r"images/([\w-]+)\.png\)", pages))
    assert taken == shown == {picture.stem for picture in (DOCS / "images").iterdir()}
    # A picture waits for these parts of the UI.
    selectors = " ".join(" ".join((one.fact, *one.clicks)) for one in script["PICTURES"])
    awaited = set(re.findall(r"data-testid=([\w-]+)", selectors))
    ui = "".join(file.read_text() for file in (ROOT / "web/src").rglob("*.tsx"))
    assert len(awaited) > 10
    assert {name for name in awaited if name not in ui} == set()


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
