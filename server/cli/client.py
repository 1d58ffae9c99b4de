"""Ask a running proxy over HTTP: read the key, send the request, wait for a long answer, and report errors.

The key comes from the environment or a file, never from an argument, which `ps` and the shell's history show. Every
failure is a CommandFailed. A long question shows its time, and Ctrl-C cancels it at the proxy.
"""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import ssl
import stat
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import console, printable, tell

VARIABLE = "NOISEGATE_KEY"

_Body = TypeVar("_Body")


def read_key(key_file: Path | None) -> str:
    """Read the key from the file if one is named, else from the environment.

    Raises: CommandFailed if there is none, or the file cannot be read or does not hold one word.
    """
    if key_file is not None:
        return _one_word(_file_text(key_file), f"the file {key_file}")
    value = os.environ.get(VARIABLE)
    if not value:
        raise CommandFailed(
            "no key to ask with",
            hint=f"export {VARIABLE}=... or give --key-file PATH; `noisegate analyst add` prints a key once",
        )
    return _one_word(value, f"the variable {VARIABLE}")


def _file_text(path: Path) -> str:
    """Read a file, and warn if other users can read it."""
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(
            f"the key file {path} cannot be read", hint="name a text file that you may read"
        ) from error
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        tell(f"warning: other users can read {path}; run `chmod 600 {path}`", style="yellow")
    return text


def _one_word(text: str, where: str) -> str:
    """The only word of a text. No message contains the text."""
    words = text.split()
    if len(words) != 1 or not words[0].isascii() or not words[0].isprintable():
        raise CommandFailed(f"{where} does not hold a key", hint="a key is one word, as `analyst add` printed it")
    return words[0]


_CONNECT_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 600.0  # above the proxy's own limits, so that the proxy is the one to give up
_BUDGET_EXHAUSTED = "PD001"
_REFUSED = (400, 403, 409, 413, 422)  # the statuses of what is wrong with a query rather than with the way to ask it
_SERVER_ERROR = 500
_NO_KEY = "28P01"
_KEY_HINT = "put the key from the administrator into NOISEGATE_KEY, or name its file with --key-file"
_MAYBE_CHARGED = "the query may have been charged; asking it again is free then"
_NOT_OURS = "is this the address of a Noisegate proxy?"


def ask(url: str, path: str, key: str, body: Mapping[str, object], *, sql: str) -> str:
    """POST a question and return the JSON of the answer. Use `answered` for questions that may take long."""
    return exchange("POST", url, path, key, body=body, sql=sql).text


def fetch(url: str, path: str, key: str) -> str:
    """GET a JSON text. Raises: as `exchange`."""
    return exchange("GET", url, path, key).text


def exchange(
    method: str,
    url: str,
    path: str,
    key: str,
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    body: Mapping[str, object] | None = None,
    sql: str = "",
) -> httpx.Response:
    """Send one request and return a successful response.

    Args:
      key: the analyst's key, which is sent in a header and nowhere else.
      sql: the statement, for errors with a position.
    Raises: CommandFailed, whose exit code tells a refusal from a connection problem.
    """
    sent = None if body is None else {name: value for name, value in body.items() if value is not None}
    address = _address(url)
    loopback = _is_loopback(address.host)
    if address.scheme == "http" and not loopback:
        tell(f"warning: {address} is not encrypted; others on the network can read your key", style="yellow")
    # A proxy from the environment is for the world outside, never for this machine. Whom to trust is for both: the
    # system's certificates, and what SSL_CERT_FILE and SSL_CERT_DIR name.
    trusted = ssl.create_default_context() if address.scheme == "https" else True
    timeout = httpx.Timeout(_ANSWER_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
    with httpx.Client(trust_env=not loopback, verify=trusted, timeout=timeout) as client:
        try:
            response = client.request(
                method,
                str(address).rstrip("/") + path,
                headers={"Authorization": f"Bearer {key}", **headers},
                json=sent,
            )
        except httpx.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                hint = "SSL_CERT_FILE=cert.pem in the environment names the certificate to trust"
                raise CommandFailed(f"the certificate of {url} is not trusted", hint=hint) from error
            raise CommandFailed(
                f"nothing answers at {url}", hint="start the proxy with `noisegate serve`, or name it with --url"
            ) from error
        except httpx.TimeoutException as error:
            raise CommandFailed(f"{url} took too long to answer", hint=_MAYBE_CHARGED) from error
        except httpx.HTTPError as error:
            raise CommandFailed(f"the connection to {url} broke", hint=_MAYBE_CHARGED) from error
    if not response.is_success:
        raise _refusal(response, url, sql)
    return response


def _address(url: str) -> httpx.URL:
    """Validate the address. A user name in it would replace the key."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise CommandFailed(f"not an address: {printable(url)}", hint="for example http://127.0.0.1:8432") from error
    if address.scheme not in ("http", "https") or not address.host or address.userinfo:
        raise CommandFailed(
            "the address must be http://HOST:PORT or https://HOST:PORT, without a user name",
            hint="for example http://127.0.0.1:8432",
        )
    return address


def _is_loopback(host: str) -> bool:
    """Is the host this machine?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refusal(response: httpx.Response, url: str, sql: str) -> CommandFailed:
    """The failure for a problem body; any other body is not Noisegate's."""
    try:
        body = json.loads(response.text)
    except json.JSONDecodeError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return CommandFailed(f"{url} answered HTTP {response.status_code}, not as Noisegate does", hint=_NOT_OURS)
    code, hint, position = body.get("code"), body.get("hint"), body.get("position")
    request_id = body.get("request_id")
    if not isinstance(request_id, str) or response.status_code < _SERVER_ERROR:
        request_id = None
    return CommandFailed(
        body["message"] + (f" (request id {printable(request_id)})" if request_id else ""),
        hint=_KEY_HINT if code == _NO_KEY else hint if isinstance(hint, str) else None,
        exit_code=_exit_code(code, response.status_code),
        code=printable(code) if isinstance(code, str) else None,
        sql=sql,
        position=position if isinstance(position, int) and position > 0 else None,
    )


def _exit_code(code: object, status: int) -> ExitCode:
    """REFUSED for problems of the query; UNUSABLE for problems of the key, the data version or the server."""
    if code == _BUDGET_EXHAUSTED:
        return ExitCode.BUDGET_EXHAUSTED
    return ExitCode.REFUSED if status in _REFUSED else ExitCode.UNUSABLE


def not_ours(url: str) -> CommandFailed:
    """The failure for a response that this version of Noisegate does not write."""
    return CommandFailed(
        f"{url} did not answer as this version of Noisegate does",
        hint="check the address, and that the proxy has the same version",
    )


def read_body(kind: type[_Body], text: str, url: str) -> _Body:
    """Parse a response. Raises: CommandFailed if this version of Noisegate does not write it so."""
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        raise not_ours(url) from error


_AT_ONCE_S = 1
"""Answers within this time need one request and show no progress."""

_POLL_S = 0.25
_ACCEPTED = 202


def answered(url: str, key: str, body: Mapping[str, object], *, sql: str, idempotency_key: str | None = None) -> str:
    """Ask, wait, and return the JSON of the answer.

    Args:
      idempotency_key: the request is charged once under it, however often it is sent; None: no key.
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
    """Wait for a job. The first Ctrl-C cancels it, which may take a moment."""
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
    value = read_body(dict[str, object], response.text, url).get(name)
    if not isinstance(value, str):
        raise not_ours(url)
    return value


@contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Let Ctrl-C only set an event, so that it never falls between a request and its response.

    The second Ctrl-C raises CommandFailed. Off the main thread nothing sets the event.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def press(*_: object) -> None:
        if pressed.is_set():
            hint = "the question may have been charged; if it was, asking it again is free"
            raise CommandFailed("stopped waiting for the answer", hint=hint, exit_code=ExitCode.CANCELLED)
        pressed.set()

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
