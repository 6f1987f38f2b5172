"""Which kept files hold nothing but Ray's own notes of whose output follows."""

from __future__ import annotations

import re

from rayscope.cluster.logs.lines import MARKS
from rayscope.storage.log_archive import KeptFile, LogStore

_ONLY_MARKS = re.compile(rf"(?:{MARKS}[^\n]*(?:\n|$))*".encode())
#: A longer file is not looked through, bytes. Files that are remembered.
_MAX_BYTES, _MAX_KNOWN = 64 << 10, 20_000


class Marks:
    """Remembers it of each file, for as long as the file stays as it is. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[int, bool]] = {}

    def fill(self, session: str, store: LogStore, file: KeptFile) -> bool:
        """Whether there is nothing else in a file; False if not all of it is kept, or it is long."""
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
