"""SCRAM-SHA-256 against the RFC's own example, and against whoever does not have the key."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from server.errors import AuthenticationFailed
from server.ledger.analyst import scram_verifier
from server.pgwire.scram import BOUND, PLAIN, Exchange, Verifier, unknown_verifier

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
CERTIFICATE = hashlib.sha256(b"certificate").digest()


def verifier_of(key: str, salt: bytes = SALT) -> Verifier:
    return Verifier.parse(scram_verifier(key, salt))


class Client:
    """The client's side, written from RFC 5802 on its own."""

    def __init__(self, key: str, gs2: str = "n,,", binding: bytes = b"", user: str = "user") -> None:
        self.key, self.gs2, self.binding = key, gs2, binding
        self.bare = f"n={user},r={CLIENT_NONCE}"

    def first(self) -> bytes:
        return (self.gs2 + self.bare).encode()

    def final(self, server_first: bytes) -> bytes:
        fields = dict(part.split("=", 1) for part in server_first.decode().split(","))
        salted = hashlib.pbkdf2_hmac("sha256", self.key.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        bound = base64.b64encode(self.gs2.encode() + self.binding).decode()
        unproved = f"c={bound},r={fields['r']}"
        signed = f"{self.bare},{server_first.decode()},{unproved}".encode()
        signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{unproved},p={base64.b64encode(proof).decode()}".encode()


def agree(client: Client, exchange: Exchange) -> bytes:
    return exchange.final(client.final(exchange.first(client.first())))


def test_the_example_of_the_rfc() -> None:
    exchange = Exchange(PLAIN, verifier_of("pencil", SALT), None, nonce=SERVER_NONCE)
    client = Client("pencil")
    first = exchange.first(client.first())
    assert first.decode() == f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = client.final(first)
    assert final.endswith(b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert exchange.final(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_wrong_key_proves_nothing() -> None:
    with pytest.raises(AuthenticationFailed, match=r"no analyst of this name with this key\. Keys of other roles"):
        agree(Client("pencils"), Exchange(PLAIN, verifier_of("pencil"), None))


def test_nobody_satisfies_an_unknown_verifier_which_is_always_the_same() -> None:
    verifier = unknown_verifier("eve", b"secret")
    assert verifier == unknown_verifier("eve", b"secret")
    assert verifier.salt != unknown_verifier("bob", b"secret").salt
    with pytest.raises(AuthenticationFailed):
        agree(Client("anything"), Exchange(PLAIN, verifier, None))


def test_a_bound_channel() -> None:
    client = Client("k", "p=tls-server-end-point,,", CERTIFICATE)
    assert agree(client, Exchange(BOUND, verifier_of("k"), CERTIFICATE)).startswith(b"v=")


def test_a_channel_bound_to_another_certificate_fails() -> None:
    client = Client("k", "p=tls-server-end-point,,", hashlib.sha256(b"man in the middle").digest())
    with pytest.raises(AuthenticationFailed):
        agree(client, Exchange(BOUND, verifier_of("k"), CERTIFICATE))


def test_a_client_that_was_told_of_no_binding_has_been_lied_to() -> None:
    with pytest.raises(AuthenticationFailed):
        agree(Client("k", "y,,"), Exchange(PLAIN, verifier_of("k"), CERTIFICATE))
    assert agree(Client("k", "y,,"), Exchange(PLAIN, verifier_of("k"), None))


def test_binding_that_was_chosen_is_not_left_out() -> None:
    for flag in ["n,,", "y,,", "p=tls-unique,,"]:
        with pytest.raises(AuthenticationFailed):
            agree(Client("k", flag), Exchange(BOUND, verifier_of("k"), CERTIFICATE))


def test_a_replayed_proof_fails() -> None:
    verifier = verifier_of("k")
    client = Client("k")
    seen = client.final(Exchange(PLAIN, verifier, None).first(client.first()))
    again = Exchange(PLAIN, verifier, None)
    again.first(client.first())
    with pytest.raises(AuthenticationFailed):
        again.final(seen)


def test_a_malformed_beginning() -> None:
    for message in [b"", b"n,,", b"n,,n=u", b"n,,n=u,r=", b"n,a=x,n=u,r=abcdefgh", b"\xff", b"n,,m=x,n=u,r=abcdefgh"]:
        with pytest.raises(AuthenticationFailed):
            Exchange(PLAIN, verifier_of("k"), None).first(message)


def test_a_malformed_proof() -> None:
    for message in [b"", b"c=biws", b"c=biws,r=x", b"c=!!!,r=x,p=eA==", b"\xff"]:
        exchange = Exchange(PLAIN, verifier_of("k"), None)
        exchange.first(Client("k").first())
        with pytest.raises(AuthenticationFailed):
            exchange.final(message)


def test_a_verifier_shows_nothing_of_the_key() -> None:
    assert repr(verifier_of("pencil")) == f"Verifier(iterations=4096, salt={SALT!r}, enabled=True)"
    with pytest.raises(ValueError, match="no SCRAM"):
        Verifier.parse("md5abc")
