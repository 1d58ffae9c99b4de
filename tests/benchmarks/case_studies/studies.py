"""The four case studies."""

from __future__ import annotations

from tests.benchmarks.case_studies import census, hospital, social_network, stack_exchange

STUDIES = (census.STUDY, hospital.STUDY, social_network.STUDY, stack_exchange.STUDY)
"""In the order of the documentation."""
