"""The route that writes a report."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import httpx
from fastapi import Query, Request
from fastapi.responses import Response

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Session
from rayscope.api.responses import Stream, attachment
from rayscope.api.routes import Router
from rayscope.compare.schemas import MAX_RUNS
from rayscope.report.contents import Contents, View, add_pictures, add_session, add_sessions
from rayscope.report.page import beginning, ending, room
from rayscope.report.recorder import Ask, Recorder
from rayscope.storage.errors import BadQuery
from rayscope.storage.slots import Slots
from rayscope.version import __version__

#: Longest time for which answers are collected, in seconds.
_MAX_S = 90.0
_SLOTS = Slots(1, "Another report is being written.")
#: Headers that give access to the server.
_ACCESS = ("host", "authorization", "cookie")

router = Router()


@router.get(
    "/api/v1/report",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}, "description": "The report, one HTML file."}},
)
async def report(
    request: Request,
    catalog: CurrentCatalog,
    records: CurrentRecords,
    session: Session = None,
    view: Annotated[View, Query(description="The page of the session that opens first.")] = "overview",
    b: Annotated[
        str | None, Query(max_length=4000, description="Report a comparison: as in /api/v1/compare.")
    ] = None,
    a: Annotated[str | None, Query(max_length=4000, description="As in /api/v1/compare.")] = None,
    margin: Annotated[
        float | None, Query(gt=0, le=1, description="As in /api/v1/compare (default: 0.05).")
    ] = None,
    skip_first: Annotated[
        int | None, Query(ge=0, le=MAX_RUNS, description="As in /api/v1/compare (default: 0).")
    ] = None,
) -> Response:
    """Write a session, or a comparison of runs, as one HTML file that needs no server and no network."""
    if (session is not None and b is not None) or (a is not None and b is None):
        raise BadQuery("A report is of a session, or of a comparison.", "Use `session`, or `b` with `a`.")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_SLOTS.take())
        recorder = Recorder(_ask_ourselves(request), await asyncio.to_thread(room), _MAX_S)
        if b is None:
            chosen = records.resolve(session)
            name = catalog.about(chosen).file_name
            collect = partial(_collect_session, recorder, chosen, view)
        else:
            name, sides = "comparison", {"a": a, "b": b, "margin": margin, "skip_first": skip_first}
            collect = partial(_collect_comparison, recorder, await recorder.need("/compare", **sides), sides)
        # Sent in two pieces, so that a browser shows the download while the answers are collected.
        pieces = _pieces(f"{name} · Rayscope", collect)
        headers = attachment(f"{name}.html", "report.html")
        return Stream(pieces, stack.pop_all(), media_type="text/html", headers=headers)
    raise AssertionError  # unreachable: no context above suppresses an exception


async def _pieces(title: str, collect: Callable[[], Awaitable[Contents]]) -> AsyncIterator[bytes]:
    yield beginning(title)
    yield await asyncio.to_thread(ending, await collect())


async def _collect_session(recorder: Recorder, session: str, view: str) -> Contents:
    views, moments = await add_session(recorder, session)
    return _contents(recorder, f"/s/{quote(session)}/{view}", views, moments)


async def _collect_comparison(recorder: Recorder, answer: Any, sides: Mapping[str, Any]) -> Contents:
    await recorder.put("/compare", answer, **sides)
    await recorder.add("/compare/findings", a=_address(answer["a"]), b=_address(answer["b"]))
    await recorder.add("/compare", **sides, functions_by="path")
    await add_sessions(recorder, {run["session"] for side in "ab" for run in answer[side]["runs"]})
    await add_pictures(recorder, [answer[side]["shown"] for side in "ab"])
    given = {name: value for name, value in sides.items() if value is not None}
    return _contents(recorder, f"/compare?{urlencode(given)}")


def _address(side: Any) -> str:
    """The run of a side that is shown, as web/src/base/url.ts names it."""
    return f"{side['shown']['session']}/{side['shown']['job_id']}"


def _contents(
    recorder: Recorder, start: str, views: Sequence[str] = (), moments: Sequence[str] = ()
) -> Contents:
    parts, answers = recorder.parts, recorder.answers
    return Contents(start, time.time_ns(), __version__, views, parts, moments, answers)


def _ask_ourselves(request: Request) -> Ask:
    """Return a function that sends requests to this server, with the access that ``request`` has."""
    headers = {name: request.headers[name] for name in _ACCESS if name in request.headers}
    transport = httpx.ASGITransport(app=request.app, raise_app_exceptions=False)
    client = httpx.AsyncClient(transport=transport, base_url=f"http://{headers['host']}")

    async def ask(path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        found = await client.get(quote(f"/api/v1{path}"), params=query, headers=headers)
        return found.status_code, found.content

    return ask
