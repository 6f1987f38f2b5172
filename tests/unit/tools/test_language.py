"""The counts of odd names and sentences only ever fall."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tools import language

ODD = '"""Of a range the share is shown."""\n'
GOOD = '"""Show the share of a range."""\n'
ALERTS, STORAGE = "src/rayscope/alerts/rules.py", "src/rayscope/storage/merge.py"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project outside of git: one odd sentence in `alerts`, none in `storage`, and its counts."""
    _write(tmp_path, ALERTS, ODD)
    _write(tmp_path, STORAGE, GOOD)
    _write(tmp_path, "tools/language_exceptions.txt", "")
    assert language.main(["--lower"], tmp_path) == 0
    return tmp_path


@pytest.fixture
def checkout(project: Path) -> Path:
    """The same as a git checkout, on `main`."""
    _git(project, "init", "--quiet", "--initial-branch=main")
    _commit(project, "Add the project")
    return project


def _write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def _git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def _commit(root: Path, subject: str) -> None:
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--allow-empty", "-m", subject)


def _counts(root: Path) -> language.Counts:
    counts: language.Counts = json.loads((root / language.COUNTS).read_text())
    return counts


def test_a_rise_fails_and_names_the_new_hit(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert language.main(["--check"], checkout) == 0
    capsys.readouterr()
    _write(checkout, ALERTS, ODD + "\n# The server goes on\n# without it.\n")
    before = _counts(checkout)
    assert language.main(["--check"], checkout) == 1
    assert capsys.readouterr().out.splitlines() == [
        "alerts: 2 odd sentences, the bound is 1 (tools/language_counts.json). Rewrite these:",
        f"  {ALERTS}:3: sentence: The server goes on without it.",
    ]
    assert _counts(checkout) == before


def test_outside_of_git_a_rise_names_all_hits_of_the_room(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(project, ALERTS, ODD + "\n\ndef told() -> None: ...\n")
    assert language.main(["--check"], project) == 1
    assert f"  {ALERTS}:4: name: told" in capsys.readouterr().out


def test_a_new_room_begins_at_zero(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(project, "src/rayscope/brand_new/api.py", ODD)
    assert language.main(["--check"], project) == 1
    assert "brand_new: 1 odd sentences, the bound is 0" in capsys.readouterr().out


def test_a_fall_passes_and_lowers_the_bound(project: Path) -> None:
    _write(project, ALERTS, GOOD)
    assert language.main(["--check"], project) == 0
    assert _counts(project)["alerts"] == {"name": 0, "sentence": 1}
    assert language.main(["--lower"], project) == 0
    assert _counts(project)["alerts"] == {"name": 0, "sentence": 0}
    _write(project, ALERTS, ODD)
    assert language.main(["--check"], project) == 1


def test_bounds_move_with_the_code(project: Path) -> None:
    _write(project, ALERTS, GOOD)
    _write(project, STORAGE, ODD)
    assert language.main(["--check"], project) == 1
    assert language.main(["--lower"], project) == 0
    assert [_counts(project)[room]["sentence"] for room in ("alerts", "storage")] == [0, 1]
    assert language.main(["--check"], project) == 0


@pytest.mark.parametrize("text", [ODD, "def told() -> None: ...\n"], ids=["sentence", "name"])
def test_the_sum_of_the_rooms_never_rises(
    project: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # One sentence less in `alerts` makes no room for one name more in `storage`.
    if text != ODD:
        _write(project, ALERTS, GOOD)
    _write(project, STORAGE, text)
    before = _counts(project)
    assert language.main(["--lower"], project) == 1
    assert "more than before" in capsys.readouterr().err
    assert _counts(project) == before


def test_bounds_that_were_raised_by_hand_fail(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(checkout, ALERTS, ODD + "# It goes on.\n")
    _write(checkout, str(language.COUNTS), '{"alerts": {"name": 0, "sentence": 2}}')
    assert language.main(["--check"], checkout) == 1
    assert "add up to 2, more than before (1)" in capsys.readouterr().out


def test_an_exception_is_one_text_of_one_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Of a range the share is shown."
    _write(project, STORAGE, ODD)
    _write(project, str(language.EXCEPTIONS), f'{STORAGE}: "{text}" # A quotation.\n')
    assert language.main(["--check"], project) == 0
    # The same text in another file, a longer text in this file.
    _write(project, "src/rayscope/storage/other.py", ODD)
    assert language.main(["--check"], project) == 1
    (project / "src/rayscope/storage/other.py").unlink()
    capsys.readouterr()
    _write(project, STORAGE, ODD.replace("shown", "shown here"))
    assert language.main(["--check"], project) == 1
    assert f'{STORAGE} has no odd name or sentence "{text}". Remove this line.' in capsys.readouterr().out


def test_an_exception_needs_a_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(project, str(language.EXCEPTIONS), f'# A comment.\n\n{ALERTS}: "Of a range the share is shown."\n')
    assert language.main(["--check"], project) == 1
    assert "language_exceptions.txt:3: write this line as" in capsys.readouterr().err


def test_there_are_at_most_40_exceptions(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f'{ALERTS}: "Of range {number} the share is shown." # A quotation.' for number in range(41)]
    _write(
        project,
        ALERTS,
        f'"""{" ".join(f"Of range {number} the share is shown." for number in range(41))}"""\n',
    )
    _write(project, str(language.EXCEPTIONS), "\n".join(lines[:40]))
    assert language.main(["--check"], project) == 0
    _write(project, str(language.EXCEPTIONS), "\n".join(lines))
    assert language.main(["--check"], project) == 1
    assert "41 exceptions; at most 40" in capsys.readouterr().err


BAD_SUBJECTS = {
    "Of a range show the share": "the subject reads like a translation",
    "Show " + "a" * 68: "the subject has 73 characters, more than 72",
}


@pytest.mark.parametrize("subject", BAD_SUBJECTS)
def test_new_commit_subjects_are_checked(
    checkout: Path, subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _git(checkout, "switch", "--quiet", "--create", "feature")
    _commit(checkout, "Show " + "a" * 67)
    assert language.main(["--check"], checkout) == 0
    _commit(checkout, subject)
    assert language.main(["--check"], checkout) == 1
    assert f"{BAD_SUBJECTS[subject]}: {subject}" in capsys.readouterr().out


def test_subjects_on_the_main_branch_are_not_checked_again(checkout: Path) -> None:
    _commit(checkout, "Of a range show the share")
    assert language.main(["--check"], checkout) == 0
    _git(checkout, "switch", "--quiet", "--create", "feature")
    _commit(checkout, "Show the share of a range")
    assert language.main(["--check"], checkout) == 0
    _git(checkout, "switch", "--quiet", "--detach", "main")
    assert language.main(["--check"], checkout) == 0


def test_a_clone_checks_what_its_origin_does_not_have(checkout: Path, tmp_path: Path) -> None:
    _commit(checkout, "Of a range show the share")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{checkout}", str(clone)], check=True)
    assert language.main(["--check"], clone) == 0
    _commit(clone, "Show the share of a range")
    assert language.main(["--check"], clone) == 0
    _commit(clone, "Of a range show the share again")
    assert language.main(["--check"], clone) == 1


def test_a_shallow_clone_of_a_branch_has_nothing_to_compare_with(checkout: Path, tmp_path: Path) -> None:
    _git(checkout, "switch", "--quiet", "--create", "feature")
    _commit(checkout, "Of a range show the share")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{checkout}", str(clone)], check=True)
    assert language.main(["--check"], clone) == 0


def test_a_folder_inside_of_another_checkout_is_outside_of_git(checkout: Path) -> None:
    """An sdist that somebody unpacked in a clone."""
    inner = checkout / "dist" / "rayscope"
    _write(inner, STORAGE, GOOD)
    _write(inner, str(language.EXCEPTIONS), "")
    _git(checkout, "switch", "--quiet", "--create", "feature")
    _commit(checkout, "Of a range show the share")
    assert language.main(["--lower"], inner) == 0
    assert language.main(["--check"], inner) == 0


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("src/rayscope/units.py", "(top)"),
        ("src/rayscope/views/gantt/api.py", "views"),
        ("src/rayscope/client/types.py", "client"),
        ("web/src/base/time.test.ts", "web"),
        ("web/src/base/i18n/en.ts", None),
        ("web/src/api/schema.ts", None),
        ("docs/how-to/run.md", "docs"),
        ("docs/zh/how-to/run.md", None),
        ("README.md", "docs"),
        ("README.zh-CN.md", None),
        ("examples/quickstart.py", None),
    ],
)
def test_rooms(path: str, room: str | None) -> None:
    assert language.room_of(path) == room


def test_each_kind_of_file_is_judged_at_its_lines() -> None:
    python = (
        'class Told:\n    """Fine.\n\n    It goes on.\n    """\n\nA_FEW, B_FEW, C_FEW = 1, 2, 3\nfound = 1\n'
    )
    assert _odd("x.py", python) == [
        (1, "Told"),
        (4, "It goes on."),
        (8, "found"),
        (7, "several constants in one line"),
    ]
    assert _odd("x.ts", "const a = 1;\n/** Fine. It goes on. */\nfunction told() {}\n") == [
        (2, "It goes on."),
        (3, "told"),
    ]
    page = "# Title\n\n```sh\nas it goes on\n```\n\nFine `whoever`.\nIt goes on.\n\nFine\n- Who cares\n"
    assert _odd("x.md", page) == [(8, "It goes on."), (11, "Who cares")]


def test_found_is_odd_for_a_module_and_fine_in_a_function() -> None:
    assert _odd("x.py", "def run(found):\n    found = 1\n    told = 2\n") == [(1, "found"), (3, "told")]


def _odd(path: str, source: str) -> list[tuple[int, str]]:
    return [(item.line, item.text) for item in language.items_of(path, source) if item.is_odd]
