"""Little memory and few open files: they are reported, the server recovers, nothing is lost."""

from __future__ import annotations

import resource
import socket
import tempfile
import time
from pathlib import Path

from harness import Load, Server, wait_for


def little_memory(seconds: int) -> list[str]:
    """An address space that is too small for the load; then a server without that limit."""
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        server = Server(Path(folder))
        server.start()
        load = Load(server, threads=4, pause_s=0)
        try:
            assert server.process is not None
            pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[0])
            server.kill()
            server.limits = {resource.RLIMIT_AS: pages * 4096 + (300 << 20)}
            server.start()
            load.start()
            deadline, ends = time.monotonic() + seconds, 0
            while time.monotonic() < deadline:
                if not server.alive():  # as an operator's supervisor would
                    ends += 1
                    server.start(wait=False)
                time.sleep(0.5)
            server.stop()
            server.limits = {}
            server.start()
            load.finish()
            faults = load.losses()
            print(f"  memory: {load.tasks} tasks, ended {ends} times, answers {load.statuses}", flush=True)
            return faults
        finally:
            load.abandon()
            server.stop()


def few_descriptors(connections: int) -> list[str]:
    """256 open files and more half-sent requests than that."""
    faults = []
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder:
        server = Server(Path(folder))
        server.limits = {resource.RLIMIT_NOFILE: 256}
        server.start()
        load = Load(server).start()
        held = []
        try:
            wait_for(lambda: load.acknowledged > 3, "some batches")
            for _ in range(connections):
                half = socket.socket()
                half.settimeout(5)
                try:
                    half.connect(("127.0.0.1", server.port))
                    half.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
                except OSError:
                    pass
                held.append(half)
            time.sleep(3)
            if not server.alive():
                return [f"the server ended: {server.log()[-600:]}"]
        finally:
            for half in held:
                half.close()
            if not server.alive():
                load.abandon()
        try:
            wait_for(server.answers, "the server to answer once the connections are gone", 180)
            load.finish()
            faults += load.losses()
            print(f"  descriptors: {load.tasks} tasks, answers {load.statuses}", flush=True)
        finally:
            load.abandon()
            server.stop()
    return faults
