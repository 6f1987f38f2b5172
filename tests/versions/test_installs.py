"""The lowest and the newest versions that the metadata allows: each installs, and records a program.

Not part of the usual run, since it installs some gigabytes: ``make test-versions``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.cluster import env_without_ray
from tests.versions.environments import ENVIRONMENTS, ROOT, build_wheel, uv

PROGRAM = """
import ray
ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
@ray.remote
def square(x):
    return x * x
print(sum(ray.get([square.remote(x) for x in range(10)])))
"""
COUNT = "SELECT count(*) AS n FROM tasks WHERE func_name = 'square' AND state = 'FINISHED'"

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not os.environ.get("RAYSCOPE_TEST_INSTALLS"), reason="RAYSCOPE_TEST_INSTALLS is not set"
    ),
]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Both wheels."""
    folder = tmp_path_factory.mktemp("wheels")
    return [build_wheel(ROOT / "src", folder), build_wheel(ROOT, folder)]


def requirements(wheel: Path) -> list[str]:
    """The requirements of a wheel, without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        required = message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
    return [one for one in required if "extra ==" not in one and not one.startswith("rayscope-agent")]


def interpreter(version: str) -> str:
    """The path of a Python of this machine; pytest reports the test as not run where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob("versions/*/bin")
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, pyenv)])
    command = [sys.executable, "-m", "uv", "python", "find", "--system", "--no-python-downloads", version]
    found = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip(f"not run: there is no Python {version} here")
    return found.stdout.strip()


@pytest.mark.parametrize(
    ("version", "resolution", "constraint"),
    [
        ("3.10", "lowest-direct", ""),
        ("3.13", "lowest-direct", ""),
        ("3.10", "highest", ""),
        ("3.13", "highest", ""),
        ("3.10", "highest", "numpy==1.26.*"),
        ("3.12", "highest", "numpy==1.26.*"),
    ],
)
def test_an_environment_records_a_program(
    wheels: list[Path], tmp_path: Path, version: str, resolution: str, constraint: str
) -> None:
    folder = (
        ENVIRONMENTS / "installs" / "-".join(re.findall(r"[\w.]+", f"{version} {resolution} {constraint}"))
    )
    uv("venv", "-q", "--clear", "--python", interpreter(version), str(folder))
    wanted = tmp_path / "requirements.txt"
    # Listed, since only what is listed counts as direct. Wheels alone: nobody has to compile.
    wanted.write_text("\n".join([*map(str, wheels), *requirements(wheels[1]), constraint]))
    bin_ = folder / "bin"
    install = ["pip", "install", "-q", "--only-binary", ":all:", "--resolution", resolution]
    uv(*install, "--python", str(bin_ / "python"), "-r", str(wanted))

    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        env = env_without_ray() | {
            "HOME": home,
            "RAY_TMPDIR": home,
            "RAYSCOPE_DATA_DIR": str(tmp_path / "data"),
        }
        for module in ("numpy", "pyarrow.parquet", "duckdb"):
            subprocess.run([bin_ / "python", "-c", f"import {module}"], env=env, check=True)
        command = [bin_ / "rayscope", "run", "--exit", "--port", "0", str(program)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "285"), done.stdout + done.stderr
        command = [bin_ / "rayscope", "sql", "--format", "json", COUNT]
        asked = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True)
    (row,) = json.loads(asked.stdout)
    assert row == {"n": 10}
