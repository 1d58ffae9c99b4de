"""The server's certificate: the TLS context, and the hash to which SCRAM binds a channel."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from server.errors import ConfigurationInvalid

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_RSA, _ECDSA = "2a864886f70d0101", "2a8648ce3d04"
_HASHES: Mapping[str, str] = MappingProxyType(
    {
        _RSA + "04": "sha256",  # MD5 and SHA-1 are replaced by SHA-256 (RFC 5929, section 4.1)
        _RSA + "05": "sha256",
        _RSA + "0b": "sha256",
        _RSA + "0c": "sha384",
        _RSA + "0d": "sha512",
        _ECDSA + "01": "sha256",
        _ECDSA + "0302": "sha256",
        _ECDSA + "0303": "sha384",
        _ECDSA + "0304": "sha512",
    }
)
"""The hash of each signature algorithm, by the bytes of its object identifier."""


@dataclass(frozen=True)
class Certificate:
    """What TLS needs.

    Attributes:
      context: TLS 1.2 or newer.
      hash: of the certificate, as tls-server-end-point has it; None where that is not defined (Ed25519, RSA-PSS).
    """

    context: ssl.SSLContext = field(repr=False)
    hash: bytes | None


def read_certificate(certificate: Path, key: Path) -> Certificate:
    """Read a certificate (chain) and its private key in PEM.

    Raises: ConfigurationInvalid for files that are missing or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
        first = _PEM.search(certificate.read_text(encoding="ascii"))
    except (OSError, ssl.SSLError, UnicodeDecodeError) as error:
        hint = "give the PEM files of a certificate and of its private key, without a passphrase"
        raise ConfigurationInvalid("the TLS certificate or its key cannot be read", hint=hint) from error
    assert first is not None, "OpenSSL has just read one"
    der = ssl.PEM_cert_to_DER_cert(first.group())
    return Certificate(context, endpoint_hash(der))


def endpoint_hash(der: bytes) -> bytes | None:
    """tls-server-end-point: the certificate's hash by the hash function of its own signature.

    Source: RFC 5929, section 4.1. None where the signature has no one hash function.
    """
    name = _HASHES.get(_signature_algorithm(der).hex())
    return None if name is None else hashlib.new(name, der).digest()


def _signature_algorithm(der: bytes) -> bytes:
    """The object identifier in Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm { OID, ... }, ... }."""
    _, inside, _ = _element(der, 0)
    _, _, after_tbs = _element(der, inside)
    _, algorithm, _ = _element(der, after_tbs)
    _, start, end = _element(der, algorithm)
    return der[start:end]


def _element(der: bytes, place: int) -> tuple[int, int, int]:
    """Tag, start and end of the content of the DER element at a place."""
    tag, length, start = der[place], der[place + 1], place + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(der[start : start + size], "big")
        start += size
    return tag, start, start + length
