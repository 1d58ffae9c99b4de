"""A social network: friendships, triangles and what people like; Deezer's where it lies beside the project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks.case_studies.study import Study, write_tables
from tests.support.shared_data import shared_data

_SEED = 3
_FIRST_OF_SECOND_COUNTRY = 47_538
_GENRES = 40
_DDL = """
CREATE TABLE genre (id integer PRIMARY KEY, name varchar NOT NULL);
CREATE TABLE person (id integer PRIMARY KEY, country varchar NOT NULL);
CREATE TABLE knows (
    src integer NOT NULL REFERENCES person, dst integer NOT NULL REFERENCES person, PRIMARY KEY (src, dst)
);
CREATE TABLE likes (
    person_id integer NOT NULL REFERENCES person, genre_id integer NOT NULL REFERENCES genre,
    PRIMARY KEY (person_id, genre_id)
);
"""


def write(file: Path, people: int) -> str:
    """The graph of Deezer if it is there and as many people are wanted as it has, else one that is made."""
    folder = shared_data("deezer_hu_ro")
    if people >= STUDY.people and folder.is_dir():
        return _write(file, *_of_deezer(folder), "Deezer's users of two countries (GEMSEC)")
    return _write(file, *_made(people), "made from a seed")


def _of_deezer(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Countries by person, edges, likes and names of genres."""
    edges = pq.read_table(folder / "edges.parquet")
    liked = pq.read_table(folder / "user_genres.parquet")
    users = pq.read_table(folder / "users.parquet").num_rows
    pairs = np.stack([column.to_numpy() for column in edges.columns[:2]], 1)
    who, genre = (column for column in liked.columns[:2])
    names, places = np.unique(np.array([str(value) for value in genre.to_pylist()]), return_inverse=True)
    country = (np.arange(users) >= _FIRST_OF_SECOND_COUNTRY).astype(np.int64)
    return country, pairs, np.stack([who.to_numpy(), places], 1), [str(name) for name in names]


def _made(people: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Circles of friends, friends of friends, and one person in a thousand whom about a hundred know."""
    rng = np.random.default_rng(_SEED)
    near = np.concatenate([np.stack([np.arange(people), np.arange(people) + hop], 1) for hop in (1, 2, 3)]) % people
    far = rng.integers(0, people, size=(people, 2))
    famous = rng.choice(people, size=max(1, people // 1000), replace=False)
    hubs = np.stack([np.repeat(famous, 100), rng.integers(0, people, 100 * len(famous))], 1)
    ends = np.concatenate([near, far, hubs])
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    chances = np.arange(1, _GENRES + 1) ** -1.0
    liking = np.repeat(np.arange(people), rng.geometric(0.2, people))
    likes = np.unique(np.stack([liking, rng.choice(_GENRES, len(liking), p=chances / chances.sum())], 1), axis=0)
    return (
        (np.arange(people) >= people // 2).astype(np.int64),
        ends,
        likes,
        [f"genre {n + 1:02}" for n in range(_GENRES)],
    )


def _write(
    file: Path, country: np.ndarray, edges: np.ndarray, likes: np.ndarray, genres: list[str], origin: str
) -> str:
    both = np.concatenate([edges, edges[:, ::-1]])
    tables = {
        "genre": pa.table({"id": np.arange(len(genres)), "name": genres}),
        "person": pa.table({"id": np.arange(len(country)), "country": np.array(["A", "B"])[country]}),
        "knows": pa.table({"src": both[:, 0], "dst": both[:, 1]}),
        "likes": pa.table({"person_id": likes[:, 0], "genre_id": likes[:, 1]}),
    }
    write_tables(file, _DDL, tables)
    return f"{len(country):,} people, {len(edges):,} friendships and {len(likes):,} likes, {origin}"


STUDY = Study("social_network", 89_311, write)
