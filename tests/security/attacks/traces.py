"""What is left of a question where others look: the log, metrics, headers, and what follows a trace.

MITRE, CWE-532 (sensitive information in log files), CWE-209 (in error messages), CWE-497 (of the system);
OpenTelemetry, "Semantic conventions for database spans" (db.query.text).
"""

from __future__ import annotations

import re

from tests.security.game import MARKER, TARGET, AttackClass, BreakIn, Desk, Distinguisher, nonce

_WORD = "secretly-asked-for"


def _asked(desk: Desk) -> int:
    """Questions with a word and a number that stand nowhere else: answered, refused, failed, explained."""
    mark = nonce()
    for sql in (
        f"SELECT count(*) FROM visit WHERE note = '{_WORD}-{mark}'",
        f"SELECT count(*) FROM visit WHERE note = '{_WORD}-{mark}' AND CAST(note AS integer) = {TARGET}",
        f"SELECT {_WORD.replace('-', '_')}_{mark} FROM visit",
        f"SELECT '{_WORD}-{mark}",
    ):
        desk.post("/v1/query", {"sql": sql, "epsilon": 0.1}, traceparent=f"00-{mark:032x}-00f067aa0ba902b7-01")
        desk.explain(sql)
    return mark


def _in_the_log(desk: Desk) -> bool:
    """Their words, or a key."""
    mark = _asked(desk)
    text = desk.log_file.read_text(errors="replace")
    return (
        f"{_WORD}-{mark}" in text
        or f"_{mark}" in text
        or (desk.key in text and desk.wire is not None)
        or MARKER in text
    )


def _exact_times(desk: Desk) -> bool:
    """How long each took, finer than it may be told."""
    _asked(desk)
    text = desk.log_file.read_text(errors="replace")
    shown = re.findall(r"duration_ms['\"]?[=:]\s*([\d.]+)", text)
    fine = any(float(one) % 100 for one in shown)
    headers = any({"server-timing", "x-process-time", "x-runtime"} & set(reply.headers) for reply in desk.replies)
    return fine or headers or re.search(r"in \d+\.\d{4,} s", text) is not None


def _in_metrics(desk: Desk) -> bool:
    """For who may look, and for who may not."""
    mark = _asked(desk)
    readers = [desk.key, *([desk.secret] if desk.secret else [])]
    pages = [desk.send("GET", "/metrics", headers={"Authorization": f"Bearer {key}"}).text for key in readers]
    return any(
        f"{_WORD}-{mark}" in page or f"{mark}" in page or "_seconds" in page.replace("process_", "") for page in pages
    )


def _in_a_ledger(desk: Desk) -> bool:
    """In what an auditor sees."""
    mark = _asked(desk)
    pages = [
        desk.send("GET", path, headers={"Authorization": f"Bearer {desk.secret or desk.key}"}).text
        for path in ("/v1/admin/charges", "/v1/admin/entries", "/v1/admin/ledger/export", "/v1/history", "/metrics")
    ]
    return any(f"{_WORD}-{mark}" in page for page in pages)


def _lines(desk: Desk) -> str:
    """The log of the same questions: without names, times, keys and numbers of requests."""
    before = len(desk.log_file.read_text(errors="replace")) if desk.log_file.exists() else 0
    for sql in (
        f"SELECT count(*) FROM visit WHERE patient = {TARGET}",
        "SELECT count(*) FROM visit WHERE CAST(note AS integer) > 0",
        f"SELECT town, count(*) FROM patient WHERE id = {TARGET} GROUP BY town",
    ):
        desk.ask(sql, 0.1)
    text = desk.log_file.read_text(errors="replace")[before:]
    text = re.sub(r"eve-\d+|[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z?|in [\d.]+ s|duration_ms\W+\d+", "_", text)
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def _log_differs(desk: Desk) -> bool:
    """Does the log of these questions name what is hers: values, or an error that only she causes?"""
    lines = _lines(desk)
    return "no number" in lines or "(1000,)" in lines or "Zwingenberg" in lines


TRACES = AttackClass(
    "log, metrics, traces",
    "CWE-532, CWE-209, CWE-497; OpenTelemetry, database spans",
    (
        BreakIn("words of a question in the log", _in_the_log),
        BreakIn("exact durations", _exact_times),
        BreakIn("words of a question in metrics", _in_metrics),
        BreakIn("words of a question in the ledger", _in_a_ledger),
        Distinguisher("rows in the log", _log_differs),
    ),
)
