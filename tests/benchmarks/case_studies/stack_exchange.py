"""A question-and-answer site: travel.stackexchange.com where its dump lies beside the project, else made rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from tests.benchmarks.case_studies.study import Study, write_tables
from tests.golden.stackexchange.tables import LOOKUPS
from tests.support.shared_data import shared_data

_SEED = 4
_COLUMNS = {
    "users": "id, reputation",
    "posts": "id, posttypeid, parentid, owneruserid, creationdate, score, viewcount, title",
    "comments": "id, postid, userid, score, creationdate",
    "badges": "id, userid, class",
}
_DDL = """
CREATE TABLE posttypes (id integer PRIMARY KEY, name varchar NOT NULL);
CREATE TABLE users (id integer PRIMARY KEY, reputation integer NOT NULL);
CREATE TABLE posts (
    id integer PRIMARY KEY, posttypeid integer NOT NULL, parentid integer, owneruserid integer,
    creationdate timestamp NOT NULL, score integer NOT NULL, viewcount integer, title varchar
);
CREATE TABLE comments (
    id integer PRIMARY KEY, postid integer NOT NULL, userid integer, score integer NOT NULL,
    creationdate timestamp NOT NULL
);
CREATE TABLE badges (id integer PRIMARY KEY, userid integer NOT NULL, class integer NOT NULL);
"""
_YEARS_S = 7 * 365 * 86_400
_TITLES = (
    "Do I need a visa for a transit?",
    "Cheapest way by train?",
    "Is it safe to hitchhike?",
    "Refund of a flight?",
)


def write(file: Path, people: int) -> str:
    """The dump if it is there and as many users are wanted as it has, else rows that are made."""
    folder = shared_data("stackexchange_travel")
    if people >= STUDY.people and folder.is_dir():
        rows, origin = _dumped(folder), "of travel.stackexchange.com (2011 to 2017)"
    else:
        rows, origin = _made(people), "made from a seed"
    types = LOOKUPS["posttypes"]
    write_tables(file, _DDL, {"posttypes": pa.table({"id": list(types), "name": list(types.values())}), **rows})
    counts = " and ".join(f"{rows[name].num_rows:,} {name}" for name in ("users", "posts", "comments"))
    return f"{counts}, {origin}"


def _dumped(folder: Path) -> dict[str, pa.Table]:
    with duckdb.connect() as reader:
        return {
            name: reader.sql(f"SELECT {columns} FROM '{folder / name}.parquet'").to_arrow_table()
            for name, columns in _COLUMNS.items()
        }


def _made(people: int) -> dict[str, pa.Table]:
    """Most users write once, few very often; an answer has a question before it."""
    rng = np.random.default_rng(_SEED)
    posts = 2 * people
    chances = np.arange(1, people + 1) ** -0.7
    chances = rng.permutation(chances / chances.sum())
    author = rng.choice(people, size=posts, p=chances)
    question = np.arange(posts) < posts // 3
    question[0] = True
    asked = np.sort(rng.integers(0, _YEARS_S, posts // 3))
    parent = rng.integers(0, posts // 3, posts)
    moment = np.where(
        question, asked[np.minimum(np.arange(posts), posts // 3 - 1)], asked[parent] + rng.exponential(90_000, posts)
    )
    moment = np.datetime64("2011-01-01", "us") + np.minimum(moment, _YEARS_S - 1).astype("timedelta64[s]")
    score = np.clip(rng.geometric(0.25, posts) - 2, -50, 500)
    comments = 3 * people
    about = rng.integers(0, posts, comments)
    later = rng.exponential(5 * 86_400, comments).astype("timedelta64[s]")
    return {
        "users": pa.table({"id": np.arange(people), "reputation": rng.geometric(0.005, people)}),
        "posts": pa.table(
            {
                "id": np.arange(posts),
                "posttypeid": np.where(question, 1, 2),
                "parentid": pa.array(parent, mask=question),
                "owneruserid": pa.array(author, mask=rng.random(posts) < 0.01),
                "creationdate": moment,
                "score": score,
                "viewcount": pa.array(rng.geometric(0.001, posts), mask=~question),
                "title": pa.array(np.array(_TITLES)[rng.choice(4, posts, p=(0.3, 0.3, 0.2, 0.2))], mask=~question),
            }
        ),
        "comments": pa.table(
            {
                "id": np.arange(comments),
                "postid": about,
                "userid": rng.choice(people, comments, p=chances),
                "score": rng.geometric(0.6, comments) - 1,
                "creationdate": np.minimum(moment[about] + later, np.datetime64("2017-12-31", "us")),
            }
        ),
        "badges": pa.table(
            {
                "id": np.arange(2 * people),
                "userid": rng.choice(people, 2 * people, p=chances),
                "class": rng.choice(3, 2 * people, p=(0.02, 0.13, 0.85)) + 1,
            }
        ),
    }


STUDY = Study("stack_exchange", 44_203, write)
