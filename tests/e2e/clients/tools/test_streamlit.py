"""Streamlit's connection to SQL databases."""

from __future__ import annotations

from tests.e2e.clients.contract import COUNT, Contract
from tests.e2e.clients.program import PythonClient, needs, of_python
from tests.support.wire_proxy import WireProxy

pytestmark = needs(of_python("streamlit"), "streamlit of PyPI")


class Streamlit(PythonClient):
    """st.connection(type="sql")."""

    placeholder = ":price"
    program = "streamlit_page.py"


class TestStreamlit(Contract):
    """The contract."""

    client = Streamlit


BY_NATION = (
    "SELECT n_name, count(*) AS customers FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
)


def test_an_answer_is_a_frame_with_the_types_of_its_columns(wire: WireProxy) -> None:
    client = Streamlit(wire, 1.5)
    assert client.do("frame", [BY_NATION]) == [["n_name", "string"], ["customers", "integer"]]
    assert client.left() == 0.5


def test_a_page_that_runs_again_pays_nothing(wire: WireProxy) -> None:
    """Streamlit keeps answers, but for a ttl of 0; then the proxy has the very same answer, whatever may follow."""
    client = Streamlit(wire, 3.5)
    for ttl in ("", "0"):
        first, again = client.do("twice", [COUNT, ttl])
        assert first == again and client.left() == 2.5
