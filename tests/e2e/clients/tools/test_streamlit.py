"""Streamlit's connection to SQL databases."""

from __future__ import annotations

from tests.e2e.clients.contract import Contract
from tests.e2e.clients.program import PythonClient, needs, of_python

pytestmark = needs(of_python("streamlit"), "streamlit of PyPI")


class Streamlit(PythonClient):
    """st.connection(type="sql")."""

    placeholder = ":price"
    program = "streamlit_page.py"


class TestStreamlit(Contract):
    """The contract."""

    client = Streamlit
