"""The folder that a job runs in, as a ZIP that a browser has made of it."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePosixPath

from rayscope.storage.errors import BadQuery

#: What a folder may take unpacked, and in files. (`server/security.py` limits what it takes packed.)
_MAX_UNPACKED, _MAX_FILES = 500 << 20, 20_000
_LINK = 0o120000


def check_folder(package: bytes) -> None:
    """Raises BadQuery for what is no ZIP of plain files below one folder."""
    try:
        with zipfile.ZipFile(io.BytesIO(package)) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError):
        raise BadQuery("The folder is no ZIP file.", "Send a ZIP of its files.") from None
    if not files:
        raise BadQuery("The folder has no files.", "Choose another folder.")
    if len(files) > _MAX_FILES or sum(file.file_size for file in files) > _MAX_UNPACKED:
        raise BadQuery(
            f"The folder has more than {_MAX_FILES:,} files or {_MAX_UNPACKED >> 20} MiB.",
            "Choose a smaller one, or use a URI as working_dir.",
        )
    for file in files:
        path = PurePosixPath(file.filename)
        is_link = (file.external_attr >> 16) & 0o170000 == _LINK
        if (
            path.is_absolute()
            or ".." in path.parts
            or "\\" in file.filename
            or ":" in path.parts[0]
            or is_link
        ):
            raise BadQuery(
                f"The file {file.filename[:100]!r} would lie outside the folder.",
                "Send plain files below it.",
            )
