"""What a session keeps between statements is what is charged, what is shown, and nothing of the client before."""

from __future__ import annotations

from tests.support.wire_client import SYNC, bind, execute, fields_of, parse, query
from tests.unit.server.pgwire.test_session import Talk, error, rows

ASK = "SELECT count(*) FROM t"


def charged(talk: Talk) -> float | None:
    """The epsilon of a question that is asked now."""
    talk.say(query(ASK))
    return talk.gateway.asked[-1].epsilon


def shown(talk: Talk, name: str = "noisegate.epsilon") -> set[bytes | None]:
    """A setting by SHOW and by current_setting, which must agree."""
    told = [talk.say(query(f"SHOW {name}")), talk.say(query(f"SELECT current_setting('{name}')"))]
    return {row[0] for said in told for row in rows(said)}


def agreed(talk: Talk, epsilon: float | None) -> bool:
    """Are this epsilon charged and shown?"""
    return charged(talk) == epsilon and shown(talk) == {b"" if epsilon is None else f"{epsilon:g}".encode()}


def test_set_config_sets() -> None:
    for sql in [
        "SELECT set_config('noisegate.epsilon', '0.1', false)",
        "select pg_catalog.set_config('noisegate.epsilon', '0.1', 'f')",
        "SELECT pg_catalog.set_config('NoiseGate.Epsilon'::text, '0.1'::text, false::bool) AS a;",
        'SELECT "pg_catalog"."set_config" ( \'noisegate.epsilon\' , \'0.1\' , FALSE ) "a"',
        "/* a */ SELECT set_config('bytea_output', 'a (b, c)', false), set_config('noisegate.epsilon', '0.1', NULL)",
        "SELECT current_setting('noisegate.epsilon') AS cur, set_config('noisegate.epsilon', '0.1', false) AS new",
        "SELECT " + ", ".join(["set_config('noisegate.epsilon', '0.1', false)"] * 30),
    ]:
        talk = Talk()
        assert (rows(talk.say(query(sql))) or [[None]])[0][-1] == b"0.1", sql
        assert agreed(talk, 0.1), sql
        assert not talk.gateway.catalog_asked, sql


def test_set_config_with_parameters() -> None:
    for local in [b"f", b"false", b"t"]:
        talk = Talk()
        said = talk.say(
            parse("SELECT set_config($1, $2, $3)"), bind((b"noisegate.epsilon", b"0.1", local)), execute(), SYNC
        )
        assert rows(said) == [[b"0.1"]], local
        assert agreed(talk, None if local == b"t" else 0.1), local
        said = talk.say(parse("SELECT current_setting($1, true)"), bind((b"nothing",)), execute(), SYNC)
        assert rows(said) == [[None]], local


def test_set_config_that_resets() -> None:
    talk = Talk()
    talk.say(query("SET noisegate.epsilon = 0.1"), query("SELECT set_config('noisegate.epsilon', NULL, false)"))
    assert agreed(talk, None)


def test_what_would_say_it_was_set_and_is_not_is_refused() -> None:
    for sql, code in [
        ("SELECT set_config('noisegate.epsilon', '0', false)", "22023"),
        ("SELECT set_config('noisegate.epsilom', '1', false)", "22023"),
        ("SELECT set_config('noisegate.epsilon', '0.1', 'perhaps')", "22023"),
        ("SELECT set_config('noisegate.epsilon', '0.' || '1', false)", "0A000"),
        ("SELECT 1, set_config('noisegate.epsilon', '0.1', false)", "0A000"),
        ("SELECT set_config(name, '0.1', false) FROM pg_settings", "0A000"),
        ("SELECT current_setting('noisegate.epsilon')::float8 * 2", "0A000"),
        ("BEGIN; DECLARE c CURSOR FOR SELECT set_config('noisegate.epsilon', '0.1', false)", "0A000"),
        ("SELECT set_config('noisegate.epsilon', $1, false)", "42P02"),
        ("SELECT current_setting('noisegate.nothing')", "22023"),
    ]:
        talk = Talk()
        assert error(talk.say(query(sql)))["C"] == code, sql
        talk.say(query("ROLLBACK"))
        assert agreed(talk, None), sql
        assert not talk.gateway.catalog_asked, sql


def test_settings_that_only_postgresql_has_are_left_to_the_catalog() -> None:
    """As asyncpg asks before it looks at types."""
    talk = Talk()
    talk.say(query("SELECT current_setting('jit') AS cur, set_config('jit', 'off', false) AS new"))
    assert len(talk.gateway.catalog_asked) == 1


def test_show_of_a_setting_that_only_postgresql_has_asks_the_catalog() -> None:
    talk = Talk()
    assert rows(talk.say(query("SHOW jit"))) == [[b"on"]]
    assert rows(talk.say(parse("SELECT current_setting($1, $2)"), bind((b"jit", b"f")), execute(), SYNC)) == [[b"on"]]
    assert set(talk.gateway.catalog_asked) == {"SELECT pg_catalog.current_setting($1, true)"}
    talk.gateway.catalog_asked.clear()
    for sql in ("SHOW search_path", "SHOW noisegate.epsilon", "SHOW SESSION AUTHORIZATION"):
        assert len(rows(talk.say(query(sql)))) == 1
    for sql in ("SHOW noisegate.nothing", "SHOW noisegate.epsilom"):
        assert error(talk.say(query(sql)))["C"] == "22023"
    assert not talk.gateway.catalog_asked, "what is a session's own, or would be ours, is never the catalog's"
    assert error(talk.say(query("SHOW nothing")))["M"] == "there is no setting nothing"


def test_set_config_of_a_setting_that_must_be_there_sets_if_it_is_one_of_the_sessions() -> None:
    """As pgAdmin opens a session, which it closes where this fails."""
    talk = Talk()
    sets = "SELECT set_config('bytea_output','escape',false) FROM {} WHERE name = '{}'"
    said = talk.say(query(sets.format("pg_show_all_settings()", "bytea_output")))
    assert rows(said) == [[b"escape"]]
    assert shown(talk, "bytea_output") == {b"escape"}
    said = talk.say(query(sets.format("pg_catalog.pg_settings", "bytea_output").replace("escape", "hex")))
    assert rows(said) == [[b"hex"]]
    by_name = sets.replace("'bytea_output'", "name").format("pg_settings", "bytea_output")
    assert rows(talk.say(query(by_name))) == [[b"escape"]]
    dump = "SELECT set_config(name, 'view, foreign-table', false) FROM pg_settings WHERE name = 'restrict_{}'"
    assert talk.kinds(query(dump.format("nonsystem_relation_kind"))) == "TCZ", "as if it were not there"
    for source, name in (("pg_settings", "jit"), ("pg_settings", "noisegate.epsilon"), ("pg_class", "bytea_output")):
        assert error(talk.say(query(sets.format(source, name))))["C"] == "0A000"
    assert agreed(talk, None)
    assert not talk.gateway.catalog_asked


def test_set_local_outside_of_a_transaction_only_warns() -> None:
    talk = Talk()
    for say in (
        (query("SET LOCAL noisegate.epsilon = 0.1"),),
        (parse("SET LOCAL noisegate.epsilon = 0.1"), bind(), execute(), SYNC),
    ):
        (told,) = [fields_of(body) for kind, body in talk.say(*say) if kind == "N"]
        assert (told["S"], told["C"]) == ("WARNING", "25P01")
        assert told["M"] == "SET LOCAL can only be used in transaction blocks"
        assert agreed(talk, None)
    talk.say(query("SELECT set_config('noisegate.epsilon', '0.1', true)"))
    assert agreed(talk, None)


def test_what_is_local_ends_with_its_transaction() -> None:
    for end in ["COMMIT", "ROLLBACK", "END", "ABORT"]:
        for sets in ["SET LOCAL noisegate.epsilon = 0.1", "SELECT set_config('noisegate.epsilon', '0.1', true)"]:
            talk = Talk()
            talk.say(query("SET noisegate.epsilon = 2"), query("BEGIN"), query(sets))
            assert agreed(talk, 0.1), (end, sets)
            talk.say(query(end))
            assert agreed(talk, 2), (end, sets)


def test_set_after_set_local_is_what_stays() -> None:
    for end, epsilon in [("COMMIT", 0.1), ("ROLLBACK", 2)]:
        talk = Talk()
        talk.say(query("SET noisegate.epsilon = 2"), query("BEGIN"), query("SET LOCAL noisegate.epsilon = 3"))
        talk.say(query("SET noisegate.epsilon = 0.1"))
        assert agreed(talk, 0.1), end
        talk.say(query(end))
        assert agreed(talk, epsilon), end


def test_a_transaction_that_has_failed_takes_its_settings_along() -> None:
    talk = Talk()
    talk.say(query("BEGIN"), query("SET noisegate.epsilon = 0.1"), query("SELECT 1 FROM nowhere"), query("COMMIT"))
    assert agreed(talk, None)


def test_a_savepoint_brings_settings_back() -> None:
    talk = Talk()
    talk.say(query("BEGIN; SET noisegate.epsilon = 1; SAVEPOINT a; SET noisegate.epsilon = 2; SAVEPOINT b"))
    talk.say(query("SET LOCAL noisegate.epsilon = 3"), query("SELECT 1 FROM nowhere"), query("ROLLBACK TO b"))
    assert agreed(talk, 2)
    talk.say(query("RELEASE b"))
    assert error(talk.say(query("ROLLBACK TO b")))["C"] == "3B001"
    talk.say(query("ROLLBACK TO SAVEPOINT a"))
    assert agreed(talk, 1)
    talk.say(query("COMMIT"))
    assert agreed(talk, 1)


def test_savepoints_have_an_end() -> None:
    said = Talk().say(query("BEGIN"), *[query(f"SAVEPOINT a{n}") for n in range(101)])
    assert error(said)["C"] == "53400"
    assert error(Talk().say(query("BEGIN"), query("SAVEPOINT " + "a" * 64)))["C"] == "42622"


def test_a_savepoint_that_is_set_again_before_each_statement() -> None:
    """As JDBC does it; each RELEASE takes one."""
    talk = Talk()
    assert "E" not in talk.kinds(query("BEGIN"), *[query("SAVEPOINT a")] * 1_001)
    assert "E" not in talk.kinds(*[query("RELEASE a")] * 1_000, query("ROLLBACK TO a"), query("RELEASE a"))
    assert error(talk.say(query("RELEASE a")))["C"] == "3B001"


def test_several_statements_of_one_text_are_one_transaction() -> None:
    talk = Talk()
    talk.say(query("SET noisegate.epsilon = 0.1; SELECT 1 FROM nowhere"))
    assert agreed(talk, None)
    talk.say(query(f"SET LOCAL noisegate.epsilon = 0.1; {ASK}"))
    assert talk.gateway.asked[-1].epsilon == 0.1
    assert agreed(talk, None)
    talk.say(query("SET noisegate.epsilon = 0.1; COMMIT; SET noisegate.epsilon = 2; SELECT 1 FROM nowhere"))
    assert agreed(talk, 0.1)


def test_what_comes_before_sync_is_one_transaction() -> None:
    talk = Talk()
    sets = (parse("SET noisegate.epsilon = 0.1"), bind(), execute())
    talk.say(*sets, parse("SELECT 1 FROM nowhere"), SYNC)
    assert agreed(talk, None)
    talk.say(*sets, SYNC)
    assert agreed(talk, 0.1)


def test_discard_all_leaves_nothing_to_the_next_client() -> None:
    cases: list[tuple[bytes, ...]] = [(query("DISCARD ALL"),), (parse("DISCARD ALL"), bind(), execute(), SYNC)]
    for say in cases:
        talk = Talk()
        talk.say(query("SET noisegate.epsilon = 0.1; SET noisegate.dry_run = on; SET application_name = 'one'"))
        talk.say(parse(ASK, "s"), SYNC, query("DECLARE c CURSOR WITH HOLD FOR " + ASK), query("FETCH 1 FROM c"))
        said = talk.say(*say)
        assert ("S", b"application_name\0\0") in said, say
        assert error(talk.say(bind(statement="s"), SYNC))["C"] == "26000", say
        assert "E" not in talk.kinds(parse(ASK, "s"), SYNC), say
        assert error(talk.say(query("FETCH c")))["C"] == "34000", say
        assert agreed(talk, None), say
        assert shown(talk, "noisegate.dry_run") == {b"off"}, say


def test_discard_all_is_not_for_transactions() -> None:
    for sql in ("BEGIN; DISCARD ALL", "SELECT 1 FROM t; DISCARD ALL"):
        assert error(Talk().say(query(sql)))["C"] == "25001"


def test_everything_can_be_let_go_of_by_kind() -> None:
    talk = Talk()
    talk.say(query("SET noisegate.epsilon = 0.1"), parse(ASK, "s"), SYNC)
    talk.say(query("DECLARE c CURSOR WITH HOLD FOR " + ASK))
    talk.say(query("RESET ALL"))
    assert agreed(talk, None)
    talk.say(query("DEALLOCATE ALL"))
    assert error(talk.say(bind(statement="s"), SYNC))["C"] == "26000"
    talk.say(query("CLOSE ALL"))
    assert error(talk.say(query("FETCH c")))["C"] == "34000"
