"""What is private shows nothing of itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import privacy
from privacy.join_tuples import Private


def below(base: type[Private]) -> Iterator[type[Private]]:
    for kind in base.__subclasses__():
        yield kind
        yield from below(kind)


def test_no_private_class_has_a_repr_of_its_own() -> None:
    for module in pkgutil.walk_packages(privacy.__path__, "privacy."):
        importlib.import_module(module.name)
    own = [kind for kind in below(Private) if kind.__module__.startswith("privacy.")]
    assert len(own) > 50
    assert [kind for kind in own if vars(kind).get("__repr__")] == []
