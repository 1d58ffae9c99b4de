"""Ask a running proxy over HTTP, and turn whatever goes wrong into a CommandFailed."""

from __future__ import annotations

import ipaddress
import json
import ssl
from collections.abc import Mapping
from types import MappingProxyType

import httpx

from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.terminal import printable, tell

_CONNECT_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 600.0  # above the proxy's own limits, so that the proxy is the one to give up
_BUDGET_EXHAUSTED = "PD001"
_REFUSED = (400, 403, 409, 413, 422)  # the statuses of what is wrong with a query rather than with the way to ask it
_SERVER_ERROR = 500
_NO_KEY = "28P01"
_KEY_HINT = "put the key that the custodian gave you into NOISEGATE_KEY, or name a file that holds it with --key-file"
_MAYBE_CHARGED = "the query may have been charged; asked again, it costs nothing once more"
_NOT_OURS = "is this the address of a Noisegate proxy?"


def ask(url: str, path: str, key: str, body: Mapping[str, object], *, sql: str) -> str:
    """POST a question and return the answer's JSON text. `server.cli.client.await_answer` asks what may take long.

    Args:
      path: `/v1/explain` or `/v1/propose`.
    Raises: as `exchange`.
    """
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
    """One request, and a response that is a success.

    Args:
      url: the proxy's address, for example `http://127.0.0.1:8432`.
      key: the analyst's key; it goes into a header and nowhere else.
      body: sent as JSON; None values are left out.
      sql: the statement, for errors that point into it.
    Raises: CommandFailed, whose exit code tells a refusal from a connection problem.
    """
    sent = None if body is None else {name: value for name, value in body.items() if value is not None}
    address = _address(url)
    loopback = _is_loopback(address.host)
    if address.scheme == "http" and not loopback:
        tell(f"warning: {address} is not encrypted; others on the way can read your key", style="yellow")
    # A proxy from the environment is for the world outside, never for this machine; whom to trust is for both.
    with httpx.Client(trust_env=not loopback, verify=_trusted(address), timeout=_timeout()) as client:
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


def _trusted(address: httpx.URL) -> ssl.SSLContext | bool:
    """Whose certificates are believed: the system's, and what SSL_CERT_FILE and SSL_CERT_DIR name."""
    return ssl.create_default_context() if address.scheme == "https" else True


def _timeout() -> httpx.Timeout:
    return httpx.Timeout(_ANSWER_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)


def _address(url: str) -> httpx.URL:
    """The address, checked, without a user name that would take the place of the key."""
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
    """Whether the host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refusal(response: httpx.Response, url: str, sql: str) -> CommandFailed:
    """The server's error body as a failure; any other body says only that it is not ours."""
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
    """A refusal is about the query; anything about the key, the load or the server is not."""
    if code == _BUDGET_EXHAUSTED:
        return ExitCode.BUDGET_EXHAUSTED
    return ExitCode.REFUSED if status in _REFUSED else ExitCode.UNUSABLE


def not_ours(url: str) -> CommandFailed:
    """The failure of an answer that is not as this version of Noisegate writes it."""
    return CommandFailed(
        f"{url} did not answer as this version of Noisegate does",
        hint="is it the proxy's address, and as new as this?",
    )
