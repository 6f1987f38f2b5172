"""Reads the data of a report."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any


def data_of(page: bytes) -> Any:
    """The content of the file, as ``rayscope.report.contents.Contents`` describes it."""
    found = re.search(rb'id="data">([^<]+)<', page)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))
