"""now() and its kin: replaced by a public literal before anything else reads the statement.

The moment is snapped to the policy's grain, so that a dashboard that refreshes all day asks one question.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.sql import zones
from planner.sql.datetime_texts import moment_text
from planner.sql.literals import date_sql, timestamp_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.trees import copied, holds, position_of

Query = TypeVar("Query", bound=exp.Query)

_CLOCK = (exp.CurrentTimestamp, exp.CurrentDate, exp.Localtimestamp)


def replace_clock(select: Query, now: datetime | None, grain: str, zone: str = zones.UTC) -> Query:
    """Write the clock's functions as literals.

    Args:
      select: a statement; it is not changed.
      now: with a time zone; None: there is no clock.
      grain: one of GRAINS.
      zone: the session's time zone, in which days begin.
    Returns: the statement itself where it asks for no clock, a copy otherwise.
    Raises: UnsupportedSQL without a clock.

    >>> from sqlglot import parse_one
    >>> select = parse_one("SELECT WHERE day < current_date AND at < now()", dialect="postgres")
    >>> replace_clock(select, datetime(2024, 5, 17, 13, 30, tzinfo=UTC), "day").sql("postgres")
    "SELECT WHERE day < CAST('2024-05-17' AS DATE) AND at < CAST('2024-05-17 00:00:00' AS TIMESTAMP)"
    """
    if not holds(select, *_CLOCK):
        return select
    copy = copied(select)
    for node in list(copy.find_all(*_CLOCK)):
        if now is None:
            hint = "write the date, DATE '2024-01-31'"
            raise UnsupportedSQL("there is no clock here", hint=hint, position=position_of(node))
        moment = snapped(now, grain, zone)
        local = moment if zone == zones.UTC else zones.local_time(moment, zone)
        literal = date_sql(local.date()) if isinstance(node, exp.CurrentDate) else timestamp_sql(local)
        if zone != zones.UTC and isinstance(node, exp.CurrentTimestamp):
            literal = cast_sql(exp.Literal.string(f"{moment_text(moment)}+00"), "TIMESTAMPTZ")
        literal.meta.update(node.meta)
        node.replace(literal)
    return copy


def snapped(now: datetime, grain: str, zone: str = zones.UTC) -> datetime:
    """The last moment at UTC that is a whole grain by the clocks of a zone; it has no tzinfo.

    >>> moment = datetime(2024, 5, 17, 13, 30, 59, tzinfo=UTC)
    >>> [str(snapped(moment, grain)) for grain in ("minute", "week", "month")]
    ['2024-05-17 13:30:00', '2024-05-13 00:00:00', '2024-05-01 00:00:00']
    """
    moment = now.astimezone(UTC).replace(tzinfo=None, second=0, microsecond=0)
    if grain == "minute":
        return moment
    if zone != zones.UTC:
        return zones.instant(_snapped(zones.local_time(moment, zone), grain), zone)
    return _snapped(moment, grain)


def _snapped(moment: datetime, grain: str) -> datetime:
    moment = moment.replace(minute=0)
    if grain == "hour":
        return moment
    moment = moment.replace(hour=0)
    if grain == "week":
        return moment - timedelta(days=moment.weekday())
    return moment.replace(day=1) if grain == "month" else moment
