"""Shows a session in a notebook."""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
from pathlib import Path

from rayscope.client.http import Client
from rayscope.errors import RayscopeError


class Shown:
    """A report in a notebook: a session's pages as they were when it was written. It needs no server."""

    def __init__(self, page: str, height: int) -> None:
        self._page, self._height = page, height

    def __repr__(self) -> str:
        return f"<rayscope report, {len(self._page) / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        # A report may come from somebody else: its script must not reach the notebook.
        frame = 'title="Rayscope" sandbox="allow-scripts allow-downloads"'
        style = f"border: 1px solid #8884; width: 100%; height: {self._height}px"
        return f'<iframe {frame} style="{style}" srcdoc="{html.escape(self._page)}"></iframe>'


def show(
    session: str | Path | None = None,
    view: str = "overview",
    *,
    url: str | None = None,
    token: str | None = None,
    height: int = 700,
) -> Shown:
    """Show a session in a notebook, beginning with a page such as ``gantt``.

    ``session``: a recorded session, by default the newest, or the path of a session file (``.rayscope``) or
    of a report (``.html``). The server is found as by :class:`rayscope.Client`; files need none. The output
    is a report, so it stays readable without the server, and adds about 2 MB to the notebook. ``height``: in
    pixels. Raises RayscopeError.
    """
    if session is not None and str(session).endswith(".html"):
        return Shown(Path(session).read_text(encoding="utf-8"), height)
    with tempfile.TemporaryDirectory(prefix="rayscope-") as folder:
        file = Path(folder) / "report.html"
        if session is not None and str(session).endswith(".rayscope"):
            _report_of_file(Path(session), view, file)
        else:
            with Client(url, token) as client:
                client.report(file, session=None if session is None else str(session), view=view)
        return Shown(file.read_text(encoding="utf-8"), height)


def _report_of_file(session: Path, view: str, file: Path) -> None:
    """Write the report of a session file, with a server that runs as long as that takes."""
    command = [
        sys.executable,
        "-m",
        "rayscope.cli",
        "report",
        "--view",
        view,
        "-o",
        str(file),
        "--",
        str(session),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RayscopeError(done.stderr.strip().removeprefix("Error: "))
