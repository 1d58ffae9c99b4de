"""A proxy on this machine that speaks TLS under a certificate of its own."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from tests.unit.server.cli.answers import BUDGET
from tests.unit.server.cli.conftest import KEY

BODY = json.dumps(BUDGET | {"epsilon_left": 1.5}).encode()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        pass


@pytest.fixture
def tls_proxy(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Its address, and the PEM file of who vouches for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://localhost:{server.server_port}", tmp_path / "authority.pem"
    server.shutdown()
    thread.join()
    server.server_close()


def test_its_certificate_is_named_by_the_environment(
    tls_proxy: tuple[str, Path],
    run: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, authority = tls_proxy
    monkeypatch.setenv("NOISEGATE_KEY", KEY)
    assert run("budget", "--url", url) == 2
    told = capsys.readouterr().err
    assert f"the certificate of {url} is not trusted" in told and "SSL_CERT_FILE" in told
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert run("budget", "--url", url) == 0
    assert "1.5" in capsys.readouterr().out
