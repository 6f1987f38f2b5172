"""The file of a report: the UI and its data, compressed, in one HTML page without any other address."""

from __future__ import annotations

import base64
import gzip
import html
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import msgspec

from rayscope.errors import RayscopeError
from rayscope.report.contents import Contents

#: Largest size of a report, in bytes.
MAX_BYTES = 5_000_000
_UI = Path(str(files("rayscope"))) / "server" / "static" / "report"
_BEGINNING = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' blob:;
 style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:">
<title>{title}</title>
</head>
<body>
<div id="root"><noscript>This report needs JavaScript.</noscript></div>
<script type="text/plain" id="style">{style}</script>
<script type="text/plain" id="code">{code}</script>
<script type="text/plain" id="data">"""
_END = """</script>
<script>
(async () => {
  const read = async (id) => {
    const element = document.getElementById(id);
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    element.remove();
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  };
  globalThis.RAYSCOPE_REPORT = JSON.parse(await read('data'));
  const style = document.createElement('style');
  style.textContent = await read('style');
  document.head.append(style);
  const script = document.createElement('script');
  script.type = 'module';
  script.textContent = await read('code');
  document.body.append(script);
})().catch((error) => {
  document.getElementById('root').textContent =
    `This report cannot be opened. Check that the file is complete, and use a newer browser. (${error})`;
});
</script>
</body>
</html>
"""


class UiMissing(RayscopeError):
    """The UI was not built, so there is nothing to make a report of."""

    code = "ui_missing"
    status = 503


@lru_cache(maxsize=1)
def _parts() -> tuple[str, str]:
    """The UI's style sheet and script."""
    try:
        style, code = ((_UI / name).read_bytes() for name in ("report.css", "report.js"))
    except FileNotFoundError:
        raise UiMissing("The UI was not built.", "Run `make ui` in a source tree.") from None
    return _packed(style), _packed(code)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def room() -> int:
    """The number of bytes that compressed answers may take. Raises :class:`UiMissing`."""
    # The encoding takes four characters for three bytes.
    return (MAX_BYTES - sum(map(len, _parts())) - len(_BEGINNING) - len(_END)) * 3 // 4


def beginning(title: str) -> bytes:
    """Everything before the data. Raises :class:`UiMissing`."""
    style, code = _parts()
    return _BEGINNING.format(title=html.escape(title), style=style, code=code).encode()


def ending(contents: Contents) -> bytes:
    """The data, and everything after it."""
    return (_packed(msgspec.json.encode(contents)) + _END).encode()
