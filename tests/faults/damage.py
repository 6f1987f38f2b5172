"""Each file of a data directory, damaged in each way: the server starts, the rest is whole, new events come in."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Load, Server, wait_for

from rayscope.storage.spool import Spool

#: What a start makes anew whatever it contains.
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
        server = Server(template)
        load = Load(server, threads=1)
        try:
            server.start()
            load.start()
            wait_for(lambda: load.acknowledged > 5, "some batches")
            load.finish()
            faults += load.losses()
        finally:
            load.abandon()
            server.stop()  # by a kill, so that the logs of databases are there too
        Spool(template / "spool").put(load.sample)  # as one that an earlier server left there
        for seed in range(rounds):
            for way in WAYS:
                shutil.copytree(template, folder)
                damaged = _damage(folder, load.session, WAYS[way], random.Random(seed))
                found = [f"{way}, round {seed}: {fault}" for fault in _after(folder, load, damaged)]
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


def _after(folder: Path, load: Load, damaged: dict[str, str | None]) -> list[str]:
    """What is wrong with a server on a damaged folder."""
    faults = []
    server = load.server = Server(folder)
    later = None
    try:
        server.start()
        faults += load.losses()
        later = Load(server, number=3, threads=1).start()
        wait_for(lambda: later.acknowledged > 2, "new batches to be taken")
        later.finish()
        faults += later.losses()
        for path in ("/api/sessions", "/api/summary"):
            status, answer = server.get(path)
            if status != 200:
                faults.append(f"{path} is answered {status}: {answer}")
        for file, session in damaged.items():
            if session is not None:
                faults += [f"{file}: {fault}" for fault in _of_session(server, session, file, load.tasks)]
    except (RuntimeError, TimeoutError, AssertionError, OSError) as error:
        faults.append(str(error)[-400:])
    finally:
        if later is not None:
            later.abandon()
        server.stop()
    if "Traceback" in server.log():
        faults.append(f"a traceback in the log: {server.log()[-1500:]}")
    return faults


def _of_session(server: Server, session: str, file: str, tasks: int) -> list[str]:
    """What is wrong with a session one file of which is damaged: it is whole, or its record is named."""
    status, answer = server.get(f"/api/tasks?session={session}&limit=1")
    row = _row(server, session)
    if file.startswith("record."):
        named = any(word in str(row) for word in ("damaged", "Could not read", "corrupt"))
        if not named and (status, answer.get("total")) != (200, tasks):
            return [f"nothing names the damage: {status} {str(answer)[:200]}"]
        return []
    if (status, answer.get("total")) != (200, tasks):
        return [f"{tasks} tasks were on record: {status} {str(answer)[:200]}"]
    wait_for(lambda: _row(server, session)["tasks"] == tasks, f"the counts of {file}")
    return []


def _row(server: Server, session: str) -> dict[str, Any]:
    """The session in the list of sessions."""
    items = server.get("/api/sessions")[1]["items"]
    return next((item for item in items if item["session"] == session), {})
