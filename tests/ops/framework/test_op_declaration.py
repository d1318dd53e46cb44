"""Declaring ops: errors of the registry, and ops and kernels from other packages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.inference_context import InferContext, Misfit
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.kernel import Call, Elementwise
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.ops.framework.kernel_registry import (
    HostOnly,
    find_kernel,
    kernel_device_types,
    register_kernel,
)
from gpugraph.ops.framework.op_declaration import (
    DECLARATIONS,
    NO_GRADIENT,
    Attr,
    raw_ops,
    register_op,
)
from gpugraph.ops.framework.shape_functions import same_shape

REFUSED = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def _registries_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove a test's declarations after it."""
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    before = [dict(DECLARATIONS), dict(OP_DEFS)]
    registered = {key: list(entries) for key, entries in kernels._KERNELS.items()}
    yield
    for registry, content in zip((DECLARATIONS, OP_DEFS), before, strict=True):
        registry.clear()
        registry.update(content)
    kernels._KERNELS.clear()
    kernels._KERNELS.update(registered)


def cube(x: Any, out: Any) -> None:
    np.multiply(x, x, out=out)
    np.multiply(out, x, out=out)


def cube_gradient(op: Any, dy: Any) -> Any:
    return dy * 3.0 * tf.square(op.inputs[0])


WHOLE: dict[str, Any] = {
    "inputs": "x: T",
    "outputs": "y: T",
    "attrs": {"T": (tf.float32, tf.float64)},
    "infer": same_shape(0),
    "cpu": Call(cube),
    "elementwise": "x * x * x",
    "grad": cube_gradient,
    "doc": "x to the third.",
}
"""A complete declaration."""


def refused(name: str = "MyCube", **changes: Any) -> str:
    """Why a declaration with these changes is refused; it must leave nothing behind."""
    with pytest.raises(REFUSED) as caught:
        register_op(name, **{**WHOLE, **changes})
    assert name not in DECLARATIONS
    assert name not in OP_DEFS
    assert not kernel_device_types(name)
    assert f"'{name}'" in caught.value.message
    return caught.value.message


# -- errors


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"infer": None}, "no shape inference"),
        ({"cpu": None}, "CPU kernel is not a Call"),
        ({"cpu": np.square}, "CPU kernel is not a Call"),
        ({"elementwise": None}, "no GPU kernel: give one, or HostOnly"),
        ({"elementwise": None, "gpu": np.square}, "GPU kernel is not a kernel"),
        ({"gpu": Call(cube)}, "no other kernel"),
        ({"cpu": HostOnly("none")}, "goes with a CPU Call"),
        ({"grad": None}, "no gradient; declare NO_GRADIENT"),
        ({"doc": ""}, "no doc"),
        ({"doc": " "}, "no doc"),
    ],
)
def test_an_incomplete_op(changes: dict[str, Any], why: str) -> None:
    assert why in refused(**changes)


@pytest.mark.parametrize("missing", ["infer", "cpu", "grad"])
def test_an_op_without_a_word_of(missing: str) -> None:
    rest = {key: value for key, value in WHOLE.items() if key != missing}
    with pytest.raises(TypeError, match=missing):
        register_op("MyCube", **rest)
    assert "MyCube" not in DECLARATIONS


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"inputs": "x"}, "'x' is no 'name: type'"),
        ({"inputs": "x: 2 T"}, "no 'name: type'"),
        ({"outputs": ": T"}, "no 'name: type'"),
        ({"inputs": "x: Q"}, "'Q' in 'x: Q' is no attr and no dtype"),
        ({"outputs": "y: float31"}, "'float31' in 'y: float31'"),
        ({"inputs": "x: T, x: T"}, "'x' names two of its inputs and attrs"),
        ({"inputs": "T: T"}, "'T' names two of its inputs and attrs"),
        ({"alias": {0: 1}}, "can't share memory with input 1"),
        ({"alias": {1: 0}}, "output 1 can't share memory"),
        ({"view": {0: -1}}, "can't share memory with input -1"),
        ({"writes": [0]}, "writes input 0, which is not a Ref"),
        ({"writes": [1]}, "there is no input 1"),
        ({"host": [1]}, "there is no input 1"),
        ({"host_outputs": [1]}, "there is no output 1"),
    ],
)
def test_a_bad_specification(changes: dict[str, Any], why: str) -> None:
    assert why in refused(**changes)


def test_a_second_op_of_a_type() -> None:
    register_op("MyCube", **WHOLE)
    for name in ("MyCube", "Relu", "Const"):
        first = DECLARATIONS[name]
        with pytest.raises(tf.errors.AlreadyExistsError, match=name):
            register_op(name, **WHOLE)
        assert DECLARATIONS[name] is first


def test_a_second_kernel_of_one_priority() -> None:
    register_op("MyCube", **WHOLE)
    with pytest.raises(tf.errors.AlreadyExistsError, match="give yours a higher one"):
        register_kernel("MyCube", "CPU", Call(cube))
    register_kernel("MyCube", "CPU", Call(cube), types={"T": [tf.float32]})
    with pytest.raises(tf.errors.AlreadyExistsError):
        register_kernel("MyCube", "CPU", Call(cube), types={"T": [tf.float32]})
    for arguments in (("", "CPU"), ("MyCube", "")):
        with pytest.raises(REFUSED):
            register_kernel(*arguments, Call(cube))


# -- the fields of a declaration


def test_signature_and_attrs() -> None:
    output = register_op(
        "MyMix",
        inputs=["parts: N * T", "where: int32", "memory: Ref(T)"],
        outputs="out: N * T, count: int64",
        attrs={
            "T": (tf.float32, tf.int32),
            "axis": Attr("int", 3),
            "mode": Attr("string", required=True),
            "kind": tf.float16,
        },
        infer=same_shape(0),
        cpu=Call(cube),
        gpu=HostOnly("it is only a signature"),
        grad=NO_GRADIENT,
        doc="Signs.",
        host=[1],
        stateful=True,
    )
    op_def = output.op_def
    parts, where, memory = op_def.inputs
    assert (parts.number_attr, parts.type_attr, parts.is_list) == ("N", "T", True)
    assert (where.type, where.is_list) == (tf.int32, False)
    assert memory.is_ref and not parts.is_ref
    assert op_def.attrs["N"].kind == "int"
    assert (op_def.attrs["axis"].default, op_def.attrs["axis"].has_default) == (3, True)
    assert not op_def.attrs["mode"].has_default
    assert (op_def.attrs["kind"].kind, op_def.attrs["kind"].default) == ("type", tf.float16)
    assert op_def.attrs["T"].allowed == (tf.float32, tf.int32)
    assert op_def.host_inputs == {1}
    assert op_def.is_stateful
    assert output.__name__ == "my_mix"
    assert "Signs." in output.__doc__
    assert raw_ops.MyMix is output
    assert "MyMix" in dir(raw_ops)


def test_an_op_type_that_nobody_declares() -> None:
    with pytest.raises(AttributeError, match="No op type 'MyCube' is declared"):
        _ = raw_ops.MyCube


def test_arguments_are_checked() -> None:
    my_cube = register_op("MyCube", **WHOLE)
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="int32 not in list of allowed values"):
            my_cube(tf.constant(1))
        with pytest.raises(TypeError, match="needs"):
            my_cube()
        with pytest.raises(TypeError, match="has no argument 'axis'"):
            my_cube(1.0, axis=1)
        output = my_cube([1.0, 2.0], name="mine")
        assert (output.op.name, output.op.type, output.shape.as_list()) == ("mine", "MyCube", [2])


# -- ops and kernels from outside, in a session


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_an_op_from_outside_trains(device: str) -> None:
    """x ** 3 = 8 by gradient descent, through the gradient that came with the op."""
    my_cube = register_op("MyCube", **WHOLE)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device(device):
            x = tf.Variable([1.0, 2.5])
            loss = tf.reduce_sum(tf.square(my_cube(x) - 8.0))
            step = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(200)]
        assert losses[0] > 100 > 1e-6 > losses[-1]
        np.testing.assert_allclose(session.run(x), [2.0, 2.0], rtol=1e-5)
        where = session.explain(loss)
        assert "MyCube" in str(where)


def test_an_op_without_gradient_trains_nothing() -> None:
    my_cube = register_op("MyCube", **{**WHOLE, "grad": NO_GRADIENT})
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        assert tf.gradients(my_cube(x), x) == [None]


def test_a_host_only_op_says_why_on_a_gpu() -> None:
    outside = {**WHOLE, "elementwise": None, "gpu": HostOnly("it asks the user")}
    my_ask = register_op("MyAsk", **outside)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [2])
        anywhere = my_ask(x)
        with tf.device("/gpu:0"):
            there = my_ask(x)
        np.testing.assert_array_equal(session.run(anywhere, {x: [2, 3]}), [8, 27])
        with pytest.raises(REFUSED, match="it asks the user"):
            session.run(there, {x: [2, 3]})
        register_kernel("MyAsk", "GPU", Call(cube), priority=1)
        np.testing.assert_array_equal(session.run(there, {x: [2, 3]}), [8, 27])


def test_the_kernel_of_highest_priority_that_takes_the_dtype_runs() -> None:
    register_op("MyCube", **WHOLE)

    def constant(value: float) -> Call:
        return Call(lambda x, out: out.fill(value))

    register_kernel("MyCube", "CPU", constant(1.0), priority=1)
    register_kernel("MyCube", "CPU", constant(2.0), types={"T": [tf.float64]}, priority=2)
    register_kernel("MyCube", "CPU", constant(3.0), priority=-1)
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype, wanted in ((tf.float32, 1.0), (tf.float64, 2.0)):
            x = tf.placeholder(dtype, [])
            assert session.run(raw_ops.MyCube(x), {x: 5}) == wanted
    assert find_kernel("MyCube", "TPU", {}) is None
    assert kernel_device_types("MyCube") == ["CPU", "GPU"]


def test_a_kernel_that_is_text_runs_by_its_call_on_a_virtual_gpu() -> None:
    register_op("MyCube", **{**WHOLE, "elementwise": None, "gpu": HostOnly("not yet")})
    register_kernel("MyCube", "GPU", Elementwise("x * x * x", Call(cube)), priority=1)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            y = raw_ops.MyCube(x)
        np.testing.assert_array_equal(session.run(y, {x: [2, -3]}), [8, -27])


def test_a_kernel_made_at_binding_may_keep_state() -> None:
    """`make` runs once per plan; `context.state` is the node's own and outlives plans."""
    bound = []

    def make(context: Any, x: Any, out: Any) -> Any:
        bound.append(context.input_shapes[0])
        count = context.state(lambda: np.zeros((), np.float32))

        def run() -> None:
            count[...] += 1
            np.add(x, count, out=out)

        return run

    changes = {"cpu": Call(make=make), "elementwise": None, "gpu": HostOnly("it counts")}
    register_op("MyCount", **{**WHOLE, **changes}, stateful=True)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = raw_ops.MyCount(x)
        answers = [session.run(y, {x: value}) for value in ([0.0], [0.0], [0.0, 5.0], [0.0])]
    assert [answer.tolist() for answer in answers] == [[1.0], [2.0], [3.0, 8.0], [4.0]]
    assert bound == [(1,), (2,)]


def test_partial_makes_a_family() -> None:
    """One description, several ops, as families in `gpugraph.ops` have them."""
    declare = partial(register_op, **{**WHOLE, "grad": NO_GRADIENT})
    names = ["MyCubeA", "MyCubeB"]
    for name in names:
        declare(name)
    assert set(names) <= set(DECLARATIONS)


def test_inference_may_refuse_in_a_run_what_it_accepts_before() -> None:
    def infer(context: InferContext) -> Any:
        raise Misfit(
            "one depth", "exactly one depth", [context.shapes[0]], tf.errors.UnimplementedError
        )

    refusing = register_op("MyCube", **{**WHOLE, "infer": infer})
    with tf.Graph().as_default(), tf.Session() as session:
        y = refusing(tf.placeholder_with_default(tf.ones([2]), [2]), name="late")
        assert y.shape == [2]
        with pytest.raises(
            tf.errors.UnimplementedError, match=r"^exactly one depth\n\t \[\[node late "
        ):
            session.run(y)
