"""The tracer's WebSocket client, against the server of the library `websockets`."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from rayscope.tracer.websocket import BINARY, TEXT, WebSocket

Handle = Callable[[ServerConnection], None]
Start = Callable[..., str]


@pytest.fixture
def server() -> Iterator[Callable[[Handle], str]]:
    started: list[Server] = []

    def start(handle: Handle, certificate: Path | None = None) -> str:
        context = None
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
        running = serve(handle, "127.0.0.1", 0, max_size=None, process_request=refuse, ssl=context)
        started.append(running)
        threading.Thread(target=running.serve_forever, daemon=True).start()
        scheme = "http" if context is None else "https"
        return f"{scheme}://127.0.0.1:{running.socket.getsockname()[1]}/api/ingest/key/debugger"

    yield start
    for running in started:
        running.shutdown()


def refuse(connection: ServerConnection, request: Request) -> Response | None:
    return connection.respond(404, "not here") if request.path.endswith("/refused") else None


def echo(connection: ServerConnection) -> None:
    assert connection.request is not None
    assert connection.request.path == "/api/ingest/key/debugger"
    for message in connection:
        connection.send(message)


def receive(socket: WebSocket, count: int) -> list[tuple[int, bytes]]:
    got = list(socket.messages())
    while len(got) < count:
        got += socket.receive()
    return got


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 with its key, which nobody has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return file


def test_a_trusted_certificate_is_accepted(
    server: Start, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    socket = WebSocket(server(echo, certificate), 10)
    data = os.urandom(300_000)  # several TLS records
    socket.send(BINARY, data)
    assert receive(socket, 1) == [(BINARY, data)]
    socket.close()


def test_any_other_certificate_is_refused(server: Start, certificate: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        WebSocket(server(echo, certificate), 10)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 900_000])
def test_messages_of_all_sizes(server: Callable[[Handle], str], size: int) -> None:
    socket = WebSocket(server(echo), 10)
    data = os.urandom(size)
    socket.send(BINARY, data)
    assert receive(socket, 1) == [(BINARY, data)]
    socket.send(TEXT, "ä雪".encode() * 10)
    assert receive(socket, 1) == [(TEXT, "ä雪".encode() * 10)]
    socket.close()


def test_fragments_and_pings(server: Callable[[Handle], str]) -> None:
    answered = threading.Event()

    def handle(connection: ServerConnection) -> None:
        connection.send(["one ", "two ", "three"])
        answered_ping = connection.ping(b"data")
        connection.send("after")
        if answered_ping.wait(10):
            answered.set()
        connection.recv()

    socket = WebSocket(server(handle), 10)
    assert receive(socket, 2) == [(TEXT, b"one two three"), (TEXT, b"after")]
    assert answered.wait(10)
    socket.close()


def test_a_server_that_closes_or_refuses(server: Callable[[Handle], str]) -> None:
    socket = WebSocket(server(lambda connection: connection.close(4409, "debugging is off")), 10)
    with pytest.raises(ConnectionError):
        receive(socket, 1)
    socket.close()
    big = WebSocket(server(lambda connection: connection.send(b"x" * (2 << 20))), 10)
    with pytest.raises(ConnectionError, match="too large"):
        receive(big, 1)
    big.close()
    url = server(echo).replace("/debugger", "/refused")
    with pytest.raises(ConnectionRefusedError, match="404"):
        WebSocket(url, 10)


def test_no_server() -> None:
    with pytest.raises(OSError):
        WebSocket("http://127.0.0.1:1/", 1)
