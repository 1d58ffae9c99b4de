"""Ask a question that may take long: how long it has taken is shown, and Ctrl-C cancels it at the proxy."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from server.cli.client.client import exchange, not_ours
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.terminal import console

_AT_ONCE_S = 1
"""What is answered within it shows no progress and needs one request."""

_POLL_S = 0.25
_ACCEPTED = 202


def answered(url: str, key: str, body: Mapping[str, object], *, sql: str, idempotency_key: str | None = None) -> str:
    """Ask, wait, and return the answer's JSON text.

    Args:
      url, key, body, sql: as `exchange` takes them.
      idempotency_key: under which the request is charged once, however often it is sent; None for none.
    Raises: CommandFailed, with the exit code CANCELLED after Ctrl-C.
    """
    headers = {"Prefer": f"respond-async, wait={_AT_ONCE_S}"}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    with _interrupt() as interrupted:
        response = exchange("POST", url, "/v1/query", key, headers=headers, body=body, sql=sql)
        if response.status_code != _ACCEPTED:
            return response.text
        job = _field(response, "id", url)
        _wait(f"/v1/jobs/{job}", url, key, interrupted)
        try:
            return exchange("GET", url, f"/v1/jobs/{job}/result", key, sql=sql).text
        except CommandFailed as failure:
            if interrupted.is_set():
                failure.exit_code = ExitCode.CANCELLED
            raise


def _wait(path: str, url: str, key: str, interrupted: threading.Event) -> None:
    """Until the job is done; the first interrupt cancels it, which may take a moment, too."""
    begun = time.monotonic()
    asked_to_stop = False
    with console(sys.stderr).status("") as status:
        while True:
            if interrupted.is_set() and not asked_to_stop:
                exchange("DELETE", url, path, key)
                asked_to_stop = True
            doing, key_does = ("Cancelling", "again leaves") if asked_to_stop else ("Answering", "cancels")
            status.update(f"{doing}, {time.monotonic() - begun + _AT_ONCE_S:.0f} s (Ctrl-C {key_does})")
            if _field(exchange("GET", url, path, key), "state", url) == "done":
                return
            if asked_to_stop:
                time.sleep(_POLL_S)
            else:
                interrupted.wait(_POLL_S)


def _field(response: httpx.Response, name: str, url: str) -> str:
    try:
        body = json.loads(response.text)
    except json.JSONDecodeError as error:
        raise not_ours(url) from error
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, str):
        raise not_ours(url)
    return value


@contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Within, Ctrl-C only sets the event, so that it never falls between a request and its response.

    The second one raises CommandFailed. Elsewhere than on the main thread nothing sets it.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def press(*_: object) -> None:
        if pressed.is_set():
            hint = "the question may have been charged; asked again, it costs nothing once more"
            raise CommandFailed("gave up waiting for the answer", hint=hint, exit_code=ExitCode.CANCELLED)
        pressed.set()

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
