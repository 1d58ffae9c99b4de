"""Random questions that write dates as people do, over the tables of `tests.golden.collected`."""

from __future__ import annotations

import random

_DAYS = (
    "order_date", "shipped_date", "order_date + {n}", "order_date - order_id % {n}",
    "date_trunc('{unit}', {d})::date",
    "make_date(extract(year FROM {d})::int, extract(month FROM {d})::int, 1)",
    "CAST(to_char({d}, 'YYYY-MM-DD') AS date)",
    "to_date(to_char({d}, 'DD/MM/YYYY'), 'DD/MM/YYYY')", "({d} + INTERVAL '{n} days')::date",
    "(date_trunc('month', {d}) + INTERVAL '1 month - 1 day')::date",
    "({d} + (order_id % {n}) * INTERVAL '1 week')::date",
    "CAST(extract(year FROM {d}) || '-' || extract(month FROM {d}) || '-01' AS date)",
    "({d}::timestamp - ((order_id % {n}) || ' hours')::interval)::date", "date_bin('{n} days', {d}::timestamp, "
    "TIMESTAMP '2024-01-01')::date", "to_timestamp(extract(epoch FROM {d})::bigint / 86400 * 86400)::date",
)  # fmt: skip
_NUMBERS = (
    "extract(year FROM {d})", "date_part('dow', {d})", "extract(isodow FROM {d})", "date_part('qtr', {d})",
    "extract(weeks FROM {d})", "extract(day FROM {d}::timestamp - {d}::timestamp)",
    "extract(month FROM age({d}, {d}))",
    "{d} - DATE '2024-01-01'", "extract(doy FROM {d})", "extract(days FROM age({d}, {d}))",
)  # fmt: skip
_TEXTS = (
    "to_char({d}, 'TMDay')", "to_char({d}, 'FMMonth YYYY')", "to_char({d}, 'IYYY-IW D WW')",
    "extract(year FROM {d}) || '-Q' || extract(quarter FROM {d})", "to_char({d}, 'DD.MM.YYYY 00:00')",
)  # fmt: skip
_CONDITIONS = (
    "{d} < {l}", "{d} BETWEEN SYMMETRIC {l} AND {l}", "({d}, {d}) OVERLAPS ({l}, {l})",
    "({d}, INTERVAL '{n} days') OVERLAPS ({l}, {l})", "{d}::timestamp - {l}::timestamp > INTERVAL '{n} days 6 hours'",
    "age({d}, {l}) >= INTERVAL '{n} weeks'",
    "isfinite({d})", "NOT ({d}, {d}) OVERLAPS ({d}, {l})", "{d} IS NOT NULL", "{d}::timestamp::time <= '12:00'",
    "{d} >= to_date('{n}/01/2024', 'DD/MM/YYYY')", "{d} + {n} * INTERVAL '1 day' > {d}",
)  # fmt: skip


def statement(seed: int) -> str:
    """A question of one seed."""
    draw = random.Random(seed)
    kinds = draw.choice((_DAYS, _NUMBERS, _TEXTS))
    where = " AND ".join(_filled(draw.choice(_CONDITIONS), draw) for _ in range(draw.randint(0, 2)))
    condition = f" WHERE {where}" if where else ""
    if draw.random() < 0.4:
        number = _filled(draw.choice(_NUMBERS), draw)
        return f"SELECT count(*), sum({number}) FROM orders{condition}"
    key = _filled(draw.choice(kinds), draw)
    return f"SELECT {key} AS k, count(*) FROM orders{condition} GROUP BY 1"


def _filled(form: str, draw: random.Random, depth: int = 0) -> str:
    parts: list[str] = []
    for piece in form.split("{"):
        hole, _, rest = piece.partition("}")
        if not parts:
            parts.append(piece)
            continue
        parts.append(_hole(hole, draw, depth) + rest)
    return "".join(parts)


def _hole(hole: str, draw: random.Random, depth: int) -> str:
    if hole == "d":
        return _filled(draw.choice(_DAYS if depth < 1 else _DAYS[:2]), draw, depth + 1)
    if hole == "l":
        return f"DATE '{draw.choice((2023, 2024))}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}'"
    return draw.choice(("week", "month", "quarter", "year")) if hole == "unit" else str(draw.randint(1, 28))
