"""Checks the working directory of a job, sent as a ZIP by a browser."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import PurePosixPath

from rayscope.storage.errors import BadQuery

#: Maximum size of an unpacked folder, bytes. (`api/security.py` limits the packed size.)
_MAX_UNPACKED = 500 << 20
#: Maximum number of files in a folder.
_MAX_FILES = 20_000
_LINK = 0o120000
#: Signature of a ZIP's end-of-directory record, which may be followed by a comment.
_END = b"PK\x05\x06"
_END_BYTES = 22
_MAX_COMMENT_BYTES = 1 << 16
#: Signature of the ZIP64 locator, which precedes the end record in files beyond 4 GiB or 65,535 entries.
_END_64 = b"PK\x06\x07"
_END_64_BYTES = 20
#: Signature of an entry of a ZIP's directory.
_ENTRY = b"PK\x01\x02"
_ENTRY_BYTES = 46
#: Exceptions that Python's zipfile raises for files that are damaged or use unsupported features.
_DAMAGED = (
    zipfile.BadZipFile,
    NotImplementedError,
    ValueError,
    OverflowError,
    OSError,
    EOFError,
    struct.error,
)


def check_folder(package: bytes) -> None:
    """Raise BadQuery unless this is a ZIP of plain files below one folder."""
    # Check this before zipfile creates an object for each entry: a directory of 40 MB can hold a million
    # entries.
    if _has_too_many(package):
        raise _too_large()
    try:
        with zipfile.ZipFile(io.BytesIO(package)) as archive:
            files = archive.infolist()
    except _DAMAGED:
        raise BadQuery("The folder is no ZIP file.", "Send a ZIP of its files.", what="no_zip") from None
    if not files:
        raise BadQuery("The folder has no files.", "Choose another folder.", what="empty_folder")
    if len(files) > _MAX_FILES or sum(file.file_size for file in files) > _MAX_UNPACKED:
        raise _too_large()
    for file in files:
        if not _is_plain(file):
            raise BadQuery(
                f"The file {file.filename[:100]!r} would lie outside the folder.",
                "Send plain files below it.",
                what="outside_folder",
                file=file.filename[:100],
            )


def _has_too_many(package: bytes) -> bool:
    """Whether a ZIP has more entries than allowed. Stops reading at the limit."""
    if package[-_END_BYTES:].startswith(_END) and package.endswith(b"\0\0"):
        end = len(package) - _END_BYTES
    else:
        end = package.rfind(_END, max(0, len(package) - _END_BYTES - _MAX_COMMENT_BYTES))
    if end < 0 or end + _END_BYTES > len(package):
        return False  # not a ZIP, as zipfile will report
    if package[max(0, end - _END_64_BYTES) : end].startswith(_END_64):
        return True
    at = end - int.from_bytes(package[end + 12 : end + 16], "little")
    count = 0
    while 0 <= at < end and package.startswith(_ENTRY, at) and count <= _MAX_FILES:
        texts = struct.unpack_from("<HHH", package[at : at + _ENTRY_BYTES].ljust(_ENTRY_BYTES, b"\0"), 28)
        at += _ENTRY_BYTES + sum(texts)
        count += 1
    return count > _MAX_FILES


def _is_plain(file: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file or a folder that stays below the folder into which it is unpacked."""
    path = PurePosixPath(file.filename)
    if not path.parts:  # the folder itself
        return file.filename.endswith("/")
    is_link = (file.external_attr >> 16) & 0o170000 == _LINK
    is_elsewhere = path.is_absolute() or ".." in path.parts or "\\" in file.filename or ":" in path.parts[0]
    return not is_link and not is_elsewhere


def _too_large() -> BadQuery:
    return BadQuery(
        f"The folder has more than {_MAX_FILES:,} files or {_MAX_UNPACKED >> 20} MiB.",
        "Choose a smaller one, or use a URI as working_dir.",
        what="large_folder",
        files=_MAX_FILES,
        mib=_MAX_UNPACKED >> 20,
    )
