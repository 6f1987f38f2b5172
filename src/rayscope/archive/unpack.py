"""Opens session files, which may come from anyone.

A separate process reads the file and restores its tables. It has limits of memory, CPU time, and file size,
because a hostile Parquet file could exhaust these, or crash DuckDB or Arrow.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa

from rayscope.archive import manifest as manifests
from rayscope.archive.manifest import Manifest
from rayscope.archive.packed import PackedSession, damaged
from rayscope.archive.seal import check_space, make_folder, pull_part
from rayscope.archive.tables import PARTS
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.storage.catalog import RECORD
from rayscope.storage.errors import StoreError
from rayscope.storage.schema import ENTITY_COLUMNS
from rayscope.storage.session_file import SessionFile
from rayscope.user_sql.run import worker_environment

#: Address space allowed beyond that used at startup, in bytes. DuckDB uses up to 1 GB of it.
_MEMORY_BYTES = 3 << 30
#: Minimum time limit, in seconds.
_TIME_S = 120.0
#: Additional time limit per MiB of the file, in seconds. Restoring a MiB takes about 0.1 s.
_S_PER_MIB = 3.0
#: Linux's PR_SET_PDEATHSIG: which signal a process gets when the one that started it has ended.
_DIE_WITH_PARENT = 1
#: Exit status of the process after it has refused a file.
_REFUSED = 3
#: Errors that say more about this machine than about the file.
_LOCAL_ERRORS = ("full", "memory")


class _Refusal(msgspec.Struct):
    """The StoreError for which a file was refused."""

    message: str
    remedy: str
    code: str
    status: int
    params: dict[str, str | int]


_decode_refusal = msgspec.json.Decoder(_Refusal).decode


def _refusal(error: StoreError) -> _Refusal:
    return _Refusal(error.message, error.remedy, error.code, error.status, dict(error.params))


def cannot_unpack(error: OSError) -> StoreError:
    """The error if this machine cannot store what is in a session file."""
    reason = error.strerror or str(error)
    message = f"The session file cannot be unpacked: {reason}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        remedy = "Free some space, and try again."
        return StoreError(message, remedy, "full", what="session_file", reason=reason)
    return StoreError(message, "Check the data directory, and try again.", what="session_file", reason=reason)


def unpack(path: Path, folder: Path, min_free_bytes: int = 0) -> Manifest:
    """Restore the session of the file at ``path`` in ``folder``, which is created, and return its manifest.

    Keeps ``min_free_bytes`` free on the disk. Raises StoreError or OSError, and then leaves nothing behind.
    """
    if not path.is_file():
        raise damaged("there is no such file")
    folder.mkdir(mode=0o700)
    limit_s = _TIME_S + _S_PER_MIB * path.stat().st_size / (1 << 20)
    command = [sys.executable, "-m", "rayscope.archive.unpack", str(path.resolve()), str(folder.resolve())]
    try:
        done = subprocess.run(
            [*command, str(min_free_bytes), str(limit_s)],
            capture_output=True,
            cwd=folder,
            env=worker_environment(),
            start_new_session=True,  # Ctrl-C reaches only this process, which ends the other one
            timeout=limit_s,
            check=False,
        )
        if done.returncode == 0:
            session, _, manifest = done.stdout.partition(b"\n")
            return manifests.decode(session.decode(), manifest)
        if done.returncode == _REFUSED:
            refusal = _decode_refusal(done.stdout)
            raise StoreError(
                refusal.message, refusal.remedy, refusal.code, status=refusal.status, **refusal.params
            )
        raise damaged("reading it needs more time or memory than allowed, or crashes")
    except subprocess.TimeoutExpired as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise damaged("reading it takes too long") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def restore(path: Path, folder: Path, min_free_bytes: int = 0) -> Manifest:
    """Restore the session of the file at ``path`` in an existing ``folder``. Raises StoreError or OSError.

    After an error, ``folder`` has an undefined content.
    """
    packed = PackedSession(path)
    try:
        manifest = packed.manifest
        for one in manifest.objects:
            if packed.digest(manifest.path(one)) != one.sha256:
                raise damaged(f"{one.name} has changed since it was written")
        check_space(folder, manifest.bytes, min_free_bytes)
        make_folder(packed, manifest, folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as work:
            for part in PARTS:
                pull_part(packed, manifest, part, folder, Path(work), min_free_bytes)
        _check_record(folder / RECORD)
        return manifest
    except StoreError as error:
        if error.code in (*_LOCAL_ERRORS, "bad_session_file"):
            raise
        raise damaged(str(error.params.get("reason", error.message))) from error
    except (*DECODE_ERRORS, duckdb.Error, pa.ArrowException, TypeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # Arrow's own errors have no number
            raise
        raise damaged(f"a value in it is invalid ({type(error).__name__})") from error
    finally:
        packed.close()


def _check_record(path: Path) -> None:
    """Raise an error if the record cannot be opened, or has entities that cannot be read."""
    if not path.exists():
        raise damaged("it has no record")
    file = SessionFile(path)
    try:
        for kind in ENTITY_COLUMNS:
            file.load_entities(kind)
        file.load_drops()
    finally:
        file.close()


def _limit(file_bytes: int, time_s: float) -> None:
    """Limit this process's memory, CPU time, and the size of each file that it writes.

    It ends with the process that started it.
    """
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, max(0, file_bytes)),
        (resource.RLIMIT_CPU, int(2 * time_s)),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.nice(5)
        Path("/proc/self/oom_score_adj").write_text("1000")


def main() -> int:
    """Restore the file that the arguments name, and print its manifest, or why it is refused."""
    path, folder = Path(sys.argv[1]), Path(sys.argv[2])
    min_free_bytes, time_s = int(sys.argv[3]), float(sys.argv[4])
    _limit(shutil.disk_usage(folder).free - min_free_bytes, time_s)
    try:
        manifest = restore(path, folder, min_free_bytes)
        print(manifest.session, manifests.encode(manifest).decode(), sep="\n")
        return 0
    except StoreError as error:
        refusal = _refusal(error)
    except OSError as error:
        refusal = _refusal(cannot_unpack(error))
    print(msgspec.json.encode(refusal).decode())
    return _REFUSED


if __name__ == "__main__":
    sys.exit(main())
