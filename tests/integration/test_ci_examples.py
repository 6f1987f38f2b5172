"""The examples for continuous integration, run by bash in a real git repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.lab import new_lab
from tests.report_file import data_of

pytestmark = [pytest.mark.ray, pytest.mark.long]

EXAMPLES = Path(__file__).parents[2] / "examples" / "ci"
BENCH = """
import sys, time, ray
ray.init(num_cpus=1, include_dashboard=False, _temp_dir=TEMP)
@ray.remote
def step():
    time.sleep(SECONDS)
ray.get([step.remote() for _ in range(10)])
"""


def script(name: str) -> str:
    """The commands of an example, with three runs on each side, without those that install something."""
    content: Any = yaml.safe_load((EXAMPLES / name).read_text())
    if name == "github.yml":
        commands = [step["run"] for step in content["jobs"]["compare"]["steps"] if "run" in step]
    else:
        commands = content["speed"]["script"]
    kept = [command for command in commands if not command.startswith("pip ")]
    assert len(kept) == len(commands) - 1
    return "\n".join(kept).replace("1 2 3 4 5", "1 2 3")


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_a_slower_program_fails_the_pipeline(name: str, tmp_path: Path) -> None:
    with new_lab(tmp_path) as lab:
        base = BENCH.replace("TEMP", repr(str(lab.ray_dir)))

        def git(*arguments: str, folder: str = "work") -> None:
            who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
            subprocess.run(["git", *who, *arguments], cwd=tmp_path / folder, check=True, capture_output=True)

        git("init", "-q", "-b", "main", "origin", folder=".")
        (tmp_path / "origin" / "bench.py").write_text(base.replace("SECONDS", "0.2"))
        git("add", ".", folder="origin")
        git("commit", "-qm", "base", folder="origin")
        git("clone", "-q", "origin", "work", folder=".")
        (tmp_path / "work" / "bench.py").write_text(base.replace("SECONDS", "0.8"))
        git("commit", "-qam", "change")

        summary = tmp_path / "summary.md"
        env = {
            **lab.env,
            "PATH": f"{Path(sys.executable).parent}:{lab.env['PATH']}",
            "RAYSCOPE_DATA_DIR": str(lab.data),
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_BASE_REF": "main",
            "GITHUB_STEP_SUMMARY": str(summary),
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        }
        done = subprocess.run(
            ["bash", "-e", "-c", script(name)],
            cwd=tmp_path / "work",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3, done.stderr
        printed = summary.read_text() if name == "github.yml" else done.stdout
        assert "B is slower" in printed
        assert "step" in printed
        report = data_of((tmp_path / "work" / "speed.html").read_bytes())
        assert report["start"].startswith("/compare?")
