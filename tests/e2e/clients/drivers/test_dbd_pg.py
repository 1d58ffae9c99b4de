"""Perl's DBD::Pg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from tests.e2e.clients.contract import Contract
from tests.e2e.clients.program import PROGRAMS, ProgramClient, needs
from tests.support.wire_proxy import WireProxy

PERL = shutil.which("perl")


def _has_driver() -> bool:
    if PERL is None:
        return False
    return subprocess.run([PERL, "-MDBD::Pg", "-e", "1"], capture_output=True, check=False).returncode == 0


pytestmark = needs(_has_driver(), "libdbd-pg-perl")


class DbdPg(ProgramClient):
    """DBD::Pg."""

    def command(self) -> Sequence[str]:
        assert PERL is not None, "skipped otherwise"
        return (PERL, str(PROGRAMS / "client.pl"))


class TestDbdPg(Contract):
    """The contract."""

    client = DbdPg


def test_columns_and_keys(wire: WireProxy) -> None:
    client = DbdPg(wire, 1.0)
    columns, primary = client.do("columns", ["orders"])
    assert {"o_orderkey", "o_orderdate"} <= set(columns)
    assert primary == ["o_orderkey"]
    assert client.left() == 1.0
