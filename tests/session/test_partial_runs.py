"""Partial runs: steps in parts."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session import register_session_run_conversion_functions

InvalidArgument = tf.errors.InvalidArgumentError


class Sums:
    """Placeholders a, b, c, and a + b, (a + b) * c."""

    def __init__(self) -> None:
        with tf.Graph().as_default() as graph:
            self.a = tf.placeholder(tf.float32, [], name="a")
            self.b = tf.placeholder(tf.float32, [], name="b")
            self.c = tf.placeholder(tf.float32, [], name="c")
            self.sum = tf.add(self.a, self.b, name="sum")
            self.product = tf.multiply(self.sum, self.c, name="product")
        self.session = tf.Session(graph=graph)

    def setup(self) -> str:
        return self.session.partial_run_setup([self.sum, self.product], [self.a, self.b, self.c])


@pytest.fixture
def sums() -> Any:
    sums = Sums()
    with sums.session:
        yield sums


def test_a_step_goes_on_where_its_feeds_come(sums: Sums) -> None:
    handle = sums.setup()
    run = sums.session.partial_run
    assert run(handle, sums.sum, {sums.a: 1, sums.b: 2}) == 3
    assert sums.session.run(sums.product, {sums.a: 7, sums.b: 1, sums.c: 2}) == 16
    assert run(handle, {"p": ["product:0"]}, {"c:0": 17}) == {"p": [51]}


def test_many_steps_go_on_side_by_side(sums: Sums) -> None:
    handles = [sums.setup() for _ in range(20)]
    assert len(set(handles)) == 20
    run = sums.session.partial_run
    for index, handle in enumerate(handles):
        assert run(handle, sums.sum, {sums.a: index, sums.b: 1}) == index + 1
    for index, handle in reversed(list(enumerate(handles))):
        assert run(handle, sums.product, {sums.c: 2}) == 2 * index + 2


def test_feeds_may_come_before_anything_is_fetched(sums: Sums) -> None:
    handle = sums.setup()
    run = sums.session.partial_run
    value = np.array(1, np.float32)
    assert run(handle, [], {sums.a: value}) == []
    value[...] = 100  # the fed value is unaffected
    assert run(handle, [], {sums.b: 2, sums.c: 3}) == []
    total = run(handle, [sums.sum])[0]
    assert (total, run(handle, sums.product)) == (3, 9)


@pytest.mark.parametrize(
    ("fetch", "feeds", "error", "message"),
    [
        ("sum:0", {}, InvalidArgument, "The fetch sum:0 has already been fetched."),
        ("a:0", {}, InvalidArgument, "The fetch a:0 was not specified in partial_run_setup."),
        ([], {"sum:0": 1}, InvalidArgument, "The feed sum:0 was not specified in partial_run_s"),
        ("product:0", {"a:0": 1}, InvalidArgument, "The feed a:0 has already been fed."),
        ("product:0", {}, InvalidArgument, "Fetch c:0 can't be computed from the feeds that have"),
        ("product:0", {"c:0": [1, 2]}, ValueError, "Cannot feed value of shape"),
        ("product", {}, RuntimeError, "partial_run.. requires empty target_list"),
        (None, {}, TypeError, "has invalid type"),
        ("product:0", [1], TypeError, "must be a dictionary"),
    ],
)
def test_a_refused_part_changes_nothing(
    sums: Sums, fetch: Any, feeds: Any, error: type[Exception], message: str
) -> None:
    handle = sums.setup()
    sums.session.partial_run(handle, sums.sum, {sums.a: 1, sums.b: 2})
    with pytest.raises(error, match=message):
        sums.session.partial_run(handle, fetch, feeds)
    assert sums.session.partial_run(handle, sums.product, {sums.c: 2}) == 6


def test_a_handle_ends_with_the_last_part(sums: Sums) -> None:
    run = sums.session.partial_run
    handle = sums.setup()
    run(handle, [sums.sum, sums.product], {sums.a: 1, sums.b: 2, sums.c: 3})
    other = sums.setup()
    with tf.Session(graph=sums.session.graph) as session:
        for where, name in ((sums.session, handle), (session, other), (session, "none")):
            with pytest.raises(InvalidArgument, match="Must run 'setup' before performing partial"):
                where.partial_run(name, sums.sum, {sums.a: 1, sums.b: 2})
    assert run(None, sums.sum, {sums.a: 1, sums.b: 2}) == 3  # as run
    sums.session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        run(other, sums.sum, {sums.a: 1, sums.b: 2})


def test_a_setup_needs_something_to_compute(sums: Sums) -> None:
    setup = sums.session.partial_run_setup
    with pytest.raises(InvalidArgument, match="specify at least one target to fetch or execute"):
        setup([], [sums.a])
    with pytest.raises(InvalidArgument, match="a:0 is both fed and fetched"):
        setup([sums.a], [sums.a])
    with pytest.raises(TypeError, match="key as Tensor"):
        setup(sums.sum, "nope:0")
    with tf.Session(graph=tf.Graph()) as empty, pytest.raises(RuntimeError, match="graph is empty"):
        empty.partial_run_setup([])


def test_a_placeholder_that_no_part_feeds_is_an_error_that_stays(sums: Sums) -> None:
    handle = sums.session.partial_run_setup([sums.sum], [sums.a])
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="You must feed a value for placeholder"):
            sums.session.partial_run(handle, sums.sum, {sums.a: 1})
    assert sums.session.partial_run(sums.setup(), "sum:0", {"a:0": 1, "b:0": 2}) == 3


def test_each_operation_runs_once() -> None:
    calls = []

    def count() -> np.float32:
        calls.append(1)
        return np.float32(len(calls))

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.placeholder(tf.float32, [])
        drawn = tf.random_uniform([3])
        counted = tf.py_func(count, [], tf.float32)
        fetches = [drawn + x, drawn + y, counted * x, counted * y]
        with tf.Session(graph=graph) as session:
            handle = session.partial_run_setup(fetches, [x, y])
            first = session.partial_run(handle, [fetches[0], fetches[2]], {x: 0})
            second = session.partial_run(handle, [fetches[1], fetches[3]], {y: 1})
    np.testing.assert_array_equal(first[0] + np.float32(1), second[0])
    assert (first[1], second[1], calls) == (0, 1, [1])


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_change_once_and_as_soon_as_possible(use_resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.placeholder(tf.float32, [])
        variable = tf.get_variable("v", initializer=1.0, use_resource=use_resource)
        added = tf.assign_add(variable, x)
        with tf.control_dependencies([added]):
            after = variable.read_value() * y
            again = tf.assign_add(variable, y)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            handle = session.partial_run_setup([added, after, again.op], [x, y])
            assert session.partial_run(handle, added, {x: 2}) == 3
            assert session.run(variable) == 3
            assert session.partial_run(handle, after, {y: 10}) == 30
            assert session.run(variable) == 13


def test_a_reference_of_an_earlier_part_leads_to_its_variable() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.placeholder(tf.float32, [])
        variable = tf.get_variable("v", initializer=1.0, use_resource=False)
        twice = tf.assign_add(tf.assign_add(variable, x), y)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            handle = session.partial_run_setup(twice, [x, y])
            assert session.partial_run(handle, [], {x: 2}) == []
            assert session.run(variable) == 3
            assert session.partial_run(handle, twice, {y: 4}) == 7


def test_operations_alone_run_with_the_last_feed() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        variable = tf.get_variable("v", initializer=1.0)
        fed, alone = tf.assign(variable, x).op, tf.assign_add(variable, 1.0).op
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            session.partial_run_setup(alone)
            assert session.run(variable) == 2
            handle = session.partial_run_setup(fed, x)
            assert session.run(variable) == 2
            session.partial_run(handle, [], {x: 5})
            assert session.run(variable) == 5


def test_a_branch_runs_as_a_whole() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.placeholder(tf.float32, [])
        branch = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0)
        pair = tf.cond(x > 0.0, lambda: (x, y), lambda: (y, x))
        fetches = [branch, branch + y, pair[0]]
        with tf.Session(graph=graph) as session:
            for value, (first, second, third) in ((3, (6, 11, 3)), (-3, (-4, 1, 5))):
                handle = session.partial_run_setup(fetches, [x, y])
                assert session.partial_run(handle, branch, {x: value}) == first
                assert session.partial_run(handle, fetches[1:], {y: 5}) == [second, third]


def test_loops_and_their_gradients_run_as_a_whole() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.placeholder(tf.float32, [])
        _, power = tf.while_loop(lambda i, _: i < 3, lambda i, p: (i + 1, p * x), (0, 1.0))
        loss = power * y
        gradient = tf.gradients(loss, x)[0]
        items = tf.map_fn(lambda item: item * x, tf.constant([1.0, 2.0]))
        fetches = [power, loss, gradient, items, items * y]
        with tf.Session(graph=graph) as session:
            handle = session.partial_run_setup(fetches, [x, y])
            assert session.partial_run(handle, power, {x: 2}) == 8
            assert session.partial_run(handle, items).tolist() == [2, 4]
            *numbers, products = session.partial_run(handle, [loss, gradient, fetches[4]], {y: 10})
    assert numbers == [80, 120]
    assert products.tolist() == [20, 40]


def test_what_changes_a_variable_in_a_loop_waits_for_all_of_the_loop() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = tf.placeholder(tf.float32, [])
        variable = tf.get_variable("v", initializer=0.0, use_resource=True)

        def body(i: Any, p: Any, q: Any) -> Any:
            with tf.control_dependencies([tf.assign_add(variable, 1.0)]):
                return tf.identity(i) + 1, p * x, q * y

        _, first, second = tf.while_loop(lambda i, *_: i < 2, body, (0, 1.0, 1.0))
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            handle = session.partial_run_setup([first, second], [x, y])
            with pytest.raises(tf.errors.UnimplementedError, match="would run twice"):
                session.partial_run(handle, first, {x: 3})
            handle = session.partial_run_setup([first, second], [x, y])
            assert session.partial_run(handle, first, {x: 3, y: 2}) == 9
            assert session.partial_run(handle, second) == 4
            assert session.run(variable) == 2


def test_values_of_any_kind_go_to_later_parts() -> None:
    with tf.Graph().as_default() as graph:
        text = tf.placeholder(tf.string, [])
        x = tf.placeholder(tf.float32, [None, 2])
        joined = tf.string_join([text, "!"])
        rows = tf.shape(x)[0]
        low = tf.cast(x, tf.float16)
        late = tf.placeholder(tf.float32, [])
        fetches = [
            joined,
            tf.string_join([joined, tf.as_string(late)]),
            tf.cast(low, tf.float32) * late,
            tf.reshape(tf.fill([rows], late), [-1, 1]),
        ]
        with tf.Session(graph=graph) as session:
            for count in (3, 1, 0):
                handle = session.partial_run_setup(fetches, [text, x, late])
                feeds = {text: "a", x: np.ones([count, 2])}
                assert session.partial_run(handle, joined, feeds) == b"a!"
                rest = session.partial_run(handle, fetches[1:], {late: 2})
                assert rest[0] == b"a!2.000000"
                assert (rest[1].shape, rest[2].tolist()) == ((count, 2), [[2.0]] * count)


def test_a_failed_part_ends_the_step_and_keeps_nothing() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = tf.placeholder(tf.float32, [None])
        with tf.Session(graph=graph) as session:
            total, checked = x + 1.0, tf.check_numerics(x, "bad") + y
            handle = session.partial_run_setup([total, checked], [x, y])
            for _ in range(2):
                with pytest.raises(InvalidArgument, match="bad"):
                    session.partial_run(handle, total, {x: [np.inf]} if _ == 0 else None)
            handle = session.partial_run_setup([total, checked], [x, y])
            assert session.partial_run(handle, total, {x: [1]}).tolist() == [2]
            assert session.partial_run(handle, checked, {y: [3]}).tolist() == [4]


def test_registered_types_are_fed_to_parts() -> None:
    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.parts = [x, y]

    class Lonely:
        pass

    register_session_run_conversion_functions(
        Pair,
        lambda pair: (pair.parts, tuple),
        lambda pair, value: list(zip(pair.parts, value)),
        lambda pair: pair.parts,
    )
    register_session_run_conversion_functions(Lonely, lambda _: ([], list))
    with tf.Graph().as_default() as graph:
        pair = Pair(tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, []))
        sparse = tf.sparse_placeholder(tf.float32, [2])
        dense = tf.sparse_tensor_to_dense(sparse) + pair.parts[0]
        with tf.Session(graph=graph) as session:
            with pytest.raises(TypeError, match="feed_function_for_partial_run"):
                session.partial_run_setup(dense, [Lonely()])
            handle = session.partial_run_setup(
                [dense, pair.parts[0] + pair.parts[1]], [pair, sparse]
            )
            assert session.partial_run(handle, "add_1:0", {pair: (1, 2)}) == 3
            value = tf.SparseTensorValue([[1]], [5.0], [2])
            assert session.partial_run(handle, dense, {sparse: value}).tolist() == [1, 6]


def test_threads_do_their_own_steps(sums: Sums) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for index in range(50):
                handle = sums.setup()
                feeds = {sums.a: number, sums.b: index}
                assert sums.session.partial_run(handle, sums.sum, feeds) == number + index
                assert sums.session.run(sums.sum, feeds) == number + index
                assert sums.session.partial_run(handle, "product:0", {"c:0": 2}) == 2 * (
                    number + index
                )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_finished_steps_leave_nothing_behind(sums: Sums) -> None:
    def partial_runs() -> int:
        gc.collect()
        return sum(type(x).__name__ == "PartialRun" for x in gc.get_objects())

    def in_use() -> list[int]:
        return [stats.bytes_in_use for stats in sums.session.memory_stats().values()]

    def whole_step() -> None:
        handle = sums.setup()
        sums.session.partial_run(handle, sums.sum, {sums.a: 1, sums.b: 2})
        assert partial_runs() == before + 1
        sums.session.partial_run(handle, sums.product, {sums.c: 1})

    before = partial_runs()
    whole_step()
    bytes_before = in_use()
    for _ in range(5):
        whole_step()
    assert (partial_runs(), in_use()) == (before, bytes_before)
