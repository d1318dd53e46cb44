"""DirectSession: its plans, its memory, its threads, and how it goes on after a failure."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.framework.kernel_registry import _KERNELS
from gpugraph.ops.framework.op_declaration import DECLARATIONS, register_op
from gpugraph.ops.framework.shape_functions import same_shape
from gpugraph.session import direct_session as direct
from gpugraph.session.runner_plans import EXACT_PLANS


def _same(context: InferContext) -> Any:
    return [context.shapes[0]]


def _refuse_negative(value: Any, out: Any) -> None:
    if (value < 0).any():
        raise ArithmeticError("negative")
    np.copyto(out, value)


refuse_negative = tf.register_op(
    "SessionDirectTestRefuseNegative",
    inputs="value: float",
    outputs="same: float",
    infer=_same,
    cpu=tf.Call(_refuse_negative),
    gpu=tf.HostOnly("a test's"),
    grad=tf.NO_GRADIENT,
    doc="The value, unless it is negative.",
)

BARRIER: list[Callable[[], object]] = []


def _meet(value: Any, out: Any) -> None:
    for call in BARRIER:
        call()
    np.copyto(out, value)


meet = tf.register_op(
    "SessionDirectTestMeet",
    inputs="value: float",
    outputs="same: float",
    infer=_same,
    cpu=tf.Call(_meet),
    gpu=tf.HostOnly("a test's"),
    grad=tf.NO_GRADIENT,
    stateful=True,
    doc="The value, after what the test does in between.",
)


@pytest.fixture
def barrier() -> Any:
    yield BARRIER
    BARRIER.clear()


def gpus(*mebibytes: int, **settings: Any) -> tf.ConfigProto:
    """Return a config with virtual GPUs of these sizes."""
    options = tf.GPUOptions(virtual_gpus=list(mebibytes))
    return tf.ConfigProto(gpu_options=options, **settings)


def in_use(session: Any) -> dict[str, int]:
    stats = session.memory_stats()
    return {name.rpartition("device:")[2]: each.bytes_in_use for name, each in stats.items()}


def count_compilations(monkeypatch: Any) -> list[Any]:
    """Return a list that gets the key of each plan that is compiled from now on."""
    values: list[Any] = []
    compile_plan = direct.compile_plan

    def counted(target: Any, request: Any) -> Any:
        values.append(request.key)
        return compile_plan(target, request)

    monkeypatch.setattr(direct, "compile_plan", counted)
    return values


# -- plans


def test_each_shape_is_bound_once(monkeypatch: Any) -> None:
    result = count_compilations(monkeypatch)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        total = tf.reduce_sum(x * 2.0, 0)
    with tf.Session(graph=graph) as session:
        for _ in range(2):
            for rows in range(2, 30):
                got = session.run(total, {x: np.ones((rows, 3))})
                np.testing.assert_array_equal(got, [2 * rows] * 3)
    assert len(result) == 1  # and one unit with open sizes


@pytest.mark.usefixtures("without_units")
def test_without_units_many_shapes_open_one_plan(monkeypatch: Any) -> None:
    result = count_compilations(monkeypatch)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3])
        total = tf.reduce_sum(x * 2.0, 0)
    with tf.Session(graph=graph) as session:
        for _ in range(2):
            for rows in range(1, EXACT_PLANS + 20):
                got = session.run(total, {x: np.ones((rows, 3))})
                np.testing.assert_array_equal(got, [2 * rows] * 3)
    assert len(result) == EXACT_PLANS + 1
    assert result[-1].feeds == ((x.name, (None, 3)),)


@pytest.mark.usefixtures("without_units")
def test_an_open_plan_opens_further_sizes_as_they_come(monkeypatch: Any) -> None:
    result = count_compilations(monkeypatch)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32)
        y = x + 1.0
    with tf.Session(graph=graph) as session:
        for rows in range(1, EXACT_PLANS + 2):
            session.run(y, {x: np.zeros((rows, 3))})
        assert result[-1].feeds[0][1] == (None, 3)
        np.testing.assert_array_equal(session.run(y, {x: np.zeros((9, 5))}), np.ones((9, 5)))
        assert result[-1].feeds[0][1] == (None, None)
        assert session.run(y, {x: 4.0}) == 5
        assert result[-1].feeds[0][1] is None
        np.testing.assert_array_equal(session.run(y, {x: [[[1.0]]]}), [[[2.0]]])
    assert len(result) == EXACT_PLANS + 3


def test_plans_are_bounded_in_number_and_memory(monkeypatch: Any) -> None:
    monkeypatch.setattr(direct, "MOST_PLANS", 4)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [100])
        sums = [x + float(number) for number in range(20)]
    with tf.Session(graph=graph) as session:
        used = []
        for _ in range(2):
            for number, fetch in enumerate(sums):
                np.testing.assert_array_equal(
                    session.run(fetch, {x: np.zeros(100)}), np.full(100, number)
                )
                used.append(in_use(session)["CPU:0"])
        assert len(session._backend.plans) == 4  # type: ignore[attr-defined]
        assert max(used) == used[4]
        assert len(session._backend.runners) <= 8  # type: ignore[attr-defined]


def test_memory_comes_back_when_a_session_closes() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 50])
        with tf.device("/gpu:0"):
            variable = tf.Variable(tf.ones([50, 20]))
            y = tf.matmul(x, variable)
        with tf.device("/gpu:1"):
            z = tf.reduce_sum(y * np.arange(20, dtype=np.float32))
    session = tf.Session(graph=graph, config=gpus(8, 8))
    devices = session._backend.devices  # type: ignore[attr-defined]
    session.run(variable.initializer)
    for rows in range(1, 12):
        session.run([y, z], {x: np.ones((rows, 50))})
    used = in_use(session)
    assert used["GPU:0"] > 0 and used["GPU:1"] > 0
    session.close()
    assert [device.allocator.get_stats().bytes_in_use for device in devices] == [0, 0, 0]


def test_dropped_plans_free_the_constants_they_put_on_a_device(monkeypatch: Any) -> None:
    monkeypatch.setattr(direct, "MOST_PLANS", 1)
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        # folded for each shape: a constant of the plan's own
        y = tf.reduce_sum(x) * tf.cast(tf.fill([500], tf.size(x)), tf.float32)
    with tf.Session(graph=graph, config=gpus(8, allow_soft_placement=True)) as session:
        used = []
        for size in range(1, 7):
            np.testing.assert_array_equal(session.run(y, {x: np.ones(size)}), [size * size] * 500)
            gc.collect()
            used.append(in_use(session)["GPU:0"])
        assert used[0] > 4000  # the arena's result and the constant
        assert max(used) <= used[1]


# -- concurrency


def test_threads_share_a_session_s_plans() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = tf.tanh(x) * 2.0 + x
        z = tf.reduce_sum(y)
    random = np.random.RandomState(0)
    values = [random.randn(1 + number % 13).astype(np.float32) for number in range(300)]

    with tf.Session(graph=graph) as session:

        def run(value: Any) -> Any:
            return session.run([y, z] if len(value) % 2 else [z, y], {x: value})

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(run, values))
    for value, answer in zip(values, answers):
        got_y, got_z = answer if len(value) % 2 else reversed(answer)
        np.testing.assert_allclose(got_y, np.tanh(value) * 2 + value, rtol=1e-5)
        np.testing.assert_allclose(got_z, np.sum(np.tanh(value) * 2 + value), rtol=1e-4, atol=1e-5)


def test_threads_are_right_while_plans_are_given_up(monkeypatch: Any) -> None:
    monkeypatch.setattr(direct, "MOST_PLANS", 2)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [64])
        fetches = [x * 1.0 + float(number) for number in range(6)]
    with tf.Session(graph=graph) as session:

        def run(each: int) -> bool:
            base = np.full(64, each, np.float32)
            got = session.run(fetches[each % 6], {x: base})
            return bool((got == base + each % 6).all())

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(run, range(240)))


def test_a_session_closed_during_a_run_lets_it_end(barrier: Any) -> None:
    entered, closing = threading.Event(), threading.Event()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1000])
        y = meet(x) + 1.0
    session = tf.Session(graph=graph)
    device = session._backend.devices[0]  # type: ignore[attr-defined]
    barrier += [entered.set, lambda: closing.wait(10)]
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(session.run, y, {x: np.zeros(1000)})
        assert entered.wait(10)
        closed = pool.submit(session.close)
        closing.set()
        np.testing.assert_array_equal(running.result(10), np.ones(1000))
        closed.result(10)
    assert device.allocator.get_stats().bytes_in_use == 0


def test_who_runs_while_a_session_closes_gets_an_answer_or_is_told() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [100])
        y = x + 1.0
    for _ in range(20):
        session = tf.Session(graph=graph)
        start = threading.Barrier(5)

        def run(session: Any = session, start: threading.Barrier = start) -> str:
            start.wait()
            try:
                for value in range(200):
                    got = session.run(y, {x: np.full(100, value)})
                    assert (got == value + 1).all()
            except (RuntimeError, tf.errors.CancelledError) as error:
                return str(error)
            return "closed"

        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(run) for _ in range(4)]
            start.wait()
            session.close()
            assert all("closed" in future.result(10) for future in running)


def test_a_plan_given_up_just_before_its_run_is_made_again() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [100])
        y = x + 1.0
    with tf.Session(graph=graph) as session:
        session.run(y, {x: np.zeros(100)})
        backend: Any = session._backend
        (runner,) = backend.runners.values()
        (cached,) = runner.plans.exact.values()
        with ThreadPoolExecutor(1) as pool:
            with cached.plan.lock:  # the run has its plan, and waits for it
                running = pool.submit(session.run, y, {x: np.full(100, 5)})
                while not running.running():
                    pass
                threading.Event().wait(0.02)
                with backend.lock:
                    backend.plans.drop(cached)
            np.testing.assert_array_equal(running.result(10), np.full(100, 6))
        (anew,) = runner.plans.exact.values()
        assert anew is not cached


# -- variables


def test_an_uninitialized_variable_is_named_with_the_line_that_read_it() -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable([1.0, 2.0], name="v")
        doubled = tf.multiply(variable, 2.0, name="doubled")
    with tf.Session(graph=graph) as session:
        for fetch in (doubled, variable, doubled):
            with pytest.raises(tf.errors.FailedPreconditionError) as caught:
                session.run(fetch)
            message = caught.value.message
            assert "uninitialized value v" in message and "initializer" in message
            assert re.search(r"test_direct_session\.py:\d+", message)
        session.run(variable.initializer)
        np.testing.assert_array_equal(session.run(doubled), [2, 4])


def test_variables_belong_to_their_session() -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(1.0)
        grown = tf.assign_add(variable, 1.0)
    with tf.Session(graph=graph) as one, tf.Session(graph=graph) as other:
        one.run(variable.initializer)
        one.run(grown)
        with pytest.raises(tf.errors.FailedPreconditionError):
            other.run(variable)
        other.run(variable.initializer)
        assert (one.run(variable), other.run(variable)) == (2, 1)


def test_a_plan_whose_variable_moved_is_made_anew() -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable([1.0, 2.0])
        doubled = variable * 2.0
    with tf.Session(graph=graph) as session:
        session.run(variable.initializer)
        np.testing.assert_array_equal(session.run(doubled), [2, 4])
        with graph.as_default():
            longer = tf.assign(variable, [1.0, 2.0, 3.0], validate_shape=False)
        session.run(longer.op)
        np.testing.assert_array_equal(session.run(doubled), [2, 4, 6])


def test_plans_that_are_given_up_leave_nothing_at_their_variables(monkeypatch: Any) -> None:
    monkeypatch.setattr(direct, "MOST_PLANS", 2)
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(1.0)
        fetches = [variable + float(number) for number in range(6)]
    with tf.Session(graph=graph) as session:
        session.run(variable.initializer)
        assert [session.run(number) for number in fetches] == [1, 2, 3, 4, 5, 6]
        (state,) = session._backend.resources.variables.values()  # type: ignore[attr-defined]
        assert len(state.watchers) <= 2


# -- failures


def test_a_kernel_that_fails_names_node_line_and_device_and_the_session_goes_on() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3])
        first = tf.Variable(tf.zeros([3]), name="first")
        second = tf.Variable(tf.zeros([3]), name="second")
        write_first = tf.assign(first, x)
        with tf.control_dependencies([write_first]):
            checked = refuse_negative(x, name="checked")
        write_second = tf.assign(second, checked)
    with tf.Session(graph=graph) as session:
        session.run([first.initializer, second.initializer])
        session.run(write_second, {x: [1, 1, 1]})
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="negative") as caught:
                session.run(write_second, {x: [2, -2, 2]})
            error = caught.value
            assert error.op is checked.op and error.node_def.name == "checked"
            assert isinstance(error.__cause__, ArithmeticError)
            assert re.search(
                r"\[\[node checked \(defined at .*test_direct_session\.py:\d+.*CPU:0\]\]",
                error.message,
            )
            np.testing.assert_array_equal(session.run(first), [2, -2, 2])
            np.testing.assert_array_equal(session.run(second), [1, 1, 1])
        session.run(write_second, {x: [3, 3, 3]})
        np.testing.assert_array_equal(session.run(second), [3, 3, 3])


@pytest.mark.usefixtures("without_units")
def test_a_failure_frees_what_a_run_on_open_sizes_had_made() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = refuse_negative(tf.exp(x) * 2.0 - 1.0) + 1.0
    with tf.Session(graph=graph) as session:
        for size in range(1, EXACT_PLANS + 4):
            session.run(y, {x: np.zeros(size)})
        before = in_use(session)
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            session.run(y, {x: np.full(500, -9)})
        assert in_use(session) == before


def test_a_cycle_is_named_and_the_rest_of_the_graph_runs() -> None:
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        b = tf.tanh(a + 1.0, name="b")
        c = tf.tanh(b, name="c")
    b.op._add_control_input(c.op)
    with tf.Session(graph=graph) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(c)
            assert re.search(r"cycle", caught.value.message)
            assert "b" in caught.value.message and "c" in caught.value.message
        assert session.run(a) == 1


def test_a_device_that_is_not_there_is_told_with_those_that_are() -> None:
    with tf.Graph().as_default() as graph, tf.device("/gpu:3"):
        far = tf.placeholder(tf.float32, [2], name="given") + 1.0
    value = far.op.inputs[0]
    with tf.Session(graph=graph, config=gpus(1)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(far, {value: [1, 2]})
        message = caught.value.message
        assert "GPU:3" in message.upper()
        assert "device:CPU:0" in message and "device:GPU:0" in message
        assert re.search(r"test_direct_session\.py:\d+", message)
    with tf.Session(graph=graph, config=gpus(1, allow_soft_placement=True)) as session:
        np.testing.assert_array_equal(session.run(far, {value: [1, 2]}), [2, 3])


def test_a_device_that_is_full_says_who_wanted_how_much_and_what_is_left() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.device("/gpu:0"):
            big = tf.tanh(x, name="big")
            small = tf.reduce_sum(big, name="small")
    with tf.Session(graph=graph, config=gpus(1)) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                session.run(small, {x: np.zeros(400_000)})
            message = caught.value.message
            for part in (f"limit {1 << 20} bytes", "largest hole", "GPU:0", "GPU_0_bfc"):
                assert part in message
            assert re.search(r"1.53MiB  '\S*x\S*' float32\[400000\] \(defined at", message)
            assert re.search(r"with \d+ rows instead of 400000 in x:0: \S+iB", message)
            assert session.run(small, {x: np.zeros(1000)}) == 0


def test_idle_plans_make_room_for_a_new_one() -> None:
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [100_000])
        sums = [tf.reduce_sum(tf.tanh(x) + float(number)) for number in range(4)]
    with tf.Session(graph=graph, config=gpus(2)) as session:
        for _ in range(2):
            for number, fetch in enumerate(sums):
                assert session.run(fetch, {x: np.zeros(100_000)}) == pytest.approx(number * 1e5)


def test_idle_plans_make_room_for_a_run_on_open_sizes() -> None:
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None])
        y = tf.reduce_sum(tf.tanh(x))
        z = tf.reduce_max(tf.exp(x))
    with tf.Session(graph=graph, config=gpus(2)) as session:
        for size in range(1, EXACT_PLANS + 2):
            session.run(y, {x: np.zeros(size)})
        session.run(z, {x: np.zeros(150_000)})
        assert session.run(y, {x: np.zeros(200_000)}) == 0
        with pytest.raises(tf.errors.ResourceExhaustedError, match="largest hole"):
            session.run(y, {x: np.zeros(600_000)})
        assert session.run(z, {x: np.zeros(150_000)}) == 1


class Peculiar(tf.errors.InvalidArgumentError):
    """A user's own class of error, made in another way than ours."""

    def __init__(self) -> None:
        super().__init__(None, None, "peculiar")


def test_an_error_class_of_the_user_s_own_becomes_tensorflow_s(barrier: Any) -> None:
    def fail() -> None:
        raise Peculiar

    barrier.append(fail)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        y = meet(x, name="y")
    with tf.Session(graph=graph) as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"peculiar[\s\S]*node y"
        ) as caught:
            session.run(y, {x: 1})
        assert caught.value.op is y.op


def test_placements_are_logged_once(capsys: Any) -> None:
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.add(x, x, name="y")
    with tf.Session(graph=graph, config=gpus(1, log_device_placement=True)) as session:
        for size in (1, 2, 1):
            session.run(y, {x: np.ones(size)})
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("y: ")]
    assert len(lines) == 1
    assert re.match(r"y: \(Add\): \S+/device:GPU:0 - \S", lines[0])


# -- coming back from inside, and moving while others read


@pytest.fixture
def reentering() -> Iterator[Any]:
    """Yield a maker of ops whose kernels call a given function before they copy their input."""
    values: list[str] = []

    def make(inner: Any) -> Any:
        def kernel(x: Any, out: Any) -> None:
            inner()
            out[...] = x

        values.append(f"Reentering{len(values)}")
        return register_op(
            values[-1], inputs="x: T", outputs="y: T", attrs={"T": tf.dtypes.FLOATING},
            infer=same_shape(0), cpu=tf.Call(kernel), gpu=tf.HostOnly("a test"),
            grad=tf.NO_GRADIENT, doc="Comes back to its session.",
        )  # fmt: skip

    yield make
    for name in values:
        del DECLARATIONS[name], OP_DEFS[name]
        for device_type in ("CPU", "GPU"):
            del _KERNELS[name, device_type]


def test_a_kernel_may_run_the_plan_that_runs_it(reentering: Any) -> None:
    depth: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])

        def inner() -> None:
            if len(depth) < 3:
                index = len(depth)
                depth.append(None)
                depth[index] = session.run(y, {x: [10.0 * (index + 1), 0.0]})

        y = reentering(inner)(x) + 1.0
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2.0, 3.0]
        assert [item[0] for item in depth] == [11.0, 21.0, 31.0]
        before = sum(item.bytes_in_use for item in session.memory_stats().values())
        session.run(y, {x: [1.0, 2.0]})
        assert sum(item.bytes_in_use for item in session.memory_stats().values()) == before


def test_a_kernel_may_close_the_session_that_runs_it(reentering: Any) -> None:
    with tf.Graph().as_default():
        session = tf.Session()
        v = tf.Variable([1.0, 2.0])
        y = reentering(session.close)(v) * v
        session.run(v.initializer)
        assert session.run(y).tolist() == [1.0, 4.0]
        with pytest.raises(RuntimeError, match="closed"):
            session.run(y)
        del session


def test_memory_that_a_kernel_reads_outlives_the_variable_s_move(reentering: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.ones(50_000, np.float32))
        grown = tf.assign(v, np.full(60_000, 2, np.float32), validate_shape=False)
        other = tf.Variable(np.full(50_000, 9, np.float32))

        def inner() -> None:  # the memory of v is freed and would be taken by another tensor
            if not moved:
                moved.append(True)
                session.run(grown.op)
                session.run(other.initializer)

        moved: list[bool] = []
        doubled = reentering(inner)(v) * 2.0
        session.run(v.initializer)
        assert set(session.run(doubled).tolist()) == {2.0}
        assert session.run(v).shape == (60_000,)


def test_threads_that_resize_one_variable_leave_one_of_their_values() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        v = tf.Variable([0.0], validate_shape=False)
        put = tf.assign(v, x, validate_shape=False).op
        session.run(v.initializer)
        failures: list[BaseException] = []

        def work(size: int) -> None:
            try:
                for _ in range(40):
                    session.run(put, {x: np.full(size, size, np.float32)})
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(size,)) for size in (1, 7, 500, 1001)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        result = session.run(v)
        assert set(result.tolist()) == {float(len(result))}


def test_locked_updates_of_two_plans_are_all_counted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.zeros(100_000, np.float32))
        updates = [v.assign_add(np.ones(100_000, np.float32), use_locking=True) for _ in "ab"]
        session.run(v.initializer)
        runs = [session.make_callable(update.op) for update in updates]

        def work(run: Any) -> None:
            for _ in range(100):
                run()

        threads = [threading.Thread(target=work, args=(run,)) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(session.run(v).tolist()) == {200.0}


def test_a_kernel_that_refuses_at_bind_fails_its_node_at_the_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        wrong = tf.random_uniform([2], 5, 5, tf.int32, name="wrong")
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[\[node wrong"):
                session.run(wrong)


@pytest.mark.parametrize("ending", ["evicted", "closed"])
def test_a_kernel_that_runs_something_does_not_meet_who_drops_its_plan(
    reentering: Any, ending: str
) -> None:
    """One thread holds a plan and acquires the session, another the other way round."""
    entered, dropping = threading.Event(), threading.Event()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        other = tf.constant([1.0]) * 3.0
        explanation: list[str] = []

        def inner() -> None:
            entered.set()
            assert dropping.wait(10)
            threading.Event().wait(0.05)  # by now the other thread has the session's lock
            try:
                explanation.append(str(session.run(other)))
            except (RuntimeError, tf.errors.CancelledError) as error:
                explanation.append(type(error).__name__)

        y = reentering(inner)(x) + 1.0
    session: Any = tf.Session(graph=graph)
    session._backend.plans.most = 1

    def drop() -> None:
        assert entered.wait(10)
        dropping.set()
        if ending == "closed":
            session.close()
        else:
            session.run(x * 2.0, {x: [1.0]})

    with graph.as_default(), ThreadPoolExecutor(2) as pool:
        running = pool.submit(session.run, y, {x: [1.0, 2.0]})
        dropped = pool.submit(drop)
        assert running.result(10).tolist() == [2.0, 3.0]
        dropped.result(10)
    assert explanation in (["[3.]"], ["RuntimeError"], ["CancelledError"])
    session.close()
    assert sum(stats.allocator.get_stats().bytes_in_use for stats in session._backend.devices) == 0


def test_a_run_that_makes_room_keeps_its_own_plan() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/gpu:0"):
            y = tf.exp(x)
        for size in (*range(1, 10), 100_000):  # the ninth size and on: one plan, sized at run time
            session.run(y, {x: np.zeros(size)})
        (runner,) = session._backend.runners.values()  # type: ignore[attr-defined]
        cached = runner.plans.open
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(y, {x: np.zeros(250_000)})
        assert runner.plans.open is cached and not cached.plan.stale
