"""The executor's guarantees for raw control flow, one by one.

Names, errors of the Python functions and gradients have separate tests. Where a test uses a bare
`Switch`, `Merge`, `Enter` or `Exit`, TensorFlow gives the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

errors = tf.errors


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def opened(gpus: int = 0) -> tf.Session:
    options = tf.GPUOptions(virtual_gpus=gpus)
    return tf.Session(config=tf.ConfigProto(allow_soft_placement=True, gpu_options=options))


def run(fetches: Any, feeds: Any = None, gpus: int = 0) -> Any:
    with opened(gpus) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def forked(value: Any = 1.0) -> tuple[tf.Tensor, tf.Tensor]:
    """Return a dead tensor and one that is alive."""
    sides = tf.raw_ops.Switch(tf.constant(value), tf.placeholder_with_default(True, []))
    return sides.output_false, sides.output_true


def counted(log: list[Any], value: tf.Tensor) -> tf.Tensor:
    """`value`, written down each time that it is computed."""

    def note(array: np.ndarray) -> np.ndarray:
        log.append(array.tolist())
        return array

    found = tf.py_func(note, [value], value.dtype)
    found.set_shape(value.shape)
    return found


class RawLoop:
    """A loop that counts to a limit, without `tf.while_loop`; `close` makes the way back."""

    def __init__(self, limit: Any = 3, name: str = "loop") -> None:
        self.name = name
        self.limit = self.enter(tf.constant(limit), True)
        entered = self.enter(tf.constant(0))
        self.merge = tf.raw_ops.Merge([entered, entered])
        self.count = self.merge.output
        self.goes_on = tf.raw_ops.LoopCond(tf.less(self.count, self.limit))
        sides = tf.raw_ops.Switch(self.count, self.goes_on)
        self.last, self.body = sides.output_false, sides.output_true

    def enter(self, value: tf.Tensor, is_constant: bool = False) -> tf.Tensor:
        return tf.raw_ops.Enter(value, frame_name=self.name, is_constant=is_constant)

    def close(self, following: tf.Tensor) -> RawLoop:
        self.count.op._update_input(1, tf.raw_ops.NextIteration(following))
        return self

    def one(self) -> tf.Tensor:
        """Return a 1 of each iteration."""
        with tf.control_dependencies([self.body.op]):
            return tf.constant(1)


# -- Merge


def test_a_merge_takes_the_input_that_is_alive_and_says_which() -> None:
    dead, alive = forked()
    merged = tf.raw_ops.Merge([dead, alive + 4.0, dead + 1.0])
    assert run([merged.output, merged.value_index]) == [5.0, 1]


def test_a_merge_waits_for_its_control_inputs() -> None:
    v = tf.Variable(1.0)
    dead, alive = forked()
    with tf.control_dependencies([v.assign(5.0)]):
        merged = tf.raw_ops.Merge([dead, alive])
    with tf.control_dependencies([merged.output]):
        after = v.read_value()
    assert run(after) == 5.0


def test_a_merge_does_not_die_with_a_control_input() -> None:
    dead, alive = forked()
    with tf.control_dependencies([tf.identity(dead)]):
        merged = tf.raw_ops.Merge([dead, alive])
    assert run([merged.output, merged.value_index]) == [1.0, 1]


def test_a_merge_of_nothing_alive_is_dead() -> None:
    dead, alive = forked()
    nothing = tf.raw_ops.Merge([dead, dead * 2.0])
    again = tf.raw_ops.Merge([nothing.output, alive + 10.0])
    assert run([again.output, again.value_index]) == [11.0, 1]
    for output in (nothing.output, nothing.value_index):
        with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
            run(output)


def test_a_merge_takes_one_input_and_no_more() -> None:
    """TensorFlow notices where both are there before the Merge runs, and takes the first else."""
    _, alive = forked()
    merged = tf.raw_ops.Merge([alive, alive * 2.0])
    with pytest.raises(errors.OpError, match="Merge can not have more than one valid input"):
        run(merged.output)


# -- dead tensors


def test_the_kernel_of_what_is_dead_does_not_run() -> None:
    log: list[Any] = []
    dead, alive = forked()
    by_data = counted(log, dead)
    with tf.control_dependencies([tf.identity(dead)]):
        by_control = counted(log, tf.constant(2.0))
    living = counted(log, alive + 2.0)
    merged = [tf.raw_ops.Merge([each, living]).output for each in (by_data, by_control)]
    assert run(merged) == [3.0, 3.0]
    assert log == [3.0]


def test_deadness_goes_from_device_to_device() -> None:
    with tf.device("/gpu:0"):
        dead, alive = forked()
    with tf.device("/gpu:1"):
        sides = [tf.sqrt(dead), alive * 3.0]
    with tf.device("/cpu:0"):
        merged = tf.raw_ops.Merge([tf.square(each) for each in sides])
        found = [merged.output, merged.value_index]
    assert run(found, gpus=2) == [9.0, 1]
    with tf.device("/gpu:0"):
        lost = sides[0] + 1.0
    with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
        run(lost, gpus=2)


def test_deadness_goes_over_control_edges_from_device_to_device() -> None:
    with tf.device("/gpu:0"):
        waited = tf.identity(forked()[0])
    with tf.device("/gpu:1"), tf.control_dependencies([waited]):
        dead = tf.constant(4.0)
    with tf.device("/cpu:0"):
        merged = tf.raw_ops.Merge([dead, tf.constant(7.0)])
    assert run([merged.output, merged.value_index], gpus=2) == [7.0, 1]


def test_a_control_trigger_is_never_dead() -> None:
    with tf.control_dependencies([tf.identity(forked()[0])]):
        trigger = tf.raw_ops.ControlTrigger()
        dead = tf.no_op()
    with tf.control_dependencies([trigger]):
        alive = tf.constant(3.0)
    with tf.control_dependencies([dead]):
        lost = tf.constant(4.0)
    assert run(alive) == 3.0
    with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
        run(lost)


def test_fetching_what_is_dead() -> None:
    dead, alive = forked()
    for fetches, index in (([dead], 0), ([alive, dead * 2.0], 1)):
        wanted = rf"^Retval\[{index}\] does not have value"
        with pytest.raises(errors.InvalidArgumentError, match=wanted) as found:
            run(fetches)
        assert "test_reference.py" in found.value.message
    assert run([alive, (dead * 2.0).op]) == [1.0, None]


# -- frames


def test_enters_of_one_name_meet_in_one_frame() -> None:
    one, two = (tf.raw_ops.Enter(tf.constant(each), frame_name="f") for each in (1.0, 2.0))
    assert run(tf.raw_ops.Exit(one + two)) == 3.0


def test_each_iteration_has_inner_frames_of_its_own() -> None:
    starts: list[Any] = []

    def body(i: Any, total: Any) -> Any:
        inner = tf.while_loop(lambda j: j < i, lambda j: counted(starts, j) + 1, [0])
        return i + 1, total + inner

    assert run(tf.while_loop(lambda i, _: i < 4, body, (0, 0))[1]) == 0 + 1 + 2 + 3
    assert starts == [0, 0, 1, 0, 1, 2]


def test_a_constant_enter_is_there_in_each_iteration() -> None:
    loop = RawLoop(35)
    loop.close(loop.body + loop.enter(tf.constant(10), True))
    assert run(tf.raw_ops.Exit(loop.last)) == 40


def test_what_enters_once_is_there_in_the_first_iteration_only() -> None:
    loop = RawLoop(35)
    seen: list[Any] = []
    loop.close(counted(seen, loop.body + loop.enter(tf.constant(10))))
    with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
        run(tf.raw_ops.Exit(loop.last))
    assert seen == [10]


def test_a_dead_next_iteration_ends_the_loop() -> None:
    loop = RawLoop()
    seen: list[Any] = []
    loop.close(loop.last + counted(seen, loop.count))
    left = tf.raw_ops.Merge([tf.raw_ops.Exit(loop.last), tf.constant(-1)])
    assert run([left.output, left.value_index]) == [-1, 1]
    assert seen == [0]


def test_a_loop_that_is_never_entered_has_dead_exits() -> None:
    log: list[Any] = []
    dead, alive = forked()
    left = tf.raw_ops.Exit(counted(log, tf.raw_ops.Enter(dead, frame_name="f")))
    merged = tf.raw_ops.Merge([left, alive + 1.0])
    assert run([merged.output, merged.value_index]) == [2.0, 1]
    assert log == []


def test_an_exit_that_was_dead_all_along_is_dead_when_the_loop_is_over() -> None:
    loop = RawLoop()
    loop.close(loop.body + loop.one())
    sides = tf.raw_ops.Switch(loop.last, tf.greater(loop.last, loop.limit))
    never, ever = (tf.raw_ops.Exit(each) for each in (sides.output_true, sides.output_false))
    merged = tf.raw_ops.Merge([never, ever])
    assert run([merged.output, merged.value_index]) == [3, 1]
    with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
        run(never)


def test_a_merge_tells_the_first_iteration_from_the_others() -> None:
    for limit, index in ((0, 0), (3, 1)):
        loop = RawLoop(limit)
        loop.close(loop.body + loop.one())
        sides = tf.raw_ops.Switch(loop.merge.value_index, loop.goes_on)
        assert run(tf.raw_ops.Exit(sides.output_false)) == index


@pytest.mark.parametrize("parallel", [None, 1, 2, 32])
def test_parallel_iterations_are_kept_and_change_nothing(parallel: int | None) -> None:
    """One thread runs one iteration after another, which any number allows."""
    log: list[Any] = []
    how = {} if parallel is None else {"parallel_iterations": parallel}
    found = tf.while_loop(
        lambda i, _: i < 20, lambda i, a: (counted(log, i) + 1, a * 2.0 + 1.0), (0, 0.0), **how
    )
    assert run(found) == (20, 2.0**20 - 1)
    assert log == list(range(20))
    enters = [op for op in tf.get_default_graph().get_operations() if op.type == "Enter"]
    assert {op.attrs["parallel_iterations"] for op in enters} == {parallel or 10}


def test_inner_frames_are_cleaned_up_whatever_ends_the_run() -> None:
    left = [50]

    def tire(value: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if left[0] == 0:
            raise ValueError("tired")
        return value

    def body(i: Any, a: Any) -> Any:
        def inner(j: Any, b: Any) -> Any:
            found = tf.py_func(tire, [tf.tanh(b)], tf.float32)
            found.set_shape([None])
            return j + 1, tf.concat([found, b[:1]], 0)

        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        return i + 1, tf.while_loop(lambda j, _: j < 5, inner, (0, a), shapes)[1]

    start = (0, tf.ones([1000]))
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    found = tf.while_loop(lambda i, _: i < 20, body, start, shapes)[1]
    with opened() as session:
        session.explain(found)
        in_use = [each.bytes_in_use for each in session.memory_stats().values()]
        with pytest.raises(errors.InvalidArgumentError, match="tired"):
            session.run(found)
        for _ in range(2):
            assert [each.bytes_in_use for each in session.memory_stats().values()] == in_use
            assert session.run(found).shape == (1100,)


# -- errors


def test_the_first_error_ends_the_run() -> None:
    log: list[Any] = []
    n = tf.placeholder(tf.int32, [])

    def body(i: Any, a: Any) -> Any:
        with tf.device("/gpu:0"):
            chosen = tf.gather([1.0, 2.0, 4.0], i)
        with tf.device("/gpu:1"):
            return i + 1, counted(log, a + chosen)

    total = tf.while_loop(lambda i, _: i < n, body, (0, 0.0))[1]
    later = counted(log, tf.gather([1.0], tf.cast(total, tf.int32)))
    with opened(2) as session:
        for _ in range(2):
            with pytest.raises(errors.InvalidArgumentError, match="= 3 is not in") as found:
                session.run(later, {n: 8})
            assert "while/GatherV2" in found.value.message
            assert "test_reference.py" in found.value.message
        assert session.run(total, {n: 3}) == 7.0
    assert log == [1.0, 3.0, 7.0] * 3


def different_frames() -> Any:
    one, two = (tf.raw_ops.Enter(tf.constant(1.0), frame_name=each) for each in "ab")
    return tf.raw_ops.Exit(tf.raw_ops.AddV2(one, two, name="sum"))


def no_frame_and_one() -> Any:
    outside = tf.placeholder_with_default(1.0, [], name="outside")
    inside = tf.raw_ops.Enter(tf.constant(1.0), frame_name="a")
    return tf.raw_ops.Exit(tf.raw_ops.AddV2(inside, outside, name="sum"))


def two_parents() -> Any:
    inner = tf.raw_ops.Enter(tf.raw_ops.Enter(tf.constant(1.0), frame_name="a"), frame_name="b")
    outer = tf.raw_ops.Enter(tf.constant(1.0), frame_name="b")
    return [tf.raw_ops.Exit(tf.raw_ops.Exit(inner)), tf.raw_ops.Exit(outer)]


def two_conditions() -> Any:
    loop = RawLoop()
    loop.close(loop.body + loop.one())
    other = tf.raw_ops.LoopCond(tf.less(loop.count, loop.enter(tf.constant(2), True)))
    sides = tf.raw_ops.Switch(loop.count, other)
    return [tf.raw_ops.Exit(each) for each in (loop.last, sides.output_false)]


def no_name() -> Any:
    return tf.raw_ops.Exit(tf.raw_ops.Enter(tf.constant(1.0), frame_name="", name="nameless"))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            different_frames,
            errors.InvalidArgumentError,
            r"{{node sum}} has inputs from different frames\. The input {{node Enter(_1)?}} is in "
            r"frame '[ab]'\. The input {{node Enter(_1)?}} is in frame '[ab]'\.",
        ),
        (
            no_frame_and_one,
            errors.InvalidArgumentError,
            r"{{node sum}} has inputs from different frames\. .*{{node outside}} is in frame ''",
        ),
        (two_parents, errors.InternalError, "^Mismatched parent frames"),
        (two_conditions, errors.InvalidArgumentError, "more than one LoopCond node"),
        (no_name, errors.InvalidArgumentError, "^The Enter nameless must have a frame name"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_malformed_frames(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as found:
        run(build())
    assert "test_reference.py" in str(found.value)


def test_shapes_of_what_enters_a_frame():
    x = tf.ones([2])
    assert tf.raw_ops.Enter(data=x, frame_name="a", is_constant=True).shape.as_list() == [2]
    assert tf.raw_ops.Enter(data=x, frame_name="b").shape.rank is None
