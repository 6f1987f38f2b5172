"""The manifest of an archived session: its objects and their paths (docs/reference/archive.md)."""

from __future__ import annotations

import re
import time
import zlib
from typing import Annotated

import msgspec

from rayscope.model.decoding import DECODE_ERRORS
from rayscope.storage.about import About
from rayscope.storage.catalog import SESSION_NAME
from rayscope.storage.errors import NotFound, StoreError

#: Version of the layout. Manifests of newer versions are rejected.
FORMAT = 1
MANIFESTS = "manifests"
#: Maximum size of a manifest in bytes. It contains only the session's entry in the session list, and a line
#: per table.
MAX_BYTES = 4 << 20
#: Maximum number of objects. A session has about thirty tables and small files.
_MAX_OBJECTS = 200
_Count = Annotated[int, msgspec.Meta(ge=0)]
_NOT_IN_PATHS = re.compile(r"[^A-Za-z0-9._-]+")
_NAME = re.compile(r"[a-z0-9_]{1,64}(\.[a-z]{1,10})?")


class Sealed(msgspec.Struct, frozen=True):
    """One object: a table of ``part`` as Parquet, or a small unchanged file (``part`` is "files")."""

    part: str
    name: str
    bytes: _Count
    sha256: str
    rows: _Count = 0


class Manifest(msgspec.Struct, frozen=True):
    """A sealed session. It is written last, so a session without a manifest is not in the archive.

    ``stamp`` identifies the sealed state of the session, see :func:`stamp_of`. ``about.agents`` is left out.
    """

    session: str
    cluster: str
    day: str
    stamp: str
    sealed_ns: int
    rayscope: str
    about: About
    objects: tuple[Sealed, ...]
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        """The session's size in the archive."""
        return sum(one.bytes for one in self.objects)

    def path(self, sealed: Sealed) -> str:
        """Return an object's path. It is built only from validated names, never from a stored path."""
        if sealed.part == "files":
            return f"files/{self.session}/{sealed.name}"
        partition = f"cluster={self.cluster}/day={self.day}/session={self.session}"
        return f"{sealed.name}/{partition}/{sealed.name}.parquet"

    def of_part(self, part: str) -> list[Sealed]:
        """Return the objects of a part."""
        return [one for one in self.objects if one.part == part]


class _Format(msgspec.Struct):
    format: int


# The decoders are built on import, because several threads read their first manifest at the same time, and
# msgspec crashes if they build the same decoder concurrently.
_decode_format = msgspec.json.Decoder(_Format).decode
_decode_manifest = msgspec.json.Decoder(Manifest).decode


def manifest_path(session: str) -> str:
    """Return the path of a session's manifest. Raises NotFound for an invalid session name."""
    if not SESSION_NAME.fullmatch(session):
        raise NotFound(
            f"Session {session[:80]!r} not found.", "rayscope archive list", what="session", id=session[:80]
        )
    return f"{MANIFESTS}/{session}.json"


def cluster_of(about: About) -> str:
    """Return the name of a session's cluster in paths: the host of its head node."""
    return _NOT_IN_PATHS.sub("-", about.host or "")[:60].strip(".-") or "unknown"


def day_of(about: About) -> str:
    """Return the day on which a session began, in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(about.first_ns / 1e9))


def stamp_of(about: About) -> str:
    """Return a string that changes whenever a session receives data or its label changes."""
    label = zlib.crc32(msgspec.json.encode(about.label))
    suffix = "-anonymous" if about.is_anonymous else ""
    return f"{about.last_ns}-{about.ended_ns or 0}-{label:08x}{suffix}"


def encode(manifest: Manifest) -> bytes:
    """Encode a manifest as JSON with one field per line, so that it is readable."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def decode(session: str, content: bytes) -> Manifest:
    """Decode a manifest. Raises StoreError if it is invalid, has a newer format, or is another session's."""
    try:
        format_ = _decode_format(content).format
        if format_ > FORMAT:
            raise StoreError(
                f"{session} was archived by a newer Rayscope (format {format_}; this one reads {FORMAT}).",
                "Upgrade: pip install -U rayscope",
                "newer",
            )
        manifest = _decode_manifest(content)
    except DECODE_ERRORS as error:
        raise _damaged(session, str(error)) from error
    names = [manifest.cluster, manifest.day]
    if manifest.session != session or not all(map(SESSION_NAME.fullmatch, [session, *names])):
        raise _damaged(session, "it names another session, or no valid place")
    objects = {(one.part, one.name) for one in manifest.objects}
    if len(objects) < len(manifest.objects) or len(objects) > _MAX_OBJECTS:
        raise _damaged(session, "it names an object twice, or too many")
    if not all(_NAME.fullmatch(one.name) for one in manifest.objects):
        raise _damaged(session, "it names an object that no archive has")
    return manifest


def _damaged(session: str, why: str) -> StoreError:
    return StoreError(
        f"The archive's manifest of {session[:80]} is damaged: {why[:200]}.",
        "Seal the session again where it is still on record: rayscope archive push.",
        "archive",
        what="manifest",
        id=session[:80],
        reason=why[:200],
    )
