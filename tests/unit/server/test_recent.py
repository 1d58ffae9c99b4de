"""What is not used is forgotten."""

from __future__ import annotations

from server.recent import Recent


def test_the_one_unused_for_longest_is_forgotten() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)
    assert len(recent) == 2


def test_a_key_has_one_value() -> None:
    recent: Recent[str, int] = Recent(2)
    assert (recent.put("a", 1), recent.put("a", 2), recent.get("a"), len(recent)) == (1, 2, 2, 1)
