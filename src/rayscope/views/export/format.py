"""The formats of exports. Little is imported here, since the command line asks for it at every start."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from enum import Enum


class Format(str, Enum):
    """What an export is written as."""

    perfetto = "perfetto"
    speedscope = "speedscope"
    parquet = "parquet"


#: The end of the name of a file, and what it is.
FILES: Mapping[Format, tuple[str, str]] = {
    Format.perfetto: (".perfetto-trace", "application/octet-stream"),
    Format.speedscope: (".speedscope.json", "application/json"),
    Format.parquet: (".parquet.zip", "application/zip"),
}


def gzip_chunks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same as one gzip file."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for chunk in chunks:
        if some := squeeze.compress(chunk):
            yield some
    yield squeeze.flush()
