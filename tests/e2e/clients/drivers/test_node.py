"""node-postgres (`pg`)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

import pytest

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import INSTALLED, PROGRAMS, ProgramClient
from tests.support.wire_proxy import WireProxy

NODE = shutil.which("node")
MODULES = (INSTALLED / "node" / "node_modules").resolve()
pytestmark = pytest.mark.skipif(
    NODE is None or not (MODULES / "pg").is_dir(), reason="node or its module pg is not installed (make clients)"
)


class NodePostgres(ProgramClient):
    """node-postgres."""

    placeholder = "$1"

    def command(self) -> Sequence[str]:
        assert NODE is not None, "skipped otherwise"
        return (NODE, str(PROGRAMS / "client.mjs"))

    def environment(self) -> Mapping[str, str]:
        return {"NG_MODULES": str(MODULES.parent)}


class TestNodePostgres(Contract):
    """The contract."""

    client = NodePostgres


def test_results_in_binary(wire: WireProxy) -> None:
    client = NodePostgres(wire, 1.5)
    ((binary,),) = client.do("binary", [COUNT])
    assert str(binary) == str(client.rows([COUNT])[0][0][0])


def test_a_pool_pays_once(wire: WireProxy) -> None:
    client = NodePostgres(wire, 2.0)
    client.rows([COUNT])
    assert len(set(client.do("pool", [COUNT]))) == 1
    assert client.left() == 1.0
