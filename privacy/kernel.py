"""Compile loops over arrays with numba, and keep the machine code between processes.

Machine code lies in one folder of the user, for all checkouts and installations. A hash of the source finds it. So a
fresh clone compiles nothing that the machine has compiled before. A kernel whose callee or constant has changed is
compiled again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import CodeType, ModuleType
from typing import IO, Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

P = ParamSpec("P")
R = TypeVar("R")

_OTHER_COMPILES_S = 120.0
"""How long a process waits for another that compiles the same kernel, before it compiles for itself."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and numbers, and keep the machine code for later processes.

    Integers wrap around silently inside, so a kernel names the bound that keeps it from happening. No fast
    math: sums have one order and one result. The GIL is released. NUMBA_BOUNDSCHECK=1 checks every index.
    Cost: some seconds the first time on a machine, milliseconds from then on. Where no folder can be written to,
      every process compiles for itself.
    """
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    compiled._cache = _KernelCache(function)
    return cast(Callable[P, R], compiled)


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
    if isinstance(value, Dispatcher):
        _describe(value.py_func, parts, seen)
    elif isinstance(value, ModuleType | type) or (callable(value) and value.__module__.partition(".")[0] == "numba"):
        parts.append(f"{name} is {value.__name__}")
    elif isinstance(value, bool | int | float | str | np.generic):
        parts.append(f"{name} = {value!r}")
    else:
        raise TypeError(f"kernels may not use the global name {name}: it is no kernel, module, type or number")


class _KernelCache(FunctionCache):  # type: ignore[misc]  # it has no types
    """The machine code of one kernel's signatures, in the folder of all checkouts.

    Numba's own cache goes by the path and the modification time of a source file. This one uses only its reading and
    writing: an index file, and one file per signature, each replaced in one step. A lock is held from a miss until
    the code is saved. So no two processes compile the same kernel, or give two signatures one file name.
    """

    def __init__(self, function: Any) -> None:
        self._py_func = function
        self._held: IO[bytes] | None = None

    @cached_property
    def _folder(self) -> Path | None:
        return cache_folder()

    @cached_property
    def _impl(self) -> CompileResultCacheImpl:
        reader = CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # its __init__ looks for a source file
        reader._lineno = self._py_func.__code__.co_firstlineno
        return reader

    @cached_property
    def _name(self) -> str:
        """The name of the files, found at first use, as a kernel may call one that is defined below it."""
        return f"{self._py_func.__qualname__}-{source_hash(self._py_func)[:24]}"

    @cached_property
    def _cache_file(self) -> IndexDataCacheFile:
        return IndexDataCacheFile(str(self._folder), self._name, self._name)

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code of a signature; None if it has to be compiled, and then the lock is held."""
        if self._folder is None:
            return None
        target_context.refresh()
        found = self._load(sig, target_context)
        if found is None:
            self._acquire()
            found = self._load(sig, target_context)
            if found is not None:
                self._release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled; a full disk is no error."""
        if self._folder is None:
            return
        try:
            with suppress(OSError):
                self._cache_file.save(self._index_key(sig, data.codegen), self._impl.reduce(data))
        finally:
            self._release()

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            kept = self._cache_file.load(self._index_key(sig, target_context.codegen()))
        except (OSError, EOFError, ValueError):
            return None
        return None if kept is None else self._impl.rebuild(target_context, kept)

    def _acquire(self) -> None:
        assert self._folder is not None
        self._release()
        with suppress(OSError):
            self._held = (self._folder / f"{self._name}.lock").open("ab")
            end = time.monotonic() + _OTHER_COMPILES_S
            while time.monotonic() < end:
                try:
                    fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    time.sleep(0.01)

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
