"""Policy and ledger of 0.1.0 are read by this version, without a step between.

`tests/support/files_of_0_1_0` was written by 0.1.0: two analysts, a group, grants, a declared key that was counted, a
measured and a free answer, and an analyst who was disabled and enabled again. `keys` has the analysts' keys.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from server.ledger.account import AccountBalance
from server.ledger.charge import Charge
from server.policy.accepted_policy import PolicyFile, read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.integration.test_data_files import PATIENTS, VISITS
from tests.integration.test_served_files import _asked, _noisegate, _served
from tests.support.charging import claim

_FILES = Path(__file__).parents[1] / "support" / "files_of_0_1_0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "served"
    shutil.copytree(_FILES, there)
    (there / "lake" / "visit").mkdir(parents=True)
    duckdb.execute(f"COPY ({PATIENTS}) TO '{there}/lake/patient.parquet'")
    duckdb.execute(f"COPY ({VISITS.format(0, 3000)}) TO '{there}/lake/visit/0.parquet'")
    return there


def _spent(accounts: tuple[AccountBalance, ...]) -> dict[str, float]:
    """What each account spent in all its periods. The group's account began a new one in December 2026."""
    return {one.name: round(one.spent_epsilon, 6) for one in accounts}


def test_the_ledger_holds_and_goes_on(folder: Path) -> None:
    policy = folder / "policy.toml"
    ledger, is_new = open_or_create(read_policy(policy), policy)
    with closing(ledger):
        assert not is_new and ledger.verify().fault is None
        spent = _spent(ledger.accounts())
        assert spent["analyst:ada"] == 4.0 and spent["analyst:eve"] == spent["group:lab"] == 4.0
        assert [one.state for one in ledger.charges()] == ["committed", "committed"]
        assert ledger.accepted_policy() == PolicyFile.read(policy).policy.hash, "nothing is to be accepted again"
        claimed = claim(ledger, Charge("eve", 0.5, 0.0, "r", "policy", "plan", "gem", answer_key="another"))
        assert claimed is not None
        ledger.fail(claimed)
        assert _spent(ledger.accounts())["analyst:eve"] == 4.5
        assert ledger.verify().fault is None


@pytest.mark.slow
def test_its_proxy_starts_and_budgets_go_on(folder: Path) -> None:
    """The files of the data are new ones, so what was paid for is measured again."""
    ada, eve = (folder / "keys").read_text().split()
    with _served(folder) as (address, _):
        answer = _asked(address, ada, "SELECT count(*), sum(cost) FROM public.visit")
        assert answer.status_code == 200, answer.text
        assert answer.json()["budget"]["epsilon_left"] == 22.0
        other = _asked(address, eve, "SELECT count(*) FROM public.visit WHERE cost > 4")
        assert other.status_code != 200, "of 5, 4 were spent under 0.1.0"
    assert _noisegate("ledger", "verify", "--policy", "policy.toml", cwd=folder).returncode == 0
