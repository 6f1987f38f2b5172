"""The operator's role: requests that change something (jobs, silences, clusters) require a separate token.

Reading and acting are different permissions: Ray's dashboard lets everyone who can reach it submit jobs, and
thus run code. So even on loopback, where reading needs no token, acting needs the one in DATA_DIR/operator,
which only the user who runs the server can read. It is accepted only in a header. A cookie would be sent to
every server on the same host, on any port (such as Ray's own dashboard), and with requests that the user did
not intend.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header
from fastapi.responses import Response
from pydantic import Field

from rayscope.api.parameters import CurrentSecrets
from rayscope.api.responses import error
from rayscope.api.routes import Router
from rayscope.api.schemas import Body
from rayscope.api.security import Secrets, matches
from rayscope.errors import RayscopeError

HEADER = "X-Rayscope-Operator"
_REMEDY = f"Run `rayscope token` on the server to get it, and send it as the header {HEADER}."


class NotOperator(RayscopeError):
    """A request tries to change something without the operator token."""

    remedy = _REMEDY
    code = "needs_operator"
    status = 403


class OperatorLogin(Body):
    """The operator's token, to be checked."""

    token: str = Field(max_length=500)


def check_operator(secrets: Secrets, token: str | None) -> None:
    """Raise NotOperator unless ``token`` is the operator token."""
    if token is None or not matches(token, secrets.operator_token):
        raise NotOperator("This needs the operator token.")


async def _check(
    secrets: CurrentSecrets, token: Annotated[str | None, Header(alias=HEADER, max_length=500)] = None
) -> None:
    check_operator(secrets, token)


#: Dependencies of routes that change something. They raise NotOperator if the operator token is missing.
OPERATOR_ONLY = [Depends(_check)]


router = Router()


@router.post("/api/v1/operator", status_code=204)
def operator(secrets: CurrentSecrets, credentials: OperatorLogin) -> Response:
    """Check the operator token. Returns 204 if it is correct, 403 if not. Nothing is stored."""
    if not matches(credentials.token, secrets.operator_token):
        return error(403, "wrong_operator_token", "Wrong operator token.", _REMEDY)
    return Response(status_code=204)
