"""Statements that reach beyond the rows: files, settings, the catalog, statistics, what EXPLAIN has counted.

PostgreSQL documentation, "Function Volatility Categories" and "Statistics Used by the Planner"; OWASP, "SQL
Injection Prevention Cheat Sheet" (least privilege); Kellaris et al., "Generic Attacks on Secure Outsourced
Databases", CCS 2016 (sizes).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.security.game import MARKER, TARGET, AttackClass, BreakIn, Desk, Distinguisher

_READS = {
    "a file as a table": ("SELECT filename, content FROM read_text('/etc/passwd')", "root:"),
    "a file as a text": ("SELECT content FROM read_text('/etc/pass*')", "root:"),
    "a file as rows": ("SELECT * FROM read_csv('/etc/passwd', sep='|', header=false)", "root:"),
    "names of files": ("SELECT * FROM glob('/etc/*')", "/etc/"),
    "a file in a scalar": ("SELECT count(*), (SELECT content FROM read_text('/etc/passwd')) FROM ward", "root:"),
    "a file beside a private table": (
        "SELECT content, count(*) FROM patient, read_text('/etc/passwd') GROUP BY content",
        "root:",
    ),
    "settings": ("SELECT 'is ' || current_setting('access_mode')", "is automatic"),
    "rows by DESCRIBE and SUMMARIZE": ("SUMMARIZE patient", MARKER),
    "rows by a pragma": ("SELECT * FROM query('SELECT name FROM patient')", MARKER),
    "rows of a table whose name is a text": ("SELECT name FROM query_table('patient')", MARKER),
    "another catalog's table": ("SELECT name FROM main.patient", MARKER),
    "a whole row": (f"SELECT patient FROM patient WHERE id = {TARGET}", MARKER),
    "a row as JSON": (f"SELECT to_json(patient) FROM patient WHERE id = {TARGET}", MARKER),
    "a row in an aggregate": ("SELECT min(name) FROM patient", MARKER),
    "a row in a list": ("SELECT list(name) FROM patient", MARKER),
    "a mode": ("SELECT name, count(*) FROM patient GROUP BY name HAVING count(*) = 1 ORDER BY 1 LIMIT 1", MARKER),
}  # fmt: skip

_WRITES = {
    "a table": "CREATE OR REPLACE TABLE stolen AS SELECT * FROM patient",
    "a view": "CREATE OR REPLACE VIEW stolen_too AS SELECT * FROM patient",
    "a row": "INSERT INTO ward VALUES ('Z', 1)",
    "a row that is changed": "UPDATE ward SET floor = 7 WHERE name = 'A'",
    "a row that is removed": "DELETE FROM ward WHERE name = 'C'",
    "a file": "COPY patient TO '/dev/null' (FORMAT csv, USE_TMP_FILE false)",
    "another database": "ATTACH IF NOT EXISTS ':memory:' AS other",
    "a setting": "SET memory_limit = '1GB'",
    "a macro": "CREATE OR REPLACE MACRO stolen() AS TABLE SELECT * FROM patient",
    "a sequence": "CREATE OR REPLACE SEQUENCE counted",
    "CALL": "CALL pragma_version()",
}

_COUNTS = {
    "tables' sizes": "SELECT estimated_size FROM duckdb_tables() WHERE table_name = 'visit'",
    "storage": "SELECT max(count) FROM pragma_storage_info('patient')",
    "a catalog's estimate": "SELECT reltuples FROM pg_class WHERE relname = 'patient'",
    "a table's rows in the catalog": "SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'patient'",
    "EXPLAIN ANALYZE": f"EXPLAIN ANALYZE SELECT count(*) FROM visit WHERE patient = {TARGET}",
}


def _reads(sql: str, marker: str) -> Callable[[Desk], bool]:
    """What it wanted, and not an echo of what it said."""
    return lambda desk: (reply := desk.ask(sql)).status == 200 and marker in reply.text


def _writes(sql: str) -> Callable[[Desk], bool]:
    return lambda desk: desk.ask(sql).status == 200


def _counted(sql: str) -> Callable[[Desk], bool]:
    """Does a reply name a number of rows that only the database with the person has?

    They are 1000 of theirs, and 1596 with all others. That replies are the same for both, the game sees by itself.
    """
    return lambda desk: re.search(r"\b(1,?000|1,?596) rows", desk.ask(sql).text, re.IGNORECASE) is not None


def _explained(sql: str) -> Callable[[Desk], bool]:
    return lambda desk: re.search(r"\b(1,?000|1,?596) rows", desk.explain(sql).text, re.IGNORECASE) is not None


_STATISTICS = {
    "how many rows a table is thought to have": "SELECT reltuples, relpages FROM pg_class WHERE relname = 'patient'",
    "how large a table is": "SELECT pg_relation_size('patient')",
    "statistics of a column": "SELECT * FROM pg_stats WHERE tablename = 'patient'",
    "how often a table was read": "SELECT n_live_tup, seq_tup_read, n_tup_ins FROM pg_stat_user_tables "
    "WHERE relname = 'patient'",
}


def _told_by_the_wire(sql: str) -> Callable[[Desk], bool]:
    """What PostgreSQL's catalogs say; of DuckDB its own do. That it is the same for both, the game sees by itself."""
    sizes = "SELECT estimated_size FROM duckdb_tables() WHERE table_name = 'visit'"
    return lambda desk: desk.ask(sizes, 8.0).number > 1_100 if desk.wire is None else not desk.by_wire(sql)


_THEIRS = f"SELECT count(*) FROM visit WHERE patient = {TARGET}"

REACH = AttackClass(
    "side effects, files, catalog, statistics, EXPLAIN",
    "PostgreSQL documentation, Function Volatility, Planner Statistics; OWASP; Kellaris et al. 2016",
    (
        *(BreakIn(f"reads {name}", _reads(sql, marker)) for name, (sql, marker) in _READS.items()),
        *(BreakIn(f"writes {name}", _writes(sql)) for name, sql in _WRITES.items()),
        Distinguisher("EXPLAIN of what is one person's", _explained(_THEIRS)),
        Distinguisher("EXPLAIN of a join", _explained("SELECT count(*) FROM visit JOIN patient p ON patient = p.id")),
        Distinguisher("EXPLAIN ANALYZE as a question", _counted(_COUNTS["EXPLAIN ANALYZE"])),
        *(Distinguisher(f"{name}, by the wire", _told_by_the_wire(sql)) for name, sql in _STATISTICS.items()),
        BreakIn("sizes of tables", lambda desk: desk.ask(_COUNTS["tables' sizes"]).status == 200),
        BreakIn("storage of a table", lambda desk: desk.ask(_COUNTS["storage"]).status == 200),
        BreakIn("rows by the catalog", lambda desk: desk.ask(_COUNTS["a catalog's estimate"]).status == 200),
    ),
)  # fmt: skip
