"""Type specs: of tensors, sparse tensors, indexed slices and TensorArrays."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import gpugraph as tf

SPECS: dict[str, Any] = {
    "TensorSpec": lambda *rest: tf.TensorSpec([1, None], *rest),
    "SparseTensorSpec": lambda *rest: tf.SparseTensorSpec([1, None], *rest),
    "IndexedSlicesSpec": lambda *rest: tf.IndexedSlicesSpec([1, None], *rest),
    "TensorArraySpec": lambda *rest: tf.TensorArraySpec([1, None], *rest),
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("name", SPECS)
def test_specs_are_values(name: str) -> None:
    make = SPECS[name]
    spec = make()
    assert isinstance(spec, tf.TypeSpec)
    assert spec == make(tf.float32) != make(tf.int32)
    assert hash(spec) == hash(make(tf.float32))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert spec.value_type is getattr(tf, name.removesuffix("Spec"))
    assert repr(spec).startswith(f"{name}(")
    others = [other() for key, other in SPECS.items() if key != name]
    if name != "TensorSpec":
        assert not any(spec.is_compatible_with(other) for other in others)


@pytest.mark.parametrize("name", SPECS)
def test_what_holds_for_both(name: str) -> None:
    spec, kind = SPECS[name](), getattr(tf, name)
    common = spec.most_specific_compatible_type(kind([2, None]))
    assert common == kind([None, None])
    assert spec.most_specific_compatible_type(kind([2])) == kind(None)
    for other in (kind([1, None], tf.int32), tf.TensorArraySpec([1], tf.int64)):
        with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
            spec.most_specific_compatible_type(other)


def test_values_are_compatible_with_their_specs() -> None:
    sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 2])
    assert tf.SparseTensorSpec.from_value(sparse) == tf.SparseTensorSpec([2, 2])
    assert tf.SparseTensorSpec([2, None]).is_compatible_with(sparse)
    assert not tf.SparseTensorSpec([3, None]).is_compatible_with(sparse)
    assert not tf.SparseTensorSpec([2, 2], tf.int32).is_compatible_with(sparse)
    slices = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 4]))
    assert tf.IndexedSlicesSpec(None, tf.float32, tf.int32).is_compatible_with(slices)
    assert not tf.IndexedSlicesSpec(None).is_compatible_with(slices)
    array = tf.TensorArray(tf.float32, 2, element_shape=[3])
    assert tf.TensorArraySpec.from_value(array) == tf.TensorArraySpec([3])
    assert tf.TensorArraySpec([None]).is_compatible_with(array)
    for spec in (tf.SparseTensorSpec, tf.TensorArraySpec):
        with pytest.raises(TypeError, match=r"Expected"):
            spec.from_value(3)
    with pytest.raises(TypeError, match="Could not build a TypeSpec for 3"):
        tf.SparseTensorSpec().is_compatible_with(3)


def test_a_name_stays_only_where_both_have_it() -> None:
    named = tf.TensorSpec([1], tf.float32, "x")
    assert named.most_specific_compatible_type(tf.TensorSpec([1], tf.float32)).name is None
    assert named.most_specific_compatible_type(named).name == "x"


def test_as_tensorflow_prints_them() -> None:
    text = "TensorShape([Dimension(1), Dimension(None)]), tf.float32"
    assert repr(tf.SparseTensorSpec([1, None])) == f"SparseTensorSpec({text})"
    assert repr(tf.IndexedSlicesSpec([1, None])) == (
        f"IndexedSlicesSpec({text}, tf.int64, None, TensorShape([Dimension(None)]))"
    )


def test_who_takes_a_part_of_slices() -> None:
    slices = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 4]))
    first, second = tf.negative(slices.values).op, tf.identity(slices.indices).op
    assert slices.consumers() == [first, second]
