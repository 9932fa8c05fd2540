import bson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compose.embedded.mongo import wire

documents = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.integers(0, 9) | st.text("äb", max_size=20), max_size=4
)


@given(sent=st.lists(documents, min_size=1, max_size=5), cuts=st.lists(st.integers(1, 40), max_size=30))
def test_frames_come_out_whole_however_the_stream_is_cut(sent: list[wire.Document], cuts: list[int]) -> None:
    frames = [wire.message(document, number) for number, document in enumerate(sent)]
    stream, start = wire.Frames(), 0
    received: list[bytes] = []
    data = b"".join(frames)
    for size in [*cuts, len(data)]:
        received += stream.feed(data[start : start + size])
        start += size
    assert received == frames
    assert [wire.body(frame) for frame in received] == sent
    assert [wire.request_id(frame) for frame in received] == list(range(len(sent)))


@pytest.mark.parametrize("size", [-1, 0, 16, wire.MAX_MESSAGE_BYTES + 1])
def test_a_size_that_cannot_be_is_an_error(size: int) -> None:
    with pytest.raises(wire.ProtocolError):
        list(wire.Frames().feed(wire.HEADER.pack(size, 1, 0, wire.OP_MSG)))


def sequence(name: str, *raw_documents: bytes) -> bytes:
    inner = name.encode() + b"\0" + b"".join(raw_documents)
    return b"\1" + (len(inner) + 4).to_bytes(4, "little") + inner


@pytest.mark.parametrize("body_first", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
def test_the_command_is_found_wherever_its_section_stands(body_first: bool, checksum: bool) -> None:
    raw = bson.encode({"insert": "things", "$db": "test"})
    sections = [b"\0" + raw, sequence("documents", bson.encode({"_id": 1}), bson.encode({"_id": 2}))]
    payload = b"".join(sections if body_first else reversed(sections))
    flag_bits = wire.Flag.CHECKSUM_PRESENT if checksum else 0
    payload = int(flag_bits).to_bytes(4, "little") + payload + (b"\1\2\3\4" if checksum else b"")
    frame = wire.HEADER.pack(16 + len(payload), 1, 0, wire.OP_MSG) + payload
    name, found = wire.command(frame)
    assert (name, bytes(found)) == ("insert", raw)


def test_a_frame_without_a_command_has_an_empty_one() -> None:
    frame = wire.HEADER.pack(20, 1, 0, wire.OP_MSG) + b"\0" * 4
    name, raw = wire.command(frame)
    assert (name, bson.decode(raw)) == ("", {})


def test_a_legacy_query_and_its_reply() -> None:
    raw = bson.encode({"isMaster": 1})
    payload = b"\0" * 4 + b"admin.$cmd\0" + b"\0" * 8 + raw
    frame = wire.HEADER.pack(16 + len(payload), 3, 0, wire.OP_QUERY) + payload
    assert wire.query_command(frame) == {"isMaster": 1}
    reply = wire.legacy_reply({"ok": 1.0}, 9, response_to=3)
    assert wire.HEADER.unpack_from(reply) == (len(reply), 9, 3, wire.OP_REPLY)
    assert bson.decode(reply[36:]) == {"ok": 1.0}


def test_unknown_flag_bits_do_no_harm() -> None:
    frame = wire.message({"ping": 1}, 1, flag_bits=wire.Flag.EXHAUST_ALLOWED | 1 << 20)
    assert wire.Flag.EXHAUST_ALLOWED in wire.flags(frame)
    assert wire.Flag.MORE_TO_COME not in wire.flags(frame)
