"""List what a Ray has and Rayscope does not know: parts of events, flags, and columns of tables.

    python tools/unknown_ray.py                                           # the installed Ray
    python tools/unknown_ray.py OTHER/lib/python3.11/site-packages/ray    # another one, which is not imported

Rayscope knows the events in `rayscope.ray.events.schema`, the flags that its code names, and the columns that
its converters read. It deliberately ignores the names in `unknown_ray_ignored.txt`.
"""

from __future__ import annotations

import importlib
import re
import sys
import types
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from rayscope.cli.recording import system_config
from rayscope.model import RecordBatch
from rayscope.ray.events.schema import UNION
from rayscope.ray.gcs import entity_tables
from rayscope.ray.gcs.task_table import add_tasks, dropped
from rayscope.ray.objects import references_of

SOURCES = Path(__file__).parents[1] / "src" / "rayscope"
IGNORED = Path(__file__).with_name("unknown_ray_ignored.txt")
#: Ray's binaries contain the environment variable of each flag as a C string.
_FLAG_IN_BINARY = re.compile(rb"(?<=\0)RAY_[A-Za-z]\w+(?=\0)")
_FLAG_IN_PYTHON = re.compile(rb"""(?<=["'])RAY_[A-Z]\w+(?=["'])""")
_RELEVANT_FLAG = re.compile("event|task|export|auth|token|aggregator_agent", re.IGNORECASE)
#: Types that look the same on the wire. Our schema declares messages that we ignore as bytes.
_WIRE_TYPES = {
    FieldDescriptor.TYPE_MESSAGE: FieldDescriptor.TYPE_BYTES,
    FieldDescriptor.TYPE_ENUM: FieldDescriptor.TYPE_INT32,
}
#: Protobuf module and message of a table's row -> its converter.
_CONVERTERS: dict[tuple[str, str], Callable[[Any], object]] = {
    ("gcs", "TaskEvents"): lambda row: add_tasks([row], RecordBatch("")),
    ("gcs", "ActorTableData"): lambda row: entity_tables.actor(row, 0, {}),
    ("gcs", "GcsNodeInfo"): lambda row: entity_tables.node(row, 0, {}),
    ("gcs", "WorkerTableData"): lambda row: entity_tables.worker(row, 0, {}),
    ("gcs", "JobTableData"): lambda row: entity_tables.job(row, 0, {}),
    ("gcs", "PlacementGroupTableData"): lambda row: entity_tables.placement_group(row, 0, {}),
    ("gcs_service", "GetTaskEventsReply"): dropped,
    ("common", "CoreWorkerStats"): lambda row: references_of("", [row]),
}


def main(arguments: list[str]) -> None:
    """Print the list of one Ray."""
    spec = None if arguments else find_spec("ray")
    ray = Path(spec.submodule_search_locations[0] if spec else arguments[0])
    version = re.search('version = "(.+)"', (ray / "_version.py").read_text())
    lines = list(unknown(ray))
    print(f"Unknown in Ray {version[1] if version else '?'}: {len(lines)}", *lines, sep="\n  ")


def unknown(ray: Path) -> Iterator[str]:
    """Lines of the list for the Ray in this folder."""
    # Its protobuf modules need nothing else of the package.
    package = sys.modules["ray"] = types.ModuleType("ray")
    package.__path__ = [str(ray)]
    ignored = {name for line in IGNORED.read_text().splitlines() if line[:1] != "#" for name in line.split()}
    for kind, names in (("event", _events()), ("flag", _flags(ray)), ("column", _columns())):
        yield from (f"{kind}: {name}" for name in sorted(names - ignored))


def _message(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"ray.core.generated.{module}_pb2"), name).DESCRIPTOR


def _events() -> set[str]:
    fields = _message("events_event_aggregator_service", "RayEventsData").fields_by_name
    seen: set[str] = set()
    return {
        *_undeclared(fields["events"].message_type, UNION["RayEvent"].DESCRIPTOR, seen),
        *_undeclared(
            fields["task_events_metadata"].message_type, UNION["TaskEventsMetadata"].DESCRIPTOR, seen
        ),
    }


def _undeclared(theirs: Any, ours: Any, seen: set[str]) -> Iterator[str]:
    """Fields and enum values of Ray's message that our schema declares differently or not at all."""
    if theirs.full_name in seen or theirs.full_name.startswith("google."):
        return
    seen.add(theirs.full_name)
    for field in theirs.fields:
        mine = ours.fields_by_number.get(field.number)
        if mine is None or _declaration(mine) != _declaration(field):
            yield _name(field)
            continue
        if mine.message_type is not None:
            yield from _undeclared(field.message_type, mine.message_type, seen)
        if mine.enum_type is not None:
            known = {(value.name, value.number) for value in mine.enum_type.values}
            for value in field.enum_type.values:
                if (value.name, value.number) not in known:
                    yield f"{field.enum_type.name}.{value.name}"


def _declaration(field: Any) -> tuple[str, bool, int]:
    return field.name, field.is_repeated, _WIRE_TYPES.get(field.type, field.type)


def _flags(ray: Path) -> set[str]:
    """Flags that our code does not name, and those that we set but this Ray does not have."""
    flags = set(_FLAG_IN_BINARY.findall((ray / "_raylet.so").read_bytes()))
    for path in ray.rglob("*.py"):
        flags.update(_FLAG_IN_PYTHON.findall(path.read_bytes()))
    names = {flag.decode() for flag in flags}
    ours = {f"RAY_{name}" for name in system_config()}
    known = ours.union(*(re.findall(r"\bRAY_\w+", path.read_text()) for path in SOURCES.rglob("*.py")))
    return {name for name in names - known if _RELEVANT_FLAG.search(name)} | {
        f"{name} is missing" for name in ours - names
    }


def _columns() -> set[str]:
    """Columns that no converter reads, also in nested messages, and those without which a converter fails."""
    read: set[str] = set()
    messages = []
    columns: set[str] = set()
    for (module, name), convert in _CONVERTERS.items():
        try:
            message = _message(module, name)
            for is_filled in (False, True):
                convert(_Row(message, is_filled, read))
            messages.append(message)
        except (AttributeError, ImportError) as error:
            columns.add(str(error))
    seen: set[str] = set()
    while messages:
        message = messages.pop()
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        for field in message.fields:
            if field.full_name not in read:
                columns.add(_name(field))
            elif field.message_type is not None and not _is_map(field):
                messages.append(field.message_type)
    return columns


class _Row:
    """Acts as a message with a value in every field, and notes which of them are read."""

    def __init__(self, descriptor: Any, is_filled: bool, read: set[str]) -> None:
        self.DESCRIPTOR = descriptor
        self._is_filled = is_filled
        self._read = read

    def HasField(self, name: str) -> bool:
        if name not in self.DESCRIPTOR.fields_by_name:
            raise ValueError(name)
        return True

    def __getattr__(self, name: str) -> Any:
        field = self.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            raise AttributeError(f"{self.DESCRIPTOR.name}.{name} is missing")
        self._read.add(field.full_name)
        if _is_map(field):
            # The key in a driver's metadata that names its submission.
            is_text = field.message_type.fields_by_name["key"].type == field.TYPE_STRING
            value = self._value(field.message_type.fields_by_name["value"])
            return {"job_submission_id" if is_text else 1: value}
        return [self._value(field)] if field.is_repeated else self._value(field)

    def _value(self, field: Any) -> Any:
        if field.message_type is not None:
            return _Row(field.message_type, self._is_filled, self._read)
        if field.enum_type is not None:
            # The last state of a node is DEAD.
            return field.enum_type.values[-1 if self._is_filled else 0].number
        if field.type == field.TYPE_STRING:
            # A resource whose IDs are read, and a phase from which a worker's ID is read.
            return "GPU" if self._is_filled else "task:execute"
        return b"1" * self._is_filled if field.type == field.TYPE_BYTES else int(self._is_filled)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _name(field: Any) -> str:
    """``Message.field``, without the protobuf package."""
    return str(field.full_name.removeprefix(f"{field.file.package}."))


if __name__ == "__main__":
    main(sys.argv[1:])
