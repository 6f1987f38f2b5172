"""Files that a power cut left behind, and data directories of other versions."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import tempfile
from pathlib import Path

import duckdb
from harness import Load, Server, faults_of_restart, is_named, record, row_of

from rayscope.storage.spool import Spool


def power_cuts(rounds: int) -> list[str]:
    """The newest files of a directory lose their ends, or are empty, all at once, as without fsync.

    The server starts and takes events; each session whose files were not touched is whole; the others are
    whole or say what is damaged.
    """
    faults, chance = [], random.Random(1)
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as home:
        template, folder = Path(home) / "template", Path(home) / "cut"
        old, new = record(Server(template), 1, 2)
        Spool(template / "spool").put(new.sample)
        for number in range(rounds):
            shutil.copytree(template, folder)
            cut = _cut_newest(folder, new.session, chance)
            found = _after_cut(folder, old, new)
            print(f"  round {number}: {len(cut)} files: {'; '.join(found) or 'well'}", flush=True)
            faults += [f"round {number}, cut {cut}: {fault}" for fault in found]
            shutil.rmtree(folder)
    return faults


def _cut_newest(folder: Path, session: str, chance: random.Random) -> list[str]:
    """Cut some of the session's files, the spool and the small files next to them."""
    paths = [path for path in (folder / "sessions" / session).rglob("*") if path.is_file()]
    paths += [path for path in (folder / "spool").glob("*") if path.is_file()]
    paths += [path for path in folder.glob("*.json") if path.is_file()]
    chosen = [path for path in sorted(paths) if chance.random() < 0.6]
    for path in chosen:
        size = path.stat().st_size
        os.truncate(path, chance.choice([0, size // 2, max(0, size - 4096), chance.randrange(size + 1)]))
    return [str(path.relative_to(folder)) for path in chosen]


def _after_cut(folder: Path, old: Load, new: Load) -> list[str]:
    def check(server: Server) -> list[str]:
        faults = []
        row = row_of(server, new.session)
        status, answer = server.get(f"/api/v1/tasks?session={new.session}&limit=1")
        if not is_named(row) and (status, answer.get("total")) != (200, new.tasks):
            faults.append(f"nothing names the damage: {status} {str(answer)[:200]}")
        for path in ("/api/v1/summary", "/api/health", f"/api/v1/metrics/names?session={new.session}"):
            if (status := server.get(path)[0]) >= 500:
                faults.append(f"{path} is answered {status}")
        return faults

    return faults_of_restart(folder, old, check)


def other_versions(_: int) -> list[str]:
    """Records that an older and a newer Rayscope wrote: refused with a remedy, and not touched.

    The other sessions are whole, and take events.
    """
    faults = []
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as home:
        folder = Path(home) / "data"
        server = Server(folder)
        (load,) = record(server)
        try:
            records = {kind: _record_of(kind, folder, load.session) for kind in ("newer", "older")}
            before = {kind: _digests(path.parent) for kind, path in records.items()}
            server.start()
            faults += load.losses()
            for kind, path in records.items():
                status, answer = server.get(f"/api/v1/tasks?session={path.parent.name}&limit=1")
                error = answer.get("error", {})
                if status != 503 or not error.get("remedy") or "Traceback" in server.log():
                    faults.append(f"{kind}: answered {status}: {str(answer)[:300]}")
                if "newer" in kind and "Upgrade" not in error.get("remedy", ""):
                    faults.append(f"{kind}: the remedy is {error.get('remedy')}")
            status = server.kill(15)
            if status:
                faults.append(f"the server ended with {status}")
            for kind, path in records.items():
                if _digests(path.parent) != before[kind]:
                    faults.append(f"{kind}: its files were changed: {sorted(os.listdir(path.parent))}")
            print(f"  versions: {len(records)} records of others, {load.tasks} tasks", flush=True)
        finally:
            server.stop()
    return faults


def _record_of(kind: str, folder: Path, session: str) -> Path:
    """A copy of a session, as another version would have written it. Returns its record."""
    copy = folder / "sessions" / f"{session}-{kind}"
    shutil.copytree(folder / "sessions" / session, copy)
    record = copy / "record.duckdb"
    with duckdb.connect(str(record)) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'format'", ["99" if kind == "newer" else "0"])
    return record


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name.startswith("record.duckdb")
    }
