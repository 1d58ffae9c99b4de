"""Tests of benchmarks: in `make test-all` only, and not even imported before."""

from __future__ import annotations

from tests.support.seeds import ALL

collect_ignore_glob = [] if ALL else ["*.py"]
