"""SCRAM-SHA-256 authentication with keys of the ledger, bound to the server's certificate.

The client proves that it knows its key, and the server that it knows the key's verifier. Sources: RFC 5802, RFC 7677
(SCRAM-SHA-256), RFC 5929 (tls-server-end-point), PostgreSQL's auth-scram.c.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import SignatureAlgorithmOID

from server.admission import LedgerReads
from server.errors import AuthenticationFailed, ConfigurationInvalid
from server.ledger.analyst import SCRAM_ITERATIONS
from server.ledger.ledger import Ledger


@dataclass(frozen=True)
class Certificate:
    """The server's TLS certificate.

    Attributes:
      context: TLS 1.2 or newer.
      hash: for tls-server-end-point; None where that is undefined (Ed25519, RSA-PSS).
    """

    context: ssl.SSLContext = field(repr=False)
    hash: bytes | None


def read_certificate(certificate: Path, key: Path) -> Certificate:
    """Read a certificate chain and its private key in PEM.

    Raises: ConfigurationInvalid for files that are missing or do not match.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
        first = certificate.read_bytes()
    except (OSError, ssl.SSLError) as error:
        hint = "give the PEM files of a certificate and of its private key, without a passphrase"
        raise ConfigurationInvalid("the TLS certificate or its key cannot be read", hint=hint) from error
    return Certificate(context, endpoint_hash(x509.load_pem_x509_certificate(first)))


def endpoint_hash(certificate: x509.Certificate) -> bytes | None:
    """tls-server-end-point: the certificate's hash, by the hash function of its signature.

    Source: RFC 5929, section 4.1, which replaces MD5 and SHA-1 by SHA-256. None if the signature has no single hash
      function.
    """
    own = certificate.signature_hash_algorithm
    if own is None or certificate.signature_algorithm_oid == SignatureAlgorithmOID.RSASSA_PSS:
        return None
    return certificate.fingerprint(hashes.SHA256() if isinstance(own, hashes.MD5 | hashes.SHA1) else own)


PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
"""Without and with channel binding."""

_VERIFIER = re.compile(r"SCRAM-SHA-256\$([0-9]{1,7}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
_FIRST = re.compile(r"(?P<gs2>(?P<flag>n|y|p=[A-Za-z0-9.-]+),,)(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]{8,256}))")
_FINAL = re.compile(
    r"(?P<unproved>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


@dataclass(frozen=True)
class Verifier:
    """What the server stores of a key; it can check a proof, but not make one.

    Attributes:
      iterations, salt: public.
      stored_key, server_key: 32 bytes each.
      enabled: whether the analyst may connect.
    """

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    enabled: bool = True

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """Parse PostgreSQL's format, as `server.ledger.analyst.scram_verifier` writes it. Raises: ValueError."""
        found = _VERIFIER.fullmatch(text)
        if found is None:
            raise ValueError("this is no SCRAM-SHA-256 verifier")
        salt, stored, server = (base64.b64decode(found[index], validate=True) for index in (2, 3, 4))
        return cls(int(found[1]), salt, stored, server)


def unknown_verifier(user: str, secret: bytes) -> Verifier:
    """A verifier that no key satisfies, constant per name, so that clients cannot learn which names exist.

    Args:
      secret: of this ledger (`unknown_secret`).
    """
    salt = _mac(secret, b"salt " + user.encode())[:16]
    return Verifier(SCRAM_ITERATIONS, salt, _mac(secret, b"stored"), _mac(secret, b"server"))


def unknown_secret(ledger_id: str) -> bytes:
    """Return the secret behind the salts of unknown user names, so that no client can find out which names exist.

    It is the same after a restart and in every proxy of a ledger, because the salts of existing names do not change.

    Args:
      ledger_id: known to administrators only.
    """
    return _mac(ledger_id.encode(), b"names that nobody has")


class Exchange:
    """The server's side of one SCRAM exchange: `first`, then `final`.

    Args:
      certificate_hash: for channel binding; None without TLS.
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
        """Answer the client's first message. Raises: AuthenticationFailed if it is malformed."""
        found = _FIRST.fullmatch(_ascii(message))
        if found is None:
            raise _failed()
        self._check_flag(found["flag"])
        self._gs2, self._bare = found["gs2"], found["bare"]
        salt = _spelled(self._verifier.salt)
        self._server_first = f"r={found['nonce']}{self._own_nonce},s={salt},i={self._verifier.iterations}"
        return self._server_first.encode()

    def final(self, message: bytes) -> bytes:
        """Check the client's proof, and return the server's. Raises: AuthenticationFailed."""
        found = _FINAL.fullmatch(_ascii(message))
        if found is None:
            raise _failed()
        nonce = self._server_first.split(",", 1)[0][2:]
        fresh = hmac.compare_digest(found["nonce"], nonce)
        binding = self._gs2.encode() + ((self._certificate_hash or b"") if self._bound else b"")
        bound = hmac.compare_digest(_decoded(found["binding"]), binding)
        signed = f"{self._bare},{self._server_first},{found['unproved']}".encode()
        proved = self._proves(_decoded(found["proof"]), signed)
        if not (fresh and bound and proved):
            raise _failed()
        return b"v=" + _spelled(_mac(self._verifier.server_key, signed)).encode()

    def _check_flag(self, flag: str) -> None:
        """Check the flag of channel binding; a client that wrongly believes there is none was deceived."""
        if self._bound:
            if flag != "p=tls-server-end-point":
                raise _failed()
        elif flag.startswith("p=") or (flag == "y" and self._certificate_hash is not None):
            raise _failed()

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
    return AuthenticationFailed("There is no analyst of this name with this key. Keys of other roles are for HTTP.")


async def ledger_verifier(ledger: Ledger, reads: LedgerReads, analyst: str) -> Verifier | None:
    """The verifier of an analyst's key; None for unknown names and for keys without one.

    Anyone may send a name, so the lookup runs in the lane of strangers.
    """
    for enabled in (True, False):
        written = await reads.of_stranger(ledger.scram_verifier, analyst, enabled=enabled)
        if written:
            return replace(Verifier.parse(written), enabled=enabled)
    return None
