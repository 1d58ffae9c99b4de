"""To be somebody else: headers that say who asks, keys that are guessed, doors for administrators.

MITRE, CWE-290 (authentication bypass by spoofing), CWE-307 (excessive attempts), CWE-285 (improper authorization);
OWASP API Security Top 10 2023, API1, API2 and API5.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from tests.security.game import AttackClass, BreakIn, Desk, nonce

HEADERS = (
    "X-Analyst", "X-Forwarded-User", "X-Remote-User", "Remote-User", "X-User", "X-Original-User",
    "X-Authenticated-User",
    "X-WEBAUTH-USER", "X-Noisegate-Analyst",
)  # fmt: skip
_SQL = "SELECT count(*) FROM patient WHERE id <> -{}"
_GUESSES = 400


def _spoofed(header: str) -> Callable[[Desk], bool]:
    """With my key and another's name: who is charged?"""

    def tries(desk: Desk) -> bool:
        victim, before = desk.another(5.0), desk.left
        desk.post("/v1/query", {"sql": _SQL.format(nonce()), "epsilon": 1.0}, **{header: victim.name})
        return desk.left == before and victim.left < 5.0

    return tries


def _no_key(headers: Callable[[Desk], dict[str, str]], path: str = "/v1/query") -> Callable[[Desk], bool]:
    """Without any key of an account's own."""

    def tries(desk: Desk) -> bool:
        body = {"sql": _SQL.format(nonce()), "epsilon": 0.1}
        return desk.send("POST", path, json=body, headers=headers(desk.another())).status == 200

    return tries


def _guessed(desk: Desk) -> bool:
    """Keys one after the other, from the newest that one has oneself."""
    digits = desk.key.removeprefix("ng_")
    others = [desk.another() for _ in range(2)]
    guesses = (
        [f"{(int(digits) + step) % 10_000:04d}" for step in range(1, _GUESSES)]
        if digits.isdigit()
        else [f"ng_{digits[:-2]}{step:02d}" for step in range(100)] + [f"ng_{step}" for step in range(100)]
    )
    for guess in guesses:
        reply = desk.send("GET", "/v1/budget", headers={"Authorization": f"Bearer {guess}"})
        if guess != desk.key and reply.status == 200 and float(reply.body.get("epsilon_left", 0.0)) > 0:
            return bool(others)
    return False


ADMIN = (
    ("GET", "/v1/admin/analysts"), ("GET", "/v1/admin/accounts"), ("GET", "/v1/admin/charges"),
    ("GET", "/v1/admin/entries"), ("GET", "/v1/admin/dataset"), ("GET", "/v1/admin/holder"),
    ("GET", "/v1/admin/ledger/export"), ("GET", "/metrics"), ("POST", "/v1/admin/analysts"),
    ("POST", "/v1/admin/data/bump"), ("POST", "/v1/admin/policy/reload"), ("POST", "/v1/admin/ledger/verify"),
    ("PUT", "/v1/admin/accounts/dataset"), ("POST", "/v1/admin/accounts/dataset/top-up"),
    ("PATCH", "/v1/admin/analysts/eve-1"), ("POST", "/v1/admin/analysts/eve-1/key"),
)  # fmt: skip
"""Every door of custodians and auditors."""

_TRICKS = (
    "/v1/admin/analysts/", "//v1/admin/analysts", "/v1/ADMIN/analysts", "/v1/budget/../admin/analysts",
    "/v1/budget/%2e%2e/admin/analysts", "/v1/admin%2fanalysts", "/v1/admin/analysts;x=1", "/v1/admin/analysts%00",
    "/v1/./admin/analysts", "/v1/admin/analysts?role=admin", "/console/../v1/admin/analysts",
)  # fmt: skip


def _door(method: str, path: str) -> Callable[[Desk], bool]:
    body = {"name": "mallory", "epsilon": 100.0, "delta": 0.0, "role": "admin", "reason": "a reason", "enabled": True}
    return lambda desk: (
        desk.send(
            method, path, json=None if method == "GET" else body, headers={"Authorization": f"Bearer {desk.key}"}
        ).status
        < 300
    )


def _tricked(desk: Desk) -> bool:
    """The same door by another path, or by another method's name."""
    key = {"Authorization": f"Bearer {desk.key}"}
    found = [desk.send("GET", path, headers=key) for path in _TRICKS]
    found += [
        desk.send("POST", "/v1/budget", headers={**key, header: "/v1/admin/analysts"})
        for header in ("X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override")
    ]
    return any(reply.status < 300 and "analysts" in reply.text for reply in found)


def _tells_who_exists(desk: Desk) -> bool:
    """Does a wrong key for somebody who is there look otherwise than for nobody?"""
    there = desk.send(
        "GET", "/v1/budget", headers={"Authorization": "Bearer ng_nobody", "X-Analyst": desk.another().name}
    )
    nobody = desk.send(
        "GET", "/v1/budget", headers={"Authorization": "Bearer ng_nobody", "X-Analyst": "nobody-at-all"}
    )
    return there.seen != nobody.seen


def _by_the_wire(desk: Desk) -> bool:
    """Another's name, with one's own key, over PostgreSQL's protocol."""
    if desk.wire is None:
        return True  # it has no protocol in which somebody would have to prove anything
    told = []
    for name in (desk.another().name, "nobody-at-all", "postgres", "noisegate"):
        try:
            psycopg.connect(
                f"host=127.0.0.1 port={desk.wire} dbname=clinic user={name} password={desk.key} sslmode=disable",
                connect_timeout=20,
            ).close()
        except psycopg.OperationalError as error:
            told.append(str(error).replace(name, "somebody"))
        else:
            return True
    return len(set(told)) > 1


IDENTITY = AttackClass(
    "header spoofing, key guessing, doors for administrators",
    "CWE-290, CWE-307, CWE-285; OWASP API Security 2023, API1, API2, API5",
    (
        *(BreakIn(f"the header {header}", _spoofed(header)) for header in HEADERS[:3]),
        BreakIn("other headers", lambda desk: any(_spoofed(header)(desk) for header in (*HEADERS[3:], HEADERS[0]))),
        BreakIn("no key and a name", _no_key(lambda desk: {"X-Forwarded-User": desk.name})),
        BreakIn("a key as a cookie", _no_key(lambda desk: {"Cookie": f"key={desk.key}"})),
        BreakIn("a guessed key", _guessed),
        BreakIn("another's name by the wire", _by_the_wire),
        BreakIn("a door by another path", _tricked),
        BreakIn("which names there are", _tells_who_exists),
        *(BreakIn(f"{method} {path}", _door(method, path)) for method, path in ADMIN),
    ),
)
