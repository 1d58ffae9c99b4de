from __future__ import annotations

import hashlib

from server.keys import PREFIX, key_hash, new_key


def test_a_key_carries_256_random_bits() -> None:
    keys = {new_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(key.startswith("ng_") and len(key) == len(PREFIX) + 43 for key in keys)


def test_the_hash_is_sha_256_in_hex() -> None:
    assert key_hash("ng_a") == hashlib.sha256(b"ng_a").hexdigest()


def test_the_hash_does_not_hold_the_key() -> None:
    key = new_key()
    assert key.removeprefix(PREFIX) not in key_hash(key)
