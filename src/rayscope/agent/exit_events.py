"""Receives the exit status of each process of the machine from the kernel's process connector.

The connector serves only root in the first namespaces, so rarely a container. Before Linux 6.15 it is the
only reliable source of the exit status of a process that is not our child.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct

_NETLINK_CONNECTOR = 11
#: The connector's ID of process events (``CN_IDX_PROC``, ``CN_VAL_PROC``), and the request to send them.
_PROCESSES = (1, 1)
_LISTEN = 1
_EXIT = 0x80000000
#: Headers of netlink and of the connector, which come before an event.
_NETLINK = struct.Struct("IHHII")
_CONNECTOR = struct.Struct("IIIIHH")
_WHAT_AT = _NETLINK.size + _CONNECTOR.size
#: After kind, CPU and time: thread, process, and status.
_PIDS_AT = _WHAT_AT + 16
_STATUS = struct.Struct("iii")
_SO_ATTACH_FILTER = 26
_BUFFER_BYTES = 1 << 20
_MAX_KEPT = 4096
_MAX_READ = 2 * _MAX_KEPT


class ExitEvents:
    """The exit statuses of the processes that ended last, by PID.

    Empty without the permission, and where it is not ``needed``.
    """

    def __init__(self, *, needed: bool) -> None:
        self._statuses: dict[int, int] = {}
        self._socket: socket.socket | None = None
        if not needed:
            return
        try:
            connector = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_CONNECTOR)
        except (AttributeError, OSError):
            return
        try:
            _accept_only_exits(connector)
            connector.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            connector.bind((0, _PROCESSES[0]))
            request = _CONNECTOR.pack(*_PROCESSES, 0, 0, 4, 0) + struct.pack("I", _LISTEN)
            connector.send(_NETLINK.pack(_NETLINK.size + len(request), 3, 0, 0, 0) + request)
            connector.setblocking(False)
            self._socket = connector
        except OSError:
            connector.close()

    @property
    def is_open(self) -> bool:
        """Whether it receives events."""
        return self._socket is not None

    def read(self) -> None:
        """Read new events, up to a limit."""
        if self._socket is None:
            return
        for _ in range(_MAX_READ):
            try:
                event = self._socket.recv(256)
            except BlockingIOError:
                return
            except OSError:  # the buffer was full, so events are missing
                continue
            if len(event) >= _PIDS_AT + _STATUS.size:
                _, pid, status = _STATUS.unpack_from(event, _PIDS_AT)
                self._statuses[pid] = status
                if len(self._statuses) > _MAX_KEPT:
                    del self._statuses[next(iter(self._statuses))]

    def forget(self, pid: int) -> None:
        """Forget the end of an earlier process with this PID."""
        self._statuses.pop(pid, None)

    def status(self, pid: int) -> int | None:
        """The exit status of a process, as of ``waitpid``. None if unknown."""
        self.read()
        return self._statuses.get(pid)


def _accept_only_exits(connector: socket.socket) -> None:
    """Let the kernel discard everything but the ends of first threads, with a classic BPF program."""
    swapped = socket.htonl(_EXIT)  # BPF reads numbers in network order
    program = (
        (0x20, 0, 0, _WHAT_AT),  # what happened
        (0x15, 0, 5, swapped),  # not an exit: discard
        (0x20, 0, 0, _PIDS_AT),  # the thread
        (0x07, 0, 0, 0),
        (0x20, 0, 0, _PIDS_AT + 4),  # the process
        (0x1D, 0, 1, 0),  # differs: discard
        (0x06, 0, 0, 0xFFFFFFFF),  # accept
        (0x06, 0, 0, 0),  # discard
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    pointer = struct.pack("@HP", len(program), ctypes.addressof(code))
    connector.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pointer)


def is_needed() -> bool:
    """Whether this Linux has no exit status in a pidfd."""
    major, _, rest = os.uname().release.partition(".")
    minor = rest.partition(".")[0].partition("-")[0]
    return not (major.isdigit() and minor.isdigit()) or (int(major), int(minor)) < (6, 15)
