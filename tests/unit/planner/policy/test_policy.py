from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import pytest

from planner.errors import PolicyInvalid
from planner.policy.policy import ColumnPolicy, Policy, SideChannels, parse_policy
from tests.support.planning import DEMO_POLICY, demo_policy

MINIMAL = """
name = "x"
[database]
url = "env:DB"
[ledger]
path = "l"
[privacy]
epsilon = 1
max_epsilon = 2
[privacy_units]
person = "id"
[tables.person]
"""


def test_demo_policy_is_read_in_full() -> None:
    policy = demo_policy()
    assert policy.privacy_units == {"customer": ("c_custkey",), "supplier": ("s_suppkey",)}
    assert policy.column("lineitem", "l_discount") == ColumnPolicy(range=(0.0, 0.1))
    assert policy.column("lineitem", "l_comment") == ColumnPolicy()
    assert policy.is_public("nation")
    assert not policy.is_public("orders")
    assert not policy.is_public("elsewhere")
    assert [(key.table, key.owning) for key in policy.foreign_keys] == [("lineitem", False), ("lineitem", False)]
    assert (policy.epsilon, policy.max_epsilon, policy.delta, policy.global_sensitivity) == (1.0, 4.0, 0.0, 1048576.0)


def test_side_channels_are_closed_unless_the_policy_opens_them() -> None:
    assert parse_policy(MINIMAL).side_channels == SideChannels(0.001, False, None, 1.0, False)
    small = MINIMAL.replace("epsilon = 1\nmax_epsilon = 2", "epsilon = 0.0005\nmax_epsilon = 2")
    assert parse_policy(small).side_channels.min_epsilon == 0.0005
    written = "epsilon = 1\nmin_epsilon = 0.01\nunbounded_joins = true\nmax_join_tuples = 5\nanswer_quantum = 0.5\n"
    text = MINIMAL.replace("epsilon = 1\n", written + "hold_all_answers = true\n", 1) + "rows = 7\n"
    assert parse_policy(text).side_channels == SideChannels(0.01, True, 5, 0.5, True)
    assert parse_policy(text).tables["person"].rows == 7


def test_a_minimal_policy_grants_no_delta_and_declares_nothing() -> None:
    policy = parse_policy(MINIMAL)
    assert (policy.delta, policy.global_sensitivity, policy.foreign_keys) == (0.0, None, ())


def test_mistakes_are_named() -> None:
    for before, after, word in [
        ('name = "x"', 'name = "x"\nextra = 1', "extra"),
        ("epsilon = 1\n", "epsilon = 1\nmin_epsilon = 1.5\n", "privacy.min_epsilon: must be at most"),
        ("epsilon = 1\n", "epsilon = 1\nmin_epsilon = 0.00001\n", "privacy.min_epsilon: must be at least"),
        ("epsilon = 1\n", "epsilon = 1\nanswer_quantum = -1\n", "privacy.answer_quantum"),
        ("[tables.person]", "[tables.person]\nrows = 0", "tables.person.rows"),
        ("epsilon = 1\n", "epsilon = 1\nepsilom = 1\n", "privacy.epsilom; did you mean epsilon"),
        ("epsilon = 1\n", "epsilon = 1\nremember_thresholds = false\n",
         "privacy.remember_thresholds: this setting was removed; delete the line"),
        ("[tables.person]", "[tables.person]\npublik = true", "tables.person.publik; did you mean public"),
        ("[tables.person]", "[tables.person.columns]\nx = { rang = [0, 1] }",
         "tables.person.columns.x.rang; did you mean range"),
        ("[tables.person]",
         '[[foreign_keys]]\ntable = "a"\ncolumns = ["b"]\nreferences = "c"\nkey = ["d"]\nown = true', "own"),
        ("[tables.person]", '[[foreign_keys]]\ntable = "a"\ncolumns = ["b"]\nreferences = "c"\nkey = ["d", "e"]',
         "as many"),
        ('"env:DB"', '"postgresql://me:hunter2@host/db"', "env:NAME"),
        ('"env:DB"', '"postgresql://host/db?password=hunter2"', "env:NAME"),
        ('"env:DB"', '"host=h password=hunter2"', "env:NAME"), ('"env:DB"', '"postgresql://[broken"', "not a URL"),
        ("epsilon = 1\n", "epsilon = 0\n", "epsilon"),
        ("epsilon = 1\n", "epsilom = 1\n", "privacy.epsilon: is missing; did you mean it by `epsilom`"),
        ("[privacy]", "[privcy]", "privacy.epsilon: is missing; did you mean it by `privcy`"),
        ("epsilon = 1\n", 'epsilon = 1\ntime_grain = "dya"\n', "did you mean day"),
        ("[tables.person]", '[tables.person.columns]\nx = { step = "mnth" }', "did you mean month"),
        ("epsilon = 1\n", "epsilon = 3\n", "max_epsilon"), ("epsilon = 1\n", "epsilon = nan\n", "finite"),
        ("epsilon = 1\n", 'epsilon = "1"\n', "finite"), ("epsilon = 1\n", "epsilon = true\n", "finite"),
        ("epsilon = 1\n", "epsilon = 1\ndelta = 1.0\n", "delta"),
        ("epsilon = 1\n", "epsilon = 1\nglobal_sensitivity = 0.5\n", "global_sensitivity"),
        ('person = "id"\n', "", "nobody"), ("[tables.person]", "[tables.person]\npublic = 1", "true or false"),
        ("[tables.person]", "[tables.person.columns]\nx = { range = [0] }", "lowest"),
        ("[tables.person]", "[tables.person.columns]\nx = { range = [0, inf] }", "finite"),
        ("[tables.person]", "[tables.person.columns]\nx = { domain = 1 }", "list"),
        ("[tables.person]", "[tables.person.columns]\nx = { domain = [[1]] }", "text"),
        ('name = "x"', "name = [", "TOML"),
        ('name = "x"', "", 'name: is missing; write, at the top, before any section: name = "hospital"'),
        ("[tables.person]", "[tables.person]\n[tables.person]", "Cannot declare"),
    ]:  # fmt: skip
        assert before in MINIMAL
        with pytest.raises(PolicyInvalid, match=word) as caught:
            parse_policy(MINIMAL.replace(before, after))
        assert "hunter2" not in str(caught.value)


def test_groups_are_bounded_selected_and_found() -> None:
    text = MINIMAL.replace(
        "max_epsilon = 2", "max_epsilon = 2\nminimum_frequency = 10\n[groups_per_unit]\nperson = 3"
    )
    policy = parse_policy(text + "columns = { town = { discover = true } }")
    assert (policy.minimum_frequency, policy.groups_per_unit) == (10, {"person": 3})
    assert policy.column("person", "town").discover
    plain = parse_policy(MINIMAL)
    assert (plain.minimum_frequency, plain.groups_per_unit) == (None, {})
    assert not plain.discovers("person", "town")
    said = [parse_policy(text + f"columns = {{ town = {{ {town} }} }}").hash for town in ("discover = false", "")]
    assert said[0] == said[1]
    every = MINIMAL.replace("max_epsilon = 2", "max_epsilon = 2\ndiscover = true")
    opened = parse_policy(every + "columns = { town = { discover = false } }")
    assert (opened.discovers("person", "age"), opened.discovers("person", "town")) == (True, False)
    assert len({plain.hash, opened.hash, parse_policy(every).hash}) == 3
    assert len({policy.hash, plain.hash}) == 2
    for mistake in ("minimum_frequency = 0", "minimum_frequency = 2.5", "minimum_frequency = true"):
        with pytest.raises(PolicyInvalid, match="minimum_frequency"):
            parse_policy(MINIMAL.replace("max_epsilon = 2", f"max_epsilon = 2\n{mistake}"))


def test_urls_without_a_password_are_taken() -> None:
    url = "postgresql://reader@/db?host=/run/pg"
    assert parse_policy(MINIMAL.replace("env:DB", url)).database_url == url


def test_dates_in_domains_become_text() -> None:
    policy = parse_policy(MINIMAL + "[tables.person.columns]\nx = { domain = [1994-01-31, true, 2, 'a'] }")
    assert policy.column("person", "x").domain == ("1994-01-31", True, 2, "a")


def test_hash_follows_the_content_not_the_layout() -> None:
    text = DEMO_POLICY.read_text()
    policy = parse_policy(text)
    assert parse_policy(text.replace("\n", "  # note\n", 1) + "\n\n").hash == policy.hash
    changed: list[Policy] = [
        parse_policy(text.replace("range = [0, 50]", "range = [0, 51]")),
        parse_policy(text.replace("[tables.part]\npublic = true", "[tables.part]")),
        parse_policy(text.replace("owning = false", "owning = true", 1)),
        parse_policy(text.replace("epsilon = 1.0", "epsilon = 0.5", 1)),
    ]
    assert len({policy.hash, *(other.hash for other in changed)}) == 5


def test_the_solver_is_the_custodian_s_choice_and_the_default_keeps_the_hash() -> None:
    text = DEMO_POLICY.read_text()
    assert parse_policy(text).solver == "certified"
    named = parse_policy(text.replace("[privacy]\n", '[privacy]\nsolver = "certified"\n'))
    other = parse_policy(text.replace("[privacy]\n", '[privacy]\nsolver = "reference"\n'))
    assert named.hash == parse_policy(text).hash != other.hash
    assert other.solver == "reference"
    with pytest.raises(PolicyInvalid, match=r"solver.*certified, reference"):
        parse_policy(text.replace("[privacy]\n", '[privacy]\nsolver = "simplex"\n'))


def test_settings_that_nobody_uses_keep_the_hash_of_older_versions() -> None:
    """A custodian would otherwise have to confirm a policy that has not changed."""
    key = '[[foreign_keys]]\ntable = "a"\ncolumns = ["b"]\nreferences = "person"\nkey = ["id"]\n'
    assert parse_policy(MINIMAL + key).hash == "b557f139116ca4f2c671e3a73c20b4c51145e825f8f642d4e2c269dcb9fe63da"
    read = parse_policy(
        MINIMAL + 'keys = ["id", ["b", "c"]]\naccepted_null_owners = 3\n' + key + "accepted_orphans = 4\n"
    )
    assert read.hash != parse_policy(MINIMAL + key).hash
    assert read.tables["person"].keys == (("id",), ("b", "c"))
    assert read.acknowledged == ("a (b): 4 rows without their person", "person: 3 rows without an owner")
    for wrong in ("keys = [[]]", 'keys = "id"', "accepted_null_owners = -1"):
        with pytest.raises(PolicyInvalid):
            parse_policy(MINIMAL + wrong)


BUDGETS = """
[budgets.analyst]
epsilon = 2
[budgets.dataset]
epsilon = 9
delta = 1e-6
accounting = "zcdp"
window_days = 30
"""


def test_budgets_that_do_not_renew_keep_the_hash_of_older_versions() -> None:
    plain = parse_policy(MINIMAL + BUDGETS)
    assert plain.hash == "bf4b68b3a4aa6c2eb0688c84b2e4c5603882ee955b0ac84dadcba567bf7f3c0c"
    renewed = parse_policy(MINIMAL + BUDGETS.replace("window_days = 30", 'renew = "month"\nmost_in_total = 90'))
    assert renewed.hash != plain.hash
    dataset = renewed.budgets.dataset
    assert dataset is not None and (dataset.renew, dataset.most_in_total) == ("month", 90.0)
    unlimited = parse_policy(
        MINIMAL + BUDGETS.replace("window_days = 30", 'renew = "week"\nmost_in_total = "unlimited"')
    )
    assert unlimited.budgets.dataset is not None and unlimited.budgets.dataset.most_in_total == math.inf


def test_what_stands_at_its_default_is_no_part_of_the_hash() -> None:
    @dataclass(frozen=True)
    class Later(Policy):
        answers_in_clear: bool = False

    policy = parse_policy(MINIMAL + BUDGETS)
    content = {one.name: getattr(policy, one.name) for one in fields(policy)}
    assert Later(**content).hash == policy.hash != Later(**content, answers_in_clear=True).hash
    for other in (replace(policy, time_grain="week"), replace(policy, tables={}), replace(policy, schemas=("b",))):
        assert other.hash != policy.hash


def test_whether_the_words_of_questions_are_kept_decides_about_no_answer() -> None:
    kept = parse_policy(MINIMAL.replace('path = "l"\n', 'path = "l"\nquestion_key_file = "questions.key"\n'))
    assert kept.question_key_file == "questions.key"
    assert kept.hash == parse_policy(MINIMAL).hash
    with pytest.raises(PolicyInvalid, match=r"ledger\.question_key_file"):
        parse_policy(MINIMAL.replace('path = "l"\n', 'path = "l"\nquestion_key_file = 7\n'))


def test_a_table_may_name_its_files() -> None:
    read = parse_policy(MINIMAL + 'parquet = "people/year=*/**/*.parquet"\n')
    assert read.table_files == (("person", "people/year=*/**/*.parquet"),)
    assert read.hash != parse_policy(MINIMAL).hash and parse_policy(MINIMAL).table_files == ()


def test_a_pattern_stays_inside_the_folder_and_means_one_thing() -> None:
    for pattern, words in [
        ("/lake/*.parquet", "inside the folder"), ("../*.parquet", "inside the folder"),
        ("a/../../*.parquet", "inside the folder"), ("a//*.parquet", "must be a pattern of files"),
        ("./a.parquet", "must be a pattern of files"), ("a/*", "must be a pattern of files"),
        ("[ab].parquet", "may contain names"), ("a**/*.parquet", "may contain names"),
        ("a/**.parquet", "may contain names"), ("year=*/Year=*/*.parquet", "must name the column"),
        ("*=1/*.parquet", "must name the column"), ("=1/*.parquet", "must name the column"),
    ]:  # fmt: skip
        with pytest.raises(PolicyInvalid, match=rf"tables\.person\.parquet: .*{words}"):
            parse_policy(MINIMAL + f'parquet = "{pattern}"\n')
