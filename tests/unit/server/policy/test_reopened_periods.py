"""What an exported ledger tells of a load, and what a reopened period tells of the table that has changed."""

from __future__ import annotations

import hashlib
import hmac
from datetime import date

from planner.reuse.period_scope import OWN
from server.backends.custody import Print, WayPrints
from server.ledger.analyst import Act
from server.ledger.entry import PeriodsNoted
from server.policy.data_versions import Reopen, TablePrints, VersionPrints, compared, noted_version
from server.policy.secrets import key_name

KEY = b"k" * 32
BEFORE, FIRST = date(2026, 3, 10), date(2025, 11, 1)
JANUARY = date(2026, 1, 15).toordinal()


def prints(january_of_visits: int) -> VersionPrints:
    """Two append-only tables; of visits in January there are so many."""

    def table(january: int) -> TablePrints:
        days = {JANUARY: Print(january, (january, 7)), JANUARY + 30: Print(2, (5, 6))}
        return TablePrints("came", BEFORE, FIRST, {OWN: WayPrints("shape", days)})

    return VersionPrints(
        "f", {"visit": table(january_of_visits), "claim": table(3)}, {"ward": ("w", Print(1, (1, 1)))}
    )


def noted(
    read: VersionPrints, before: PeriodsNoted | None, version: int, reopen: Reopen | None = None
) -> PeriodsNoted:
    return noted_version(read, before, compared(read, before, KEY), version, KEY, reopen, Act("grace", "a load"))


def digests(one: PeriodsNoted) -> list[str]:
    ways = [way for table in one.tables.values() for way in table["ways"].values()]
    of_tables = [told[1] for way in ways for told in way["periods"].values()]
    return [*of_tables, *(whole["digest"] for whole in one.whole.values())]


def since(one: PeriodsNoted, table: str) -> dict[str, int]:
    return {period: told[0] for period, told in one.tables[table]["ways"][OWN]["periods"].items()}


def test_no_two_digests_of_a_ledger_are_equal() -> None:
    """Equal ones would say which days are alike, and which have not changed between two loads."""
    first = noted(prints(4), None, 1)
    second = noted(prints(4), first, 2)
    every = [*digests(first), *digests(second)]
    assert len(set(every)) == len(every)
    assert compared(prints(4), second, KEY).changed == ()
    assert set(since(second, "visit").values()) == {1}, "and yet the days are known to be as they were"
    assert second.whole["ward"]["since"] == 1


def test_a_changed_period_is_reopened_in_every_table() -> None:
    first = noted(prints(4), None, 1)
    assert compared(prints(5), first, KEY).changed == (("visit", OWN, "2026-01"),)
    second = noted(prints(5), first, 2, "changed")
    for table in ("visit", "claim"):
        newer = {period for period, version in since(second, table).items() if version == 2}
        assert newer == {period for period in since(second, table) if period.startswith("2026-01")}, table
    assert second.reopened == [["visit", "2026-01", 2], ["claim", "2026-01", 2]]


def test_all_are_reopened_alike() -> None:
    first = noted(prints(4), None, 1)
    for january in (4, 5):
        second = noted(prints(january), first, 2, "all")
        assert {version for table in ("visit", "claim") for version in since(second, table).values()} == {2}


def test_an_entry_of_a_version_without_nonce_is_compared_all_the_same() -> None:
    """Its digests are of the rows alone: nothing is reopened by an upgrade."""
    text = "shape 4 4 7"  # of January: how many rows, and two sums of their hashes
    digest = hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()[:32]
    visits = {"before": BEFORE.isoformat(), "ways": {OWN: {"shape": "shape", "periods": {"2026-01": [1, digest]}}}}
    told = {"version": 1, "fingerprint": "f", "key": key_name(KEY), "loads": [[1, "f"]], "tables": {"visit": visits}}
    old = PeriodsNoted(
        **PeriodsNoted.arguments(told | {"whole": {}, "reopened": [], "by": "grace", "reason": "a load"})
    )
    read = prints(4)
    assert old.nonce == ""
    assert compared(read, old, KEY).changed == ()
    assert compared(prints(5), old, KEY).changed == (("visit", OWN, "2026-01"),)
