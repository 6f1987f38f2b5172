"""Each file of a data directory, damaged in each way: the server starts, the rest is whole, new events come in."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import Load, Server, wait_for

#: What a start makes anew whatever it contains.
_UNIMPORTANT = {"lock", "server.json", "sql"}
#: A batch that an earlier server left in the spool.
_SPOOLED = "spool/00000000000000000001.json"


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    chance = random.Random(1)
    for _ in range(20 if content else 0):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


WAYS: dict[str, Callable[[Path], object]] = {
    "truncated": _truncate,
    "bit-flipped": _flip,
    "emptied": lambda path: path.write_bytes(b""),
    "a folder": _folder,
    "a dangling link": _link,
}


def damaged_files(most: int) -> list[str]:
    """All files in all ways, or ``most`` of these pairs chosen at random."""
    faults, done = [], 0
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as home:
        template = Path(home) / "template"
        server = Server(template)
        try:
            server.start()
            loads = [Load(server, number=number, threads=1) for number in (1, 2)]
            for load in loads:
                load.start()
            wait_for(lambda: all(load.acknowledged > 5 for load in loads), "some batches")
            for load in loads:
                load.finish()
            for load in loads:
                faults += load.losses()
        finally:
            server.stop()  # by a kill, so that the logs of databases are there too
        (template / _SPOOLED).write_bytes(loads[0].sample)
        files = sorted(
            str(path.relative_to(template))
            for path in template.rglob("*")
            if path.is_file() and path.relative_to(template).parts[0] not in _UNIMPORTANT
        )
        pairs = [(file, way) for file in files for way in WAYS]
        if most:
            pairs = random.Random(2).sample(pairs, min(most, len(pairs)))
        for file, way in pairs:
            folder = Path(home) / "damaged"
            shutil.copytree(template, folder)
            WAYS[way](folder / file)
            found = [f"{file} {way}: {fault}" for fault in _after(folder, file, loads)]
            print(f"  {file} {way}: {'; '.join(found) or 'well'}", flush=True)
            faults += found
            shutil.rmtree(folder, ignore_errors=True)
            done += 1
    print(f"  {len(files)} files, {done} damages", flush=True)
    return faults


def _after(folder: Path, file: str, loads: list[Load]) -> list[str]:
    """What is wrong with a server on a damaged folder."""
    faults = []
    server = Server(folder)
    later = None
    try:
        server.start()
        for load in loads:
            if load.session in file and Path(file).name.startswith("record."):
                continue
            load.server = server
            faults += load.losses()
        later = Load(server, number=3, threads=1).start()
        wait_for(lambda: later.acknowledged > 2, "new batches to be taken")
        later.finish()
        faults += later.losses()
        for path in ("/api/sessions", "/api/summary"):
            if (status := server.get(path)[0]) != 200:
                faults.append(f"{path} is answered {status}")
        own = next((load for load in loads if load.session in file), None)
        if own and (status := server.get(f"/api/summary?session={own.session}")[0]) not in (200, 404, 503):
            faults.append(f"its session's summary is answered {status}")
        if own and Path(file).name.startswith("record.") and not _is_named(server, own):
            faults.append("nothing names the damage")
    except (RuntimeError, TimeoutError, AssertionError, OSError) as error:
        faults.append(str(error)[-400:])
    finally:
        if later is not None:
            later.abandon()
        server.stop()
    if "Traceback" in server.log():
        faults.append(f"a traceback in the log: {server.log()[-300:]}")
    return faults


def _is_named(server: Server, load: Load) -> bool:
    """Whether the list of sessions, or the session itself, tells of damage; or all of it can be read."""
    _, listed = server.get("/api/sessions")
    said = [item for item in listed["items"] if item["session"] == load.session]
    if any(word in str(said) for word in ("damaged", "cannot be read", "corrupt")):
        return True
    status, answer = server.ask(
        "POST", "/api/sql", {"sql": "SELECT count(*) FROM tasks", "session": load.session}
    )
    return status != 200 or answer["rows"][0][0] == load.tasks
