"""The site's catalog: the planner's view of it and PostgreSQL's are made from the same words."""

from __future__ import annotations

from planner.schema import Column, ForeignKey, Schema, Table

COLUMNS = {
    "posttypes": "id smallint, name text",
    "votetypes": "id smallint, name text",
    "linktypes": "id smallint, name text",
    "users": "id integer, reputation integer, creationdate timestamp, lastaccessdate timestamp, views integer, "
    "upvotes integer, downvotes integer, age smallint NULL",
    "posts": "id integer, posttypeid smallint, parentid integer NULL, acceptedanswerid integer NULL, "
    "owneruserid integer NULL, lasteditoruserid integer NULL, creationdate timestamp, score integer, "
    "viewcount integer NULL, answercount integer NULL, commentcount integer, favoritecount integer NULL, "
    "closeddate timestamp NULL, title text NULL",
    "comments": "id integer, postid integer, userid integer NULL, score integer, creationdate timestamp",
    "votes": "id integer, postid integer, votetypeid smallint, userid integer NULL, bountyamount integer NULL, "
    "creationdate date",
    "badges": "id integer, userid integer, name text, class smallint, tagbased boolean, date timestamp",
    "postlinks": "id integer, postid integer, relatedpostid integer, linktypeid smallint, creationdate timestamp",
}
"""Per table, parents before children; columns are NOT NULL unless they say NULL, and `id` is the primary key."""

FOREIGN_KEYS = {
    "posts": (("posttypeid", "posttypes"), ("parentid", "posts"), ("acceptedanswerid", "posts"), ("owneruserid",
     "users"), ("lasteditoruserid", "users")),
    "comments": (("postid", "posts"), ("userid", "users")),
    "votes": (("votetypeid", "votetypes"), ("userid", "users")), "badges": (("userid", "users"),),
    "postlinks": (("linktypeid", "linktypes"),),
}  # fmt: skip
"""Those that the catalog enforces; the policy adds those that the data does not always satisfy."""

LOOKUPS = {
    "posttypes": {1: "question", 2: "answer", 3: "wiki", 4: "tag wiki excerpt", 5: "tag wiki", 6: "nomination",
                  7: "wiki placeholder", 8: "privilege wiki"},
    "votetypes": {1: "accepted", 2: "up", 3: "down", 4: "offensive", 5: "favourite", 6: "close", 7: "reopen",
                  8: "bounty start", 9: "bounty close", 10: "deletion", 11: "undeletion", 12: "spam", 13: "informed",
                  15: "moderator review", 16: "approve edit"},
    "linktypes": {1: "linked", 3: "duplicate"},
}  # fmt: skip
"""The public tables: the site's own documentation, not its data."""

_TYPES = {"timestamp": "timestamp without time zone"}


def schema() -> Schema:
    """As the catalog reader would see it."""
    return Schema({name: _table(name) for name in COLUMNS})


def create_table(name: str) -> str:
    """DDL without foreign keys."""
    words = [words if words.endswith(" NULL") else f"{words} NOT NULL" for words in COLUMNS[name].split(", ")]
    return f"CREATE TABLE {name} ({', '.join(words)}, PRIMARY KEY (id))"


def add_foreign_keys(name: str) -> list[str]:
    """DDL of the enforced foreign keys."""
    return [
        f"ALTER TABLE {name} ADD FOREIGN KEY ({column}) REFERENCES {references} (id)"
        for column, references in FOREIGN_KEYS.get(name, ())
    ]


def _table(name: str) -> Table:
    enforced = sorted(FOREIGN_KEYS.get(name, ()))  # as the catalog reader sorts them
    keys = tuple(ForeignKey((column,), references, ("id",)) for column, references in enforced)
    return Table(name, "public", tuple(map(_column, COLUMNS[name].split(", "))), (("id",),), keys, ("id",))


def _column(words: str) -> Column:
    name, kind = words.removesuffix(" NULL").split(" ", 1)
    return Column(name, _TYPES.get(kind, kind), words.endswith(" NULL"))
