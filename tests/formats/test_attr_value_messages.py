"""Values of attrs as AttrValue messages, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.formats import messages_pb2
from gpugraph.formats.attr_value_messages import kind_of, read_attr_value, write_attr

VALUES = [
    ("int", 7, "i: 7"),
    ("float", 1, "f: 1"),
    ("bool", False, "b: false"),
    ("string", "text", 's: "text"'),
    ("type", dtypes.int64, "type: DT_INT64"),
    ("shape", TensorShape([2, None]), "shape { dim { size: 2 } dim { size: -1 } }"),
    ("shape", TensorShape(None), "shape { unknown_rank: true }"),
    ("list(int)", [], "list { }"),
    ("list(int)", [1, 2], "list { i: 1 i: 2 }"),
    ("list(type)", (dtypes.bool,), "list { type: DT_BOOL }"),
    ("list(shape)", [TensorShape([])], "list { shape { } }"),
]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES, ids=lambda item: str(item)[:20])
def test_a_value_is_written_by_its_kind_and_read_again(kind: str, value: Any, text: str) -> None:
    message = messages_pb2.AttrValue()
    write_attr(message, value, kind)
    assert " ".join(str(message).split()) == text
    again = read_attr_value(message)
    assert again == (list(value) if isinstance(value, tuple) else value)
    if value != [] and kind != "float":
        assert kind_of(value) == kind


def test_arrays_are_tensors_and_text_that_is_no_utf_8_keeps_its_bytes() -> None:
    message = messages_pb2.AttrValue()
    write_attr(message, np.array([1, 2], np.int16))
    assert read_attr_value(message).tolist() == [1, 2]
    message.s = b"\xff\0"
    text = read_attr_value(message)
    write_attr(message, text)
    assert message.s == b"\xff\0"
    write_attr(message, [b"\xff"])
    assert read_attr_value(message) == [b"\xff"]


def test_what_no_attr_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="An attr can't hold"):
        write_attr(messages_pb2.AttrValue(), object())
    placeholder = messages_pb2.AttrValue(placeholder="T")
    with pytest.raises(ValueError, match="holds the placeholder 'T'"):
        read_attr_value(placeholder)
    assert read_attr_value(messages_pb2.AttrValue()) is None


def test_functions_stay_messages() -> None:
    for value in (
        messages_pb2.AttrValue(func={"name": "f"}),
        messages_pb2.AttrValue(list={"func": [{"name": "f"}, {"name": "g"}]}),
    ):
        copy = messages_pb2.AttrValue()
        write_attr(copy, read_attr_value(value))
        assert copy == value
