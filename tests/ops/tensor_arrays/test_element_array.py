"""A TensorArray in a run, against a list: values, errors, memory."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gpugraph as tf
from gpugraph.ops.tensor_arrays import many_elements as element_packs
from gpugraph.ops.tensor_arrays.element_array import ElementArray, GradientArray, Rules

from ..blocks import Memory

OPEN = tf.TensorShape(None)


def made(size: int, memory: Memory | None = None, shape: Any = None, **rules: Any) -> ElementArray:
    return ElementArray(
        "array", tf.float32, size, memory or Memory(), Rules(tf.TensorShape(shape), **rules)
    )


def kind_of(value: np.ndarray) -> Any:
    return value.shape, tf.as_dtype(value.dtype)


def write(array: ElementArray, index: int, value: Any, dtype: Any = np.float32) -> None:
    value = np.array(value, dtype)
    array.write(index, value, kind_of(value))


def read(array: ElementArray, index: int) -> Any:
    out = np.empty(array.shape_at(index), array.dtype.as_numpy_dtype)
    array.read(index, out, kind_of(out))
    return out.tolist()


def gather(array: ElementArray, indices: Any, declared: tf.TensorShape = OPEN) -> Any:
    indices = np.array(indices, np.int32)
    shape = element_packs.gathered_shape(array, indices, declared)
    out = np.empty(shape, array.dtype.as_numpy_dtype)
    element_packs.gather(array, indices, out, (shape[1:], array.dtype))
    return out.tolist()


def scatter(array: ElementArray, indices: Any, value: Any) -> None:
    value = np.array(value, np.float32)
    indices = np.array(indices, np.int32)
    element_packs.scatter(array, indices, value, (value.shape[1:], tf.float32))


def concat(array: ElementArray) -> tuple[Any, Any]:
    shape, lengths = element_packs.concat_shapes(array, OPEN)
    out, sizes = np.empty(shape, np.float32), np.empty(lengths, np.int64)
    element_packs.concat(array, out, sizes, kind_of(out))
    return out.tolist(), sizes.tolist()


def split(array: ElementArray, value: Any, lengths: Any) -> None:
    value = np.array(value, np.float32)
    element_packs.split(array, value, np.array(lengths, np.int64), kind_of(value))


def refuses(match: str) -> Any:
    return pytest.raises(tf.errors.InvalidArgumentError, match=match)


# -- against a list


class Model:
    """An array as a list: the result of each operation, or None where it must be refused."""

    def __init__(self, size: int, dynamic: bool, clears: bool) -> None:
        self.elements: list[Any] = [None] * size
        self.was_read = [False] * size
        self.dynamic, self.clears = dynamic, clears

    def can_write(self, index: int) -> bool:
        if index < 0:
            return False
        if index >= len(self.elements):
            return self.dynamic
        return self.elements[index] is None and not self.was_read[index]

    def write(self, index: int, value: Any) -> None:
        missing = index + 1 - len(self.elements)
        self.elements += [None] * missing
        self.was_read += [False] * missing
        self.elements[index] = value

    def can_read(self, index: int) -> bool:
        return 0 <= index < len(self.elements) and self.elements[index] is not None

    def read(self, index: int) -> Any:
        value = self.elements[index]
        self.was_read[index] = True
        if self.clears:
            self.elements[index] = None
        return value


SHAPES = st.sampled_from([(), (2,), (2, 1), (0,)])
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["write", "read", "gather", "scatter"]),
        st.integers(-1, 6),
        st.integers(1, 3),
    ),
    max_size=30,
)


@given(
    st.integers(0, 5),
    st.booleans(),
    st.booleans(),
    st.lists(SHAPES, min_size=1, max_size=2),
    ACTIONS,
)
def test_an_array_is_as_a_list(
    size: int, dynamic: bool, clears: bool, shapes: list[Any], actions: list[Any]
) -> None:
    """Elements have one shape, or two; each action succeeds or is refused as for the list."""
    memory = Memory()
    array = made(size, memory, dynamic=dynamic, clears=clears)
    model = Model(size, dynamic, clears)
    for number, (action, index, count) in enumerate(actions):
        shape = shapes[number % len(shapes)]
        value = np.full(shape, number, np.float32)
        indices = [*range(index, index + count)]
        if action == "write":
            check(model.can_write(index), write, array, index, value)
            if model.can_write(index):
                model.write(index, value.tolist())
        elif action == "read":
            right = model.can_read(index)
            result = check(right, read, array, index)
            assert not right or result == model.read(index)
        elif action == "scatter" and all(map(model.can_write, indices)):
            values = np.stack([value + 0.25 * number for number in range(count)])
            scatter(array, indices, values)
            for place, element in zip(indices, values):
                model.write(place, element.tolist())
        elif action == "gather" and all(map(model.can_read, indices)):
            elements = [model.elements[place] for place in indices]
            if len({np.shape(element) for element in elements}) == 1:
                assert gather(array, indices) == [model.read(place) for place in indices]
    assert array.size() == len(model.elements)
    array.release()
    assert memory.held == memory.blocks == 0


def check(right: bool, action: Any, *arguments: Any) -> Any:
    if right:
        return action(*arguments)
    with pytest.raises(tf.errors.InvalidArgumentError):
        action(*arguments)
    return None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4)), max_size=20), st.booleans())
def test_gradients_are_added_up(writes: list[Any], alike: bool) -> None:
    forward = made(4, alike=alike, clears=False)
    for index in (0, 1, 3):
        write(forward, index, [0.0, 0.0])
    array = forward.gradient("g")
    sums: dict[int, Any] = {0: 0, 1: 0, 3: 0}
    for index, value in writes:
        write(array, index, [value, 2 * value])
        sums[index] = sums.get(index, 0) + value
    for index in range(4):
        if index in sums or alike:  # elements never written have the shape of the others then
            total = sums.get(index, 0)
            assert read(array, index) == [total, 2 * total]
        else:
            with refuses("element shape is not fully defined"):
                read(array, index)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.booleans())
def test_split_and_concat_are_inverse(lengths: list[int], dynamic: bool) -> None:
    memory = Memory()
    array = made(0 if dynamic else len(lengths), memory, dynamic=dynamic)
    value = np.arange(2 * sum(lengths), dtype=np.float32).reshape(-1, 2)
    split(array, value, lengths)
    assert concat(array) == (value.tolist(), lengths)
    assert memory.held == 0


# -- memory


def test_elements_of_one_shape_lie_in_one_block() -> None:
    memory = Memory()
    array = made(8, memory)
    assert memory.held == 0
    for index in range(8):
        write(array, index, [index, 1.0])
        assert (memory.held, memory.blocks) == (8 * 2 * 4, 1)
    array.release()
    assert memory.held == 0


def test_an_array_that_grows_doubles_its_block() -> None:
    memory = Memory()
    array = made(0, memory, dynamic=True)
    sizes = set()
    for index in range(100):
        write(array, index, [index])
        sizes.add(memory.held // 4)
    assert sizes == {1, 2, 4, 8, 16, 32, 64, 128}
    assert gather(array, range(100)) == [[float(index)] for index in range(100)]


def test_what_is_read_for_good_is_freed() -> None:
    memory = Memory()
    for order in (range(4), range(3, -1, -1)):
        array = made(4, memory)
        for index in range(4):
            write(array, index, 1.0)
        for index in order:
            assert memory.held == 16
            read(array, index)
        assert memory.held == 0
    array = made(4, memory, clears=False)
    scatter(array, range(4), [1.0, 2, 3, 4])
    gather(array, range(4))
    assert memory.held == 16


def test_elements_of_other_shapes_lie_apart_and_are_freed_one_by_one() -> None:
    memory = Memory()
    array = made(3, memory)
    write(array, 0, [1.0])
    write(array, 1, [1.0, 2.0])
    write(array, 2, [3.0])
    assert (memory.held, memory.blocks) == (16, 3)
    assert read(array, 1) == [1, 2]
    assert (memory.held, memory.blocks) == (8, 2)
    assert read(array, 0) == [1]
    assert read(array, 2) == [3]
    assert memory.held == 0


def test_gradients_are_released_with_their_array() -> None:
    memory = Memory()
    array = made(2, memory)
    write(array.gradient("g"), 0, 1.0)
    write(array.gradient("h"), 0, 1.0)
    assert memory.blocks == 2
    array.release()
    assert memory.blocks == 0


def test_values_are_copied() -> None:
    array = made(1, clears=False)
    value = np.array([1.0], np.float32)
    array.write(0, value, kind_of(value))
    value[0] = 2
    assert read(array, 0) == [1]


# -- strings


def test_strings() -> None:
    array = ElementArray("array", tf.string, 3, Memory(), Rules(OPEN, clears=False, alike=True))
    write(array, 0, b"a", object)
    write(array, 1, b"bc", object)
    assert read(array, 1) == b"bc"
    with refuses("no zero of type string"):
        read(array, 2)
    write(array, 2, b"", object)
    assert gather(array, [0, 1, 2]) == [b"a", b"bc", b""]
    assert gather(array, [2, 0]) == [b"", b"a"]


# -- rules


def test_shapes_that_fit() -> None:
    partly = made(3, shape=[None, 2])
    write(partly, 0, np.zeros((1, 2)))
    write(partly, 1, np.zeros((3, 2)))
    with refuses(r"value shape is \[2\] .* inferred element shape: \[\?,2\]"):
        write(partly, 2, np.zeros(2))
    alike = made(3, shape=[None, 2], alike=True)
    write(alike, 0, np.zeros((1, 2)))
    with refuses(r"value shape is \[3,2\] .* inferred element shape: \[1,2\]"):
        write(alike, 1, np.zeros((3, 2)))
    with refuses(r"value shape is \[3,2\]"):
        scatter(alike, [1], np.zeros((1, 3, 2)))


def test_what_was_not_written_reads_as_zeros_of_the_known_shape() -> None:
    assert read(made(1, shape=[2]), 0) == [0, 0]
    array = made(3, alike=True)
    write(array, 1, [1.0])
    assert gather(array, [0, 1, 2]) == [[0], [1], [0]]


def test_dtypes_must_agree() -> None:
    array = made(2)
    with refuses("dtype is float32 but Op is trying to write dtype int32"):
        write(array, 0, 1, np.int32)
    write(array, 0, 1.0)
    out = np.empty((), np.int32)
    with refuses("dtype is float32 but Op requested dtype int32"):
        array.read(0, out, kind_of(out))


def test_a_shape_that_was_not_expected() -> None:
    array = made(1)
    write(array, 0, [1.0])
    out = np.empty(2, np.float32)
    with refuses(r"Element 0 has shape \[1\], but the graph was built for .* \[2\]"):
        array.read(0, out, kind_of(out))


def test_a_gradient_array_fixes_the_size() -> None:
    array = made(0, dynamic=True)
    write(array, 1, 1.0)
    gradient = array.gradient("g")
    assert array.gradient("g") is gradient
    assert isinstance(gradient, GradientArray)
    assert gradient.size() == 2
    for container in (array, gradient):
        with refuses("Tried to write to index 2 but array is not resizeable and size is: 2"):
            write(container, 2, 1.0)


def test_a_gradient_has_its_elements_shape() -> None:
    array = made(2)
    write(array, 0, 1.0)
    with refuses(r"existing shape is \[\] but the new input shape is \[2\]"):
        write(array.gradient("g"), 0, [1.0, 2.0])
    prepended = array.gradient("h", (3,))
    assert read(prepended, 0) == [0, 0, 0]
    write(prepended, 1, [[1.0]])
    assert read(prepended, 1) == [[1]]
    with refuses("because it has already been read"):
        write(prepended, 1, [[1.0]])


def test_sums_of_bools_are_refused() -> None:
    array = ElementArray("array", tf.bool, 1, Memory(), Rules(OPEN)).gradient("g")
    write(array, 0, True, np.bool_)
    with refuses("no sum of bool"):
        write(array, 0, True, np.bool_)


def test_nothing_of_no_known_shape() -> None:
    array = made(0)
    for action in (lambda: gather(array, []), lambda: concat(array)):
        with pytest.raises(tf.errors.UnimplementedError, match="size zero"):
            action()
    assert gather(array, [], tf.TensorShape([2])) == []
    known = made(0, shape=[None, 2])
    assert element_packs.concat_shapes(known, OPEN) == ((0, 2), (0,))
    assert concat(known) == ([], [])


def test_packs_are_refused() -> None:
    array = made(3, clears=False)
    write(array, 0, [[1.0]])
    write(array, 1, [1.0])
    with refuses(r"inconsistent shapes.  Index 0 has shape: \[1,1\] but index 1 has shape: \[1\]"):
        gather(array, [0, 1])
    with refuses(r"passed element_shape \[3\] which does not match the Tensor at index 0: \[1,1\]"):
        gather(array, [0], tf.TensorShape([3]))
    write(array, 2, 1.0)
    with refuses("Concat saw a scalar shape at index 2|inconsistent shapes"):
        concat(array)
    with refuses(r"Max scatter index must be < array size \(7 vs. 3\)"):
        scatter(array, [0, 7], [1.0, 2.0])
    with refuses("sum of lengths is 2 and value's shape is: .3."):
        split(array, [1.0, 2.0, 3.0], [1, 0, 1])
    with refuses(r"not equal to the size of lengths \(3 vs. 2\)"):
        split(array, [1.0, 2.0, 3.0], [1, 2])
    with refuses("0 or more"):
        split(array, [1.0], [2, -1])


def test_a_closed_array_refuses_everything() -> None:
    array = made(2)
    array.close()
    array.close()
    for action in (
        lambda: write(array, 0, 1.0),
        lambda: read(array, 0),
        lambda: gather(array, []),
        lambda: scatter(array, [0], [1.0]),
        lambda: concat(array),
        lambda: split(array, [1.0, 1.0], [1, 1]),
        array.size,
        lambda: array.gradient("g"),
    ):
        with refuses("TensorArray array has already been closed"):
            action()
