"""A text states the date that its form says, or none: on both databases, for hostile texts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import product
from pathlib import Path

import psycopg
import pytest
from sqlglot import exp

from planner.rewriting.dialects.duckdb import duckdb_public_sql
from planner.rewriting.dialects.postgres import postgres_sql
from planner.schema import Column, Table
from planner.sql.datetimes import ambiguous, date_text, moment_form, moment_type, patterns, shows_time
from planner.sql.trees import TextDate, bound_column, table_sql
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.support.seeds import SEED

FORMS = (
    "YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "YYYYMMDD", "DDMMYYYY", "YYYY", "MM/YYYY", "YYYYMM", "FMDD.FMMM.YYYY",
    'YYYY-MM-DD"T"HH24:MI:SS', "YYYYMMDDHH24MI", "DD - MM -YYYY  HH24", '"le "DD"/"MM", "YYYY', "YYYY+MM+DD HH24.MI",
    "YYYY_MM_DD", "(DD) MM~YYYY", "YYYY%MM%DD",
)  # fmt: skip
_LAST = {"YYYY": "year", "MM": "month", "DD": "day", "HH24": "hour", "MI": "minute", "SS": "second"}


def read(text: str, form: str) -> date | None:
    """What the text states, without the product's regular expressions: the numbers, and Python's calendar."""
    found = patterns(form)
    assert not isinstance(found, str)
    signs = [one.finest is None for one in found]
    regex, names = "", []
    for place, one in enumerate(found):
        if one.finest is None:
            regex += re.escape(one.written.strip('"'))
            continue
        few = all(signs[at] for at in (place - 1, place + 1) if 0 <= at < len(found))
        regex += "([0-9]{4})" if one.written == "YYYY" else "([0-9]{1,2})" if few else "([0-9]{2})"
        names.append(_LAST[one.written.removeprefix("FM")])
    match = re.fullmatch(regex, text)
    if match is None:
        return None
    numbers = {"month": 1, "day": 1, **dict(zip(names, map(int, match.groups()), strict=True))}
    try:
        moment = datetime(**numbers)  # type: ignore[arg-type]
    except ValueError:
        return None
    return moment if shows_time(form) else moment.date()


def texts(form: str, draw: random.Random, count: int) -> Iterator[str]:
    yield from ("", " ", "-", "0", "0000-00-00", "9999-12-31x", "infinity", "today", "12345-01-01", "２０２４-01-01")
    for _ in range(count):
        day = datetime(
            draw.choice((1, 4, 100, 400, 1900, 2000, 2024, draw.randint(1, 9999))), draw.choice((1, 2, 11, 12)),
            draw.randint(1, 28), draw.randint(0, 23), draw.randint(0, 59), draw.randint(0, 59),
        )  # fmt: skip
        text = date_text(day, form)
        kind = draw.randrange(6)
        if kind == 0:
            text = re.sub(r"0([0-9])(?![0-9])", r"\1", text, count=draw.randint(1, 3))
        elif kind == 1:  # a number that may be too large
            text = re.sub(
                r"[0-9]{2}(?![0-9])", lambda _: draw.choice(("00", "13", "24", "29", "30", "31", "60")), text
            )
        elif kind == 2:
            place = draw.randrange(len(text) + 1)
            text = (
                text[:place] + draw.choice((" ", "\n", "0", "1", "-", "é", "\t")) + text[place + draw.randint(0, 1) :]
            )
        elif kind == 3:
            text = text.replace(f"{day.year:04}", draw.choice(("0000", "12024", "24", "-2024", "9999", "0001")))
        elif kind == 4:
            text += draw.choice((" ", "\n", "x", "Z", "0" * 40, "+00"))
        yield text


@pytest.fixture(scope="module")
def both(embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Engine]]:
    path = in_file(tmp_path_factory.mktemp("forms") / "forms.duckdb", ("CREATE TABLE t (x text)",))
    with on_server(embedded_postgres, "forms", ("CREATE TABLE t (x text)",)) as url:
        yield engines(url, Path(path))


def stated(engine: Engine, forms: Sequence[str], listed: Sequence[str]) -> list[tuple[str, date | None]]:
    node = TextDate(this=bound_column("t", "x"), expressions=list(map(exp.Literal.string, forms)))
    table = Table("t", "public", (Column("x", "text", True),), (), ())
    select = exp.Select(expressions=[bound_column("t", "x"), node], from_=exp.From(this=table_sql(table, "t")))
    written = postgres_sql(select) if engine.dialect == "postgres" else duckdb_public_sql(select, {"t": table})
    values = ", ".join(f"({exp.Literal.string(text).sql('postgres')})" for text in listed)
    rows = engine.run(written.replace('"public"."t" AS "t"', f'(VALUES {values}) AS "t"("x")'))
    return [(str(text), found) for text, found in rows]


@pytest.mark.parametrize("form", FORMS)
def test_each_text_states_its_date_or_none(form: str, both: Sequence[Engine]) -> None:
    listed = list(texts(form, random.Random(f"{SEED}{form}"), 400))
    for engine in both:
        found = stated(engine, [form], listed)
        assert len(found) == len(listed)
        assert [(text, read(text, form)) for text, _ in found] == found, engine.dialect
        assert sum(day is not None for _, day in found) > 100


@pytest.mark.parametrize("form", ["YYYY-MM-DD", "DDMMYYYY", "DD.MM.YYYY"])
def test_the_expression_matches_the_calendar(form: str) -> None:
    known = re.compile(moment_form(form) or "")
    years = {0, 1, 3, 4, 96, 100, 200, 300, 400, 1000, 1900, 2000, 2023, 2024, 2100, 9996, 9999}
    for year, month, day in product(years | {random.Random(f"{SEED}{form}").randrange(10_000)}, range(15), range(34)):
        text = form.replace("YYYY", f"{year:04}").replace("MM", f"{month:02}").replace("DD", f"{day:02}")
        assert (known.fullmatch(text) is not None) == (read(text, form) is not None), text


def test_a_mutant_that_forgets_the_lengths_of_months_is_caught(
    both: Sequence[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = ("[0-9]{4}", "(?:0?[1-9]|1[0-2])", "(?:0?[1-9]|[12][0-9]|3[01])")
    monkeypatch.setattr("planner.sql.datetimes._DATES", (loose, loose))
    with pytest.raises((AssertionError, psycopg.Error)):
        test_each_text_states_its_date_or_none("YYYY-MM-DD", both)
    with pytest.raises(AssertionError):
        test_the_expression_matches_the_calendar("YYYY-MM-DD")


def test_several_forms_are_read_each(both: Sequence[Engine]) -> None:
    forms = ("DD.MM.YYYY", "YYYY-MM-DD", "YYYYMMDD")
    listed = [text for form in forms for text in texts(form, random.Random(f"{SEED}{form}"), 200)]
    for engine in both:
        for text, day in stated(engine, forms, listed):
            assert {day} == ({read(text, form) for form in forms} - {None} or {None}), (engine.dialect, text)


@pytest.mark.parametrize(("form", "other"), [(one, other) for one in FORMS for other in FORMS if one < other])
def test_two_forms_are_ambiguous_if_one_text_states_two_dates(form: str, other: str) -> None:
    """The texts of dates of 11s and 12s, as the proof has them."""
    numbers = (1111, 1112, 1211, 1212)
    days = [datetime(y, m, d, h, n, s) for y, m, d, h, n, s in product(numbers, *[(11, 12)] * 5)]
    two = any(
        other_day is not None and _moment(other_day) != _moment(read(text, one))
        for one, another in ((form, other), (other, form))
        for text in {date_text(day, one) for day in days}
        for other_day in [read(text, another)]
    )
    assert ambiguous(form, other) == two


def _moment(day: date | None) -> datetime | None:
    return None if day is None else day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)


def test_the_types_of_forms() -> None:
    assert moment_type(["YYYY-MM-DD"]) == "date"
    assert moment_type(["YYYY-MM-DD HH24"]) == "timestamp without time zone"
    assert moment_form('YYYY"1"MM') is moment_form("YYYY2MM") is None  # digits could join the numbers
