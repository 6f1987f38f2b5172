"""Which processes are traced: those that import Ray with the setting, but for Ray's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOOK = (
    "import sys, ray\n"
    "hooks = sys.modules.get('rayscope.tracer.hooks')\n"
    "print('traced' if hooks is not None and hooks.state.on else 'not traced')\n"
    "print(getattr(hooks, 'state', None) and hooks.state.missing)\n"
)


@pytest.mark.parametrize(
    ("program", "setting", "expected"),
    [
        ("train.py", "1", "traced"),
        ("train.py", "0", "not traced"),
        ("train.py", None, "not traced"),
        ("ray/_private/workers/default_worker.py", "1", "traced"),
        ("ray/dashboard/agent.py", "1", "not traced"),
        ("ray/_private/log_monitor.py", "1", "not traced"),
    ],
)
def test_which_processes_are_traced(tmp_path: Path, program: str, setting: str | None, expected: str) -> None:
    script = tmp_path / program
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(LOOK)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RAY", "PYTHON"))}
    if setting is not None:
        env["RAYSCOPE_TRACE"] = setting
    done = subprocess.run(
        [sys.executable, "-u", str(script)], env=env, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    printed, missing = done.stdout.splitlines()
    assert printed == expected
    # The installed Ray has everything that is wrapped.
    assert missing == ("()" if expected == "traced" else "None")


def test_ray_data_is_wrapped_when_the_program_loads_it(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, ray\n"
        "print('ray.data' in sys.modules)\n"
        "import ray.data\n"
        "from ray.data._internal.issue_detection import IssueDetectorManager as manager\n"
        "from ray.data._internal.stats import _StatsManager as stats\n"
        "print(hasattr(manager._report_issues, '__wrapped__'))\n"
        "print(hasattr(stats.register_dataset_to_stats_actor, '__wrapped__'))\n"
        "print(sys.modules['rayscope.tracer.hooks'].state.missing)\n"
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RAY", "PYTHON"))}
    command = [sys.executable, str(script)]
    done = subprocess.run(
        command, env=env | {"RAYSCOPE_TRACE": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "True", "()"]
