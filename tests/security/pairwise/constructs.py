"""Statements of every construct that may stand around private rows and around answers, over hostile values."""

from __future__ import annotations

import random
from dataclasses import replace

from server.query import QueryRequest
from tests.integration.test_total_around_answers import EVERYWHERE
from tests.security.pairwise.questions import Hostile, request

_H_AND_PERSON = "h JOIN person p ON h.person = p.id"
_KEYS = (
    "p.town", "p.nick", "h.t", "h.v", "h.c", "h.b", "h.i", "date_trunc('month', h.d)", "extract(year FROM h.s)",
    "upper(p.nick)", "left(p.nick, 1)", "p.nick || p.town", "h.d - 7", "h.d", "to_char(h.d, 'YYYY-MM')", "h.i % 5",
    "width_bucket(h.n, -100, 1000, 4)", "p.born", "date_trunc('week', p.born)", "coalesce(p.nick, 'none')",
    "CASE WHEN h.n > 0 THEN 'up' ELSE 'down' END", "h.d > '2020-12-31'", "h.s::date", "p.nick IS NULL", "h.f::int",
    "extract(dow FROM h.z)", "CASE WHEN {b} THEN p.nick ELSE p.town END", "substring(p.nick FROM 1 FOR 2)",
    "floor(h.n / 50)", "(SELECT w FROM word WHERE id = h.j)", "{t}", "{d}", "{i}",
)  # fmt: skip
_AGGREGATES = (
    "sum(DISTINCT h.i)", "avg(DISTINCT h.j)", "bool_or({b})", "bool_and({b})", "every(h.b)", "count(DISTINCT {t})",
    "percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY h.n)", "mode() WITHIN GROUP (ORDER BY h.v)",
    "percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY h.i)", "mode() WITHIN GROUP (ORDER BY h.b)",
    "mode() WITHIN GROUP (ORDER BY p.town)", "median(h.n)", "min(h.d)", "max(h.s)", "count(*)", "sum({n})",
    "avg({f})", "stddev_samp(h.i)", "corr(h.n, h.i)", "count(*) FILTER (WHERE {b})",
    "count(*) FILTER (WHERE {in} OR {b})", "sum(CASE WHEN {in} THEN 1 ELSE 0 END)", "count(DISTINCT h.person)",
    "sum(CASE WHEN {in} AND NOT {in} THEN {n} END)", "avg((SELECT count(*) FROM h x WHERE x.person = h.person))",
    "count(DISTINCT CASE WHEN {in} THEN h.person END)", "100.0 * count(*) FILTER (WHERE {in}) / count(*)",
    "bool_or({in})", "count(DISTINCT date_trunc('month', h.d))", "sum({i}) / nullif(count(*), 0)", "var_pop({n})",
    "count({c})", "sum(length({t}))", "count({z})", "max(h.n) - min(h.n)", "regr_slope(h.n, h.j)",
)  # fmt: skip
_IN = (
    "h.person IN (SELECT id FROM person WHERE town = 'Graz')",
    "h.person NOT IN (SELECT x.person FROM h x WHERE x.b)",
    "EXISTS (SELECT 1 FROM h x WHERE x.person = h.person AND x.n > {n})",
    "NOT EXISTS (SELECT 1 FROM h x WHERE x.person = h.person AND x.id < h.id)",
    "h.t IN (SELECT w FROM word)",
    "h.v NOT IN (SELECT w FROM word WHERE id > 0)",
    "h.j = ANY(ARRAY[1, 2, 3])",
    "(SELECT count(*) FROM h x WHERE x.person = h.person) > 2",
    "(SELECT max(x.n) FROM h x WHERE x.person = h.person AND {b}) > h.n",
    "h.n > (SELECT avg(n) FROM h)",
    "h.i >= (SELECT max(id) FROM word)",
    "h.person IN (SELECT person FROM h UNION SELECT id FROM person WHERE town = 'Linz')",
    "h.person IN (SELECT person FROM h WHERE b EXCEPT SELECT id FROM person)",
    "h.person IN (SELECT person FROM h GROUP BY person HAVING count(*) > 3)",
)
_SOURCES = (
    "h", _H_AND_PERSON, _H_AND_PERSON, "person p LEFT JOIN h ON h.person = p.id",
    "h RIGHT JOIN person p ON p.id = h.person",
    "person p FULL JOIN h ON h.person = p.id", "word w RIGHT JOIN h ON w.w = h.t", "h FULL JOIN word w ON w.id = h.j",
    "h LEFT JOIN word w ON w.w = h.v AND {b}", "h JOIN (VALUES (0, 'x'), (1, 'y')) AS w(k, e) ON w.k = h.j",
    "h JOIN generate_series(0, 9) AS g(k) ON g.k = h.j",
    "h CROSS JOIN LATERAL unnest(string_to_array(h.t, ',')) AS e(x)",
    "h CROSS JOIN unnest(string_to_array(h.v, ' ')) AS e(x)", "h, regexp_split_to_table(h.t, ' ') AS e(x)",
    "person p CROSS JOIN LATERAL (SELECT * FROM h x WHERE x.person = p.id ORDER BY x.d LIMIT 2) AS h",
    "person p JOIN LATERAL (SELECT x.person, x.n, x.i, x.b FROM h x WHERE x.person = p.id ORDER BY x.n LIMIT 1) h "
    "ON true",
    "(SELECT DISTINCT ON (person) * FROM h ORDER BY person, d DESC) AS h", "h JOIN h AS x USING (person)",
    "(SELECT *, row_number() OVER (PARTITION BY person ORDER BY d, id) AS r FROM h) AS h",
    "(SELECT person, n, i, b, t, d, j, lag(n) OVER (PARTITION BY person ORDER BY s) AS f FROM h) AS h",
    "(SELECT person, i, sum(n) OVER (PARTITION BY person ORDER BY id) AS n, b, t, d, j FROM h) AS h",
    "(SELECT person, count(*) AS i, sum(n) AS n, max(d) AS d, bool_or(b) AS b FROM h GROUP BY person) AS h",
    "(SELECT person, date_trunc('month', d) AS d, count(*) AS i, avg(f) AS n FROM h GROUP BY 1, 2) AS h",
    "(SELECT * FROM h WHERE b UNION ALL SELECT * FROM h WHERE i > 3) AS h",
    "(SELECT person FROM h WHERE {b} UNION SELECT id FROM person) AS h",
    "(SELECT person, t FROM h INTERSECT SELECT id, town FROM person) AS h",
    "(SELECT person FROM h EXCEPT SELECT id FROM person WHERE {p}) AS h",
)  # fmt: skip
_LISTS = (
    "SELECT DISTINCT nick FROM person", "SELECT DISTINCT upper(nick), town FROM person ORDER BY 1 LIMIT 2",
    "SELECT nick FROM person GROUP BY nick ORDER BY count(*) DESC LIMIT 3",
    "SELECT DISTINCT {key} FROM " + _H_AND_PERSON,
    "SELECT nick FROM person INTERSECT SELECT t FROM h", "SELECT nick FROM person UNION SELECT w FROM word",
    "SELECT town FROM person EXCEPT SELECT w FROM word",
    "SELECT DISTINCT x FROM h, unnest(string_to_array(t, ',')) e(x)",
    "SELECT count(*) FROM (SELECT DISTINCT nick, town FROM person) q",
    "SELECT nick FROM person GROUP BY 1 HAVING count(*) > 1",
)  # fmt: skip
_ANSWER = (
    "(SELECT h.t, h.b, h.d, count(*) AS n, sum(h.i) AS m, max(h.s) AS s, max(h.i)::bigint AS k FROM h{where} "
    "GROUP BY h.t, h.b, h.d)",
    "(SELECT p.nick AS t, h.b, count(*) AS n, sum(h.f) AS m, min(h.d) AS d, max(h.s) AS s, p.boss AS k FROM "
    f"{_H_AND_PERSON}{{where}} GROUP BY p.nick, h.b, p.boss)",
    "(SELECT h.v AS t, h.c = 'a' AS b, avg(h.n) AS n, median(h.n) AS m, h.d, max(h.s) AS s, count(*) AS k "
    "FROM h{where} GROUP BY 1, 2, h.d)",
)  # fmt: skip
_BESIDE = (
    "SELECT g.k, a.n FROM generate_series(0, 9) AS g(k) LEFT JOIN (SELECT j, count(*) AS n FROM h GROUP BY j) a "
    "ON a.j = g.k",
    "SELECT m::date, coalesce(a.n, 0) FROM generate_series(DATE '2020-12-01', DATE '2021-01-31', INTERVAL '1 month') "
    "AS g(m) LEFT JOIN (SELECT date_trunc('month', d) AS q, count(*) AS n FROM h GROUP BY 1) a ON a.q = m",
    "SELECT w.w, a.n FROM word w LEFT JOIN (SELECT t, {agg} AS n FROM h GROUP BY t) a ON a.t = w.w",
    "SELECT (SELECT count(*) FROM h WHERE {b}) - (SELECT count(*) FROM person) AS x, (SELECT max(w) FROM word)",
    "SELECT x, count(*) FROM (SELECT h.t AS x FROM h UNION ALL SELECT w FROM word) u GROUP BY x",
    "SELECT t, n, n - lag(n) OVER (ORDER BY t), sum(n) OVER (ORDER BY t) / nullif(sum(n) OVER (), 0) FROM {answer} a",
    "SELECT t, sum(n) FROM {answer} a GROUP BY ROLLUP (t) ORDER BY 2 DESC LIMIT (SELECT count(*) - 20 FROM h)",
    "SELECT DISTINCT ON (b) b, t, n FROM {answer} a ORDER BY b, n DESC",
    "SELECT rank() OVER (ORDER BY n DESC), t FROM {answer} a WHERE n > (SELECT avg(n) FROM {answer} c)",
    "WITH a AS {answer}, c AS (SELECT sum(n) AS n FROM a) SELECT a.t, 100 * a.n / c.n, ln(a.n / c.n) FROM a, c",
    "SELECT (SELECT n FROM {answer} a), 1",
    "SELECT count(*) FROM h WHERE n > (SELECT {scalar} FROM h)",
    "SELECT count(*) FROM h WHERE t IN (SELECT t FROM {answer} a WHERE n > 3)",
    "SELECT {scalar} FROM h UNION ALL SELECT {scalar} FROM person p JOIN h ON h.person = p.id ORDER BY 1",
    "SELECT string_agg(t, ',' ORDER BY n), count(*), max(n) FROM {answer} a",
    "SELECT h.id, a.n FROM {answer} a, LATERAL (SELECT count(*) AS id FROM word w WHERE w.w = a.t) h",
)  # fmt: skip


class Constructs(Hostile):
    """Writes one statement, with holes that are filled by functions over hostile values."""

    def statement(self) -> str:
        """A question with keys, a list, SQL around answers, or a question as the others have it."""
        draw, form = self.draw, self.draw.random()
        if form < 0.5:
            return self._grouped()
        if form < 0.6:
            return self.filled(draw.choice(_LISTS))
        if form < 0.8:
            around = ", ".join(draw.choice(EVERYWHERE) for _ in range(draw.choice((1, 1, 2, 3))))
            tail = draw.choice(("", "", " ORDER BY 1", " LIMIT (SELECT count(*) - 5 FROM person)", " WHERE n > 1"))
            return self.filled(f"SELECT {around} FROM {{answer}} AS a{tail}")
        return self.filled(draw.choice(_BESIDE)) if form < 0.95 else super().statement()

    def filled(self, form: str) -> str:
        """The form without its holes."""
        draw = self.draw
        while True:
            for hole, choices in (("key", _KEYS), ("agg", _AGGREGATES), ("in", _IN), ("answer", _ANSWER)):
                form = form.replace(f"{{{hole}}}", draw.choice(choices), 1)
            form = form.replace("{where}", self.where(), 1).replace("{scalar}", self.aggregate(), 1)
            form = form.replace("{p}", draw.choice(("town = 'Graz'", "nick IS NULL", "born > '1950-02-01'")), 1)
            if not any(f"{{{hole}}}" in form for hole in ("key", "agg", "in", "answer", "where", "scalar", "p")):
                break
        for kind in "infcdszbt":
            while f"{{{kind}}}" in form:
                form = form.replace(f"{{{kind}}}", self.expression(kind, 2), 1)
        return form

    def _grouped(self) -> str:
        draw = self.draw
        source = draw.choice(_SOURCES)
        keys = draw.sample(_KEYS, draw.choice((0, 1, 1, 2)))
        items = [
            draw.choice(_AGGREGATES) if draw.random() < 0.8 else self.aggregate()
            for _ in range(draw.choice((1, 1, 2)))
        ]
        if draw.random() < 0.85:  # mostly names that FROM has
            keys = [key for key in keys if " p " in f" {source} " or "p." not in key]
            items = [item for item in items if " p " in f" {source} " or "p." not in item] or ["count(*)"]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        if len(keys) == 2 and draw.random() < 0.5:
            by = f" GROUP BY {draw.choice(('ROLLUP', 'CUBE'))} ({', '.join(keys)})"
        where = draw.choice(("", f" WHERE {draw.choice(_IN)}", f" WHERE {draw.choice(_IN)} OR {{b}}", self.where()))
        tail = draw.choice(("", "", f" HAVING {items[0]} > 2", " ORDER BY 1 LIMIT 5", " ORDER BY 1 DESC OFFSET 1"))
        return self.filled(f"SELECT {', '.join([*keys, *items])} FROM {source}{where}{by}{tail}")


def constructs(seed: int) -> QueryRequest:
    """A statement of any construct."""
    draw = random.Random(seed)
    made = request(draw, Constructs(draw).statement())
    plain = {"mechanism": None, "sampling_rate": None, "at_most": None} if draw.random() < 0.9 else {}
    return replace(made, epsilon=1000.0, delta=None, **plain)  # type: ignore[arg-type]
