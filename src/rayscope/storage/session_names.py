"""Finds a session by any name that people use for it."""

from __future__ import annotations

from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.sql.pages import MIN_PREFIX

_MAX_NAMED = 5


def find_session(catalog: Catalog, text: str) -> str:
    """The ID of a session. ``text`` is its ID, a prefix of the ID (with or without ``session_``), or its
    displayed name.

    Raises NotFound if no session matches, or BadQuery if several do.
    """
    try:
        return catalog.about(text).session
    except NotFound as error:
        unknown = error
    names = catalog.names()
    begin = text.removeprefix("session_")
    if len(begin) >= MIN_PREFIX:
        found = [name for name in names if name.removeprefix("session_").startswith(begin)]
        if len(found) > 1:
            raise BadQuery(
                f"Several sessions begin with {text[:80]!r}.",
                "Give more of its letters.",
                what="session_prefix",
                text=text[:80],
            )
        if found:
            return found[0]
    named = [name for name in names if catalog.about(name).name == text]
    if len(named) > 1:
        more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
        raise BadQuery(
            f"{len(named)} sessions are called {text[:80]!r}.",
            f"Use the ID: {', '.join(named[:_MAX_NAMED])}{more}.",
            what="session_name",
            number=len(named),
            text=text[:80],
        )
    if not named:
        raise unknown
    return named[0]
