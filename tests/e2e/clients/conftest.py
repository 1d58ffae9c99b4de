"""The programs of clients, which are no tests of their own."""

from __future__ import annotations

collect_ignore = ["programs"]
"""They run where their libraries are; here they would be imported for their doctests."""
