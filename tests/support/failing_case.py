"""Below the failure of a test that loops over cases: which case it was. A hook, for the `conftest.py` of a folder."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

_LONGEST = 500


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """What the names of the test's own function stood for, its fixtures and lists of cases aside."""
    report = yield
    if report.failed and call.excinfo is not None:
        function = item.name.partition("[")[0]
        aside = {"cases", *getattr(item, "fixturenames", ())}
        for entry in call.excinfo.traceback:
            if entry.name == function:
                known = ((name, value) for name, value in entry.frame.f_locals.items() if name not in aside)
                lines = [f"{name} = {value!r}"[:_LONGEST] for name, value in known]
                report.sections.append(("the case that failed", "\n".join(lines)))
    return report
