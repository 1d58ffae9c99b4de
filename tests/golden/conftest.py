"""A failure says in which case of a loop it happened."""

from tests.support.failing_case import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]
