"""Tables of which the policy says by a pattern which Parquet files they are made of."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from planner.errors import SchemaChanged
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from privacy.join_tuples import JoinTuples
from server.backends.custody import Custody
from server.backends.duckdb import DuckdbBackend
from server.backends.open_custody import open_policy_custody
from server.errors import BackendUnavailable, ConfigurationInvalid
from server.policy.check_data import check_policy
from tests.integration.test_data_files import PATIENTS, VISITS
from tests.integration.test_data_files import POLICY as BY_NAME
from tests.support.planning import planned

POLICY = BY_NAME.replace(
    "[tables.visit.columns]",
    """[tables.visit]
parquet = "PATTERN"
[tables.visit.columns]
year = { domain = ["2023", "2024"] }""",
)
BY_YEAR = "visits/year=*/*.parquet"


def _policy(pattern: str = BY_YEAR) -> Policy:
    text = POLICY.replace("PATTERN", pattern)
    return parse_policy(text if "=" in pattern else text.replace('year = { domain = ["2023", "2024"] }', ""))


def _written(file: Path, rows: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    duckdb.execute(f"COPY ({rows}) TO '{file}'")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    _written(folder / "Patient.parquet", PATIENTS)
    _written(folder / "visits" / "year=2023" / "0.parquet", VISITS.format(0, 1000))
    _written(folder / "visits" / "year=2024" / "0.parquet", VISITS.format(1000, 2500))
    _written(folder / "visits" / "_delta_log" / "0.checkpoint.parquet", "SELECT 1 AS version")
    _written(folder / "visits" / "year=2024" / "_temporary" / "1.parquet", VISITS.format(0, 7))
    _written(folder / "visits" / "year=2024" / ".1.parquet", VISITS.format(0, 7))
    return folder


def _count(custody: Custody, policy: Policy, sql: str) -> float:
    """The truth of a count behind the rewriting."""
    schema = with_declared_keys(custody.schema(()), policy)
    plan = planned(sql, schema, policy)
    _, found = custody.backend.read(rewrite(plan, dialect="duckdb", schema=schema, contributions=False))
    assert isinstance(found.join, JoinTuples)
    return float(found.join.weights.sum()) / 2**30 * plan.releases[0].weight_bound


def test_a_table_is_made_of_what_its_pattern_matches_and_of_columns_in_names_of_folders(lake: Path) -> None:
    policy = _policy()
    with open_policy_custody(policy, f"parquet:///{lake}", 0) as custody:
        schema = custody.schema(())
        assert sorted(schema.tables) == ["patient", "visit"]
        assert [(column.name, column.type) for column in schema.tables["visit"].columns][-1] == ("year", "text")
        validate(policy, schema)
        assert check_policy(custody, policy, schema) == ()
        assert _count(custody, policy, "SELECT count(*) FROM visit") == 2500.0
        assert _count(custody, policy, "SELECT count(*) FROM visit WHERE year = '2024'") == 1500.0


def test_a_file_that_a_pattern_begins_or_ceases_to_match_is_another_state(lake: Path) -> None:
    policy = _policy()
    with open_policy_custody(policy, f"parquet:///{lake}", 0) as custody:
        backend = custody.backend
        assert isinstance(backend, DuckdbBackend)
        assert backend.at_this_version() == backend
        _written(lake / "visits" / "year=2025" / "0.parquet", VISITS.format(0, 5))
        assert backend.changed()
        with pytest.raises(SchemaChanged, match="have changed since they were checked"):
            _count(custody, policy, "SELECT count(*) FROM visit")
        (lake / "visits" / "year=2025" / "0.parquet").unlink()
        assert not backend.changed()
        (lake / "visits" / "year=2023" / "0.parquet").unlink()
        assert backend.changed()


def test_the_same_files_as_another_table_are_another_state(lake: Path) -> None:
    def version(pattern: str, other: str) -> str:
        patterns = (("visit", pattern), ("older", other))
        return DuckdbBackend(lake, patterns=patterns).at_this_version().version or ""

    swapped = ("visits/year=2023/*.parquet", "visits/year=2024/*.parquet")
    assert version(*swapped) != version(*reversed(swapped))


def test_what_a_pattern_may_not_match(lake: Path, tmp_path: Path, subtests: pytest.Subtests) -> None:
    _written(tmp_path / "outside" / "0.parquet", VISITS.format(0, 5))
    (lake / "linked").symlink_to(tmp_path / "outside")
    (lake / "link.parquet").symlink_to(tmp_path / "outside" / "0.parquet")
    _written(lake / "folder.parquet" / "part-0.parquet", VISITS.format(0, 5))
    _written(lake / "twice" / "0.parquet", VISITS.format(0, 5))
    (lake / "twice" / "1.parquet").symlink_to("0.parquet")
    for pattern, words in (
        ("visit/*.parquet", "no file of visit exists"),
        ("visits/_delta_log/*.parquet", "no file of visit exists"),
        ("visits/**/*.parquet", "folders of other columns"),
        ("visits/year=*/**/part=*/*.parquet", "no file of visit exists"),
        ("linked/*.parquet", "link to outside"),
        ("link.parquet", "link to outside"),
        ("folder.parquet", "is not a file"),
        ("twice/*.parquet", "under two paths"),
    ):
        refused = pytest.raises(BackendUnavailable, match=words)
        with subtests.test(pattern), refused, open_policy_custody(_policy(pattern), f"parquet:///{lake}", 0):
            pass


def test_a_file_of_two_tables_is_refused(lake: Path) -> None:
    text = POLICY.replace("PATTERN", BY_YEAR) + '[tables.late]\nparquet = "visits/year=2024/*.parquet"\n'
    refused = pytest.raises(BackendUnavailable, match=r"0\.parquet is a file of visit and of late")
    with refused, open_policy_custody(parse_policy(text), f"parquet:///{lake}", 0):
        pass


def test_a_column_is_in_the_files_or_in_the_names_of_folders(lake: Path) -> None:
    for file in (lake / "visits").glob("year=*/0.parquet"):
        _written(file, f"SELECT *, 'x' AS \"Year\" FROM ({VISITS.format(0, 5)})")
    refused = pytest.raises(ConfigurationInvalid, match="visit has year both in its files")
    with refused, open_policy_custody(_policy(), f"parquet:///{lake}", 0):
        pass


def test_the_missing_value_of_a_folder_is_null_and_encoded_letters_are_read(lake: Path) -> None:
    _written(lake / "visits" / "year=__HIVE_DEFAULT_PARTITION__" / "0.parquet", VISITS.format(0, 5))
    _written(lake / "visits" / "year=a%20b" / "0.parquet", VISITS.format(0, 3))
    with open_policy_custody(_policy(), f"parquet:///{lake}", 0) as custody:
        assert custody.count(b"SELECT count(*) FROM visit WHERE year IS NULL") == 5
        assert custody.count(b"SELECT count(*) FROM visit WHERE year = 'a b'") == 3


def test_a_folder_in_the_path_itself_is_no_column(tmp_path: Path) -> None:
    lake = tmp_path / "env=x"
    _written(lake / "Patient.parquet", PATIENTS)
    _written(lake / "visits" / "year=2023" / "0.parquet", VISITS.format(0, 5))
    refused = pytest.raises(BackendUnavailable, match="contains =")
    with refused, open_policy_custody(_policy(), f"parquet:///{lake}", 0):
        pass
    with open_policy_custody(parse_policy(BY_NAME), f"parquet:///{lake}", 0) as custody:
        assert [column.name for column in custody.schema(()).tables["visits"].columns][-1] == "day"


def test_what_has_no_folder_of_files_takes_no_pattern(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    duckdb.connect(file).close()
    for url in (f"duckdb:///{file}", "postgresql://localhost/clinic"):
        refused = pytest.raises(ConfigurationInvalid, match=r"tables\.visit\.parquet: the database is not a folder")
        with refused, open_policy_custody(_policy(), url, 0):
            pass


def test_a_table_of_files_has_a_plain_name(lake: Path) -> None:
    text = POLICY.replace("PATTERN", BY_YEAR) + "[tables.'clinic.late']\nparquet = \"visits/late.parquet\"\n"
    _written(lake / "visits" / "late.parquet", VISITS.format(0, 5))
    refused = pytest.raises(BackendUnavailable, match=r"clinic\.late is not a valid name")
    with refused, open_policy_custody(parse_policy(text), f"parquet:///{lake}", 0):
        pass


def test_hidden_files_of_a_table_by_name_are_left_out(lake: Path) -> None:
    (lake / "visits").rename(lake / "visit")
    _written(lake / "_draft.parquet", "SELECT 1 AS id")
    with open_policy_custody(parse_policy(BY_NAME), f"parquet:///{lake}", 0) as custody:
        assert sorted(custody.schema(()).tables) == ["patient", "visit"]
        assert custody.count(b"SELECT count(*) FROM visit") == 2500


def test_python_s_variables_are_no_tables(lake: Path) -> None:
    secret = duckdb.sql("SELECT 1 AS id")
    with open_policy_custody(_policy(), f"parquet:///{lake}", 0) as custody:
        assert isinstance(custody.backend, DuckdbBackend)
        with custody.backend.opened(custody.backend.limits) as connection, pytest.raises(duckdb.CatalogException):
            connection.execute("SELECT * FROM secret")
    assert secret is not None
