"""The formats of exports. Imports are minimal because every start of the command line loads this module."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from enum import Enum


class Format(str, Enum):
    """File format of an export."""

    perfetto = "perfetto"
    speedscope = "speedscope"
    parquet = "parquet"
    otlp = "otlp"
    ray_timeline = "ray-timeline"


#: File extension and media type of each format.
FILES: Mapping[Format, tuple[str, str]] = {
    Format.perfetto: (".perfetto-trace", "application/octet-stream"),
    Format.speedscope: (".speedscope.json", "application/json"),
    Format.parquet: (".parquet.zip", "application/zip"),
    Format.otlp: (".otlp.jsonl", "application/x-ndjson"),
    Format.ray_timeline: (".ray-timeline.json", "application/json"),
}


def gzip_chunks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Compress the chunks into one gzip file."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for chunk in chunks:
        if some := squeeze.compress(chunk):
            yield some
    yield squeeze.flush()
