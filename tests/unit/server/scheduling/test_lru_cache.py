"""What is not used is forgotten."""

from __future__ import annotations

from server.lru_cache import LruCache, forget_unused


def test_the_one_unused_for_longest_is_forgotten() -> None:
    recent: LruCache[str, int] = LruCache(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)
    assert len(recent) == 2


def test_a_key_has_one_value() -> None:
    recent: LruCache[str, int] = LruCache(2)
    assert (recent.put("a", 1), recent.put("a", 2), recent.get("a"), len(recent)) == (1, 2, 2, 1)


def test_what_takes_too_many_bytes_is_forgotten() -> None:
    recent: LruCache[str, str] = LruCache(100, 1 << 20)
    wide = "\N{GRINNING FACE}" * 60_000
    for n in range(20):
        recent.put(f"{n}", wide[n:])
        recent.put(f"{n}", wide[n:])
    assert len(recent) == 4
    assert recent.get("19") is not None
    assert recent.put("alone", wide * 20) == wide * 20
    assert (len(recent), recent.get("alone")) == (4, None)
    recent.put("a", "b")
    assert recent.get("a") == "b"


def test_what_is_not_used_between_two_calls_is_forgotten_by_caches_of_bytes() -> None:
    recent: LruCache[str, str] = LruCache(100, 1000, len)
    few: LruCache[str, str] = LruCache(100)
    for cache in (recent, few):
        cache.put("a", "1" * 400)
        cache.put("b", "2" * 400)
        cache.put("too large", "3" * 1001)
    forget_unused()
    assert recent.get("a") is not None and len(recent) == 2, "all were used since the beginning"
    forget_unused()
    assert (recent.get("a"), recent.get("b"), len(few)) == ("1" * 400, None, 3)
    recent.put("c", "4" * 600)
    assert len(recent) == 2, "what was forgotten counts no more"
