"""The operator's role: whoever changes something (jobs, silences, clusters ...) shows a token of its own.

Looking is one thing, acting another: Ray's dashboard lets everyone who reaches it submit jobs, which is to
run code. So even on loopback, where looking needs no token, acting does: the one in DATA_DIR/operator, which
only the user who runs the server can read. It comes in a header alone. A cookie would go to every server on
the same host, whatever its port (Ray's own dashboard, say), and along with requests that nobody meant.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.responses import Response
from pydantic import Field

from rayscope.api.parameters import BODY_ERRORS, CurrentSecrets, error
from rayscope.api.schemas import Body
from rayscope.api.security import matches
from rayscope.errors import RayscopeError

HEADER = "X-Rayscope-Operator"
_REMEDY = f"Run `rayscope token` on the server to get it, and send it as the header {HEADER}."


class NotOperator(RayscopeError):
    """Somebody who may look wants to act."""

    remedy = _REMEDY
    code = "needs_operator"
    status = 403


class OperatorLogin(Body):
    """The operator's token, to be checked."""

    token: str = Field(max_length=500)


async def _check(
    secrets: CurrentSecrets, given: Annotated[str | None, Header(alias=HEADER, max_length=500)] = None
) -> None:
    if given is None or not matches(given, secrets.operator_token):
        raise NotOperator("This needs the operator token.")


#: The dependencies of routes that act. Raises NotOperator.
OPERATOR_ONLY = [Depends(_check)]


router = APIRouter()


@router.post("/api/operator", status_code=204, responses=BODY_ERRORS)
def operator(secrets: CurrentSecrets, given: OperatorLogin) -> Response:
    """Check the operator token: 204 if it is right, 403 if not. Nothing is stored."""
    if not matches(given.token, secrets.operator_token):
        return error(403, "wrong_operator_token", "Wrong operator token.", _REMEDY)
    return Response(status_code=204)
