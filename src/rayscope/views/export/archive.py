"""A session's documented views as Parquet files in one ZIP archive, written as a stream."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rayscope.files import Pipe
from rayscope.views.export.tables_sql import VIEWS, Tables

_README = """# {session}

What Rayscope recorded of this Ray session: one Parquet file for each view that its SQL reference describes.

- Ids are Ray's hex. Columns named *_ns are whole nanoseconds: times since the epoch, or durations.
  Sizes are bytes.
- NULL is unknown: Ray has not said so. Columns that hold JSON are texts.
- Written by {exporter}. {part}
- about.json has the same for programs: the session, versions, filters, the rows of each file, and what Ray
  lost of its own events (`drops`).

    duckdb -c "SELECT func_name, count(*), sum(duration_ns) / 1e9 AS seconds FROM 'tasks.parquet' GROUP BY 1"
"""
_WHOLE = "This is the whole session."
_PART = (
    "This covers only some of the attempts: {filters}. Nodes, workers, actors, jobs, and placement "
    "groups are complete."
)
#: Units of the columns. The metadata of each file contains them under the key ``rayscope``.
_UNITS = {"*_ns": "ns since the epoch, or ns", "*bytes": "bytes"}


def archive(views: Tables, about: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the archive. It contains one file per view, README.md, and about.json.

    ``about`` contains the session, the exporter, and the filters.
    """
    pipe = Pipe()
    rows: dict[str, int] = {}
    # Parquet is already compressed.
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as out:
        for view in VIEWS:
            schema, batches = views.batches(view)
            metadata = {"rayscope": msgspec.json.encode({**about, "units": _UNITS})}
            schema = schema.with_metadata(metadata)
            rows[view] = 0
            with (
                out.open(f"{view}.parquet", "w", force_zip64=True) as entry,
                pq.ParquetWriter(entry, schema, compression="zstd") as writer,
            ):
                for batch in batches:
                    writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                    rows[view] += batch.num_rows
                    yield pipe.take()
        filters = ", ".join(f"{name} = {value}" for name, value in about["filters"].items())
        part = _PART.format(filters=filters) if views.narrowed else _WHOLE
        out.writestr("README.md", _README.format(**about, part=part))
        whole = {**about, "units": _UNITS, "rows": rows, "drops": views.drops()}
        out.writestr("about.json", msgspec.json.encode(whole))
    yield pipe.take()
