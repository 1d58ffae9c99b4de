from __future__ import annotations

import base64
import hashlib
import hmac

from server.ledger.analyst import PREFIX, credentials_of, key_hash, new_key, scram_verifier


def test_a_key_carries_256_random_bits() -> None:
    keys = {new_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(key.startswith("ng_") and len(key) == len(PREFIX) + 43 for key in keys)


def test_the_hash_is_sha_256_in_hex() -> None:
    assert key_hash("ng_a") == hashlib.sha256(b"ng_a").hexdigest()


def test_the_verifier_is_that_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    method, rounds, keys = scram_verifier("pencil", salt).split("$")
    stored_key, server_key = (base64.b64decode(part) for part in keys.split(":"))
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}".encode()
    signature = hmac.digest(server_key, message, "sha256")
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_signature = hmac.digest(stored_key, message, "sha256")
    client_key = bytes(one ^ other for one, other in zip(proof, client_signature, strict=True))
    assert hashlib.sha256(client_key).digest() == stored_key
    assert (method, rounds) == ("SCRAM-SHA-256", "4096:W22ZaJ0SNY7soEsUEjb6gQ==")


def test_credentials_have_a_salt_of_their_own_and_do_not_show_the_key() -> None:
    one, other = credentials_of("ng_key"), credentials_of("ng_key")
    assert one.key_hash == other.key_hash == key_hash("ng_key")
    assert one.scram_verifier != other.scram_verifier
    assert "ng_key" not in one.scram_verifier + repr(one)
