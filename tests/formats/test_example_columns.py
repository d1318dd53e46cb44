"""Features of many Examples at once: the same as `example_bytes` reads from each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.formats.example_bytes import (
    BYTES,
    FLOATS,
    INTEGERS,
    example_bytes,
    example_features,
    feature_bytes,
    read_feature,
)
from gpugraph.formats.example_columns import ExampleColumns, Irregular

VALUES = st.fixed_dictionaries(
    {
        "f": st.lists(st.floats(width=32, allow_nan=False), max_size=40),
        "i": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
        "s": st.binary(max_size=300),
    }
)
KINDS = {"f": FLOATS, "i": INTEGERS, "s": BYTES}


def content_of(values):
    return example_bytes(
        {
            name: feature_bytes(KINDS[name], [value] if name == "s" else value)
            for name, value in values.items()
        }
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(VALUES, st.permutations(list(KINDS))), min_size=8, max_size=12))
def test_all_values_and_counts_are_found(rows):
    examples = [content_of({name: values[name] for name in order}) for values, order in rows]
    columns = ExampleColumns(examples, [b"f", b"i", b"s", b"none"])
    for name, read in (("f", columns.floats), ("i", columns.integers)):
        values, counts = read(columns.column(name.encode()))
        assert counts.tolist() == [len(row[name]) for row, _ in rows]
        assert values.tolist() == [value for row, _ in rows for value in row[name]]
    assert columns.strings(columns.column(b"s")) == [row["s"] for row, _ in rows]
    missing = columns.column(b"none")
    assert not missing.kinds.any()
    assert columns.floats(missing)[1].tolist() == [0] * len(rows)


def test_places_are_those_that_one_example_alone_has():
    examples = [
        content_of({"f": [1.0] * n, "i": [n] * 200, "s": b"x" * n}) for n in range(100, 109)
    ]
    columns = ExampleColumns(examples, [b"i"])
    column, offset = columns.column(b"i"), 0
    for row, example in enumerate(examples):
        first, last = example_features(example)[b"i"]
        assert (column.features[row], column.ends[row]) == (first + offset, last + offset)
        offset += len(example)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content + b"\x00",
        lambda content: b"\x12" + content[1:],
        lambda content: content[:1] + b"\xff\xff\xff\xff\xff\x01" + content[2:],
        lambda content: content + example_bytes({}),
        lambda content: content[:2] + b"\x0b" + content[3:],
        lambda content: content[:4] + b"\x12" + content[5:],
    ],
)
def test_what_is_written_otherwise_is_left_to_others(change):
    content = content_of({"f": [1.0], "i": [3]})
    assert ExampleColumns([content] * 9, [b"f"]).column(b"f").kinds.tolist() == [FLOATS] * 9
    with pytest.raises(Irregular):
        ExampleColumns([content] * 8 + [change(content)], [b"f"])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=12), st.integers(0, 70), st.booleans())
def test_any_bytes_are_read_as_one_alone_or_refused(noise, position, is_inserted):
    whole = content_of({"f": [1.0, 2.0], "i": [3, 300, -1], "s": b"text"})
    rest = whole[position + (0 if is_inserted else len(noise)) :]
    examples = [whole] * 8 + [whole[:position] + noise + rest]
    try:
        columns = ExampleColumns(examples, [b"f", b"i", b"s"])
    except Irregular:
        return
    spans = example_features(examples[-1])
    for name, read in ((b"f", columns.floats), (b"i", columns.integers)):
        column = columns.column(name)
        assert bool(column.kinds[-1]) == (name in spans)
        if name not in spans or column.kinds[-1] != KINDS[name.decode()]:
            continue
        try:
            values, counts = read(column)
        except ValueError:
            continue
        alone = read_feature(examples[-1], spans[name])
        own = values[len(values) - counts[-1] :]
        np.testing.assert_array_equal(own, np.asarray(alone.values, own.dtype))
