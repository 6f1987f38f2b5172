"""Finds copied files that contain only Ray's own marks, which say whose output follows."""

from __future__ import annotations

import re

from rayscope.cluster.logs.lines import MARKS
from rayscope.storage.log_archive import KeptFile, LogStore

_ONLY_MARKS = re.compile(rf"(?:{MARKS}[^\n]*(?:\n|$))*".encode())
#: Files longer than this, in bytes, are not searched.
_MAX_BYTES = 64 << 10
#: Maximum number of files in the cache.
_MAX_KNOWN = 20_000


class Marks:
    """Caches whether a file contains only marks, until the file changes. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[int, bool]] = {}

    def fill(self, session: str, store: LogStore, file: KeptFile) -> bool:
        """Whether a file contains nothing but marks. False if its copy is incomplete or too long."""
        if file.kept < file.seen or file.seen > _MAX_BYTES:
            return False
        key = (session, file.node_id, file.name)
        known = self._known.get(key)
        if known is None or known[0] != file.seen:
            data = b"".join(part for _, part in store.read(file.node_id, file.name, 0, file.seen))
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = (file.seen, _ONLY_MARKS.fullmatch(data) is not None)
        return known[1]

    def forget(self, session: str) -> None:
        """Forget the files of a deleted session."""
        for key in [key for key in list(self._known) if key[0] == session]:  # other threads add to it
            self._known.pop(key, None)
