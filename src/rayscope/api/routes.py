"""Routes that refuse unknown query parameters, and whose response schema is their return type."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Coroutine, Iterator
from functools import cached_property
from typing import Any, get_args, get_origin

from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.responses import Response
from fastapi.routing import APIRoute

from rayscope.api.responses import BODY_ERRORS, ERRORS, Json
from rayscope.errors import RayscopeError

_METHODS_WITH_BODY = {"POST", "PUT", "PATCH"}


class UnknownParameter(RayscopeError):
    """A request has a query parameter that its path does not accept."""

    code = "unknown_parameter"
    status = 422


def _query_parameters(dependant: Dependant) -> Iterator[str]:
    for parameter in dependant.query_params:
        yield parameter.alias
    for other in dependant.dependencies:
        yield from _query_parameters(other)


class Route(APIRoute):
    """A route that refuses unknown query parameters, which would otherwise be silently ignored."""

    @cached_property
    def parameter_names(self) -> list[str]:
        """The names of the query parameters."""
        return sorted(set(_query_parameters(self.dependant)))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()

        async def check_and_handle(request: Request) -> Response:
            for name in request.query_params:
                if name not in self.parameter_names:
                    raise self._unknown(name)
            return await handle(request)

        return check_and_handle

    def _unknown(self, name: str) -> UnknownParameter:
        names = self.parameter_names
        nearest = difflib.get_close_matches(name, names, 1)
        if nearest:
            remedy = f"Did you mean '{nearest[0]}'?"
        elif names:
            remedy = f"Valid parameters: {', '.join(names)}."
        else:
            remedy = "This path takes no query parameters."
        return UnknownParameter(f"{self.path} has no query parameter {name[:100]!r}.", remedy)


class Router(APIRouter):
    """A router of :class:`Route`. A function that returns ``Json[T]`` has the response schema ``T``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=Route, **options)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route, including the error responses that every route shares."""
        returned = inspect.get_annotations(endpoint, eval_str=True).get("return")
        has_body = _METHODS_WITH_BODY.intersection(options.get("methods") or ())
        success = {200: {"model": get_args(returned)[0]}} if get_origin(returned) is Json else {}
        errors = BODY_ERRORS if has_body else ERRORS
        options["responses"] = {**errors, **success, **(options.get("responses") or {})}
        options["response_model"] = None
        super().add_api_route(path, endpoint, **options)
