"""What a browser does with what was sent: scripts in names, in SQL and in reasons, and commands from other sites.

OWASP Top 10 2021, A03 (injection); MITRE, CWE-79 (cross-site scripting), CWE-352 (request forgery), CWE-942
(permissive cross-domain policy), CWE-1021 (framing); OWASP, "DOM based XSS Prevention". In a real browser:
`tests/e2e/test_console.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from tests.security.game import AttackClass, BreakIn, Desk, Reply, nonce

_SCRIPT = "<script>alert(1)</script>"
_EVIL = "https://evil.example"
_SQL = "SELECT count(*) FROM ward WHERE floor <> -{}"


def _runs(reply: Reply) -> bool:
    """Would a browser run it? As a page with the script in it, or as what may be taken for one."""
    kind = reply.headers.get("content-type", "")
    sniffed = not kind or (kind.startswith("text/plain") and reply.headers.get("x-content-type-options") != "nosniff")
    shielded = "script-src 'self'" in (policy := reply.headers.get("content-security-policy", "")) or (
        "default-src 'none'" in policy and "script-src" not in policy
    )
    return _SCRIPT in reply.text and (kind.startswith("text/html") or sniffed) and not shielded


def _in_sql(desk: Desk) -> bool:
    """In a text, a name and a comment of a statement, and on the page afterwards."""
    statements = (
        f'SELECT name AS "{_SCRIPT}" FROM ward',
        f"SELECT '{_SCRIPT}'",
        f"SELECT {_SCRIPT} FROM patient",
        f"SELECT name FROM ward /* {_SCRIPT} */",
    )
    replies = [desk.ask(sql, 0.1) for sql in statements]
    replies += [desk.send("GET", path) for path in ("/", "/admin")]
    replies += [desk.get("/v1/history"), desk.get("/v1/schema")]
    return any(map(_runs, replies))


def _in_a_path(desk: Desk) -> bool:
    """In what does not exist."""
    paths = (
        f"/{_SCRIPT}",
        f"/{quote(_SCRIPT)}",
        f"/console/{quote(_SCRIPT)}",
        f"/v1/jobs/{quote(_SCRIPT)}",
        f"/?x={_SCRIPT}",
    )
    return any(_runs(desk.send("GET", path)) for path in paths)


def _in_a_header(desk: Desk) -> bool:
    """In a request's id, which is told again, and in a reason and a name, which custodians read."""
    replies = [
        desk.send("GET", "/v1/budget", headers={"X-Request-ID": _SCRIPT, "Accept": f"text/html{_SCRIPT}"}),
        desk.post("/v1/admin/analysts", {"name": _SCRIPT, "epsilon": 1.0, "reason": _SCRIPT}),
        desk.post("/v1/query", {"sql": f"SELECT '{_SCRIPT}'"}, **{"X-Analyst": _SCRIPT}),
    ]
    named = desk.send("GET", "/")
    return any(map(_runs, [*replies, named])) or any(
        _SCRIPT in value for one in replies for value in one.headers.values()
    )


def _page_of_sinks(desk: Desk) -> bool:
    """Does a page, or a script of it, write texts as markup? And is nothing in the way of those who make it?"""
    page = desk.send("GET", "/")
    scripts = [desk.send("GET", path) for path in re.findall(r'(?:src|href)="(/console/[^"]+\.js)"', page.text)]
    own = [one.text for one in scripts if "Observable" not in one.text[:300] and "d3js" not in one.text[:300]]
    sinks = any(re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text) for text in own)
    policy = page.headers.get("content-security-policy", "")
    return sinks or "default-src 'none'" not in policy or "unsafe" in policy


def _forged(kind: str, body: str) -> Callable[[Desk], bool]:
    """A form of another site, sent with whatever a browser adds by itself: cookies, and no more."""

    def tries(desk: Desk) -> bool:
        before = desk.left
        desk.send(
            "POST",
            "/v1/query",
            content=body.replace("SQL", _SQL.format(nonce())),
            headers={"Content-Type": kind, "Origin": _EVIL, "Cookie": f"key={desk.key}"},
        )
        return desk.left < before

    return tries


def _by_a_link(desk: Desk) -> bool:
    """A link, an image, a script's address."""
    before = desk.left
    desk.send("GET", f"/v1/query?sql={quote(_SQL.format(nonce()))}&epsilon=1", headers={"Cookie": f"key={desk.key}"})
    return desk.left < before


def _read_from_elsewhere(desk: Desk) -> bool:
    """May another site's script read what this one is told, or send what it asks?"""
    asked = {
        "Origin": _EVIL,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    replies = [
        desk.send("OPTIONS", "/v1/query", headers=asked),
        desk.send("GET", "/v1/budget", headers={"Origin": _EVIL, "Authorization": f"Bearer {desk.key}"}),
        desk.send("GET", "/", headers={"Origin": "null"}),
    ]
    return any("access-control-allow-origin" in reply.headers for reply in replies)


def _framed(desk: Desk) -> bool:
    """May another site show the page within its own?"""
    return "frame-ancestors 'none'" not in desk.send("GET", "/").headers.get("content-security-policy", "")


def _kept_on_the_way(desk: Desk) -> bool:
    """May a cache on the way keep an answer for the next who asks?"""
    replies = desk.get("/v1/budget"), desk.ask(_SQL.format(nonce()), 0.1)
    return any("no-store" not in reply.headers.get("cache-control", "") for reply in replies)


BROWSER = AttackClass(
    "scripts in texts, requests from other sites",
    "OWASP A03:2021; CWE-79, CWE-352, CWE-942, CWE-1021",
    (
        BreakIn("a script in SQL", _in_sql),
        BreakIn("a script in a path", _in_a_path),
        BreakIn("a script in a header, a name and a reason", _in_a_header),
        BreakIn("texts as markup", _page_of_sinks),
        BreakIn("a form", _forged("application/x-www-form-urlencoded", "sql=SQL&epsilon=1")),
        BreakIn("JSON as plain text", _forged("text/plain", '{"sql": "SQL", "epsilon": 1}')),
        BreakIn("JSON as JSON", _forged("application/json", '{"sql": "SQL", "epsilon": 1}')),
        BreakIn("a link", _by_a_link),
        BreakIn("another site's script", _read_from_elsewhere),
        BreakIn("a frame", _framed),
        BreakIn("a cache on the way", _kept_on_the_way),
    ),
)
