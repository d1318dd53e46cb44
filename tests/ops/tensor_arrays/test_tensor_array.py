"""tf.TensorArray without loops: values, gradients, names, static shapes, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

X = np.arange(1, 7, dtype=np.float32).reshape(3, 2)

NAMES = {
    "TensorArray",
    "TensorArrayUnstack/range",
    "TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3",
    "mine/size",
    "mine",
    "TensorArrayReadV3",
    "TensorArrayReadV3/index",
    "TensorArrayWrite/TensorArrayWriteV3",
    "TensorArrayWrite_1/TensorArrayWriteV3",
    "TensorArrayStack/range",
    "TensorArrayStack/TensorArrayGatherV3",
    "gradients/TensorArrayStack/TensorArrayGatherV3_grad/TensorArrayGrad/TensorArrayGradV3",
    "gradients/TensorArrayStack/TensorArrayGatherV3_grad/TensorArrayGrad/gradient_flow",
    "gradients/TensorArrayStack/TensorArrayGatherV3_grad/TensorArrayScatter/TensorArrayScatterV3",
    "gradients/TensorArrayWrite_1/TensorArrayWriteV3_grad/flow_out",
    "gradients/TensorArrayWrite_1/TensorArrayWriteV3_grad/write_barrier",
    "gradients/TensorArrayWrite_1/TensorArrayWriteV3_grad/TensorArrayReadV3",
    "gradients/TensorArrayReadV3_grad/TensorArrayWrite/TensorArrayWriteV3",
    "gradients/TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3_grad/TensorArrayGatherV3",
    "TensorArrayCloseV3",
    "Identity",
    "TensorArrayGatherV3",
    "TensorArrayConcatV3",
    "TensorArraySplit/TensorArraySplitV3",
    "all/TensorArraySizeV3",
    "all/range",
    "all/all",
}
"""Names of operations, as TensorFlow gives them."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(params=["/cpu:0", "/gpu:0"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    with tf.device(request.param):
        yield request.param


def run(fetches: Any, **feeds: Any) -> Any:
    options = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    graph = tf.get_default_graph()
    with tf.Session(config=options) as session:
        return session.run(fetches, {graph.get_tensor_by_name(f"{k}:0"): feeds[k] for k in feeds})


def open_x(dtype: Any = tf.float32) -> tf.Tensor:
    return tf.placeholder(dtype, None, name="x")


def array(size: Any = 3, dtype: Any = tf.float32, **options: Any) -> tf.TensorArray:
    return tf.TensorArray(dtype, size, **options)


def refuses(match: str) -> Any:
    return pytest.raises(tf.errors.InvalidArgumentError, match=match)


# -- values


def test_write_and_read(device: str) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    written = array().write(2, x).write(0, x + 1.0)
    result = run([written.read(0), written.read(2), written.size(), written.flow], x=[1, 2])
    assert [np.asarray(element).tolist() for element in result] == [[2, 3], [1, 2], 3, 0]


def test_stack_gather_and_concat(device: str) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    written = array(tf.shape(x)[0], clear_after_read=False).unstack(x)
    fetches = [
        written.stack(),
        written.gather([2, 0]),
        written.concat(),
        written.gather(tf.zeros([0], tf.int32)),
    ]
    for rows in (3, 5):
        value = np.arange(2.0 * rows).reshape(-1, 2)
        result = run(fetches, x=value)
        wanted = [value, value[[2, 0]], value.reshape(-1), value[:0]]
        assert [element.tolist() for element in result] == [element.tolist() for element in wanted]


def test_scatter_and_split(device: str) -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    scattered = array().scatter([2, 0, 1], x)
    parted = array(2, infer_shape=False, clear_after_read=False).split(x, [1, 2])
    result = run([scattered.stack(), parted.read(1), parted.concat()], x=X)
    wanted = [X[[1, 2, 0]], X[1:], X]
    assert [element.tolist() for element in result] == [element.tolist() for element in wanted]


def test_a_dynamic_size(device: str) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    grown = array(0, dynamic_size=True, clear_after_read=False, element_shape=[])
    assert grown.dynamic_size
    for index in range(5):
        grown = grown.write(index, x * float(index))
    assert run([grown.stack(), grown.size()], x=2)[0].tolist() == [0, 2, 4, 6, 8]
    assert run(grown.size(), x=2) == 5


def test_strings() -> None:
    names = array(2, tf.string).unstack(tf.placeholder(tf.string, [2], name="x"))
    assert run([names.read(1), names.read(0)], x=["a", "bc"]) == [b"bc", b"a"]
    words = array(2, tf.string).write(0, "d").write(1, ["e"][0])
    assert run(words.stack()).tolist() == [b"d", b"e"]


def test_elements_of_sizes_known_in_the_run() -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    some = tf.boolean_mask(x, x > 0.0)
    ragged = array(2, infer_shape=False, clear_after_read=False).write(0, some).write(1, x)
    fetches = [ragged.read(0), ragged.read(1), ragged.concat(), tf.reduce_sum(ragged.read(0))]
    for value in ([1, -2, 3, 0], [-1, -2, -3, -4], [1, 2, 3, 4]):
        kept = [element for element in value if element > 0]
        result = [np.asarray(element).tolist() for element in run(fetches, x=value)]
        assert result == [kept, value, kept + value, sum(kept)]


def test_zeros_for_what_was_not_written(device: str) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    assert run(array().write(1, x).stack(), x=[1, 2]).tolist() == [[0, 0], [1, 2], [0, 0]]
    assert run(array(element_shape=[2]).read(0)).tolist() == [0, 0]


def test_runs_share_nothing() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    total = tf.reduce_sum(array(1).write(0, x).read(0))
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(total, {x: [1, 2]}) == 3


def test_several_arrays_at_once() -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    one, other = array().unstack(x), array().unstack(x * 2.0)
    assert run(one.read(1) + other.read(1), x=X).tolist() == (3 * X[1]).tolist()


def test_memory_is_given_back() -> None:
    x = tf.placeholder(tf.float32, [100, 25], name="x")
    kept = array(100, clear_after_read=False).unstack(x)
    loss = tf.reduce_sum(kept.read(0)) + tf.reduce_sum(kept.stack())
    grad = tf.gradients(loss, x)[0]
    broken = kept.write(0, x[0]).flow
    feed = {x: np.ones((100, 25))}
    with tf.Session() as session:
        (device,) = session._backend.devices

        def run_all() -> int:
            session.run([loss, grad], feed)
            with refuses("already been written"):
                session.run(broken, feed)
            return device.allocator.get_stats().bytes_in_use

        before = run_all()  # the plans' own memory
        assert [run_all() for _ in range(3)] == [before] * 3


# -- gradients


def grads(y: Any, x: tf.Tensor, value: Any = X) -> Any:
    return run(tf.gradients(y, x)[0], x=value).tolist()


def test_gradients_of_reads_and_writes(device: str) -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    read = array(clear_after_read=False).unstack(x)
    product = read.read(0) * read.read(1) + read.read(0)
    written = array(2, clear_after_read=False).write(0, product).write(1, product * 2.0)
    wanted = [(3 * (X[1] + 1)).tolist(), (3 * X[0]).tolist(), [0, 0]]
    assert grads(written.stack(), x) == wanted
    assert grads(written.read(0) + written.read(1), x) == wanted
    assert grads(written.gather([1, 0]), x) == wanted
    assert grads(written.concat(), x) == wanted


def test_gradients_of_scatter_and_split(device: str) -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    factors = tf.constant(X * X)
    scattered = array(clear_after_read=False).scatter([2, 0, 1], x)
    assert grads(scattered.stack() * factors, x) == (X * X)[[2, 0, 1]].tolist()
    parted = array(2, infer_shape=False, clear_after_read=False).split(x, [1, 2])
    assert grads(parted.concat() * factors, x) == (X * X).tolist()
    twice = tf.reduce_sum(parted.read(1) * 2.0) + tf.reduce_sum(parted.read(1) * factors[1:])
    assert grads(twice, x) == [[0, 0], *(X * X + 2)[1:].tolist()]


def test_the_gradient_of_one_part_says_nothing_of_the_others() -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    parted = array(2, infer_shape=False, clear_after_read=False).split(x, [1, 2])
    grad = tf.gradients(parted.read(0), x, grad_ys=tf.ones([1, 2]))[0]
    result = run([grad, parted.read(1)], x=X)
    assert [element.tolist() for element in result] == [[[1, 1], [0, 0], [0, 0]], X[1:].tolist()]


def test_gradients_of_one_element_read_often(device: str) -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    read = array(clear_after_read=False).unstack(x)
    total = tf.add_n([read.read(1) * float(element) for element in range(5)])
    assert grads(total, x) == [[0, 0], [10, 10], [0, 0]]


def test_second_gradients() -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    read = array(clear_after_read=False).unstack(x)
    written = array(1).write(0, read.read(0) * read.read(0) * read.read(1))
    (first,) = tf.gradients(written.stack(), x)
    wanted = [(2 * X[1] + 2 * X[0]).tolist(), (2 * X[0]).tolist(), [0, 0]]
    assert grads(first, x) == wanted


def test_gradient_arrays() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    written = array().write(0, x)
    one = written.grad("one").write(0, x).write(0, x)
    other = written.grad("other", flow=one.flow)
    again = written.grad("one", flow=other.flow)
    assert (one.dtype, one.element_shape) == (tf.float32, (2,))
    result = run([again.read(0), other.read(0)], x=[1, 2])
    assert [element.tolist() for element in result] == [[2, 4], [0, 0]]


def test_gradients_with_a_shape_in_front() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    written = array().write(0, x)
    raw = tf.raw_ops
    handle, flow = raw.TensorArrayGradWithShape(written.handle, written.flow, [3], source="g")
    value = raw.TensorArrayReadV3(handle, 0, flow, dtype=tf.float32)
    assert run(value, x=[1, 2]).tolist() == [[0, 0]] * 3


def test_gradients_under_any_name() -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    read = array(clear_after_read=False).unstack(x)
    with tf.name_scope("gradients_of_mine"):
        result = [
            *tf.gradients(read.read(0), x, name="mine"),
            *tf.gradients(read.read(0) * 2.0, x),
            *tf.gradients(read.read(0) * 3.0, x),
        ]
    sources = [
        op.attrs["source"]
        for op in tf.get_default_graph().get_operations()
        if op.type == "TensorArrayGradV3"
    ]
    scope = "gradients_of_mine/"
    assert set(sources) == {f"{scope}mine", f"{scope}gradients", f"{scope}gradients_1"}
    assert [element[0].tolist() for element in run(result, x=X)] == [[1, 1], [2, 2], [3, 3]]


def test_what_has_no_gradient() -> None:
    numbers = array(dtype=tf.int32).unstack(tf.placeholder(tf.int32, [3]))
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    assert tf.gradients(tf.cast(numbers.read(0), tf.float32), x) == [None]
    read = array().unstack(tf.stop_gradient(x))
    assert tf.gradients(read.read(0), x) == [None]


# -- in the graph


def test_names_are_tensorflows(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    unstacked = array().unstack(x)
    written = array(2, name="mine").write(0, unstacked.read(0)).write(1, unstacked.read(1))
    tf.gradients(written.stack(), x)
    written.size(), written.close(), written.identity(), written.gather([0]), written.concat()
    array(2).split(x, tf.constant([1, 2], tf.int64))
    grown = array(2, dynamic_size=True, element_shape=[])
    grown.stack(name="all")
    missing = NAMES - {op.name for op in graph.get_operations()}
    assert not missing


def test_attrs_are_tensorflows() -> None:
    plain = array().handle.op.attrs
    assert plain["identical_element_shapes"] and plain["clear_after_read"]
    assert not plain["dynamic_size"] and plain["tensor_array_name"] == ""
    other = array(
        infer_shape=False,
        clear_after_read=False,
        dynamic_size=True,
        tensor_array_name="mine",
        element_shape=[None, 2],
    ).handle.op.attrs
    assert not other["identical_element_shapes"] and not other["clear_after_read"]
    assert other["dynamic_size"] and other["tensor_array_name"] == "mine"
    assert other["element_shape"].as_list() == [None, 2]


def test_static_shapes() -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    unknown = array()
    assert unknown.element_shape.rank is None
    assert unknown.read(0).shape.rank is None
    known = unknown.unstack(x)
    assert unknown.element_shape == known.element_shape == (2,)
    assert known.read(0).shape == (2,)
    assert known.stack().shape == (3, 2)
    assert known.concat().shape == (6,)
    assert known.gather([0, 1]).shape == (2, 2)
    assert (known.handle.shape, known.flow.shape) == ((2,), ())
    grown = array(dynamic_size=True).unstack(x)
    assert grown.stack().shape.as_list() == [None, 2]
    ragged = array(infer_shape=False).write(0, x)
    assert ragged.element_shape.rank is None
    partly = array(infer_shape=False, element_shape=[None, 2]).write(0, x)
    assert partly.read(0).shape.as_list() == [None, 2]
    assert array(2, element_shape=[None, 2]).split(x[:2], [1, 1]).element_shape == (1, 2)


def test_a_new_flow() -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    one = array().unstack(x)
    other = one._with_flow(tf.identity(one.flow))
    assert (other.handle, other.dtype, other.size()) == (one.handle, one.dtype, one.size()) or (
        other.handle is one.handle
    )
    assert other.element_shape == one.element_shape
    again = tf.TensorArray(tf.float32, handle=one.handle, flow=one.flow)
    assert again.element_shape.rank is None
    assert again.identity().handle is one.handle


def test_it_lives_where_its_first_value_is_made() -> None:
    with tf.device("/gpu:0"):
        x = tf.constant([1.0, 2.0])
        here = array(colocate_with_first_write_call=False)
    with tf.device("/cpu:0"):
        there = array().write(0, x)
        here.write(0, [1.0, 2.0])
    assert "GPU" in here.handle.device
    assert there.handle.device == ""
    assert there.flow.op.colocation_groups() == [b"loc:@Const"]
    assert run(there.read(0)).tolist() == [1, 2]


# -- errors


def test_construction_is_refused() -> None:
    one = array()
    for message, options in (
        ("`size` must be provided", {}),
        ("both a `handle` and `size`", {"handle": one.handle, "size": 3}),
        ("`element_shape`", {"handle": one.handle, "element_shape": []}),
        ("`dynamic_size`", {"handle": one.handle, "dynamic_size": True}),
        ("`clear_after_read`", {"handle": one.handle, "clear_after_read": True}),
        ("`tensor_array_name`", {"handle": one.handle, "tensor_array_name": "a"}),
        ("flow must not be None", {"handle": one.handle}),
        ("Shape must be rank 0 but is rank 1 for .*TensorArray size", {"size": [1]}),
    ):
        with pytest.raises(ValueError, match=message):
            tf.TensorArray(tf.float32, **options)
    with pytest.raises(TypeError, match="handle"):
        tf.TensorArray(tf.float32, handle=3, flow=one.flow)
    with pytest.raises(TypeError, match="dynamic_size"):
        array(dynamic_size=3)
    with pytest.raises(TypeError):
        tf.convert_to_tensor(one)


def test_shapes_that_do_not_fit_are_refused() -> None:
    for make in (
        lambda: array(element_shape=[2]).write(0, [1.0, 2.0, 3.0]),
        lambda: array().write(0, [1.0]).write(1, [1.0, 2.0]),
        lambda: array().write(0, [1.0]).unstack([[1.0, 2.0]] * 3),
        lambda: array(element_shape=[None, 3], infer_shape=False).scatter([0], np.zeros((1, 1, 2))),
        lambda: array(2, element_shape=[2]).split(np.zeros((4, 3), np.float32), [2, 2]),
    ):
        with pytest.raises(ValueError, match=r"Inconsistent shapes: saw .* but expected"):
            make()
    with pytest.raises(ValueError, match="2 indices"):
        array().scatter([0, 1], np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"Shape must be rank 0 but is rank 1 for .*index"):
        array().read([0])


def test_runs_are_refused() -> None:
    x = open_x()

    def twice() -> Any:
        written = array().write(0, x)
        with tf.control_dependencies([written.read(0)]):
            return written.identity().read(0)

    def closed() -> Any:
        written = array(dynamic_size=True).write(0, x)
        with tf.control_dependencies([written.close()]):
            return written.size()

    has_shape = {"infer_shape": False}
    for message, make in (
        ("Tried to write to index -1 but array is not resizeable and size is: 3",
         lambda: array().write(-1, x).flow),
        ("Tried to write to index 3 but", lambda: array().write(3, x).flow),
        ("Tried to read from index 3 but array size is: 3", lambda: array().write(0, x).read(3)),
        ("Tried to read from index -1", lambda: array().write(0, x).read(-1)),
        ("index 0 because it has already been written",
         lambda: array().write(0, x).write(0, x).flow),
        ("Could not read from TensorArray index 0", lambda: array().read(0)),
        ("index 0 twice because it was cleared after a previous read", twice),
        ("dtype is int32 but Op is trying to write dtype float32",
         lambda: array(dtype=tf.int32).write(0, x).flow),
        (r"value shape is \[2\] .* inferred element shape: \[1\]",
         lambda: array().write(0, x[:1]).write(1, x).flow),
        (r"Index 0 has shape: \[1\] but index 1 has shape: \[2\]",
         lambda: array(2, **has_shape).write(0, x[:1]).write(1, x).stack()),
        ("Max scatter index must be <", lambda: array(1).unstack(x).flow),
        ("Size should be >= 0", lambda: array(tf.cast(x[0] - 3.0, tf.int32)).flow),
        ("has already been closed", closed),
        ("not resizeable and size is: 1", after_grad),
    ):  # fmt: skip
        with refuses(message + r"(.|\n)*\[\[node TensorArray"):
            run(make(), x=[1, 2])
    with pytest.raises(tf.errors.UnimplementedError, match="size zero"):
        run(array(0).stack())


def after_grad() -> tf.Tensor:
    written = array(1, dynamic_size=True).write(0, 1.0)
    with tf.control_dependencies([written.grad("g").flow]):
        return written.identity().write(1, 1.0).flow


def test_errors_use_the_arrays_name() -> None:
    with refuses("TensorArray mine: Tried"):
        run(array(tensor_array_name="mine").write(7, 1.0).flow)
    with refuses("TensorArray scope/kept: Tried"):
        with tf.name_scope("scope"):
            run(array(name="kept").write(7, 1.0).flow)
