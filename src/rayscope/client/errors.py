"""What goes wrong between a client and its server."""

from __future__ import annotations


class RayscopeError(Exception):
    """Something that was asked cannot be done: ``message`` says what and why, ``remedy`` what to do about it.

    ``code``: the server's (docs/reference/api.md), or the client's own: ``no_server``, ``unreachable``,
    ``timeout``, ``unauthorized``, ``old_server``, ``not_rayscope``, ``bad_request``. ``status``: of the HTTP
    answer, 0 without one.
    """

    def __init__(self, code: str, message: str, remedy: str = "", status: int = 0) -> None:
        super().__init__(code, message, remedy, status)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.status = status

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()
