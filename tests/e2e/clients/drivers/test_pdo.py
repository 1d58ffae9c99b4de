"""PHP's PDO: values bound by the server, or written into the text by the driver."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, NEVER_ENDS, Contract
from tests.e2e.clients.program import PROGRAMS, ProgramClient, needs
from tests.support.wire_proxy import WireProxy

PHP = shutil.which("php")


def _has_pgsql() -> bool:
    if PHP is None:
        return False
    return "pdo_pgsql" in subprocess.run([PHP, "-m"], capture_output=True, text=True, check=True).stdout


pytestmark = needs(_has_pgsql(), "php-cli, php-pgsql")


class Pdo(ProgramClient):
    """PDO."""

    def command(self) -> Sequence[str]:
        assert PHP is not None, "skipped otherwise"
        return (PHP, str(PROGRAMS / "client.php"))

    def cancelled(self) -> str:
        """PHP forgets the error of what it cancels."""
        assert self.do("cancelled", [NEVER_ENDS])
        (code,) = self.refused_with()
        return code


class TestPdo(Contract):
    """The contract."""

    client = Pdo


def test_a_value_written_into_the_text_is_the_same_question(wire: WireProxy) -> None:
    client = Pdo(wire, 1.5)
    above = COUNT_ABOVE.format("?")
    assert client.do("emulated", [above, 1000]) == client.do("prepared", [above, 1000])
    assert client.left() == 0.5


def test_the_type_of_a_column(wire: WireProxy) -> None:
    """It asks pg_type for the type's name."""
    (column,) = Pdo(wire, 1.0).do("columns", [COUNT])
    assert (column["name"], column["native_type"]) == ("count", "int8")
