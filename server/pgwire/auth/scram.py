"""SCRAM-SHA-256: a client proves that it knows its key, the server that it knows the key's verifier.

Sources: RFC 5802, RFC 7677 (SCRAM-SHA-256), RFC 5929 (tls-server-end-point), PostgreSQL's auth-scram.c.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from server.errors import AuthenticationFailed
from server.ledger.api_keys import SCRAM_ITERATIONS

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
"""Without and with channel binding."""

_VERIFIER = re.compile(r"SCRAM-SHA-256\$([0-9]{1,7}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
_FIRST = re.compile(r"(?P<gs2>(?P<flag>n|y|p=[A-Za-z0-9.-]+),,)(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]{8,256}))")
_FINAL = re.compile(
    r"(?P<unproved>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


@dataclass(frozen=True)
class Verifier:
    """What the server keeps of a key: enough to check a proof, not enough to make one.

    Attributes:
      iterations, salt: public.
      stored_key, server_key: 32 bytes each.
      enabled: may its holder come in?
    """

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    enabled: bool = True

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """Read what `server.ledger.api_keys.scram_verifier` wrote, PostgreSQL's own form. Raises ValueError."""
        found = _VERIFIER.fullmatch(text)
        if found is None:
            raise ValueError("this is no SCRAM-SHA-256 verifier")
        salt, stored, server = (base64.b64decode(found[index], validate=True) for index in (2, 3, 4))
        return cls(int(found[1]), salt, stored, server)


def unknown_verifier(user: str, secret: bytes) -> Verifier:
    """A verifier that nobody can satisfy, always the same for a name, so that nobody learns which names exist.

    Args:
      user: the name that somebody tried.
      secret: of this ledger (`unknown_secret`).
    """
    salt = _mac(secret, b"salt " + user.encode())[:16]
    return Verifier(SCRAM_ITERATIONS, salt, _mac(secret, b"stored"), _mac(secret, b"server"))


def unknown_secret(ledger_id: str) -> bytes:
    """What `unknown_verifier` is made from: the same after a restart and at every proxy that shares a ledger.

    The salts of those who exist stay the same, so those of who does not must, too.

    Args:
      ledger_id: known to custodians only.
    """
    return _mac(ledger_id.encode(), b"names that nobody has")


class Exchange:
    """The server's side of one SCRAM exchange: `first`, then `final`.

    Args:
      mechanism: which one the client chose.
      verifier: of the user's key, or an unknown one.
      certificate_hash: for channel binding: the hash of the server's certificate; None without TLS.
      nonce: the server's part; for tests.
    """

    def __init__(
        self, mechanism: str, verifier: Verifier, certificate_hash: bytes | None, nonce: str | None = None
    ) -> None:
        self._bound = mechanism == BOUND
        self._verifier = verifier
        self._certificate_hash = certificate_hash
        self._own_nonce = secrets.token_urlsafe(24) if nonce is None else nonce
        self._gs2 = ""
        self._bare = ""
        self._server_first = ""

    def first(self, message: bytes) -> bytes:
        """Answer the client's first message. Raises: AuthenticationFailed for one that is malformed."""
        found = _FIRST.fullmatch(_ascii(message))
        if found is None:
            raise _failed()
        self._check_flag(found["flag"])
        self._gs2, self._bare = found["gs2"], found["bare"]
        salt = _spelled(self._verifier.salt)
        self._server_first = f"r={found['nonce']}{self._own_nonce},s={salt},i={self._verifier.iterations}"
        return self._server_first.encode()

    def final(self, message: bytes) -> bytes:
        """Check the client's proof and return the server's own. Raises: AuthenticationFailed."""
        found = _FINAL.fullmatch(_ascii(message))
        if found is None:
            raise _failed()
        nonce = self._server_first.split(",", 1)[0][2:]
        fresh = hmac.compare_digest(found["nonce"], nonce)
        bound = hmac.compare_digest(_decoded(found["binding"]), self._binding())
        signed = f"{self._bare},{self._server_first},{found['unproved']}".encode()
        proved = self._proves(_decoded(found["proof"]), signed)
        if not (fresh and bound and proved):
            raise _failed()
        return b"v=" + _spelled(_mac(self._verifier.server_key, signed)).encode()

    def _check_flag(self, flag: str) -> None:
        """Binding where it was chosen; and a client that believes there is none has been lied to if there is."""
        if self._bound:
            if flag != "p=tls-server-end-point":
                raise _failed()
        elif flag.startswith("p=") or (flag == "y" and self._certificate_hash is not None):
            raise _failed()

    def _binding(self) -> bytes:
        return self._gs2.encode() + ((self._certificate_hash or b"") if self._bound else b"")

    def _proves(self, proof: bytes, signed: bytes) -> bool:
        if len(proof) != len(self._verifier.stored_key):
            return False
        signature = _mac(self._verifier.stored_key, signed)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        return hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key)


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _spelled(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _failed() from None


def _ascii(message: bytes) -> str:
    try:
        return message.decode("ascii")
    except UnicodeDecodeError:
        raise _failed() from None


def _failed() -> AuthenticationFailed:
    return AuthenticationFailed("There is no analyst of this name with this key.")
