"""Write web/src/pages/sql/reference.json: tables, columns and examples of docs/reference/sql.md, with types.

python tools/sql_reference.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb

from rayscope.storage.schema import TABLES, VIEWS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "sql.md"
FILE = ROOT / "web" / "src" / "pages" / "sql" / "reference.json"


def reference() -> str:
    """Return the SQL page's description of the record as JSON."""
    text = PAGE.read_text()
    examples = re.findall(r"\n\n([^\n]+)\n\n```sql\n(.+?)\n```", text.split("## Examples")[1], re.DOTALL)
    about = {
        "tables": _tables(text),
        "examples": [{"question": question.rstrip(":"), "sql": sql} for question, sql in examples],
    }
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def _tables(text: str) -> list[dict[str, Any]]:
    parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    with duckdb.connect() as record:
        for statement in (*TABLES, *VIEWS):
            record.execute(statement)
        views = {name for (name,) in record.execute("SELECT view_name FROM duckdb_views()").fetchall()}
        return [
            {"name": name, "columns": _columns(record, name, section)}
            for name, section in sections.items()
            if name in views
        ]


def _columns(record: duckdb.DuckDBPyConnection, table: str, section: str) -> list[dict[str, str]]:
    meanings = {
        column: _plain(meaning)
        for names, meaning in re.findall(r"^\| (`.+?) \| ?(.*?) ?\|$", section, re.MULTILINE)
        for column in re.findall(r"`(\w+)`", names)
    }
    return [
        {"name": name, "type": kind, "about": meanings[name]}
        for name, kind in (row[:2] for row in record.execute(f"DESCRIBE {table}").fetchall())
    ]


def _plain(markdown: str) -> str:
    """Return a text without links and markup."""
    return re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", markdown).replace("`", "")


if __name__ == "__main__":
    FILE.write_text(reference())
