"""Commands that are imported when they are called."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version

import pytest

from server.cli.main import COMMANDS, GROUPS

HEAVY = ("cryptography", "numpy", "opendp", "postgast", "psycopg", "scipy", "sqlglot")
ALL = [
    *(((), name, target) for name, target in COMMANDS.items()),
    *(((group,), name, target) for group, (_, found) in GROUPS.items() for name, target in found.items()),
]


def _loaded(*arguments: str) -> set[str]:
    """Which packages a run of the command line imports."""
    code = (
        "import json, sys; from server.cli.main import main\n"
        f"try: main({list(arguments)!r})\n"
        "except SystemExit: print(); print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_imports_no_command() -> None:
    assert not _loaded("--help") & {*HEAVY, "httpx", "pydantic", "rich"}


def test_a_quick_command_waits_for_no_heavy_library(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[str, ...]] = [
        ("budget",),
        ("query", "SELECT 1"),
        ("explain", "SELECT 1"),
        ("admin", "accounts", "--policy", "no such file"),
    ]
    for arguments in cases:
        monkeypatch.setenv("NOISEGATE_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("NOISEGATE_KEY", "ng_nobody")
        assert not _loaded(*arguments) & set(HEAVY), arguments


def test_every_command_is_there_and_says_what_it_does(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    for before, name, target in ALL:
        module, _, function = target.partition(":")
        documented = inspect.getdoc(getattr(import_module(module), function))
        assert documented is not None, name
        assert run(*before, "--help") == 0, before
        (listed,) = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == [name]]
        words = listed.split(maxsplit=1)[1].removesuffix("...")
        assert " ".join(documented.split()).startswith(words), name
        assert run(*before, name, "--help") == 0, name
        assert words in " ".join(capsys.readouterr().out.split()), name


def test_an_unknown_command_is_corrected(run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bugdet") == 2
    assert "'budget'" in capsys.readouterr().err


def test_version_is_that_of_the_installed_package(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"noisegate {version('noisegate')}\n"
