"""The naive proxy behind HTTP: the routes of the real one, and the usual mistakes of a small web server.

It believes headers that say who asks, has keys of four digits, writes what it was sent into its page, takes commands
from forms of other sites, serves four connections at once however slow they are, and keeps what it is sent whole.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.security.naive import NaiveProxy

_AT_ONCE = 4


class _Server(ThreadingMixIn, HTTPServer):
    """So many connections at once; the others wait until one of these is closed."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: NaiveProxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy
        self.keys: dict[str, str] = {}
        self.places = threading.BoundedSemaphore(_AT_ONCE)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self.places:
            super().process_request_thread(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout: ClassVar[float | None] = None  # whoever is silent is waited for

    def log_message(self, *_: object) -> None:
        """The proxy has a log of its own."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = parse_qs(url.query)
        match url.path:
            case "/v1/query" if "sql" in asked:
                self._answer(asked["sql"][0], float(asked.get("epsilon", ["1"])[0]), [])
            case "/v1/budget":
                self._json(200, {"epsilon_left": self.server.proxy.left.get(self._analyst(), 0.0)})
            case "/v1/history":
                self._json(200, {"charges": [{"sql": sql, "by": who} for who, sql in self.server.proxy.history]})
            case "/metrics":
                self._text(200, "\n".join(f'asked{{sql="{sql}"}} 1' for _, sql in self.server.proxy.history))
            case "/":
                asked_last = self.server.proxy.history[-1:] or [("nobody", "")]
                self._text(200, f"<p>{asked_last[0][0]} asked {asked_last[0][1]}</p>", "text/html")
            case path if path.startswith("/v1/admin/"):
                self._json(200, {"analysts": [{"name": name} for name in self.server.proxy.left]})
            case path:
                self._text(404, f"<p>There is no {unquote(path)}</p>", "text/html")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        form = parse_qs(raw.decode("utf-8", "replace"))
        try:
            plain: dict[str, Any] = {name: values[0] for name, values in form.items()}
            body = plain if "sql" in form else json.loads(raw or b"{}")
        except (ValueError, RecursionError) as error:
            self._json(400, {"code": "42601", "message": str(error)})
            return
        body = body if isinstance(body, dict) else {}
        if self.path == "/v1/workload":  # whose price nobody has thought of
            self.server.proxy.paid |= {("workload", one["sql"]) for one in body["queries"]}
            self.server.proxy.left["workload"] = 0.0
            epsilon = float(body.get("epsilon", 1.0))
            answers = [self._answered(one["sql"], epsilon, [], "workload") for one in body["queries"]]
            self._json(200, {"answers": [body for _, body in answers]})
        elif self.path == "/v1/explain":
            self._explain(str(body.get("sql", "")))
        elif self.path.startswith("/v1/admin/"):
            self.server.proxy.left[str(body.get("name", "made"))] = float(body.get("epsilon", 1.0))
            self._json(201, {"key": "0000", **body})
        else:
            self._answer(str(body.get("sql", "")), float(body.get("epsilon") or 1.0), body.get("parameters", []))

    def do_PUT(self) -> None:
        self.do_POST()

    def do_PATCH(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        """A question that is cancelled is paid back, whether or not it has been answered."""
        self.server.proxy.left[self._analyst()] += 1.0
        self._json(200, {})

    def do_OPTIONS(self) -> None:
        self._text(204, "")

    def _explain(self, sql: str) -> None:
        """With what was found while it ran, which tells exact numbers of rows, and with what others were told."""
        try:
            _, rows = self.server.proxy.exact(f"EXPLAIN ANALYZE {sql}")
        except Exception as error:
            self._json(400, {"code": "42000", "message": str(error)})
            return
        self._json(200, {"plan": str(rows), "starts_from": self.server.proxy.cache.get(sql)})

    def _answer(self, sql: str, epsilon: float, parameters: list[object]) -> None:
        self._json(*self._answered(sql, epsilon, parameters))

    def _answered(
        self, sql: str, epsilon: float, parameters: list[object], analyst: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        try:
            return 200, self.server.proxy.answer(analyst or self._analyst(), sql, epsilon, parameters)
        except PermissionError as error:
            return 422, {"code": "PD001", "message": str(error)}
        except Exception as error:  # in the database's own words
            return 400, {"code": "42000", "message": str(error)}

    def _analyst(self) -> str:
        """Who it says that it is; else whose key it is."""
        for header in "X-Analyst", "X-Forwarded-User", "X-Remote-User":
            if header in self.headers:
                return str(self.headers[header])
        key = str(self.headers.get("Authorization", "")).removeprefix("Bearer ")
        cookie = str(self.headers.get("Cookie", "")).removeprefix("key=")
        return self.server.keys.get(key) or self.server.keys.get(cookie) or "anybody"

    def _json(self, status: int, body: object) -> None:
        self._text(status, json.dumps(body, default=str), "application/json")

    def _text(self, status: int, text: str, kind: str = "text/plain") -> None:
        raw = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Access-Control-Allow-Origin", self.headers.get("Origin", "*"))
        self.send_header("Access-Control-Allow-Headers", "*, Authorization, Content-Type")
        self.send_header("Access-Control-Allow-Credentials", "true")
        self.send_header("Server-Timing", f"db;dur={time.process_time()}")
        self.end_headers()
        self.wfile.write(raw)


@contextmanager
def naive_server(file: Path, folder: Path) -> Iterator[tuple[str, NaiveProxy, dict[str, str]]]:
    """Serve the file. Yields: the address, the proxy, and its keys with whose they are, which may be added to."""
    proxy = NaiveProxy.over(file, folder)
    server = _Server(proxy)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", proxy, server.keys
    finally:
        server.shutdown()
        server.server_close()
