"""What is asked of both neighbours: every generator of questions that the property tests have, and one of its own.

`spoken` are statements over TPC-H that nearly make sense (`tests.property.test_planner_fuzz`), half of them cut up;
`composed` put SQL around answers (`tests.property.composed_statements`); `hostile` put every function of the table
into every clause that private rows may stand in, over one person's worst values; `drawn` are joins of random tables
(`tests.property.sja_questions`).
"""

from __future__ import annotations

import random
import re

from server.query import QueryRequest
from tests.property.composed_statements import composed_statement
from tests.property.test_planner_fuzz import BY_TYPE, Speaker
from tests.security.pairwise.lockstep import ANALYST
from tests.support.function_examples import EXAMPLES
from tests.support.hostile import COLUMNS

_EPSILONS = (0.05, 1.0, 4.0, 8.0)
_LITERALS = {
    "i": ("0", "1", "-3"), "n": ("0.5", "1e50"), "f": ("1.5",), "t": ("'a'", "''"), "c": ("'b'",),
    "d": ("DATE '2024-02-29'",), "s": ("TIMESTAMP '1999-12-31 23:59:59'",), "z": ("TIMESTAMP '0001-01-01'",),
    "b": ("true", "NULL"),
}  # fmt: skip
_NUMBERS, _KEYS = ("i", "j", "n", "m", "f", "r"), ("t", "v", "c", "b", "i", "j", "town")


_PLACEHOLDERS = re.compile(r"\$(\d)")
_WRONGLY_BOUND = 0.05
"""Of statements: with a value more than they name, which is refused before anything else is looked at."""


def spoken(seed: int) -> QueryRequest:
    """A statement of the fuzzer."""
    draw = random.Random(seed)
    sql = Speaker(seed).statement()
    named = max(map(int, _PLACEHOLDERS.findall(sql)), default=0)
    values = draw.choice(((3, 7), ("1994-01-01", 2.5)))
    wrong = draw.random() < _WRONGLY_BOUND
    return request(draw, sql, values[: named + wrong])


def composed(seed: int) -> QueryRequest:
    """SQL around answers."""
    draw = random.Random(seed)
    return request(draw, composed_statement(draw))


def hostile(seed: int) -> QueryRequest:
    """Functions over hostile values, in any clause."""
    draw = random.Random(seed)
    return request(draw, Hostile(draw).statement())


def request(draw: random.Random, sql: str, values: tuple[int | float | str, ...] = ()) -> QueryRequest:
    """The statement, with a price and settings."""
    mechanism = draw.choice((None,) * 9 + ("group_lp", "gem", "l1_clip", "l2_clip"))
    return QueryRequest(
        ANALYST,
        sql,
        epsilon=draw.choice(_EPSILONS),
        delta=draw.choice((None, None, 0.0)),
        mechanism=mechanism,
        parameters=values,
        sampling_rate=draw.choice((None,) * 9 + (0.5,)),
        at_most=draw.choice((None,) * 9 + (30.0,)),
        reuse="never" if draw.random() < 0.8 else "auto",
    )


class Hostile:
    """Writes one statement over the tables of `worlds.hostile`."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def statement(self) -> str:
        """A question, or one around others."""
        form = self.draw.random()
        if form < 0.55:
            return self.question()
        if form < 0.7:
            return self._per_person()
        if form < 0.8:
            return self._side_by_side()
        if form < 0.9:
            return f"SELECT * FROM ({self.question()}) AS q {self.draw.choice(('', 'LIMIT 2', 'ORDER BY 1'))}"
        return f"SELECT ({self.aggregated()}) / nullif(({self.aggregated()}), 0) AS x"

    def aggregated(self) -> str:
        """One number."""
        return f"SELECT {self.aggregate()} FROM h{self.where()}"

    def question(self) -> str:
        """Aggregates, by a key or none."""
        draw, source = self.draw, self.source()
        key = draw.choice(_KEYS) if draw.random() < 0.4 else None
        if key == "town" and "person" not in source:
            source = "h JOIN person p ON h.person = p.id"
        if key is not None and draw.random() < 0.3:
            key = self.expression(draw.choice("tbid"), 1)
        items = [self.aggregate() for _ in range(draw.choice((1, 1, 2)))]
        text = f"SELECT {', '.join([*([key] if key else []), *items])} FROM {source}{self.where()}"
        text += f" GROUP BY {draw.choice((key, '1'))}" if key else ""
        having = f" HAVING {items[0]} {draw.choice(('>', '<', '<>'))} {draw.choice(('0', '3', '-1e300', 'NULL'))}"
        text += having if draw.random() < 0.15 else ""
        text += draw.choice((" ORDER BY 1", " ORDER BY 1 DESC NULLS FIRST", "")) if draw.random() < 0.3 else ""
        return text + (draw.choice((" LIMIT 1", " OFFSET 1", " LIMIT 0")) if draw.random() < 0.15 else "")

    def source(self) -> str:
        """What stands in FROM."""
        return self.draw.choice(
            (
                "h",
                "h",
                "h",
                "h JOIN person p ON h.person = p.id",
                "person p LEFT JOIN h ON h.person = p.id",
                "h LEFT JOIN word w ON h.t = w.w",
                f"h JOIN word w ON {self.expression('b', 1)}",
                "h JOIN h AS g ON h.person = g.person AND h.id < g.id",
                f"(SELECT * FROM h{self.where()}) AS h",
                f"h TABLESAMPLE BERNOULLI ({self.draw.choice((1, 50, 100))})",
            )
        )

    def where(self) -> str:
        """A condition on rows, or none."""
        form = self.draw.random()
        if form < 0.25:
            return ""
        if form < 0.85:
            return f" WHERE {self.expression('b')}"
        inner = f"SELECT 1 FROM h x WHERE x.person = h.person AND {self.expression('b', 1).replace('h.', 'x.')}"
        return f" WHERE {self.draw.choice(('EXISTS', 'NOT EXISTS'))} ({inner})"

    def aggregate(self) -> str:
        """One aggregate, whose argument fits mostly."""
        draw = self.draw
        number, anything = self.expression(draw.choice("infi")), self.expression(draw.choice("bidstinf"))
        made = draw.choice(
            (
                "count(*)",
                f"count({anything})",
                f"count(DISTINCT {anything})",
                f"sum({number})",
                f"sum({number})",
                f"avg({number})",
                f"min({draw.choice(_NUMBERS)})",
                f"max({draw.choice(('d', 's', *_NUMBERS))})",
                f"median({draw.choice(_NUMBERS)})",
                f"percentile_disc({draw.choice((0, 0.5, 0.99))}) WITHIN GROUP (ORDER BY {draw.choice(_NUMBERS)})",
                f"stddev({number})",
                f"var_pop({draw.choice(_NUMBERS)})",
                f"corr({draw.choice(_NUMBERS)}, {draw.choice(_NUMBERS)})",
                f"regr_slope({draw.choice(_NUMBERS)}, {number})",
                f"sum(CASE WHEN {self.expression('b', 1)} THEN {number} ELSE 0 END)",
            )
        )
        return made + (f" FILTER (WHERE {self.expression('b', 1)})" if draw.random() < 0.15 else "")

    def _per_person(self) -> str:
        draw = self.draw
        inner = f"SELECT person, {self.aggregate()} AS x, count(*) AS y FROM h{self.where()} GROUP BY person"
        inner += draw.choice(("", "", " HAVING count(*) > 3", f" HAVING max({draw.choice(_NUMBERS)}) > 1"))
        outer = draw.choice(("avg(x)", "sum(least(x, 20))", "count(*)", "max(y)", "count(DISTINCT y)", "stddev(x)"))
        return f"SELECT {outer} FROM ({inner}) AS one{draw.choice(('', ' WHERE x > 1', ' WHERE y IS NOT NULL'))}"

    def _side_by_side(self) -> str:
        draw = self.draw
        word = draw.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        if draw.random() < 0.5:
            return f"SELECT {self.aggregate()} FROM h {word} SELECT {self.aggregate()} FROM h{self.where()}"
        rows = f"SELECT t AS k, {self.expression('n')} AS x FROM h {word} SELECT 'a', {draw.choice(_NUMBERS)} FROM h"
        return f"SELECT {draw.choice(('count(*)', 'sum(x)', 'avg(x)'))} FROM ({rows}) AS u"

    def expression(self, hole: str, depth: int = 3) -> str:
        """An example of the table of functions, its holes filled with others, with columns and with literals."""
        draw = self.draw
        text = self._example(hole) if draw.random() < 0.7 else f"{{{hole}}}"
        for _ in range(draw.randint(0, depth)):
            found = re.search(r"\{(\w)\}", text)
            if found is None:
                break
            inner = draw.choice((self._example(found[1]), *_LITERALS[found[1]], *COLUMNS[found[1]]))
            text = text.replace(found[0], f"({inner})", 1)
        return re.sub(r"\{(\w)\}", lambda found: "h." + draw.choice(COLUMNS[found[1]]), text)

    def _example(self, hole: str) -> str:
        """Mostly one that fits."""
        fitting = BY_TYPE[hole] if self.draw.random() < 0.97 else EXAMPLES
        return self.draw.choice(fitting or [f"{{{hole}}}"])
