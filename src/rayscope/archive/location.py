"""An archive's location: a bucket or a folder, given by its URL. All its errors are StoreErrors."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import IO, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from rayscope.storage.errors import StoreError

_CHUNK = 4 << 20
#: Time limit of a storage call, in seconds.
_CALL_S = 60.0
#: Additional time limit per byte sent or fetched, in seconds.
_S_PER_BYTE = 1 / (256 << 10)
#: Maximum number of threads that wait for stalled storage. If there are more, calls fail immediately.
_MAX_STALLED = 32
T = TypeVar("T")
_stalled: set[threading.Thread] = set()
_stalled_lock = threading.Lock()
_REMEDY = "Check the URL, the credentials in the environment, and the network. See docs/how-to/archive.md."


class Object(NamedTuple):
    """An object of the archive: its name in its folder, its size in bytes, and when it was written (ns)."""

    name: str
    size: int
    changed_ns: int


class Location:
    """A place for objects with relative paths. Thread-safe. All methods raise StoreError.

    ``url`` is ``s3://bucket/prefix``, ``gs://``, ``abfss://``, or ``file:///folder``, in Arrow's format.
    Credentials come from the environment, as for each cloud's own tools.
    """

    def __init__(self, url: str) -> None:
        shown = _without_secrets(url)
        try:
            self._fs, self._root = fs.FileSystem.from_uri(url)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StoreError(
                f"{shown[:200]!r} cannot be used as an archive: {_first_line(error).replace(url, shown)}",
                "Give a URL such as s3://bucket/prefix, gs://bucket/prefix, or file:///folder.",
                "bad_archive",
            ) from error
        #: The URL without secrets.
        self.url = shown
        self._is_local = isinstance(self._fs, fs.LocalFileSystem)

    def _path(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    @contextlib.contextmanager
    def _explained(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise StoreError(
                f"The archive has no {path}.",
                "It may just have been replaced. Try again.",
                "not_archived",
                path=path,
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise StoreError(
                f"The archive {self.url} cannot be used: {_first_line(error)}",
                _REMEDY,
                "archive",
                what="unusable",
                url=str(self.url),
                reason=_first_line(error),
            ) from error

    def _in_time(self, work: Callable[[], T], size: int = 0) -> T:
        """Run ``work`` in a thread that is abandoned if storage hangs. ``size`` is in bytes.

        A network file system can block forever in a call that nothing can interrupt. Such a call must not
        keep the server from exiting, nor hold the lock of a session.
        """
        with _stalled_lock:
            _stalled.intersection_update({thread for thread in _stalled if thread.is_alive()})
            if len(_stalled) >= _MAX_STALLED:
                raise self._too_slow()
        answer: Future[T] = Future()
        thread = threading.Thread(target=_answer, args=(work, answer), name="rayscope-storage", daemon=True)
        thread.start()
        try:
            return answer.result(_CALL_S + size * _S_PER_BYTE)
        except FutureTimeoutError:
            with _stalled_lock:
                _stalled.add(thread)
            raise self._too_slow() from None

    def _too_slow(self) -> StoreError:
        return StoreError(
            f"The archive {self.url} does not answer.",
            "Check the storage, and try again.",
            "archive",
            what="unreachable",
            url=str(self.url),
        )

    def _info(self, path: str) -> fs.FileInfo:
        with self._explained(path):
            return self._in_time(lambda: self._fs.get_file_info(self._path(path)))

    def _open(self, path: str) -> pa.NativeFile:
        """Open an object as a stream. Devices and FIFOs are rejected, because they could block forever."""
        target = self._path(path)
        if self._fs.get_file_info(target).type != fs.FileType.File:
            raise FileNotFoundError(path)
        return self._fs.open_input_stream(target)

    def list(self, folder: str) -> list[Object]:
        """Return the objects directly in a folder, sorted by name. A missing folder counts as empty."""
        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        with self._explained(folder):
            found = self._in_time(lambda: self._fs.get_file_info(selector))
        return sorted(
            Object(info.base_name, info.size or 0, info.mtime_ns or 0)
            for info in found
            if info.type == fs.FileType.File
        )

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the content of a small object."""

        def read() -> bytes:
            with self._open(path) as stream:
                content: bytes = stream.read(max_bytes + 1)
            return content

        with self._explained(path):
            content = self._in_time(read, max_bytes)
        if len(content) > max_bytes:
            raise StoreError(
                f"{path} in the archive is larger than {max_bytes} bytes.",
                _REMEDY,
                "archive",
                what="large_file",
                path=path,
                limit=max_bytes,
            )
        return content

    def write(self, path: str, content: bytes) -> None:
        """Write a small object, replacing an existing one."""

        def write() -> None:
            with self._writing(path) as stream:
                stream.write(content)

        with self._explained(path):
            self._in_time(write, len(content))

    def upload(self, local: Path, path: str) -> None:
        """Upload a file, replacing an existing object."""

        def upload() -> None:
            with local.open("rb") as file, self._writing(path) as stream:
                while chunk := file.read(_CHUNK):
                    stream.write(chunk)

        with self._explained(path):
            self._in_time(upload, local.stat().st_size)

    @contextlib.contextmanager
    def _writing(self, path: str) -> Iterator[pa.NativeFile]:
        target = self._path(path)
        if not self._is_local:  # an object appears when its stream is closed
            with self._fs.open_output_stream(target) as stream:
                yield stream
            return
        self._fs.create_dir(target.rpartition("/")[0], recursive=True)
        # Write to a temporary name first, because two servers may write the same object.
        part = f"{target}.{secrets.token_hex(4)}.part"
        try:
            with self._fs.open_output_stream(part) as stream:
                yield stream
            self._fs.move(part, target)
        except BaseException:
            with contextlib.suppress(OSError):
                self._fs.delete_file(part)
            raise

    def digest(self, path: str, local: Path | None = None) -> str:
        """Return the SHA-256 of an object, and save its content to ``local`` if given."""

        def read() -> str:
            with contextlib.ExitStack() as stack:
                stream = stack.enter_context(self._open(path))
                file = stack.enter_context(local.open("wb")) if local is not None else None
                return sha256(stream, file)

        size = self._info(path).size or 0
        with self._explained(path):
            return self._in_time(read, size)

    def state(self, path: str) -> tuple[int | None, int | None]:
        """Return an object's size and modification time (ns), which change if it is written again."""
        info = self._info(path)
        return info.size, info.mtime_ns

    def size(self, path: str) -> int | None:
        """Return an object's size in bytes, or None if it does not exist."""
        info = self._info(path)
        return info.size if info.type == fs.FileType.File else None

    def delete(self, path: str) -> None:
        """Delete an object if it exists."""
        with contextlib.suppress(FileNotFoundError), self._explained(path):
            if self.size(path) is not None:
                self._in_time(lambda: self._fs.delete_file(self._path(path)))


def _answer(work: Callable[[], T], answer: Future[T]) -> None:
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)


def sha256(stream: IO[bytes] | pa.NativeFile, copy: IO[bytes] | None = None) -> str:
    """Return the SHA-256 of the rest of a stream, which is also written to ``copy``."""
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return digest.hexdigest()


def _without_secrets(url: str) -> str:
    """Return a URL without user, password, and parameters."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
