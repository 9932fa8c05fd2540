"""Cursors are opaque, bound to their list, and proof against tampering."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_app.domain.cursors import CursorError, Cursors, Position

positions = st.builds(
    Position,
    ms=st.integers(0, 2**63),
    id=st.uuids().map(str),
    depth=st.integers(0, 2**32 - 1),
)
cursors = Cursors("a key")


@given(positions)
def test_what_is_written_is_read_again(position: Position) -> None:
    assert cursors.read("feed:a", cursors.write("feed:a", position)) == position


@given(positions, st.data())
def test_a_changed_character_is_noticed(position: Position, data: st.DataObject) -> None:
    cursor = cursors.write("feed:a", position)
    place = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda character: character != cursor[place]))
    with pytest.raises(CursorError):
        cursors.read("feed:a", cursor[:place] + other + cursor[place + 1 :])


@given(st.text(max_size=80))
def test_anything_else_is_not_a_cursor(text: str) -> None:
    with pytest.raises(CursorError):
        cursors.read("feed:a", text)


def test_a_cursor_of_another_list_or_another_key_is_refused() -> None:
    cursor = cursors.write("feed:a", Position(1, str(uuid.uuid4())))
    with pytest.raises(CursorError):
        cursors.read("feed:b", cursor)
    with pytest.raises(CursorError):
        Cursors("another key").read("feed:a", cursor)
