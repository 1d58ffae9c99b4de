"""Random statements around answers over TPC-H: what analysts put over, beside and between aggregates."""

from __future__ import annotations

import random
from dataclasses import dataclass

_JOINED = (
    "customer JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey",
    "orders JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey "
    "JOIN region ON n_regionkey = r_regionkey",
)
_KEYS = ("n_name", "r_name", "c_mktsegment", "n_regionkey")
_AGGREGATES = (
    "count(*)",
    "sum(c_acctbal)",
    "count(*) FILTER (WHERE c_acctbal > 0)",
    "sum(CASE WHEN c_mktsegment = 'BUILDING' THEN 1 ELSE 0 END)",
)
_WINDOWS = (
    "rank() OVER (ORDER BY {a} DESC, {ks})",
    "row_number() OVER (PARTITION BY {p} ORDER BY {a}, {ks})",
    "sum({a}) OVER (ORDER BY {ks} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "{a} * 1.0 / nullif(sum({a}) OVER (), 0)",
    "lag({a}, 1, 0) OVER (ORDER BY {ks})",
    "{a} - avg({a}) OVER (PARTITION BY {p})",
    "ntile(3) OVER (ORDER BY {a}, {ks})",
    "first_value({k}) OVER (ORDER BY {a} DESC, {ks})",
    "dense_rank() OVER (ORDER BY {p})",
)
_SCALARS = (
    "{a} + 1",
    "-2.5 * {a}",
    "abs({a} - 10)",
    "CASE WHEN {a} > 20 THEN 'many' ELSE 'few' END",
    "coalesce(nullif({a}, 0), -1)",
    "greatest({a}, 5)",
    "round({a} * 1.0 / 7, 2)",
    "{a} * 1.0 / (SELECT count(*) FROM customer)",
    "upper(CAST({k} AS TEXT)) || '!'",
    "length(CAST({k} AS TEXT))",
    "{a} BETWEEN 10 AND 90",
    "{a} > (SELECT avg(c_acctbal) FROM customer)",
)


@dataclass(frozen=True)
class _Answer:
    """A SELECT of group keys and aggregates, by their output names."""

    sql: str
    keys: tuple[str, ...]
    aggregates: tuple[str, ...]


def _answer(rng: random.Random, keys: tuple[str, ...] | None = None) -> _Answer:
    chosen = keys or tuple(rng.sample(_KEYS, rng.choice((1, 1, 2))))
    aggregates = rng.sample(_AGGREGATES, rng.choice((1, 2)))
    names = tuple(f"a{place}" for place in range(len(aggregates)))
    listed = [*chosen, *(f"{sql} AS {name}" for sql, name in zip(aggregates, names, strict=True))]
    where = rng.choice(("", " WHERE c_acctbal > 100", " WHERE r_name <> 'ASIA'"))
    by = ", ".join(rng.choice((chosen, tuple(str(place) for place in range(1, len(chosen) + 1)))))
    return _Answer(f"SELECT {', '.join(listed)} FROM {rng.choice(_JOINED)}{where} GROUP BY {by}", chosen, names)


def composed_statement(rng: random.Random) -> str:
    """A statement whose answer, computed on exact answers, must be that of the database for the whole of it.

    Where a number decides which rows are shown, ties are broken by keys, so that the rows are one set.
    """
    kinds = (
        _dressed,
        _over,
        _common,
        _union,
        _levels,
        _beside,
        _in_order,
        _side_by_side,
        _side_by_side,
        _of_the_largest,
    )
    return rng.choice(kinds)(rng)


def _dressed(rng: random.Random) -> str:
    """Everything in one SELECT."""
    keys = tuple(rng.sample(_KEYS, rng.choice((1, 2))))
    aggregate = rng.choice(_AGGREGATES)
    words = {"a": aggregate, "k": keys[0], "p": keys[-1], "ks": ", ".join(keys)}
    items = [*keys, *(one.format(**words) for one in rng.sample(_WINDOWS + _SCALARS, 2))]
    having = rng.choice(("", f" HAVING {aggregate} > 12", " HAVING count(*) > 3 AND sum(c_acctbal) < 1000000"))
    return f"SELECT {', '.join(items)} FROM {rng.choice(_JOINED)} GROUP BY {', '.join(keys)}{having}"


def _over(rng: random.Random) -> str:
    """A SELECT over a subquery."""
    inner = _answer(rng)
    words = {"a": f"t.{inner.aggregates[0]}", "k": inner.keys[0], "p": inner.keys[-1]}
    words["ks"] = ", ".join(inner.keys)
    items = [one.format(**words) for one in rng.sample(_WINDOWS + _SCALARS, 2)]
    where = rng.choice(("", f" WHERE {inner.aggregates[0]} > 30", f" WHERE CAST({inner.keys[0]} AS TEXT) LIKE '%A%'"))
    return f"SELECT {inner.keys[0]}, {', '.join(items)} FROM ({inner.sql}) AS t{where}"


def _common(rng: random.Random) -> str:
    """Several answers in WITH, joined by a key, grouped again or not."""
    keys = (rng.choice(_KEYS),)
    left, right = _answer(rng, keys), _answer(rng, keys)
    side = rng.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
    with_ = f"WITH l AS ({left.sql}), r AS ({right.sql})"
    if rng.random() < 0.5:
        return (
            f"{with_} SELECT l.{keys[0]}, l.a0, r.a0 AS b, l.a0 - r.a0 FROM l {side} r ON l.{keys[0]} = r.{keys[0]}"
        )
    return f"{with_} SELECT count(*), max(l.a0), min(r.a0), avg(l.a0) FROM l {side} r ON l.{keys[0]} = r.{keys[0]}"


def _union(rng: random.Random) -> str:
    keys = (rng.choice(("n_name", "r_name", "c_mktsegment")),)
    word = rng.choice(("UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
    one, other = _answer(rng, keys), _answer(rng, keys)
    return f"SELECT {keys[0]}, a0 FROM ({one.sql}) x {word} SELECT {keys[0]}, a0 FROM ({other.sql}) y"


def _levels(rng: random.Random) -> str:
    first, second = rng.sample(_KEYS, 2)
    levels = rng.choice(
        (
            f"ROLLUP ({first}, {second})",
            f"CUBE ({first}, {second})",
            f"GROUPING SETS (({first}), ({second}), ())",
            f"{first}, ROLLUP ({second})",
        )
    )
    aggregate = rng.choice((*_AGGREGATES, "avg(c_acctbal)"))
    items = f"{first}, {second}, {aggregate}, grouping({first})"
    return f"SELECT {items} FROM {rng.choice(_JOINED)} GROUP BY {levels}"


def _beside(rng: random.Random) -> str:
    """An answer beside public tables, or a scalar beside it."""
    inner = _answer(rng, ("r_name",))
    if rng.random() < 0.5:
        return f"SELECT r_regionkey, a0 FROM region LEFT JOIN ({inner.sql}) AS t ON t.r_name = region.r_name"
    return (
        f"SELECT r_name, a0 FROM ({inner.sql}) AS t WHERE r_name IN (SELECT r_name FROM region WHERE r_regionkey < 3)"
    )


def _of_the_largest(rng: random.Random) -> str:
    """Private rows beside an answer of their largest groups, which dashboards join them with."""
    top, key = rng.choice(("c_mktsegment", "n_name", "r_name")), rng.choice(("n_name", "r_name", "c_mktsegment"))
    source, aggregate = rng.choice(_JOINED), rng.choice(_AGGREGATES)
    cut = f"ORDER BY 2 DESC, 1 LIMIT {rng.randint(1, 4)}"
    largest = f"SELECT {top} AS top, {aggregate} AS a FROM {source} GROUP BY {top} {cut}"
    numbers = rng.sample((*_AGGREGATES, "avg(c_acctbal)"), 2)
    where = rng.choice(("", " WHERE c_acctbal > 100"))
    keys = rng.choice((f"{key}", f"{key}, {top}"))
    if rng.random() < 0.4:
        word = rng.choice(("IN", "NOT IN"))
        joined = f"{source}{where or ' WHERE true'} AND {top} {word} (SELECT top FROM ({largest}) AS l)"
        return f"SELECT {keys}, {', '.join(numbers)} FROM {joined} GROUP BY {keys}"
    kept = rng.choice(("", " AND t.a > 50"))
    shown = rng.choice((keys, f"{keys}, t.top", f"{keys}, a"))
    with_, item = (f"WITH t AS ({largest}) ", "t") if rng.random() < 0.4 else ("", f"({largest}) AS t")
    joined = rng.choice(
        (f"{source} JOIN {item} ON {top} = top{kept}", f"{item} JOIN {source} ON {top} = t.top{kept}")
    )
    having = rng.choice(("", " HAVING count(*) > 5"))
    return f"{with_}SELECT {shown}, {', '.join(numbers)} FROM {joined}{where} GROUP BY {shown}{having}"


_ROWS = (
    "SELECT n_name{x}, {kind}{y}, c_acctbal{z} FROM customer JOIN nation ON c_nationkey = n_nationkey",
    "SELECT n_name{x}, {kind}{y}, o_totalprice{z} FROM orders JOIN customer ON o_custkey = c_custkey "
    "JOIN nation ON c_nationkey = n_nationkey WHERE o_totalprice > 1000",
    "SELECT n_name{x}, {kind}{y}, s_acctbal{z} FROM supplier JOIN nation ON s_nationkey = n_nationkey",
    "(SELECT n_name{x}, {kind}{y}, -c_acctbal{z} FROM nation JOIN customer ON c_nationkey = n_nationkey)",
)


def _side_by_side(rng: random.Random) -> str:
    """UNION ALL of rows under one aggregate: in FROM or in WITH, joined to a public table or not."""
    named = rng.random() < 0.5
    words = {"x": " AS x", "y": " AS y", "z": " AS z"} if not named else {"x": "", "y": "", "z": ""}
    kinds = rng.choice((("'a'", "'b'", "'c'", "'a'"), ("c_mktsegment", "'b'", "'c'", "c_mktsegment")))
    bodies = [one.format(kind=kind, **words) for one, kind in zip(_ROWS, kinds, strict=True)]
    if kinds[1] == "'b'" and kinds[0] != "'a'":
        bodies[1] = _ROWS[1].format(kind="c_mktsegment", **words)
    rows = " UNION ALL ".join(rng.sample(bodies, rng.choice((2, 2, 3))))
    columns = "(x, y, z)" if named else ""
    with_, item = (f"WITH u{columns} AS ({rows}) ", "u") if rng.random() < 0.5 else ("", f"({rows}) AS u{columns}")
    if rng.random() < 0.3:
        inside = rng.choice(("", " WHERE v.z < 8000", " JOIN region ON r_regionkey < 3"))
        around = "u AS v" if with_ else f"({rows}) AS v{columns}"
        item = f"(SELECT v.x, v.y, v.z FROM {around}{inside}) AS u"
    joined = rng.choice(("", " JOIN nation AS m ON m.n_name = u.x", " LEFT JOIN nation AS m ON m.n_name = u.x"))
    key = rng.choice(("x", "y", "u.x", "lower(u.x)") + (("m.n_regionkey",) if joined else ()))
    numbers = rng.sample(("count(*)", "sum(u.z)", "avg(z)", "sum(z) FILTER (WHERE z > 100)", "count(z) + 1"), 2)
    where = rng.choice(("", " WHERE z > 500", " WHERE x <> 'FRANCE' AND u.z < 9000"))
    tail = rng.choice(("", f" GROUP BY {key}", f" GROUP BY {key}", " GROUP BY ROLLUP (x, y)", " GROUP BY x, y"))
    keys = "" if not tail else key if key in tail else "x, y"
    having = rng.choice(("", " HAVING count(*) > 5")) if tail else ""
    return f"{with_}SELECT {', '.join([keys, *numbers][not keys :])} FROM {item}{joined}{where}{tail}{having}"


def _in_order(rng: random.Random) -> str:
    key = rng.choice(_KEYS)
    rows = rng.choice(("LIMIT 3", "LIMIT 2 OFFSET 1", ""))
    aggregate = rng.choice(_AGGREGATES)
    return (
        f"SELECT {key} AS x, {aggregate} AS n, max({aggregate}) OVER () FROM {rng.choice(_JOINED)} "
        f"GROUP BY {key} ORDER BY n DESC, x {rows}"
    )
