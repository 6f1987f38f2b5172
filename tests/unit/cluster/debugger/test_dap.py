from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayscope.cluster.debugger.dap import MAX_MESSAGE_BYTES, MessageReader, ProtocolError, encode

MESSAGES = st.lists(
    st.dictionaries(st.text(), st.one_of(st.integers(-(2**53), 2**53), st.text())), max_size=5
)


@given(MESSAGES, st.data())
def test_a_stream_cut_anywhere(messages: list[dict[str, int | str]], data: st.DataObject) -> None:
    stream = b"".join(map(encode, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = MessageReader()
    edges = [0, *cuts, len(stream)]
    parts = [stream[begin:end] for begin, end in itertools.pairwise(edges)]
    assert [message for part in parts for message in reader.feed(part)] == messages


def test_other_headers_are_ignored() -> None:
    stream = b"content-type: x\r\ncontent-length: 2\r\n\r\n{}" + encode({"a": 1})
    assert list(MessageReader().feed(stream)) == [{}, {"a": 1}]


def test_messages_that_are_too_large_are_skipped() -> None:
    size = 2 * MAX_MESSAGE_BYTES + 3
    reader = MessageReader()
    assert list(reader.feed(b"Content-Length: %d\r\n\r\n" % size)) == []
    for _ in range(2):
        assert list(reader.feed(b"[" * MAX_MESSAGE_BYTES)) == []
    assert list(reader.feed(b"[[[" + encode({"a": 1}))) == [{"a": 1}]


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Nothing: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"x" * 5000,
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{\xff",
    ],
)
def test_what_is_no_message(stream: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(MessageReader().feed(stream))
