"""The native forms of all ops: they compute the results of the host kernels.

Decompositions are built, compiled (all as a few sources) and run, on variables in place; copies and
matrix products are done by NumPy on the views of the ops. `test_every_native_op` tests expressions
of elementwise ops and reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.bfloat16 import kind_of
from gpugraph.base.dtypes import as_dtype
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import Fused, Fusion, NotNativeError, Prepared, not_native, prepare
from gpugraph.kernel import Call, Decomposition, MatrixProducts, ViewCopies
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .one_op import Alone, kernels, same_bits
from .samples import TABLE
from .sampling import Sample, case

compiled = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

ULPS = 8
"""Units in the last place of a result's largest element, where a text is not exact."""

INEXACT = ("exp(", "log(", "pow(")

LEFT_OUT = {
    "ApproximateEqual": "distances of integers are compared in float64",
    "ArgMax": "it is not along the last axis of floating-point numbers",
    "ArgMin": "it is not along the last axis of floating-point numbers",
    "BiasAddGrad": "a reduction over axes",  # the channels are in the middle
    "EuclideanNorm": "a reduction over axes",
}
"""Ops without a decomposition, by op type: the start of the reason."""


def native_ops(kind: type) -> list[str]:
    return [
        op_type
        for op_type, decl in sorted(DECLARATIONS.items())
        if isinstance(decl.native, kind) and op_type in TABLE
    ]


def host_kernel(op_type: str, sample: Sample) -> Call:
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    return next(call for device, call in kernels(op_type, attrs) if device == "CPU")


def float32s(*shape: int, low: float = -2.0) -> np.ndarray:
    random = np.random.default_rng(shape)
    return random.uniform(low, 2.0, shape).astype(np.float32)


def large() -> Iterator[tuple[str, Sample]]:
    """Yield samples that fill vector registers, several parts and rows: these ops' samples are
    small.
    """
    x, number = float32s, np.float32
    labels = np.random.default_rng(1).integers(0, 1000, 70)
    for shape in [(70, 1000), (1, 40_000), (3000, 10)]:
        yield "Softmax", case(x(*shape))
        yield "LogSoftmax", case(x(*shape))
        yield "SoftmaxCrossEntropyWithLogits", case(x(*shape), x(*shape, low=0.0))
    coarse, last = np.round(x(70, 1000)), np.array(-1, np.int32)
    coarse[:30:2, ::3], coarse[1:30:2, 1::3], coarse[0] = np.nan, np.inf, np.nan
    for op_type in ("ArgMax", "ArgMin"):
        yield op_type, case(coarse, last)
        yield op_type, case(-coarse.astype(np.float64), last, output_type=tf.int32)
    yield "SparseSoftmaxCrossEntropyWithLogits", case(x(70, 1000), labels.astype(np.int32))
    yield "SparseSoftmaxCrossEntropyWithLogits", case(x(1, 1000), labels[:1])
    yield "OneHot", case(labels, np.array(1000, np.int32), number(1), number(0))
    for axis in (0, 1, 2, 3):
        coded = labels.reshape(7, 2, 5).astype(np.int8 if axis == 1 else np.int64)
        yield "OneHot", case(coded, np.array(90, np.int32), number(3), number(-2), axis=axis)
    yield "BiasAdd", case(x(8, 7, 30, 31), x(7), data_format="NCHW")
    yield "BiasAddGrad", case(x(40, 30, 33))
    yield "Select", case(labels > 500, x(70, 300), x(70, 300))
    yield "AddN", case([x(40_000), x(40_000) * 3, x(40_000) * 7], N=3)
    slots = [x(300, 200), x(300, 200), x(300, 200, low=0.0)]
    numbers = [number(item) for item in (0.9, 0.99, 0.1, 0.9, 0.99, 1e-8)]
    yield "ApplyAdam", case(*slots, *numbers, x(300, 200))
    yield "ApplyMomentum", case(*slots[:2], number(0.1), x(300, 200), number(0.9))


class Native:
    """A decomposition on a sample, as a kernel for `Alone`, once its program is compiled."""

    def __init__(self, op_type: str, sample: Sample) -> None:
        self.op_type, self.sample = op_type, sample
        self.decl = DECLARATIONS[op_type]
        self.alone = Alone(op_type, sample, Call(make=self._bind, direct=True))

    def _bind(self, context: Any, *arrays: Any) -> Callable[[], None]:
        decomposition, fusion = self.decl.native, Fusion()
        assert isinstance(decomposition, Decomposition)
        self.outputs = arrays[len(arrays) - len(context.output_shapes) :]
        self.inputs = arrays[: len(arrays) - len(self.outputs)]
        if self.decl.memory.writes:
            self.outputs = tuple(self.inputs[index] for index in sorted(self.decl.memory.writes))
        reason = not_native(*context.input_types, *context.output_types)
        if reason:
            raise NotNativeError(reason)
        values = [fusion.input(as_dtype(array.dtype), array.shape) for array in self.inputs]
        for value, array in zip(
            decomposition.build(fusion, context, values), self.outputs, strict=True
        ):
            without_ones = [size for size in fusion.shape(value) if size != 1]
            assert without_ones == [size for size in array.shape if size != 1]
            fusion.output(value)
        self.fused: Fused = fusion.finish()
        return self._run

    def prepare(self, prepared: Prepared[Any]) -> None:
        self.prepared = prepared

    def _run(self) -> None:
        function = self.prepared.get(wait=True)
        assert function is not None, self.prepared.reason
        function.bind(self.inputs, self.outputs, self.fused.sizes)()

    @property
    def ulps(self) -> int:
        texts = repr(self.fused.program)
        return ULPS if "Reduce(" in texts or any(item in texts for item in INEXACT) else 0


def samples() -> Iterator[tuple[str, Sample]]:
    for op_type in native_ops(Decomposition):
        yield from ((op_type, sample) for sample in TABLE[op_type].samples)
    yield from large()


@pytest.fixture(scope="module")
def decompositions() -> list[Native]:
    """Return all that can be built, compiled in one go."""
    output = []
    for op_type, sample in samples():
        try:
            output.append(Native(op_type, sample))
        except (NotNativeError, NotImplementedError):
            continue
    for element, prepared in zip(output, prepare([item.fused.program for item in output])):
        element.prepare(prepared)
    return output


def differs(result: np.ndarray, wanted: np.ndarray, ulps: int) -> str:
    """Where they differ, or nothing."""
    if kind_of(wanted.dtype) != "f" or not ulps or not wanted.size:
        return "" if same_bits(result, wanted) else f"{result} instead of {wanted}"
    size = np.spacing(np.abs(wanted).max()).astype(np.longdouble)
    good = np.abs(result.astype(np.longdouble) - wanted) <= ulps * size
    return "" if good.all() else f"{result[~good][:4]} instead of {wanted[~good][:4]}, by {size}"


@compiled
def test_recipes_compute_what_the_host_does(decompositions: list[Native]) -> None:
    failures = []
    assert {decomposition.op_type for decomposition in decompositions} == set(
        native_ops(Decomposition)
    )
    for decomposition in decompositions:
        wanted = Alone(
            decomposition.op_type,
            decomposition.sample,
            host_kernel(decomposition.op_type, decomposition.sample),
        )()
        for slot, (one, other) in enumerate(zip(decomposition.alone(), wanted, strict=True)):
            message = differs(one, other, decomposition.ulps)
            if message:
                label = f"{decomposition.op_type} of {decomposition.sample.label}"
                failures.append(f"{label}: output {slot} is {message}"[:600])
    assert not failures, "\n".join(["", *failures])


def test_recipes_leave_out_what_is_listed_and_other_dtypes() -> None:
    met = set()
    for op_type, sample in samples():
        try:
            Native(op_type, sample)
        except (NotNativeError, NotImplementedError) as error:
            if not not_native(*(as_dtype(array.dtype) for array in sample.flat)):
                met.add(op_type)
                assert str(error).startswith(LEFT_OUT[op_type]), f"{op_type}: {error}"
    assert met == set(LEFT_OUT)


@compiled
def test_a_label_outside_of_its_range_is_an_error() -> None:
    labels = np.array([0, 4, 5], np.int32)
    native = Native("SparseSoftmaxCrossEntropyWithLogits", case(float32s(3, 5), labels))
    [prepared] = prepare([native.fused.program])
    native.prepare(prepared)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value .* outside .* \[0, 5\)"):
        native.alone()
    native.alone.inputs[1][:] = [0, 4, 3]
    native.alone()
    assert np.isfinite(native.alone.outputs[0]).all()


# -- copies and products


def copies(op_type: str) -> Call:
    """Return a host kernel that copies an op's `ViewCopies`, and checks them."""
    moves = DECLARATIONS[op_type].native
    assert isinstance(moves, ViewCopies)

    def bind(context: Any, *arrays: Any) -> Callable[[], None]:
        pairs = moves.views(context, *arrays)
        outputs = arrays[len(arrays) - len(context.output_shapes) :]
        for source, target in pairs:
            assert source.dtype == target.dtype
            assert any(_is_view(target, output) for output in outputs)
            assert source.ndim == 0 or any(_is_view(source, array) for array in arrays)

        def run() -> None:
            for source, target in pairs:
                target[...] = source

        return run

    return Call(make=bind)


def _is_view(array: np.ndarray, whole: np.ndarray) -> bool:
    return not array.size or np.shares_memory(array, whole)


@pytest.mark.parametrize("op_type", native_ops(ViewCopies))
def test_moves_copy_what_the_host_does(op_type: str) -> None:
    for sample in TABLE[op_type].samples:
        wanted = Alone(op_type, sample, host_kernel(op_type, sample))()
        for one, other in zip(Alone(op_type, sample, copies(op_type))(), wanted, strict=True):
            assert same_bits(one, other), f"{op_type} of {sample.label}: {one}, not {other}"


def multiplied(op_type: str) -> Call:
    products = DECLARATIONS[op_type].native
    assert isinstance(products, MatrixProducts)

    def bind(context: Any, *arrays: Any) -> Callable[[], None]:
        triples = products.matrices(context, *arrays)
        for a, b, out in triples:
            assert a.shape[:-2] == b.shape[:-2] == out.shape[:-2]

        def run() -> None:
            for a, b, out in triples:
                np.matmul(a, b, out)

        return run

    return Call(make=bind)


@pytest.mark.parametrize("op_type", native_ops(MatrixProducts))
def test_products_are_those_of_the_host(op_type: str) -> None:
    for sample in TABLE[op_type].samples:
        wanted = Alone(op_type, sample, host_kernel(op_type, sample))()
        try:
            result = Alone(op_type, sample, multiplied(op_type))()
        except NotImplementedError:
            assert sample.flat[0].dtype.kind == "c" or op_type == "Einsum"
            continue
        for one, other in zip(result, wanted, strict=True):
            label = f"{op_type} of {sample.label}"
            np.testing.assert_allclose(
                one, other, 1e-3 if one.dtype == np.float16 else 1e-6, err_msg=label
            )


def test_ops_have_declared_what_native_code_needs() -> None:
    assert {"MatMul", "BatchMatMulV2"} <= set(native_ops(MatrixProducts))
    assert {"Transpose", "ConcatV2", "Slice", "Reshape", "Pad", "Split"} <= set(
        native_ops(ViewCopies)
    )
    assert len(native_ops(Decomposition)) >= 20
