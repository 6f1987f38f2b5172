"""A template of a label or an annotation."""

from __future__ import annotations

from collections.abc import Mapping

from rayscope.alerts.templating.evaluate import NAMES, Rendering, render
from rayscope.alerts.templating.parser import parse
from rayscope.alerts.templating.values import TemplateError
from rayscope.storage.errors import BadQuery

MAX_CHARS = 2000
_REMEDY = "See docs/reference/alerts.md for what templates may contain."


class Template:
    """A parsed template. Raises BadQuery if the template is invalid."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise BadQuery(
                f"A template has more than {MAX_CHARS:,} characters.",
                "Shorten it.",
                what="long_template",
                limit=MAX_CHARS,
            )
        try:
            self._nodes = parse(text, NAMES)
        except TemplateError as error:
            raise BadQuery(
                f"The template {text[:100]!r} cannot be read: {error}.",
                _REMEDY,
                what="template",
                text=text[:100],
                reason=str(error),
            ) from error

    def fill(self, labels: Mapping[str, str], value: float, rendering: Rendering | None = None) -> str:
        """Render the template for an alert with these labels and this value. Raises TemplateError."""
        return render(self._nodes, labels, value, rendering or Rendering())
