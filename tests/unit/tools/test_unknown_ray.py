"""The list of what a Ray has and Rayscope does not know, of a Ray in which something is new."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from tests.running import Running
from tests.versions.environments import ROOT, ray_versions

#: Prints a batch of a known and an unknown event, as the agent of the Ray in a folder encodes it.
ENCODE = """
import json, sys, types
ray = sys.modules["ray"] = types.ModuleType("ray")
ray.__path__ = [sys.argv[1]]
from google.protobuf.json_format import MessageToDict
from ray.core.generated.events_event_aggregator_service_pb2 import RayEventsData
data = RayEventsData()
known = data.events.add(event_id=b"1", event_type="TASK_DEFINITION_EVENT", session_name=sys.argv[2])
known.task_definition_event.task_id = bytes(range(20)) + bytes([7, 0, 0, 0])
known.task_definition_event.task_name = "f"
data.events.add(event_id=b"2", event_type="FLIGHT_EVENT", session_name=sys.argv[2])
is_json = sys.argv[3] == "application/json"
text = json.dumps([MessageToDict(event) for event in data.events]).encode()
sys.stdout.buffer.write(text if is_json else data.SerializeToString())
"""


def change(module: Path, edit: Callable[[FileDescriptorProto], object]) -> None:
    """Edit the schema in a module that protoc generated."""
    text = module.read_text()
    (serialized,) = re.findall(r"AddSerializedFile\((b'.*')\)", text)
    file = FileDescriptorProto.FromString(ast.literal_eval(serialized))
    edit(file)
    module.write_text(text.replace(serialized, repr(file.SerializeToString())))


@pytest.fixture(scope="module")
def ray() -> Path:
    spec = find_spec("ray")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


@pytest.fixture(scope="module")
def next_ray(ray: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed Ray with an event type, a flag, and a column that it does not have."""
    folder = tmp_path_factory.mktemp("next") / "ray"
    generated = folder / "core" / "generated"
    shutil.copytree(ray / "core" / "generated", generated)
    shutil.copy(ray / "_version.py", folder)
    library = (ray / "_raylet.so").read_bytes()
    (folder / "_raylet.so").write_bytes(library + b"\0RAY_enable_flight_events\0")

    def add_type(file: FileDescriptorProto) -> None:
        (event,) = (message for message in file.message_type if message.name == "RayEvent")
        (types,) = (enum for enum in event.enum_type if enum.name == "EventType")
        types.value.add(name="FLIGHT_EVENT", number=99)

    def add_column(file: FileDescriptorProto) -> None:
        (actor,) = (message for message in file.message_type if message.name == "ActorTableData")
        text, optional = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.LABEL_OPTIONAL
        actor.field.add(name="flight_path", number=999, type=text, label=optional)

    change(generated / "events_base_event_pb2.py", add_type)
    change(generated / "gcs_pb2.py", add_column)
    return folder


def unknown(ray: Path) -> list[str]:
    command = [sys.executable, str(ROOT / "tools" / "unknown_ray.py"), str(ray)]
    first, *lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert re.fullmatch(rf"Unknown in Ray [\d.]+: {len(lines)}", first)
    return [line.strip() for line in lines]


def test_the_installed_ray_has_nothing_unknown(ray: Path) -> None:
    """If this fails after an upgrade of Ray, see "When a new Ray comes out" in CONTRIBUTING.md."""
    assert unknown(ray) == []


def test_what_is_new_is_listed(next_ray: Path) -> None:
    assert unknown(next_ray) == [
        "event: EventType.FLIGHT_EVENT",
        "flag: RAY_enable_flight_events",
        "column: ActorTableData.flight_path",
    ]


def test_new_values_of_nested_enums_and_missing_names_are_listed(next_ray: Path, tmp_path: Path) -> None:
    def add_status(file: FileDescriptorProto) -> None:
        (status,) = (enum for enum in file.enum_type if enum.name == "TaskStatus")
        status.value.add(name="FLYING", number=99)

    def remove_column(file: FileDescriptorProto) -> None:
        (actor,) = (message for message in file.message_type if message.name == "ActorTableData")
        actor.field.remove(next(field for field in actor.field if field.name == "max_restarts"))

    ray = shutil.copytree(next_ray, tmp_path / "ray")
    library = (ray / "_raylet.so").read_bytes()
    (ray / "_raylet.so").write_bytes(library.replace(b"\0RAY_enable_ray_event\0", b"\0RAY_renamed\0"))
    change(ray / "core" / "generated" / "gcs_pb2.py", remove_column)
    change(ray / "core" / "generated" / "common_pb2.py", add_status)
    assert unknown(ray) == [
        "event: EventType.FLIGHT_EVENT",
        "event: TaskStatus.FLYING",
        "flag: RAY_enable_flight_events",
        "flag: RAY_enable_ray_event is missing",
        "column: ActorTableData.max_restarts is missing",
    ]


@pytest.mark.parametrize(
    ("form", "name"), [("application/json", "FLIGHT_EVENT"), ("application/x-protobuf", "99")]
)
def test_an_event_of_a_new_type_is_counted_and_the_others_are_recorded(
    next_ray: Path, fresh: Running, form: str, name: str
) -> None:
    command = [sys.executable, "-c", ENCODE, str(next_ray), "session_new", form]
    body = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    answer = fresh.client.post(fresh.server.ingest_url, content=body, headers={"Content-Type": form})
    assert answer.status_code == 204
    assert fresh.server.services is not None
    assert fresh.server.services.writer.flush()
    summary = fresh.get("/api/v1/summary", session="session_new")
    assert summary["tasks"] == 1
    ingest = summary["ingest"]
    assert (ingest["events"], ingest["batches"], ingest["rejected_batches"]) == (2, 1, 0)
    assert ingest["unknown"] == {f"event type {name}": 1}


def test_the_newest_ray_is_a_release_and_is_tested_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("2.60.0", "9.8.0", "9.9.0rc1"):
        with zipfile.ZipFile(tmp_path / f"ray-{version}-py3-none-any.whl", "w") as wheel:
            info = f"ray-{version}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: ray\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    assert ray_versions("2.50.0,newest") == ["2.50.0", "9.8.0"]
    assert ray_versions("9.8.0,newest") == ["9.8.0"]
    assert ray_versions("") == []
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "nothing"))
    assert ray_versions("2.50.0,newest") == ["2.50.0"]
    assert (
        capsys.readouterr().out == "The package index cannot be reached, so the newest Ray is not tested.\n"
    )
