"""Who gives a place up when one more comes."""

from __future__ import annotations

from server.connections import Place, Places, Standing, origin


class Port:
    """The places of a port, and who was cut off, in order."""

    def __init__(self, most: int) -> None:
        self.places = Places(most)
        self.gone: list[str] = []

    def enter(self, name: str, address: str, standing: Standing = Standing.STRANGER) -> Place | None:
        place = self.places.enter(address, lambda: self.gone.append(name))
        if place is not None:
            place.stand(standing)
        return place


def test_who_has_shown_least_goes_first_then_who_came_first() -> None:
    port = Port(5)
    for name, standing in (
        ("silent", Standing.SILENT),
        ("known", Standing.KNOWN),
        ("answered", Standing.ANSWERED),
        ("first", Standing.STRANGER),
        ("second", Standing.STRANGER),
    ):
        port.enter(name, "here", standing)
    for name in "abcde":
        port.enter(name, "here", Standing.SERVED)
    assert port.gone == ["silent", "first", "second", "answered", "known"]
    assert port.enter("f", "here") is None
    assert len(port.places) == 5


def test_a_crowd_takes_places_from_itself() -> None:
    """Even where the crowd has shown more of itself."""
    port = Port(10)
    port.enter("stranger", "there")
    for n in range(100):
        port.enter(f"{n}", "here", Standing.KNOWN)
    assert "stranger" not in port.gone
    for n in range(100):
        port.enter(f"there {n}", "there")
    assert len([name for name in port.gone if not name.startswith("there")]) == 91 + 5


def test_places_are_free_again() -> None:
    port = Port(2)
    for _ in range(10):
        entered = [port.enter("one", "here"), port.enter("two", "here", Standing.SERVED)]
        for place in entered:
            assert place is not None
            place.leave()
            place.leave()
            place.stand(Standing.KNOWN)
    assert port.gone == []
    assert len(port.places) == 0
    assert not port.places.make_room()


def test_what_counts_as_one_address() -> None:
    cases: list[tuple[object, object, bool]] = [
        (("192.0.2.1", 1), ("192.0.2.1", 2), True),
        (("192.0.2.1", 1), ("192.0.2.2", 1), False),
        (("2001:db8::1", 1, 0, 0), ("2001:db8::ffff:1:2:3", 1, 0, 0), True),
        (("2001:db8::1", 1, 0, 0), ("2001:db8:0:1::1", 1, 0, 0), False),
        (("::ffff:192.0.2.1", 1, 0, 0), ("::ffff:192.0.2.2", 1, 0, 0), False),
        (("fe80::1%eth0", 1, 0, 2), ("fe80::2", 1, 0, 0), True),
        ("", None, True),
    ]
    for one, other, same in cases:
        assert (origin(one) == origin(other)) is same, one
