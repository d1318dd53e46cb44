"""Programs of instructions: calls, jumps, bools, steps left to Python, accesses to elements."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.native import ElementAccess, Instruction, Iterations, move, runtime_reason
from gpugraph.ops.tensor_arrays import element_stack
from gpugraph.ops.tensor_arrays.element_array import ElementArray, Rules
from gpugraph.ops.tensor_arrays.element_stack import ElementStack
from gpugraph.ops.tensor_arrays.element_store import kind_number

from ...ops.blocks import Memory

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

KIND = (3,), tf.float32


@pytest.fixture(autouse=True)
def _runtime(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    assert runtime_reason(wait=True) == ""


def run(instructions: list[Instruction], *keep: Any, most: int = 50) -> list[int]:
    """Run a program, and return the instructions that were left to Python, which does nothing."""
    program = Iterations(instructions, np.zeros(1, np.int64), *keep)
    program.start()
    left = []
    while len(left) < most and (place := program.run(lambda: None)) is not None:
        left.append(place)
        program.start(place + 1)
    return left


def test_calls_jumps_and_what_is_left_to_python() -> None:
    source, target = np.arange(3.0), np.zeros(3)
    bools = np.array([True, False])
    yes, no = (bools[index:].ctypes.data for index in range(2))
    left = run(
        [
            Instruction("if", None, yes, 2),
            Instruction("python"),
            Instruction("unless", None, yes, 1),
            Instruction("python"),
            Instruction("call", move(source, target)),
            Instruction("clear", None, yes),
            Instruction("set", None, no),
            Instruction("jump", target=9),
            Instruction("python"),
            Instruction("unless", None, no, 8),
        ],
        bools,
    )
    assert left == [3]
    assert target.tolist() == [0, 1, 2]
    assert bools.tolist() == [False, True]


def test_a_program_comes_back_where_its_run_is_stopped() -> None:
    stop = np.zeros(1, np.int64)
    program = Iterations([Instruction("again", target=0)], stop)
    program.start()
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 3:
            stop[0] = 1  # the run goes on unless a check raises
        if checks == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        program.run(check)
    assert checks == 5


class Container:
    """A handle of a container, and an access to it in a separate program."""

    def __init__(self, form: str, container: Any, value: Any, *rest: Any, kind: Any = KIND) -> None:
        self.handle = np.array([container, container], object)
        self.access = ElementAccess(form, self.handle, value, kind_number(kind), *rest)

    def refuses(self) -> bool:
        return run([Instruction("call", self.access.call)]) == [0]


def test_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_stack, "SMALL_STACK", 8000)
    monkeypatch.setattr(element_stack, "HALF_STACK", 8000)
    memory = Memory()
    stack = ElementStack("s", tf.float32, -1, memory, expected=8000)
    value, out = np.zeros(3, np.float32), np.zeros(3, np.float32)
    copy = np.zeros(3, np.float32)
    push, pop = Container("push", stack, value, None, copy), Container("pop", stack, out)
    assert push.refuses()  # it is not known yet
    push.access.bind()
    pop.access.bind()
    assert push.refuses()  # there is no room
    stack.push(value, KIND)
    pushed = 0
    for number in range(1, 2500):
        value[:] = number
        if push.refuses():
            break
        pushed = number
    assert pushed == 1023  # a chunk: a power of 2, up to a quarter of the expected
    assert stack.size() == 1024
    assert copy.tolist() == [1023] * 3
    for number in range(1023, 0, -1):
        assert not pop.refuses()
        assert out.tolist() == [number] * 3
    assert pop.refuses()  # the last one of a chunk, whose memory is freed
    stack.pop(out, KIND)
    assert out.tolist() == [0] * 3
    assert memory.blocks == 0
    assert push.refuses()


def test_a_stack_of_other_elements_another_stack_and_a_closed_one_are_refused() -> None:
    stacks = [ElementStack("s", tf.float32, -1, Memory(), expected=100) for _ in range(2)]
    value = np.ones(3, np.float32)
    for stack in stacks:
        stack.push(value, KIND)
    push = Container("push", stacks[0], value)
    push.access.bind()
    other = Container("push", stacks[0], np.ones(1, np.float32), kind=((1,), tf.float32))
    other.access.bind()
    assert not push.refuses()
    assert other.refuses()
    push.handle[0] = stacks[1]
    assert push.refuses()
    push.access.bind()
    assert not push.refuses()
    assert [stack.size() for stack in stacks] == [2, 2]
    stacks[1].close()
    assert push.refuses()
    assert push.refuses()
    bounded = ElementStack("s", tf.float32, 10, Memory(), expected=10)
    bounded.push(value, KIND)
    limited = Container("push", bounded, value)
    limited.access.bind()
    assert limited.refuses()


@pytest.mark.parametrize("clears", [True, False])
def test_an_array(clears: bool) -> None:
    memory = Memory()
    rules = Rules(tf.TensorShape([3]), clears=clears)
    array = ElementArray("a", tf.float32, 5, memory, rules)
    value, out = np.zeros(3, np.float32), np.zeros(3, np.float32)
    index, flow = np.array(0, np.int32), np.ones(1, np.float32)
    put = Container("put", array, value, index, flow)
    take = Container("take", array, out, index)
    put.access.bind()
    take.access.bind()
    assert put.refuses()  # there is no memory yet
    array.write(0, value, KIND)
    for number in range(1, 5):
        index[()], value[:] = number, number
        assert not put.refuses()
        assert put.refuses()  # it was written
    assert flow.tolist() == [0]
    for outside in (-1, 5):
        index[()] = outside
        assert put.refuses()
        assert take.refuses()
    for number in range(1, 4):
        index[()] = number
        assert not take.refuses()
        assert out.tolist() == [number] * 3
        assert take.refuses() is clears
    for number in (0, 4):  # where loops end
        index[()] = number
        assert take.refuses()
        array.read(number, out, KIND)
    assert memory.blocks == (0 if clears else 1)
    array.close()
    index[()] = 2
    assert take.refuses()


def test_an_array_that_grows() -> None:
    array = ElementArray("a", tf.float32, 1, Memory(), Rules(tf.TensorShape([3]), dynamic=True))
    value, index = np.ones(3, np.float32), np.array(1, np.int32)
    put = Container("put", array, value, index)
    put.access.bind()
    array.write(0, value, KIND)
    assert put.refuses()
    array.write(1, value * 2, KIND)
    array.write(2, value * 3, KIND)
    index[()] = 3
    assert put.refuses()
    array.write(4, value * 4, KIND)
    assert not put.refuses()
    out = np.empty(3, np.float32)
    for number, wanted in enumerate((1, 2, 3, 1, 4)):
        array.read(number, out, KIND)
        assert out.tolist() == [wanted] * 3


def test_the_gradients_of_an_array() -> None:
    array = ElementArray("a", tf.float32, 2, Memory(), Rules(tf.TensorShape([3])))
    found = np.array([array.gradient("g"), None], object)
    handle = np.array([array, array], object)
    access = ElementAccess("find", handle, found)
    refuses = lambda: run([Instruction("call", access.call)]) == [0]  # noqa: E731
    assert refuses()
    access.bind()
    assert not refuses()
    found[0] = None
    assert refuses()
    found[0] = array.gradient("g")
    assert not refuses()
    array.close()
    assert refuses()
