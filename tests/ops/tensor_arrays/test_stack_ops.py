"""Stacks: last in, first out; their memory; and as ops of a session."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gpugraph as tf
from gpugraph.ops.tensor_arrays import element_stack
from gpugraph.ops.tensor_arrays.element_stack import ElementStack

from ..blocks import Memory


def made(memory: Memory | None = None, max_size: int = -1, expected: int = 0) -> ElementStack:
    return ElementStack("stack", tf.float32, max_size, memory or Memory(), expected)


def push(stack: ElementStack, value: Any, dtype: Any = np.float32) -> None:
    value = np.array(value, dtype)
    stack.push(value, (value.shape, tf.as_dtype(value.dtype)))


def pop(stack: ElementStack) -> Any:
    out = np.empty(stack.top_shape(), np.float32)
    stack.pop(out, (out.shape, tf.float32))
    return out.tolist()


def refuses(match: str) -> Any:
    return pytest.raises(tf.errors.InvalidArgumentError, match=match)


# -- the container


@given(
    st.lists(st.none() | st.sampled_from([(), (2,), (0,), (1, 3)]), max_size=60),
    st.sampled_from([0, 1, 7, 50]),
)
def test_a_stack_is_as_a_list(actions: list[Any], expected: int) -> None:
    """None pops; a shape is pushed."""
    memory = Memory()
    stack, model = made(memory, expected=expected), []
    for number, shape in enumerate(actions):
        if shape is not None:
            value = np.full(shape, number, np.float32)
            push(stack, value)
            model.append(value.tolist())
        elif model:
            assert pop(stack) == model.pop()
        else:
            with refuses(r"Stack\[stack\] is empty when calling Pop"):
                pop(stack)
        assert stack.size() == len(model)
    while model:
        assert pop(stack) == model.pop()
    assert memory.held == memory.blocks == 0


def test_a_small_stack_that_is_as_deep_as_expected_is_one_chunk() -> None:
    memory = Memory()
    stack = made(memory, expected=40)
    for number in range(40):
        push(stack, np.full(1000, number))
        assert (memory.blocks, memory.held) == (1, 40 * 4000)
    assert [pop(stack)[0] for _ in range(40)] == [*reversed(range(40))]
    assert memory.blocks == 0


@pytest.mark.parametrize(
    ("half", "held_blocks"),
    [
        (20 * 4000, [2] * 19 + [1] * 20 + [0]),
        (20 * 4000 - 1, [5] * 7 + [4] * 8 + [3] * 8 + [2] * 8 + [1] * 8 + [0]),
    ],
)
def test_a_stack_that_is_as_deep_as_expected_has_few_chunks_which_are_freed_one_by_one(
    half: int, held_blocks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(element_stack, "SMALL_STACK", 40 * 4000 - 1)
    monkeypatch.setattr(element_stack, "HALF_STACK", half)
    memory = Memory()
    stack = made(memory, expected=40)
    for number in range(40):
        push(stack, np.full(1000, number))
    assert (memory.blocks, memory.held) == (held_blocks[0], 40 * 4000)
    held = []
    for number in reversed(range(40)):
        assert pop(stack) == [number] * 1000
        held.append(memory.blocks)
    assert held == held_blocks
    assert stack.depth == 40


@pytest.mark.parametrize("half", [25 * 4000, 0])
def test_chunks_have_no_more_room_than_elements_are_expected(
    half: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(element_stack, "SMALL_STACK", 0)
    monkeypatch.setattr(element_stack, "HALF_STACK", half)
    memory = Memory()
    stack = made(memory, expected=49)
    for number in range(49):
        push(stack, np.full(1000, number))
    assert memory.held == 49 * 4000
    push(stack, np.full(1000, 49))
    assert 50 * 4000 <= memory.held < 2 * 50 * 4000
    assert [pop(stack)[0] for _ in range(50)] == [*reversed(range(50))]
    assert memory.held == 0


def test_memory_grows_and_shrinks_with_the_elements() -> None:
    memory = Memory()
    stack = made(memory)
    size = 10 * 4
    for count in range(1, 1001):
        push(stack, np.zeros(10))
        assert count * size <= memory.held < 2 * count * size
    assert memory.blocks < 20
    for count in range(999, -1, -1):
        pop(stack)
        assert count * size <= memory.held <= 4 * count * size
    assert memory.held == 0


def test_large_elements_have_chunks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_stack, "LARGEST_CHUNK", 100)
    memory = Memory()
    stack = made(memory)
    for count in range(1, 6):
        push(stack, np.zeros(30))
        assert memory.held == count * 120
    for _ in range(5):
        push(stack, np.zeros(5))
    assert memory.most == 5 * 120 + 5 * (1 + 2 + 4) * 4


def test_values_are_copied() -> None:
    stack = made()
    value = np.array([1.0], np.float32)
    stack.push(value, ((1,), tf.float32))
    value[0] = 2
    assert pop(stack) == [1]


def test_strings() -> None:
    stack = ElementStack("stack", tf.string, -1, Memory())
    for value in (b"a", b"bc"):
        push(stack, value, object)
    out = np.empty((), object)
    stack.pop(out, ((), tf.string))
    assert out[()] == b"bc"


def test_refusals() -> None:
    stack = made(max_size=2)
    push(stack, 1.0)
    push(stack, 1.0)
    with refuses(r"Stack\[stack\] overflowed its max_size \(2\)"):
        push(stack, 1.0)
    pop(stack)
    with refuses("holds elements of type float32, but the push is of type int32"):
        push(stack, 1, np.int32)
    with refuses(r"shape \[\] on top, but the graph was built for elements of shape \[2\]"):
        stack.pop(np.empty(2, np.float32), ((2,), tf.float32))
    with refuses("holds elements of type float32, but the pop is of type int32"):
        stack.pop(np.empty((), np.int32), ((), tf.int32))
    stack.close()
    stack.close()
    for action in (lambda: push(stack, 1.0), lambda: pop(stack)):
        with refuses(r"Stack\[stack\] has already been closed"):
            action()


# -- the ops


@pytest.fixture(params=["/cpu:0", "/gpu:0"])
def session(request: pytest.FixtureRequest) -> Any:
    options = tf.GPUOptions(virtual_gpus=1)
    with tf.Graph().as_default(), tf.device(request.param):
        with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
            yield session


def new_stack(size: int = -1, dtype: Any = tf.float32, name: str = "kept") -> tf.Tensor:
    return tf.raw_ops.StackV2(size, elem_type=dtype, stack_name=name)


def after(ops: Any, make: Any) -> Any:
    with tf.control_dependencies(ops):
        return make()


def test_ops_push_and_pop(session: tf.Session) -> None:
    handle = new_stack()
    raw = tf.raw_ops
    x = tf.placeholder(tf.float32, [2])
    first = raw.StackPushV2(handle, x)
    second = after([first], lambda: raw.StackPushV2(handle, x * 2.0))
    one = after([second], lambda: raw.StackPopV2(handle, elem_type=tf.float32))
    two = after([one], lambda: raw.StackPopV2(handle, elem_type=tf.float32))
    for value in ([1, 2], [3, 4]):
        result = session.run([first, second, one, two], {x: value})
        doubled = [2 * element for element in value]
        assert [element.tolist() for element in result] == [value, doubled, doubled, value]


def test_ops_of_sizes_known_in_the_run(session: tf.Session) -> None:
    handle = new_stack()
    raw = tf.raw_ops
    x = tf.placeholder(tf.float32, [4])
    with tf.device("/cpu:0"):
        some = tf.boolean_mask(x, x > 0.0)
    pushed = after([raw.StackPushV2(handle, x)], lambda: raw.StackPushV2(handle, some))
    one = after([pushed], lambda: raw.StackPopV2(handle, elem_type=tf.float32))
    two = after([one], lambda: raw.StackPopV2(handle, elem_type=tf.float32))
    for value in ([1, -2, 3, 0], [0, 0, 0, 0], [1, 2, 3, 4]):
        result = session.run([one, two], {x: value})
        assert [element.tolist() for element in result] == [
            [element for element in value if element > 0],
            value,
        ]


def test_ops_refuse(session: tf.Session) -> None:
    raw = tf.raw_ops
    empty = raw.StackPopV2(new_stack(), elem_type=tf.float32)
    with refuses(r"Stack\[kept\] is empty(.|\n)*node StackPopV2 "):
        session.run(empty)
    full = raw.StackPushV2(new_stack(0), 1.0)
    with refuses(r"Stack\[kept\] overflowed its max_size \(0\)"):
        session.run(full)
    handle = new_stack(name="")
    closed = after([raw.StackCloseV2(handle)], lambda: raw.StackPushV2(handle, 1.0))
    with refuses(r"Stack\[StackV2_2\] has already been closed"):
        session.run(closed)


def test_shapes_of_stacks() -> None:
    with tf.Graph().as_default():
        handle = new_stack()
        assert handle.shape == (2,)  # as in TensorFlow
        assert tf.raw_ops.StackPushV2(handle, [1.0, 2.0]).shape == (2,)
        assert tf.raw_ops.StackPopV2(handle, elem_type=tf.float32).shape.rank is None
        with pytest.raises(ValueError, match=r"Shape must be rank 0 but is rank 1 for .*max_size"):
            tf.raw_ops.StackV2([1], elem_type=tf.float32)
