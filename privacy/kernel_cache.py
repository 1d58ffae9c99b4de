"""Kernels' machine code on disk, for all checkouts and installations of a user."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

_OTHER_COMPILES_S = 120.0
"""How long a process waits for another that compiles the same kernel, before it compiles for itself."""


class KernelCache(FunctionCache):  # type: ignore[misc]  # it has no types
    """The machine code of one kernel's signatures, in the folder of all checkouts.

    Numba's own cache goes by the path and the modification time of a source file. This one uses only its reading and
    writing: an index file, and one file per signature, each replaced in one step. A lock is held from a miss until
    the code is saved. So no two processes compile the same kernel, or give two signatures one file name.
    """

    def __init__(self, function: Any, folder: Callable[[], Path | None], name: Callable[[], str]) -> None:
        self._py_func, self._place, self._call_it = function, folder, name
        self._held: IO[bytes] | None = None

    @cached_property
    def _folder(self) -> Path | None:
        return self._place()

    @cached_property
    def _impl(self) -> CompileResultCacheImpl:
        reader = CompileResultCacheImpl.__new__(CompileResultCacheImpl)  # its __init__ looks for a source file
        reader._lineno = self._py_func.__code__.co_firstlineno
        return reader

    @cached_property
    def _name(self) -> str:
        """The name of the files, found at first use, as a kernel may call one that is defined below it."""
        return self._call_it()

    @cached_property
    def _cache_file(self) -> IndexDataCacheFile:
        return IndexDataCacheFile(str(self._folder), self._name, self._name)

    @property
    def cache_path(self) -> str:
        """Where the files lie, for numba."""
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
