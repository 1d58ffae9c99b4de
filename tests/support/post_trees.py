"""Random trees of posts, questions along their chains, and what a policy of limited depth promises of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from planner.policy.policy import Policy
from tests.support.fanout_instances import NOTE, POST, Instance, Row, policy_of

_TABLES = ("post", "post", "post", "post", "note", "person")
_JOINS = {
    ("post", "post"): ("{0}.parent = {1}.id",) * 6
    + ("{0}.parent = {1}.parent", "{0}.author = {1}.author", "{0}.id < {1}.id"),
    ("note", "post"): ("{0}.note_on = {1}.id",) * 2 + ("{0}.note_on = {1}.parent", "{0}.by = {1}.author"),
    ("note", "note"): ("{0}.note_on = {1}.note_on", "{0}.by = {1}.by"),
    ("post", "person"): ("{0}.author = {1}.id",),
    ("note", "person"): ("{0}.by = {1}.id",),
}


@dataclass(frozen=True)
class Asked:
    """A question, rows, and the tightest promises that these keep: of rows per person, and of some fan-outs."""

    sql: str
    instance: Instance
    policy: Policy


def asked(seed: int) -> Asked:
    """A random one."""
    rng = random.Random(seed)
    instance = _trees(rng)
    left_open = [key for table in (POST, NOTE) for key in table.foreign_keys if rng.random() < 0.7]
    promised = {name: instance.rows_per_person(name) for name in ("post", "note") if rng.random() < 0.9}
    return Asked(_question(rng), instance, policy_of(instance, without=left_open, **promised))


def _trees(rng: random.Random) -> Instance:
    """A few wide trees, in which one author may own much that lies too deep. Some posts lead nowhere."""
    people, width, signed = rng.randint(1, 3), rng.choice([1, 2, 3, 4, 6]), rng.choice([0.1, 0.5, 1.0])
    posts: list[Row] = []
    for number in range(rng.choice([1, 4, 10, 20, 40])):
        parent = rng.choice([(number - 1) // width] * 30 + [None, number, number + 1, 99]) if number else None
        author = rng.randrange(people) if number == 0 or rng.random() < signed else None
        posts.append((number, parent, author))
    count = rng.choice([1, 4, 12])
    notes: list[Row] = [(rng.choice([None, 99, *range(len(posts))]), rng.choice([None, 0])) for _ in range(count)]
    persons: list[Row] = [(key, None) for key in range(people)]
    return Instance({"person": persons, "post": posts, "note": notes}, depth=rng.choice([1, 1, 2]))


def _question(rng: random.Random) -> str:
    """Up to four tables, each with one condition, mostly, that ties it to one before; sometimes a circle."""
    tables = [rng.choice(_TABLES) for _ in range(rng.choice([1, 2, 2, 2, 3]))]
    pairs = [(place, rng.randrange(place)) for place in range(1, len(tables))]
    pairs += [tuple(rng.sample(range(len(tables)), 2)) for _ in range(len(tables) > 1 and rng.random() < 0.3)]  # type: ignore[misc]
    conditions = []
    for pair in pairs:
        one, other = pair if rng.random() < 0.5 else pair[::-1]
        if (tables[one], tables[other]) not in _JOINS:
            one, other = other, one
        forms = _JOINS.get((tables[one], tables[other]), ())
        if forms:
            conditions.append(rng.choice(forms).format(f"t{one}", f"t{other}"))
    entries = " CROSS JOIN ".join(f"{table} AS t{place}" for place, table in enumerate(tables))
    return f"SELECT count(*) FROM {entries}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
