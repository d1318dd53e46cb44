"""Features of Examples as bytes: packed and not, written and read, and bytes that are none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.formats.example_bytes import (
    BYTES,
    FLOATS,
    INTEGERS,
    NOTHING,
    example_bytes,
    example_features,
    feature_bytes,
    list_of_features,
    read_feature,
    sequence_features,
    varints,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT32 = st.floats(width=32, allow_nan=False)
LISTS = st.one_of(
    st.tuples(st.just(BYTES), st.lists(st.binary(max_size=20), min_size=1, max_size=20)),
    st.tuples(st.just(FLOATS), st.lists(FLOAT32, min_size=1, max_size=20)),
    st.tuples(st.just(INTEGERS), st.lists(INT64, min_size=1, max_size=20)),
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), LISTS, max_size=5))
def test_features_come_back(features):
    content = example_bytes({k: feature_bytes(kind, v) for k, (kind, v) in features.items()})
    spans = example_features(content)
    assert set(spans) == {name.encode() for name in features}
    for name, (kind, values) in features.items():
        feature = read_feature(content, spans[name.encode()])
        assert (feature.kind, list(feature.values)) == (kind, values)


def lengthy(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (lengthy(3, b"\x08\x05\x08\x96\x01"), [5, 150]),
        (lengthy(3, lengthy(1, b"\x05\x96\x01")), [5, 150]),
        (lengthy(3, lengthy(1, b"\x05") + b"\x08\x06" + lengthy(1, b"\x07")), [5, 6, 7]),
        (lengthy(3, lengthy(1, b"\xff" * 9 + b"\x01")), [-1]),
        (lengthy(3, lengthy(1, b"\x01" * 100)), [1] * 100),
        (lengthy(3, lengthy(1, b"\x81\x00" * 50)), [1] * 50),
        (lengthy(3, b""), []),
        (lengthy(2, b"\x0d\x00\x00\x80?\x0d\x00\x00\x00@"), [1.0, 2.0]),
        (lengthy(2, b"\x0d\x00\x00\x80?" + lengthy(1, b"\x00\x00\x00@")), [1.0, 2.0]),
        (lengthy(3, b"\x08\x05") + lengthy(3, b"\x08\x06"), [6]),
        (lengthy(2, b"\x0d\x00\x00\x80?") + b"\x48\x01" + lengthy(3, b"\x08\x06"), [6]),
    ],
)
def test_lists_of_numbers(content, values):
    assert read_feature(content, (0, len(content))).values.tolist() == values


def test_a_feature_without_a_list():
    assert read_feature(b"", (0, 0)).kind == NOTHING
    assert len(read_feature(b"", (0, 0))) == 0


@pytest.mark.parametrize(
    "content",
    [
        lengthy(3, lengthy(1, b"\xff")),
        lengthy(3, lengthy(1, b"\xff" * 11 + b"\x01")),
        lengthy(3, lengthy(1, b"\x01" * 30 + b"\xff")),
        lengthy(3, lengthy(1, b"\xff" * 30 + b"\x01")),
        lengthy(3, b"\x0d\x00\x00\x80?"),
        lengthy(2, lengthy(1, b"\x00\x00\x80")),
        lengthy(2, b"\x0d\x00\x00"),
        lengthy(1, b"\x0a\x05abc"),
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x0b",
        b"\x02\x00",
    ],
)
def test_what_is_no_list(content):
    with pytest.raises(ValueError, match=r"byte|number"):
        read_feature(content, (0, len(content)))


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    with contextlib.suppress(ValueError):
        for span in example_features(content).values():
            read_feature(content, span)
    with contextlib.suppress(ValueError):
        _, lists = sequence_features(content)
        for span in lists.values():
            for step in list_of_features(content, span):
                read_feature(content, step)
    with contextlib.suppress(ValueError):
        assert varints(content).dtype == np.int64
