"""Where an archive is: a bucket or a folder, by its URL. What can go wrong there is a StoreError."""

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
#: How long storage may take for a call, s, and in addition for each byte that is sent or fetched.
_CALL_S = 60.0
_S_PER_BYTE = 1 / (256 << 10)
#: Threads that may wait for storage that has not answered in time. Beyond it nothing more is asked.
_MAX_STALLED = 32
T = TypeVar("T")
_stalled: set[threading.Thread] = set()
_stalled_lock = threading.Lock()
_REMEDY = "Check the URL, the credentials in the environment, and the network. See docs/how-to/archive.md."


class Object(NamedTuple):
    """An object of the archive: its name in its folder, bytes, and when it was written (ns)."""

    name: str
    size: int
    changed_ns: int


class Location:
    """A place for objects, named by paths relative to it. Thread-safe. All methods raise StoreError.

    ``url``: ``s3://bucket/prefix``, ``gs://``, ``abfss://`` or ``file:///folder``, as Arrow reads them;
    credentials come from the environment, as each cloud's own tools take them.
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
        #: As it may be shown.
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
                f"The archive has no {path}.", "It may just have been replaced. Try again.", "not_archived"
            ) from error
        except (pa.ArrowException, OSError) as error:
            raise StoreError(
                f"The archive {self.url} cannot be used: {_first_line(error)}", _REMEDY, "archive"
            ) from error

    def _in_time(self, work: Callable[[], T], size: int = 0) -> T:
        """What ``work`` returns, in a thread that is left behind if storage hangs. ``size``: bytes to move.

        A file system of another machine can block for ever in a call that nothing interrupts. Such a thread
        must not keep the server from ending, nor hold the lock of a session.
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
            f"The archive {self.url} does not answer.", "Check the storage, and try again.", "archive"
        )

    def _info(self, path: str) -> fs.FileInfo:
        with self._explained(path):
            return self._in_time(lambda: self._fs.get_file_info(self._path(path)))

    def _open(self, path: str) -> pa.NativeFile:
        """A stream of an object. A device or a FIFO in a folder is none: opening it could block for ever."""
        target = self._path(path)
        if self._fs.get_file_info(target).type != fs.FileType.File:
            raise FileNotFoundError(path)
        return self._fs.open_input_stream(target)

    def list(self, folder: str) -> list[Object]:
        """The objects right below a folder, by name; none if there is no such folder."""
        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        with self._explained(folder):
            found = self._in_time(lambda: self._fs.get_file_info(selector))
        return sorted(
            Object(info.base_name, info.size or 0, info.mtime_ns or 0)
            for info in found
            if info.type == fs.FileType.File
        )

    def read(self, path: str, max_bytes: int) -> bytes:
        """The content of a small object."""

        def read() -> bytes:
            with self._open(path) as stream:
                content: bytes = stream.read(max_bytes + 1)
            return content

        with self._explained(path):
            content = self._in_time(read, max_bytes)
        if len(content) > max_bytes:
            raise StoreError(f"{path} in the archive is larger than {max_bytes} bytes.", _REMEDY, "archive")
        return content

    def write(self, path: str, content: bytes) -> None:
        """Put a small object in place of another."""

        def write() -> None:
            with self._writing(path) as stream:
                stream.write(content)

        with self._explained(path):
            self._in_time(write, len(content))

    def upload(self, local: Path, path: str) -> None:
        """Put a file in place of an object."""

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
        # Two servers may write the same object.
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
        """The SHA-256 of an object, read as a whole, and kept as a file if ``local`` is given."""

        def read() -> str:
            with contextlib.ExitStack() as stack:
                stream = stack.enter_context(self._open(path))
                file = stack.enter_context(local.open("wb")) if local is not None else None
                return sha256(stream, file)

        size = self._info(path).size or 0
        with self._explained(path):
            return self._in_time(read, size)

    def state(self, path: str) -> tuple[int | None, int | None]:
        """Size and time of change (ns) of an object: others after somebody has written it again."""
        info = self._info(path)
        return info.size, info.mtime_ns

    def size(self, path: str) -> int | None:
        """An object's bytes, None if it is not there."""
        info = self._info(path)
        return info.size if info.type == fs.FileType.File else None

    def delete(self, path: str) -> None:
        """Delete an object, if it is there."""
        with contextlib.suppress(FileNotFoundError), self._explained(path):
            if self.size(path) is not None:
                self._in_time(lambda: self._fs.delete_file(self._path(path)))


def _answer(work: Callable[[], T], answer: Future[T]) -> None:
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)


def sha256(stream: IO[bytes] | pa.NativeFile, copy: IO[bytes] | None = None) -> str:
    """The SHA-256 of all that a stream still has, which is also written to ``copy``."""
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return digest.hexdigest()


def _without_secrets(url: str) -> str:
    """A URL without a user, a password, and parameters."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
