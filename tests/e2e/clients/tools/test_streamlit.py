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


BY_PRIORITY = "SELECT o_orderpriority, count(*) AS orders FROM orders GROUP BY 1"


def test_an_answer_is_a_frame_with_the_types_of_its_columns(wire: WireProxy) -> None:
    client = Streamlit(wire, 1.5)
    assert client.do("frame", [BY_PRIORITY]) == [["o_orderpriority", "string"], ["orders", "integer"]]
    assert client.left() == 0.5


def test_a_page_that_runs_again_pays_nothing_unless_it_wants_to(wire: WireProxy) -> None:
    """The proxy is told to use nothing that was paid for; Streamlit keeps answers, but for a ttl of 0."""
    client = Streamlit(wire, 3.5)
    first, again = client.do("twice", [COUNT, ""])
    assert first == again and client.left() == 2.5
    client.do("twice", [COUNT, "0"])
    assert client.left() == 0.5
