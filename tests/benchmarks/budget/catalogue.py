"""What dashboards are made over: facts with a day, what is measured of them, what they are grouped and filtered by.

Every share is public: of a domain of k values one is taken for a k-th of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True)
class Choice:
    """One value of a filter over a fact: its condition, the join that it needs, and its public share of the rows."""

    sql: str
    join: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class Key:
    """A column that answers are grouped by, and the join that it needs."""

    sql: str
    join: str = ""


@dataclass(frozen=True)
class Fact:
    """A table of rows that are appended day by day.

    Attributes:
      table: what stands after FROM.
      day: the column of the day.
      moment: is that column a timestamp?
      joins: by name, the text of each join and the name of the one that it needs first; in order.
      metrics: by name.
      keys: by name.
      many: the names of those keys of which the first ten are shown.
      filters: by name and value.
    """

    table: str
    day: str
    moment: bool
    joins: Mapping[str, tuple[str, str]]
    metrics: Mapping[str, str]
    keys: Mapping[str, Key]
    many: tuple[str, ...]
    filters: Mapping[str, Mapping[str, Choice]] = field(default_factory=dict)

    def source(self, needed: set[str]) -> str:
        """FROM with these joins and those that they need."""
        wanted = set(needed) - {""}
        for name in reversed(list(self.joins)):
            if name in wanted:
                wanted |= {self.joins[name][1]} - {""}
        return " ".join((self.table, *(text for name, (text, _) in self.joins.items() if name in wanted)))


@dataclass(frozen=True)
class Catalogue:
    """The facts of one data set, and the first and the last day that its policy lets dates have."""

    facts: Mapping[str, Fact]
    first: date
    last: date

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a filter, of whatever facts have it."""
        found = (value for fact in self.facts.values() for value in fact.filters.get(name, ()))
        return tuple(dict.fromkeys(found))

    @property
    def filters(self) -> tuple[str, ...]:
        """The names of the filters over rows; that of the days is every dashboard's."""
        return tuple(dict.fromkeys(name for fact in self.facts.values() for name in fact.filters))


_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")


def _one_of(column: str, values: tuple[str, ...], join: str) -> Mapping[str, Choice]:
    return {value: Choice(f"{column} = '{value}'", join, 1 / len(values)) for value in values}


def _customers(before: str) -> dict[str, tuple[str, str]]:
    return {
        "customer": ("JOIN customer ON o_custkey = c_custkey", before),
        "nation": ("JOIN nation ON c_nationkey = n_nationkey", "customer"),
        "region": ("JOIN region ON n_regionkey = r_regionkey", "nation"),
    }


def _shop_filters(orders: str) -> dict[str, Mapping[str, Choice]]:
    return {
        "segment": _one_of("c_mktsegment", _SEGMENTS, "customer"),
        "region": _one_of("r_name", _REGIONS, "region"),
        "priority": _one_of("o_orderpriority", _PRIORITIES, orders),
    }


_CUSTOMER_KEYS = {
    "segment": Key("c_mktsegment", "customer"),
    "nation": Key("n_name", "nation"),
    "region": Key("r_name", "region"),
}

SHOP = Catalogue(
    facts={
        "orders": Fact(
            table="orders",
            day="o_orderdate",
            moment=False,
            joins=_customers(""),
            metrics={
                "orders": "count(*)",
                "turnover": "sum(o_totalprice)",
                "average order": "avg(o_totalprice)",
                "customers": "count(DISTINCT o_custkey)",
            },
            keys={
                "status": Key("o_orderstatus"),
                "priority": Key("o_orderpriority"),
                "clerk": Key("o_clerk"),
                **_CUSTOMER_KEYS,
            },
            many=("nation", "clerk"),
            filters=_shop_filters(""),
        ),
        "lines": Fact(
            table="lineitem",
            day="l_shipdate",
            moment=False,
            joins={
                "orders": ("JOIN orders ON l_orderkey = o_orderkey", ""),
                **_customers("orders"),
                "part": ("JOIN part ON l_partkey = p_partkey", ""),
            },
            metrics={
                "lines": "count(*)",
                "revenue": "sum(l_extendedprice * (1 - l_discount))",
                "quantity": "sum(l_quantity)",
                "average discount": "avg(l_discount)",
            },
            keys={
                "return": Key("l_returnflag"),
                "ship mode": Key("l_shipmode"),
                "brand": Key("p_brand", "part"),
                **_CUSTOMER_KEYS,
            },
            many=("nation", "brand"),
            filters=_shop_filters("orders"),
        ),
    },
    first=date(1992, 1, 1),
    last=date(1998, 12, 31),
)


def _users(alias: str, column: str) -> dict[str, tuple[str, str]]:
    return {"users": (f"JOIN users u ON {alias}.{column} = u.id", "")}


_OF_USERS: dict[str, Mapping[str, Choice]] = {
    "standing": {
        "regulars": Choice("u.reputation >= 101", "users"),
        "newcomers": Choice("u.reputation < 101", "users"),
    },
    "member since": {
        "before 2015": Choice("u.creationdate < '2015-01-01'", "users", 4 / 7),
        "2015 and later": Choice("u.creationdate >= '2015-01-01'", "users", 3 / 7),
    },
}


def _clock(column: str) -> dict[str, Key]:
    return {
        "hour": Key(f"extract(hour FROM {column})"),
        "weekday": Key(f"extract(dow FROM {column})"),
        "regular": Key("u.reputation >= 101", "users"),
    }


TRAVEL = Catalogue(
    facts={
        "posts": Fact(
            table="posts p",
            day="p.creationdate",
            moment=True,
            joins={**_users("p", "owneruserid"), "types": ("JOIN posttypes t ON p.posttypeid = t.id", "")},
            metrics={
                "posts": "count(*)",
                "views": "sum(p.viewcount)",
                "average score": "avg(p.score)",
                "authors": "count(DISTINCT p.owneruserid)",
            },
            keys={"type": Key("p.posttypeid"), "type's name": Key("t.name", "types"), **_clock("p.creationdate")},
            many=("hour",),
            filters={
                **_OF_USERS,
                "kind": {"questions": Choice("p.posttypeid = 1"), "answers": Choice("p.posttypeid = 2")},
            },
        ),
        "comments": Fact(
            table="comments c",
            day="c.creationdate",
            moment=True,
            joins=_users("c", "userid"),
            metrics={
                "comments": "count(*)",
                "votes": "sum(c.score)",
                "average score": "avg(c.score)",
                "commenters": "count(DISTINCT c.userid)",
            },
            keys=_clock("c.creationdate"),
            many=("hour",),
            filters=_OF_USERS,
        ),
        "badges": Fact(
            table="badges b",
            day="b.date",
            moment=True,
            joins=_users("b", "userid"),
            metrics={"badges": "count(*)", "people": "count(DISTINCT b.userid)"},
            keys={"class": Key("b.class"), "badge": Key("b.name"), **_clock("b.date")},
            many=("badge",),
            filters={
                **_OF_USERS,
                "kind": {"questions": Choice("b.class = 3", "", 1 / 3), "answers": Choice("b.class = 2", "", 1 / 3)},
            },
        ),
    },
    first=date(2011, 1, 1),
    last=date(2017, 12, 31),
)

CATALOGUES: Mapping[str, Catalogue] = {"shop": SHOP, "travel": TRAVEL}
