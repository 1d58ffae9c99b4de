"""Compile loops over arrays with numba, and keep the machine code between processes.

A kernel is compiled at its first call. So a process that calls none, such as the server, does not import numba.

Machine code lies in one folder of the user, for all checkouts and installations. A hash of the source finds it. So a
fresh clone compiles nothing that the machine has compiled before. A kernel whose callee or constant has changed is
compiled again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cached_property, update_wrapper
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


class Kernel(Generic[P, R]):
    """A function of arrays and numbers, as machine code for each combination of types that it is called with."""

    def __init__(self, function: Callable[P, R]) -> None:
        update_wrapper(self, function)
        self.py_func = function

    @cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher, which compiles the function at its first call."""
        import numba

        from privacy.kernel_cache import KernelCache

        compiled = numba.njit(nogil=True, error_model="numpy")(self.py_func)
        compiled._cache = KernelCache(self.py_func, cache_folder, self._name)
        return compiled

    def _name(self) -> str:
        return f"{self.py_func.__qualname__}-{source_hash(self.py_func)[:24]}"

    @property
    def _numba_type_(self) -> Any:
        """For kernels that call this one."""
        return self.compiled._numba_type_

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Call the machine code."""
        return self.compiled(*arguments, **named)  # type: ignore[no-any-return]  # numba has no types


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile a function of arrays and numbers, and keep the machine code for later processes.

    Integers wrap around silently inside, so a kernel names the bound that keeps it from happening. No fast
    math: sums have one order and one result. The GIL is released. NUMBA_BOUNDSCHECK=1 checks every index.
    Cost: some seconds the first time on a machine, milliseconds from then on. Where no folder can be written to,
      every process compiles for itself.
    """
    return Kernel(function)


def cache_folder() -> Path | None:
    """The folder of compiled kernels: NUMBA_CACHE_DIR, else `noisegate/kernels` in the user's cache directory.

    Returns: None where the user has no folder that can be written to.
    """
    try:
        chosen = os.environ.get("NUMBA_CACHE_DIR")
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = Path(chosen) if chosen else caches / "noisegate" / "kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        return None
    return folder if os.access(folder, os.W_OK) else None


def source_hash(function: Any) -> str:
    """A hash of everything that a kernel's machine code depends on, the machine and numba's version apart.

    Comments, line numbers, paths and modification times are no part of it; the kernels that it calls are.
    Raises: TypeError for a global name of a kind that kernels do not use.
    """
    parts: list[str] = [f"{sys.version_info[:2]} bounds {os.environ.get('NUMBA_BOUNDSCHECK', '')}"]
    _describe(function, parts, set())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _describe(function: Any, parts: list[str], seen: set[Any]) -> None:
    if function in seen:
        return
    seen.add(function)
    parts.append(f"def {function.__module__}.{function.__qualname__} {function.__defaults__!r}")
    for code in _codes(function.__code__):
        constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
        parts.append(f"{code.co_code.hex()} {constants!r} {code.co_names!r} {code.co_varnames!r}")
        for name in code.co_names:
            if name in function.__globals__:
                _describe_global(name, function.__globals__[name], parts, seen)


def _codes(code: CodeType) -> list[CodeType]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(nested for one in inner for nested in _codes(one))]


def _describe_global(name: str, value: Any, parts: list[str], seen: set[Any]) -> None:
    if isinstance(value, Kernel):
        _describe(value.py_func, parts, seen)
    elif isinstance(value, ModuleType | type) or (callable(value) and value.__module__.partition(".")[0] == "numba"):
        parts.append(f"{name} is {value.__name__}")
    elif isinstance(value, bool | int | float | str | np.generic):
        parts.append(f"{name} = {value!r}")
    else:
        raise TypeError(f"kernels may not use the global name {name}: it is no kernel, module, type or number")
