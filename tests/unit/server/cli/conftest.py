"""A stand-in for the proxy that answers what a test tells it, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from server.cli.main import main

KEY = "ng_unit_test"


@dataclass
class FakeProxy:
    """Answers everything with `status` and `body`, or the body of its path, or what is next for its path."""

    url: str = ""
    status: int = 200
    body: str = "{}"
    requests: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    idempotency_keys: list[str | None] = field(default_factory=list)
    next: dict[str, list[tuple[int, object]]] = field(default_factory=dict)
    before_reply: Callable[[str], None] = lambda path: None

    def answer(self, body: object, status: int = 200) -> None:
        self.status, self.body = status, json.dumps(body)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProxy]:
    fake = FakeProxy()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            fake.requests.append((self.path, self.headers["Authorization"], json.loads(self.rfile.read(length))))
            fake.idempotency_keys.append(self.headers["Idempotency-Key"])
            self._reply()

        def do_GET(self) -> None:
            fake.requests.append((self.path, self.headers["Authorization"], {}))
            self._reply()

        def do_DELETE(self) -> None:
            fake.requests.append((f"DELETE {self.path}", self.headers["Authorization"], {}))
            self.send_response(204)
            self.end_headers()

        def _reply(self) -> None:
            fake.before_reply(self.path)
            status, text = fake.status, fake.bodies.get(self.path, fake.body)
            if told := fake.next.get(self.path):  # the last is told again and again
                status, body = told.pop(0) if len(told) > 1 else told[0]
                text = json.dumps(body)
            payload = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it
            del format, arguments

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("NOISEGATE_URL", fake.url)
        monkeypatch.setenv("NOISEGATE_KEY", KEY)
        yield fake
        server.shutdown()
        thread.join()


@pytest.fixture
def run() -> Callable[..., int]:
    """Run one command line in this process; returns its exit code."""

    def command(*arguments: str) -> int:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        code = left.value.code
        return code if isinstance(code, int) else 0

    return command
