"""Type specs: of tensors, sparse tensors, indexed slices and TensorArrays."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.client.type_spec import (
    TypeSpec,
    register_type_spec_from_value_converter,
    type_spec_from_value,
)

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
    if name == "TensorArraySpec":  # of compatible shapes only
        assert spec.most_specific_compatible_type(kind([None, 2])) == kind([None, None])
    else:
        assert spec.most_specific_compatible_type(kind([2, None])) == kind([None, None])
        assert spec.most_specific_compatible_type(kind([2])) == kind(None)
    for other in (kind([1, None], tf.int32), tf.TensorArraySpec([1], tf.int64)):
        with pytest.raises(ValueError, match=r"Types are not compatible|No TypeSpec is compatible"):
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
    assert not tf.SparseTensorSpec().is_compatible_with(3)  # a tensor
    with pytest.raises(TypeError, match="Could not build a TypeSpec for <object"):
        tf.SparseTensorSpec().is_compatible_with(object())


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


class PairSpec(TypeSpec):
    """Of pairs of a tensor and a SparseTensor."""

    value_type = tuple

    def __init__(self, first: Any, second: Any, options: Any = None) -> None:
        self._parts, self._options = (first, second), options

    def _serialize(self) -> tuple[Any, ...]:
        return *self._parts, self._options

    @property
    def _component_specs(self) -> Any:
        return {"a": self._parts[0], "b": [self._parts[1]]}

    def _to_components(self, value: Any) -> Any:
        return {"a": value[0], "b": [value[1]]}

    def _from_components(self, components: Any) -> Any:
        return components["a"], components["b"][0]


def pair_spec(*sizes: Any, options: Any = None) -> PairSpec:
    return PairSpec(tf.TensorSpec(sizes), tf.SparseTensorSpec([2, 2]), options)


def test_a_spec_of_a_program() -> None:
    spec = pair_spec(3, None)
    assert pair_spec(3, options={"k": (1, "a")}) == pair_spec(3, options={"k": (1, "a")})
    assert hash(pair_spec(3, options=np.ones(2))) == hash(pair_spec(3, options=np.ones(2)))
    assert spec.most_specific_compatible_type(pair_spec(4, 2)) == pair_spec(None, None)
    assert pair_spec(None).is_compatible_with(pair_spec(2))
    assert not pair_spec(None, options=1).is_compatible_with(pair_spec(2, options=2))
    with pytest.raises(ValueError, match="Types are not compatible: 1 vs 2"):
        pair_spec(2, options=1).most_specific_compatible_type(pair_spec(2, options=2))
    with pytest.raises(ValueError, match="Unsupported value type set returned by PairSpec"):
        hash(pair_spec(2, options={3}))
    flat = spec._flat_tensor_specs
    assert [part.shape.as_list() for part in flat] == [[3, None], [None, 2], [None], [2]]
    sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
    tensors = spec._to_tensor_list((tf.ones([3, 2]), sparse))
    assert tensors[1:] == [sparse.indices, sparse.values, sparse.dense_shape]
    first, second = spec._from_tensor_list(tensors)
    assert first is tensors[0]
    assert second.values is sparse.values
    with pytest.raises(ValueError, match="Incompatible input: wrong number of tensors"):
        spec._from_tensor_list(tensors[:2])
    with pytest.raises(ValueError, match="Incompatible input: tensor 0"):
        spec._from_tensor_list([tf.ones([4]), *tensors[1:]])
    assert PairSpec._deserialize(spec._serialize()) == spec
    with pytest.raises(NotImplementedError, match="_to_legacy_output_types"):
        spec._to_legacy_output_types()
    assert spec._to_legacy_output_classes() is tuple


def test_tensors_are_their_own_components() -> None:
    spec = tf.TensorSpec([2, None])
    assert spec._component_specs is spec
    assert spec._flat_tensor_specs == [spec]
    x = tf.placeholder(tf.float32)
    assert spec._to_components(x) is x
    assert spec._to_tensor_list([[1.0], [2.0]])[0].shape.as_list() == [2, 1]
    for wrong in (["a"], [1.0]):
        with pytest.raises(ValueError, match="not convertible to a tensor with dtype <dtype: 'flo"):
            spec._to_components(wrong)
    assert spec._from_tensor_list([x]) is x
    assert x.shape.as_list() == [2, None]
    assert (spec._batch(4), spec._unbatch()) == (tf.TensorSpec([4, 2, None]), tf.TensorSpec([None]))
    legacy = spec._to_legacy_output_types(), spec._to_legacy_output_shapes()
    assert legacy == (tf.float32, spec.shape)
    with pytest.raises(ValueError, match="Unbatching a tensor is only supported for rank >= 1"):
        tf.TensorSpec([])._unbatch()
    with pytest.raises(ValueError, match="insufficient rank for batching"):
        tf.TensorSpec([])._to_batched_tensor_list(1.0)


def test_parts_of_indexed_slices() -> None:
    slices = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 4]), tf.constant([5, 3]))
    spec: Any = type_spec_from_value(slices)
    assert spec == tf.IndexedSlicesSpec([5, 3], tf.float32, tf.int32, tf.int32, [2])
    parts = spec._to_components(slices)
    assert parts == (slices.values, slices.indices, slices.dense_shape)
    assert [part.shape.as_list() for part in spec._component_specs] == [[2, 3], [2], [2]]
    assert isinstance(spec._from_components(parts), tf.IndexedSlices)
    arrays = spec._from_components((np.ones([2, 3]), np.array([0, 4])))
    assert (type(arrays).__name__, arrays.dense_shape) == ("IndexedSlicesValue", None)


def test_sparse_tensors_are_batched_by_their_serialized_parts() -> None:
    spec = tf.SparseTensorSpec([2, None])
    assert [part.shape.as_list() for part in spec._component_specs] == [[None, 2], [None], [2]]
    assert spec._flat_tensor_specs == [tf.TensorSpec(None, tf.variant)]
    assert (spec._batch(None), spec._unbatch()) == (
        tf.SparseTensorSpec([None, 2, None]),
        tf.SparseTensorSpec([None]),
    )
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    [boxed] = spec._to_tensor_list(sparse)
    back = spec._from_tensor_list([boxed])
    [rows] = spec._to_batched_tensor_list(sparse)
    row = spec._unbatch()._from_tensor_list([rows[1]])
    with tf.Session() as session:
        assert session.run(tf.sparse.to_dense(back)).tolist() == [[0, 1], [2, 0]]
        assert session.run(tf.sparse.to_dense(row)).tolist() == [2, 0]
    value = tf.SparseTensorValue(np.array([[0, 0]]), np.array([1.0]), np.array([2, 2]))
    assert isinstance(spec._from_components(list(value)), tf.SparseTensorValue)


def test_a_tensor_array_is_a_list_in_a_variant() -> None:
    array = tf.TensorArray(tf.float32, 2, element_shape=[3]).unstack(tf.ones([2, 3]))
    spec = tf.TensorArraySpec.from_value(array)
    assert spec._component_specs == [tf.TensorSpec([], tf.variant)]
    assert spec._to_legacy_output_shapes().as_list() == [0, 1, 3]
    [elements] = spec._to_components(array)
    again = spec._from_components([elements])
    assert again.element_shape.as_list() == [3]
    with tf.Session() as session:
        assert session.run(again.stack()).tolist() == np.ones((2, 3)).tolist()
    other = tf.TensorArraySpec([3], infer_shape=False)
    assert spec.is_compatible_with(other)
    assert spec.most_specific_compatible_type(other) == other
    with pytest.raises(TypeError, match="value must be a TensorArray"):
        spec._to_components(3)


def test_specs_of_values() -> None:
    assert type_spec_from_value([tf.ones([3]), tf.ones([4])]) == tf.TensorSpec([2, None])
    assert type_spec_from_value([1, 2]) == tf.TensorSpec([2], tf.int32)

    class Box:
        pass

    register_type_spec_from_value_converter(Box, lambda box: tf.TensorSpec([7]))
    assert type_spec_from_value(Box()) == tf.TensorSpec([7])
    with pytest.raises(TypeError, match="Could not build a TypeSpec"):
        type_spec_from_value(type("Inner", (Box,), {})())
