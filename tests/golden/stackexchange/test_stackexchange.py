"""Twenty questions about a question-and-answer site: word for word, and in `make test-all` executed on its data."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from planner.errors import PolicyInvalid
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres_catalog import read_schema
from tests.golden.stackexchange.load import NAMESPACE, folder, load_file, load_once
from tests.golden.stackexchange.tables import schema
from tests.golden.stackexchange.write_cases import CASES, NAMES, after_file, after_text, before, plan, policy, truth
from tests.golden.untruncated import assert_same, duckdb, postgres, untruncated

needs_data = pytest.mark.skipif(not folder().is_dir(), reason=f"the data of the site is not in {folder()}")


@pytest.fixture(scope="session")
def site_url(embedded_postgres: EmbeddedPostgres) -> str:
    """The site's database as its owner."""
    return load_once(embedded_postgres)


@pytest.fixture(scope="session")
def site_file() -> Path:
    """The same rows in a DuckDB file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    path = Path(".noisegate") / "tests" / worker / "stackexchange-1.duckdb"
    if not path.exists():
        load_file(path)
    return path


def test_there_are_twenty() -> None:
    assert len(NAMES) == 20
    assert all(before(name).startswith("-- ") for name in NAMES)
    assert {path.name.split(".")[0] for path in CASES.iterdir()} == set(NAMES)


def test_rewritten_sql_is_the_golden_one() -> None:
    for name in NAMES:
        assert after_text(name) == after_file(name).read_text()


def test_the_policy_fits_the_catalog() -> None:
    validate(policy(), schema())


def test_the_self_reference_must_be_settled() -> None:
    """Without a word on posts.parentid, nobody can say whether the asker owns the answers."""
    text = (CASES.parent / "policy.toml").read_text()
    start = text.index('[[foreign_keys]]\ntable = "posts"\ncolumns = ["parentid"]')
    unsettled = text[:start] + text[text.index("[[foreign_keys]]", start + 1) :]
    with pytest.raises(PolicyInvalid, match="parentid"):
        validate(parse_policy(unsettled), schema())


def test_owners() -> None:
    """A comment belongs to its author and to the post's owner; equal columns are one owner."""
    for name, owners in [
        ("commenters", 2), ("own_discussions", 1), ("comments_to_others", 2), ("self_answers", 1),
        ("mutual_help", 2),
    ]:  # fmt: skip
        assert len(plan(name).owners) == owners


def test_one_person_is_one_value_only_where_every_owner_is_that_person() -> None:
    """The author of a post loses with it the comments of others, and so their place among the commenters."""
    for name, determined in (("commenters", False), ("tag_badges", True)):
        (release,) = [release for release in plan(name).releases if release.distinct is not None]
        assert release.determined is determined


@pytest.mark.slow
@needs_data
def test_the_catalog_is_the_loaded_one(site_url: str) -> None:
    with psycopg.connect(site_url) as connection:
        assert read_schema(connection).fingerprint == schema().fingerprint


@pytest.mark.slow
@needs_data
def test_untruncated_it_is_the_truth_on_both_engines(site_url: str, site_file: Path) -> None:
    for name in NAMES:
        run = postgres(site_url)
        written = run(truth(name))
        assert_same(untruncated(plan(name), run), plan(name), written)
        query = rewrite(plan(name), dialect="duckdb", schema=schema())
        assert_same(untruncated(plan(name), duckdb(site_file, NAMESPACE), query), plan(name), written)
