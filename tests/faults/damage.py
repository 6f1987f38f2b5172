"""Each file of a data directory, damaged in each way: the server starts, the rest is whole, new events come in."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import Load, Server, faults_of_restart, is_named, record, row_of, wait_for

from rayscope.storage.spool import Spool

#: Files that every start creates anew, whatever they contain.
_UNIMPORTANT = {"lock", "server.json", "sql"}

Damage = Callable[[Path, random.Random], object]


def _truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def _flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 20)) if content else 0):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path, _: random.Random) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


WAYS: dict[str, Damage] = {
    "truncated": _truncate,
    "bit-flipped": _flip,
    "emptied": lambda path, _: path.write_bytes(b""),
    "a folder": _folder,
    "a dangling link": _link,
}


def damaged_files(rounds: int) -> list[str]:
    """All files in all ways, ``rounds`` times in other places of them.

    All damages of one way are done at once: each file of a session in a copy of that session.
    """
    faults, damages = [], 0
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as home:
        template, folder = Path(home) / "template", Path(home) / "damaged"
        (load,) = record(Server(template))
        Spool(template / "spool").put(load.sample)  # as one that an earlier server left there
        for seed in range(rounds):
            for way in WAYS:
                shutil.copytree(template, folder)
                damaged = _damage(folder, load.session, WAYS[way], random.Random(seed))
                found = [f"{way}, round {seed}: {fault}" for fault in _faults_after(folder, load, damaged)]
                print(f"  {way}: {'; '.join(found) or 'well'}", flush=True)
                faults += found
                damages += len(damaged)
                shutil.rmtree(folder)
    print(f"  {damages} damages", flush=True)
    return faults


def _damage(folder: Path, session: str, way: Damage, chance: random.Random) -> dict[str, str | None]:
    """Damage each file, those of sessions in a copy of ``session``. Returns the files and the copies."""
    damaged: dict[str, str | None] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        parts = path.relative_to(folder).parts
        if parts[0] in _UNIMPORTANT:
            continue
        if parts[0] == "sessions":
            name = f"{session}-{path.name}"
            shutil.copytree(path.parent, folder / "sessions" / name)
            way(folder / "sessions" / name / path.name, chance)
            damaged[path.name] = name
        else:
            way(path, chance)
            damaged[path.name] = None
    return damaged


def _faults_after(folder: Path, load: Load, damaged: dict[str, str | None]) -> list[str]:
    """Return the faults of a server that starts on a damaged folder."""

    def check(server: Server) -> list[str]:
        faults = []
        for path in ("/api/v1/sessions", "/api/v1/summary"):
            status, answer = server.get(path)
            if status != 200:
                faults.append(f"{path} is answered {status}: {answer}")
        for file, session in damaged.items():
            if session is not None:
                faults += [f"{file}: {fault}" for fault in _session_faults(server, session, file, load.tasks)]
        return faults

    return faults_of_restart(folder, load, check)


def _session_faults(server: Server, session: str, file: str, tasks: int) -> list[str]:
    """Return the faults of a session with a damaged file: it is whole, or the server names its record."""
    status, answer = server.get(f"/api/v1/tasks?session={session}&limit=1")
    row = row_of(server, session)
    if file.startswith("record."):
        if not is_named(row) and (status, answer.get("total")) != (200, tasks):
            return [f"nothing names the damage: {status} {str(answer)[:200]}"]
        return []
    if (status, answer.get("total")) != (200, tasks):
        return [f"{tasks} tasks were on record: {status} {str(answer)[:200]}"]
    wait_for(lambda: row_of(server, session)["tasks"] == tasks, f"the counts of {file}")
    return []
