"""Reads from the GCS which tasks wait for Ray's legacy debugger.

With ``RAY_DEBUG=legacy``, a task that waits adds an entry to Ray's internal key-value store, which
`ray debug` lists. The task removes the entry once `ray debug` connects. If its process dies first, the entry
remains until its job has ended and someone runs `ray debug`.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

import msgspec

from rayscope.ray.common import clean_error, is_nil
from rayscope.ray.gcs.client import GcsClient, GcsError

_NAMESPACE = b"ray_pdb"
_PREFIX = b"RAY_PDB_"
#: Keys of debuggers that step into another task.
_STEPPING_PREFIX = b"RAY_PDB_CONTINUE"
#: Maximum number of entries that are read.
_MAX_ENTRIES = 100
#: Maximum size of an entry, and of the list of keys, in bytes.
_MAX_BYTES = 1 << 20
#: Time limit of one call, and of all calls together, in seconds.
_CALL_S = 1.0
_TOTAL_S = 2.0
_MAX_TEXT = 300
_MAX_TRACEBACK = 8_000
#: Times before the year 2200.
_MAX_TIME_S = 7_258_118_400
#: Numbers of hex digits of Ray's IDs.
_ID_DIGITS = {"job_id": 8, "node_id": 56, "worker_id": 56, "actor_id": 32, "task_id": 48}
_HEX = re.compile("[0-9a-f]*")


class LegacyEntry(msgspec.Struct, frozen=True):
    """An entry of a task that waits for Ray's legacy debugger. Missing or invalid values are None.

    ``key``: its name in the store. ``title``: of the process. ``address``: where the process waits for
    `ray debug`. ``traceback``: of the error after which the task stopped, None at a breakpoint.
    """

    key: str
    title: str | None
    address: str | None
    file: str | None
    line: int | None
    traceback: str | None
    since_ns: int | None
    job_id: str | None
    node_id: str | None
    worker_id: str | None
    actor_id: str | None
    task_id: str | None


class LegacyEntries(msgspec.Struct, frozen=True):
    """The entries of a cluster. ``left_out``: number of others, which are too many, too large or invalid."""

    entries: tuple[LegacyEntry, ...] = ()
    left_out: int = 0


def read_entries(gcs: GcsClient) -> LegacyEntries:
    """Return the entries of the tasks that wait for Ray's legacy debugger. Raises GcsError."""
    deadline = time.monotonic() + _TOTAL_S
    # A client of its own, because the usual one accepts replies of any size.
    with GcsClient(gcs.address, gcs.token, _CALL_S, max_bytes=_MAX_BYTES) as client:
        keys = [
            key
            for key in client.internal_kv_keys(_PREFIX, _NAMESPACE)
            if not key.startswith(_STEPPING_PREFIX)
        ]
        entries = []
        left_out = max(0, len(keys) - _MAX_ENTRIES)
        for key in keys[:_MAX_ENTRIES]:
            entry = None
            if time.monotonic() < deadline:
                try:
                    value = client.internal_kv(key, _NAMESPACE)
                except GcsError as error:
                    if error.code != "failed":
                        raise
                    value = b""  # it is too large
                if value is None:
                    continue  # removed meanwhile
                entry = _parse(key, value)
            if entry is None:
                left_out += 1
            else:
                entries.append(entry)
    return LegacyEntries(tuple(entries), left_out)


def _parse(key: bytes, value: bytes) -> LegacyEntry | None:
    """Convert an entry, which any task of the cluster may have written. Returns None if it is invalid."""
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    return LegacyEntry(
        key.removeprefix(_PREFIX).decode(errors="replace")[:_MAX_TEXT],
        _text(fields.get("proctitle")),
        _text(fields.get("pdb_address")),
        _text(fields.get("filename")),
        _number(fields.get("lineno")),
        _traceback(fields.get("traceback")),
        _time_ns(fields.get("timestamp")),
        **{name: _id(fields.get(name), digits) for name, digits in _ID_DIGITS.items()},
    )


def _text(value: Any) -> str | None:
    """A text that UTF-8 can express."""
    return value[:_MAX_TEXT].encode(errors="replace").decode() if isinstance(value, str) and value else None


def _traceback(value: Any) -> str | None:
    """The end of a traceback, which names the error. None if there was no error."""
    if not isinstance(value, str) or value.startswith("NoneType: None"):  # as Python formats no error
        return None
    return clean_error(value[-_MAX_TRACEBACK:].encode(errors="replace").decode()) or None


def _number(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**31 else None


def _time_ns(value: Any) -> int | None:
    return int(value * 1e9) if type(value) in (int, float) and 0 < value < _MAX_TIME_S else None


def _id(value: Any, digits: int) -> str | None:
    if not isinstance(value, str) or len(value) != digits or not _HEX.fullmatch(value) or is_nil(value):
        return None
    return value
