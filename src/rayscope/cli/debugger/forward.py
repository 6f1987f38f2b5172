"""A local port through which an editor debugs a paused task."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import threading
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import fail, print_json, say, shown
from rayscope.cli.debugger.listing import label, title

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

    from rayscope.client.types import PausedTask

_CHUNK_BYTES = 32 << 10
#: Ray unpacks a job's working directory into a folder of this kind.
_WORKING_DIR = re.compile(r".*/working_dir_files/[^/]+(?=/)")
#: Messages of the protocol begin with this. A page in a browser could only send a request of HTTP, which
#: debugpy would read as a message, so that the page could run code.
_BEGIN = b"content-length:"
#: How long a connection may take to send it, in seconds.
_BEGIN_S = 10.0


def forward(api: Api, task: PausedTask, port: int, remote_root: str | None) -> None:
    """Listen on ``port`` (0: any free one) of this machine until an editor has come and left, or Ctrl-C."""
    # An editor would not show why it cannot attach.
    api.check_operator()
    if task["debugger"] is not None:
        raise RayscopeError(
            f"Another debugger is attached to this process, from {task['debugger']}.",
            "Wait until it has left, or release the task.",
            "debugger_in_use",
        )
    name = label(task)
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        fail(f"Could not listen on port {port}: {reason}.", "Choose another port, or 0 for a free one.")
    with listener:
        try:
            _explain(task, listener.getsockname()[1], remote_root)
            editor = _accept(listener)
        except KeyboardInterrupt:
            say(f"stopped; {name} still waits for a debugger")
            return
    with editor, api.open_socket(f"/ws/debugger/{task['pause_id']}") as debuggee:
        say(f"the editor debugs {name}; Ctrl-C detaches it")
        threading.Thread(target=_to_editor, args=(debuggee, editor), daemon=True).start()
        reason = "the editor has left"
        try:
            _to_debuggee(editor, debuggee)
        except KeyboardInterrupt:
            reason = "Ctrl-C"
        reason = debuggee.close_reason or reason
    say(f"detached from {name}: {reason}{'' if 'process' in reason else '; the task continues'}")


def _explain(task: PausedTask, port: int, remote_root: str | None) -> None:
    """Print what the settings of editors need."""
    root = remote_root or _root_of(task["file"])
    configuration: dict[str, Any] = {
        "name": f"Ray: {title(task)}",
        "type": "debugpy",
        "request": "attach",
        "connect": {"host": "127.0.0.1", "port": port},
        "pathMappings": [{"localRoot": "${workspaceFolder}", "remoteRoot": root}],
        "justMyCode": False,
        "subProcess": False,
    }
    say("VS Code and Cursor: add this to the configurations in .vscode/launch.json, and start it")
    print_json(configuration, indent=2)
    sys.stdout.flush()
    say(f"PyCharm: add an Attach to DAP configuration with 127.0.0.1:{port} and remote path {shown(root)}")
    say("waiting for an editor; Ctrl-C stops")


def _root_of(file: str | None) -> str:
    """Return the folder of the code: the job's working directory that Ray unpacked, or that of the file."""
    found = _WORKING_DIR.match(file or "")
    return found[0] if found else str(PurePosixPath(file or ".").parent)


def _accept(listener: socket.socket) -> socket.socket:
    """Return the first connection that speaks the protocol."""
    while True:
        editor, _ = listener.accept()
        editor.settimeout(_BEGIN_S)
        with contextlib.suppress(OSError):
            begin = editor.recv(len(_BEGIN), socket.MSG_PEEK).lower()
            if begin and _BEGIN.startswith(begin):
                editor.settimeout(None)
                return editor
        editor.close()


def _to_debuggee(editor: socket.socket, debuggee: ClientConnection) -> None:
    from websockets.exceptions import ConnectionClosed

    with contextlib.suppress(OSError, ConnectionClosed):
        while data := editor.recv(_CHUNK_BYTES):
            debuggee.send(data)


def _to_editor(debuggee: ClientConnection, editor: socket.socket) -> None:
    from websockets.exceptions import ConnectionClosed

    with contextlib.suppress(OSError, ConnectionClosed):
        while True:
            data = debuggee.recv()
            if isinstance(data, bytes):
                editor.sendall(data)
    with contextlib.suppress(OSError):
        editor.shutdown(socket.SHUT_RDWR)  # ends the other direction, too
