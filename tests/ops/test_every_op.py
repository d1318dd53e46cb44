"""The walk over the registry: every declared op is checked against its declaration on all samples.

One test per guarantee, each over all op types; a failure names the op type and the sample. A new
op needs samples in `samples.py`, and then all of these tests apply to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base import dtypes
from gpugraph.base.bfloat16 import BFLOAT16, finfo
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.op_inference import output_types
from gpugraph.kernel import Call, Elementwise, Reduction, Sized, Source
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from .one_op import Alone, Built, args_by_slot, gpu_refusal, infer, kernels, run_together, same_bits
from .samples import RANDOM, TABLE, UNSAMPLED
from .samples_of_ctc import SPOKEN
from .samples_of_factors import UNSLOPED
from .samples_of_images import IN_SINGLE as IMAGES
from .samples_of_recurrence import GATED
from .samples_of_sets import QUANTIZED
from .sampling import GROUPS, Sample

ALL_OPS = sorted(DECLARATIONS)
EVERY = [op_type for op_type in ALL_OPS if op_type in TABLE]
every_op = pytest.mark.parametrize("op_type", EVERY)

ERROR = 16
"""Units in the last place (of the narrowest dtype) that results may be off."""


@pytest.fixture(autouse=True)
def _verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")


NEVER_EMPTY = {"ConcatOffset", "CountUpTo", "DecodeBmp", "DecodeImage", "DecodePng", "LinSpace"}
NEVER_EMPTY |= {"DataFormatVecPermute"}
"""Ops that have neither inputs nor outputs without elements."""


REFUSED = {"Cast": {dtypes.string}}
"""Dtypes that an op's signature takes, and each run refuses."""


def failures(op_type: str, check: Callable[[Sample], None], samples: list[Sample]) -> list[str]:
    """Run `check` on each sample, and return the messages for those that fail."""
    result = []
    for sample in samples:
        try:
            check(sample)
        except Exception as error:
            message = " ".join(str(error).split()) or type(error).__name__
            result.append(f"{op_type} of {sample.label}: {type(error).__name__}: {message[:600]}")
    return result


def walk(op_type: str, check: Callable[[Sample], None], samples: Any = None) -> None:
    """Run `check` on each sample, and fail with the messages of all samples that failed it."""
    faults = failures(op_type, check, TABLE[op_type].samples if samples is None else samples)
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def walk_together(check: Callable[[str, list[Sample]], None], op_type: str, samples: Any) -> None:
    """Pass all samples to `check`, which puts them into one plan; if that fails, one at a time.

    Exhaustively, each sample has a separate plan: see `test_each_sample_in_a_plan_of_its_own`.
    """
    try:
        check(op_type, samples)
    except Exception:
        walk(op_type, lambda sample: check(op_type, [sample]), samples)
        raise  # only together do they fail


def cpu_kernel(op_type: str, sample: Sample) -> Call:
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    return next(call for device, call in kernels(op_type, attrs) if device == "CPU")


def alone(op_type: str, sample: Sample, **how: Any) -> list[np.ndarray]:
    return Alone(op_type, sample, cpu_kernel(op_type, sample), **how)()


@contextmanager
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default():
        options = tf.GPUOptions(virtual_gpus=1)
        with tf.Session(config=tf.ConfigProto(gpu_options=options)) as output:
            yield output


# -- there are samples, and the op is documented


@pytest.mark.parametrize("op_type", ALL_OPS)
def test_op_has_samples(op_type: str) -> None:
    """In each kind of dtype that a type attr of its inputs may be, and of nothing."""
    if op_type in UNSAMPLED:
        assert op_type not in TABLE, f"{op_type} has samples: take it out of UNSAMPLED"
        return
    assert op_type in TABLE, f"{op_type} has no sample: give it a sample in tests/ops/samples.py"
    decl, samples = DECLARATIONS[op_type], TABLE[op_type].samples
    for arg in decl.op_def.inputs:
        if not arg.type_attr or arg.type_list_attr:
            continue
        allowed = decl.op_def.attrs[arg.type_attr].allowed
        met = {sample.all_attrs(decl.op_def)[arg.type_attr] for sample in samples}
        for kind, group in GROUPS.items():
            wanted = set(group) & set(allowed)
            wanted -= REFUSED.get(op_type, set())
            assert not wanted or met & wanted, f"{op_type} has no {kind} sample of '{arg.name}'"
    if decl.op_def.inputs and op_type not in NEVER_EMPTY:
        results = [result for sample in samples for result in alone(op_type, sample)]
        arrays = [array for sample in samples for array in sample.flat] + results
        assert any(array.size == 0 for array in arrays), f"{op_type} has no empty sample"


def test_ops_without_samples_are_declared() -> None:
    assert set(UNSAMPLED) <= set(DECLARATIONS), "UNSAMPLED names ops that nobody declares"
    assert all(UNSAMPLED.values())
    assert set(TABLE) <= set(DECLARATIONS)


@pytest.mark.parametrize("op_type", ALL_OPS)
def test_op_is_described_and_has_kernels(op_type: str) -> None:
    decl = DECLARATIONS[op_type]
    assert decl.op_def.summary.strip(), f"{op_type} has no doc"
    assert decl.op_def.summary in decl.function.__doc__
    samples = TABLE[op_type].samples if op_type in TABLE else []
    for attrs in [sample.all_attrs(decl.op_def) for sample in samples] or [{}]:
        for device in ("CPU", "GPU"):
            entry = find_kernel(op_type, device, attrs)
            assert entry is not None, f"{op_type} has no {device} kernel for {attrs}"
            kernel = entry.kernel
            message = {
                HostOnly: lambda k: [k.reason],
                Call: lambda k: [k.function or k.make],
                Elementwise: lambda k: [k.expression, k.host],
                Reduction: lambda k: [k.start, k.combine, k.map, k.finish, k.host],
                Source: lambda k: [k.file, k.launches, k.host],
                Sized: lambda k: [k.file, k.measure, k.shapes, k.fill, k.host, k.types],
            }[type(kernel)](kernel)
            assert all(message), f"{op_type}: an empty {type(kernel).__name__} for {device}"


# -- shape inference


def partly_known(sample: Sample) -> Iterator[tuple[list[TensorShape], Callable[[int], Any]]]:
    """Yield partial information of the inputs: each and all without rank, sizes, a size, or
    value.
    """
    arrays = sample.flat
    whole = [TensorShape.of(array.shape) for array in arrays]
    sizeless = [TensorShape.of((None,) * array.ndim) for array in arrays]
    rankless = [TensorShape.of(None)] * len(arrays)

    def values(hidden: set[int]) -> Callable[[int], Any]:
        return lambda index: None if index in hidden else arrays[index]

    every = set(range(len(arrays)))
    yield whole, values(every)
    yield sizeless, values(every)
    yield rankless, values(every)
    for index, array in enumerate(arrays):
        holes = [
            TensorShape.of(
                tuple(None if position == axis else n for position, n in enumerate(array.shape))
            )
            for axis in range(array.ndim)
        ]
        for seen in (sizeless[index], rankless[index], *holes):
            shapes = [*whole[:index], seen, *whole[index + 1 :]]
            yield shapes, values({index})
            yield shapes, values(every)
            others = [
                seen if position == index else rankless[position] for position in range(len(arrays))
            ]
            yield others, values(every)
        yield whole, values({index})
        alone_known = [
            whole[position] if position == index else rankless[position]
            for position in range(len(arrays))
        ]
        yield alone_known, values(every - {index})


@every_op
def test_inference_is_exact_of_known_shapes(op_type: str) -> None:
    def check(sample: Sample) -> None:
        kernel = cpu_kernel(op_type, sample)
        outcome, inferred = Alone(op_type, sample, kernel), infer(op_type, sample)
        outcome()
        results = alone(op_type, sample) if kernel.dynamic else outcome.outputs
        assert len(inferred) == len(results)
        for shape, result in zip(inferred, results, strict=True):
            message, is_exact = str(shape), shape == result.shape
            if kernel.dynamic:
                is_exact = shape.is_compatible_with(result.shape)
            assert is_exact, f"inference says {message}, but {result.shape} came out"

    walk(op_type, check)


@every_op
def test_inference_of_what_is_unknown_is_never_wrong(op_type: str) -> None:
    def check(sample: Sample) -> None:
        exact = [TensorShape.of(shape.sizes) for shape in infer(op_type, sample)]
        if cpu_kernel(op_type, sample).dynamic:
            exact = [TensorShape.of(result.shape) for result in alone(op_type, sample)]
        for shapes, value in partly_known(sample):
            known = [value(index) is not None for index in range(len(shapes))]
            inferred = infer(op_type, sample, shapes, value)
            assert len(inferred) == len(exact)
            for shape, wanted in zip(inferred, exact, strict=True):
                assert shape.is_compatible_with(wanted), (
                    f"of {[str(shape) for shape in shapes]}, values known: {known}, inference says "
                    f"{shape}, but it is {wanted}"
                )

    walk(op_type, check)


# -- the kernel by itself


@every_op
def test_kernel_writes_all_its_outputs_and_no_input(op_type: str) -> None:
    """Inputs are read-only and compared; outputs start as two kinds of garbage (one is NaN)."""

    def check(sample: Sample) -> None:
        decl = DECLARATIONS[op_type]
        attrs = sample.all_attrs(decl.op_def)
        for device, kernel in kernels(op_type, attrs):
            result, again = (Alone(op_type, sample, kernel, garbage) for garbage in (0x5A, 0xFF))
            results, others = result(), again()
            for slot, (one, other) in enumerate(zip(results, others, strict=True)):
                assert same_bits(one, other), f"the {device} kernel left parts of output {slot}"
            for slot, (value, array) in enumerate(zip(sample.flat, result.inputs, strict=True)):
                if slot not in decl.memory.writes:
                    assert same_bits(value, array), f"the {device} kernel wrote input {slot}"
            if op_type in RANDOM or decl.memory.writes:
                continue
            for slot, (one, two) in enumerate(zip(results, again(), strict=True)):
                assert same_bits(one, two), f"a second run gives another output {slot}"

    walk(op_type, check)


@every_op
def test_dtypes_are_those_of_the_signature(op_type: str) -> None:
    def check(sample: Sample) -> None:
        decl = DECLARATIONS[op_type]
        types = output_types(decl.op_def, sample.all_attrs(decl.op_def))
        if decl.memory.writes:
            types = [tf.as_dtype(sample.flat[slot].dtype) for slot in sorted(decl.memory.writes)]
        results = [tf.as_dtype(result.dtype) for result in alone(op_type, sample)]
        assert results == [dtype.base_dtype for dtype in types], f"{results} instead of {types}"

    walk(op_type, check)


def is_inexact(array: np.ndarray) -> bool:
    return array.dtype.kind in "fc" or array.dtype == BFLOAT16


def allowed_error(sample: Sample, results: list[np.ndarray]) -> float:
    arrays = [array for array in (*sample.flat, *results) if is_inexact(array)]
    return ERROR * max((float(finfo(array.dtype).eps) for array in arrays), default=0.0)


def compare(result: list[np.ndarray], wanted: list[Any], error: float) -> None:
    assert len(result) == len(wanted), f"{len(result)} results instead of {len(wanted)}"
    for slot, (one, other) in enumerate(zip(result, wanted, strict=True)):
        other = np.asarray(other)
        assert one.shape == other.shape, f"output {slot}: {one.shape} instead of {other.shape}"
        if not is_inexact(one):
            assert one.tolist() == other.tolist(), f"output {slot}: {one} instead of {other}"
            continue
        if one.dtype == BFLOAT16:
            one = one.astype(np.float64)
        np.testing.assert_allclose(one, other, error, error, err_msg=f"output {slot}")


@every_op
def test_narrow_types_agree_with_double_precision(op_type: str) -> None:
    def check(sample: Sample) -> None:
        wide = sample.widened()
        if wide is None or op_type in RANDOM or TABLE[op_type].exact:
            return
        attrs = wide.all_attrs(DECLARATIONS[op_type].op_def)
        for key, attr in DECLARATIONS[op_type].op_def.attrs.items():
            if attr.allowed and attrs.get(key) not in attr.allowed:
                return  # InTopK takes float32 only
        if any(arg.type is tf.float32 for arg in DECLARATIONS[op_type].op_def.inputs):
            return
        result = alone(op_type, sample)
        error = allowed_error(sample, result) * TABLE[op_type].tolerance
        compare(result, [*alone(op_type, wide)], error)

    walk(op_type, check)


@every_op
def test_results_are_numpys(op_type: str) -> None:
    entry = TABLE[op_type]
    if entry.reference is None:
        assert op_type in RANDOM, f"{op_type} has no reference in tests/ops/samples.py"
        return

    def check(sample: Sample) -> None:
        wide = sample if entry.exact else sample.widened() or sample
        assert entry.reference is not None
        with np.errstate(all="ignore"):
            wanted = entry.reference(*wide.inputs, **sample.attrs)
        result = alone(op_type, sample)
        error = allowed_error(sample, result) * entry.tolerance
        compare(result, list(wanted) if isinstance(wanted, (list, tuple)) else [wanted], error)

    walk(op_type, check)


ALIASED = [op_type for op_type in EVERY if DECLARATIONS[op_type].memory.alias]


@pytest.mark.parametrize("op_type", ALIASED)
def test_output_may_take_an_inputs_memory(op_type: str) -> None:
    """As the memory pass gives it: the declared input's, or any one's where all are alike.

    Broadcast operands, attrs and bool conditions included; that inputs may be one and the same
    is in `test_arithmetic`.
    """
    decl = DECLARATIONS[op_type]

    def check(sample: Sample) -> None:
        wanted, arrays = alone(op_type, sample), sample.flat
        args = args_by_slot(decl, sample)
        alike = len({arg.type_attr for arg in args}) == 1
        for index in range(len(arrays)) if alike else [decl.memory.alias[0]]:
            fits = arrays[index].shape == wanted[0].shape
            if not fits or arrays[index].dtype.itemsize != wanted[0].dtype.itemsize:
                continue
            if object in (arrays[index].dtype, wanted[0].dtype):
                continue  # strings have no memory to share
            for device, kernel in kernels(op_type, sample.all_attrs(decl.op_def)):
                result = Alone(op_type, sample, kernel, over=index)()[0]
                assert same_bits(result, wanted[0]), f"{device} over input {index}: {result}"

    walk(op_type, check)


# -- in a session


def agree(op_type: str, samples: list[Sample], devices: list[str], opened: str = "") -> None:
    """Each sample on its device, all in one plan, gives the bits of the kernel by itself."""
    if not samples:
        return
    with session() as running:
        pairs = list(zip(samples, devices, strict=True))
        results = run_together(running, [Built(op_type, *pair, opened) for pair in pairs])
    for (sample, device), result in zip(pairs, results, strict=True):
        wanted = alone(op_type, sample)
        assert len(result) == len(wanted)
        for slot, (one, other) in enumerate(zip(result, wanted, strict=True)):
            assert same_bits(one, other), (
                f"on {device} output {slot} is {one!r}, but {other!r} by the kernel alone"
            )


def agree_on_cpu_and_gpu(op_type: str, samples: list[Sample]) -> None:
    on_gpu = [sample for sample in samples if not gpu_refusal(op_type, sample)]
    devices = ["/cpu:0"] * len(samples) + ["/gpu:0"] * len(on_gpu)
    agree(op_type, samples + on_gpu, devices)


@every_op
def test_session_gives_the_kernels_bits_on_cpu_and_gpu(op_type: str) -> None:
    walk_together(agree_on_cpu_and_gpu, op_type, TABLE[op_type].samples)


@every_op
def test_gpu_is_refused_with_the_declared_reason(op_type: str) -> None:
    refused = {gpu_refusal(op_type, item): item for item in TABLE[op_type].samples}
    refused.pop("", None)
    with session() as running:

        def check(sample: Sample) -> None:
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                Built(op_type, sample, "/gpu:0", opened="rank")(running)  # so nothing is folded
            reason = gpu_refusal(op_type, sample)
            assert reason in caught.value.message, f"not '{reason}': {caught.value.message}"

        walk(op_type, check, refused.values())


def agree_opened(op_type: str, samples: list[Sample], opened: str) -> None:
    devices = ["/cpu:0" if gpu_refusal(op_type, item) else "/gpu:0" for item in samples]
    agree(op_type, samples, devices, opened)


OPENED = [partial(agree_opened, opened=opened) for opened in ("sizes", "rank")]


@every_op
@pytest.mark.parametrize("check", OPENED, ids=["sizes", "rank"])
def test_session_that_leaves_shapes_open_gives_the_same(op_type: str, check: Any) -> None:
    walk_together(check, op_type, TABLE[op_type].samples)


# -- gradients

STEP = 1e-5
IN_SINGLE = {*IMAGES, *QUANTIZED, *UNSLOPED}
"""Ops of float32 alone, or that round: tests of their own hold their gradients."""
NOTHING_FLOWS = {"StopGradient"}
"""Ops that depend on their input and by their meaning have no gradient."""
STOPPED = {
    **dict.fromkeys(
        (("PadV2", 2), ("MatrixDiagV2", 4), ("MatrixDiagPartV2", 2)),
        "TensorFlow gives the scalar to pad with no gradient",
    ),
    **dict.fromkeys(
        [(f"FusedBatchNorm{version}", slot) for version in ("", "V2", "V3") for slot in (3, 4)],
        "TensorFlow gives the mean and variance to normalize by no gradient",
    ),
    ("Zeta", 0): "TensorFlow has no derivative by the power",
    ("Polygamma", 0): "it is a whole number",
    ("Betainc", 0): "TensorFlow has no derivative by the parameters",
    ("Betainc", 1): "TensorFlow has no derivative by the parameters",
}
"""Inputs on which an op depends and that have no gradient all the same."""
ZERO_IF_COMPLEX = {"Sign"}
"""Ops whose gradient is zero by decree where they depend on the angle of complex numbers."""
ONCE = {"BatchNormWithGlobalNormalization", "Dilation2D"}
"""Ops whose gradient has none itself."""
REFUSES = {
    "BatchNormWithGlobalNormalizationGrad",
    "Dilation2DBackpropFilter",
    "Dilation2DBackpropInput",
    "IgammaGradA",
    "PreventGradient",
    "RandomGammaGrad",
}
"""Ops for which asking for a gradient is an error."""
REFUSES_TWICE = {"Igamma", "Igammac"}
"""Ops for which asking for a second gradient is an error."""


def differentiable(op_type: str, sample: Sample) -> list[int]:
    """Return the inputs to differentiate by, in double precision; of none where there is nothing to
    do.
    """
    args = args_by_slot(DECLARATIONS[op_type], sample)
    host = {
        DECLARATIONS[op_type].op_def.inputs[index]
        for index in DECLARATIONS[op_type].op_def.host_inputs
    }
    return [
        slot
        for slot, (arg, array) in enumerate(zip(args, sample.flat, strict=True))
        if array.dtype.char in "dD" and arg not in host and not arg.is_ref
    ]


def precise_samples(op_type: str) -> list[Sample]:
    """Samples in double precision, complex ones made so, at which the op is smooth."""
    result: list[Sample] = []
    if op_type in IN_SINGLE | SPOKEN | GATED:
        return result  # tests of their own hold their gradients
    for sample in TABLE[op_type].samples:
        wide = sample.widened()
        if wide is not None and any(array.dtype.char == "F" for array in sample.flat):
            sample = wide
        elif wide is not None:
            continue
        is_complex = any(array.dtype.kind == "c" for array in sample.flat)
        if is_complex and op_type in ZERO_IF_COMPLEX:
            continue
        if sample.smooth and differentiable(op_type, sample):
            result.append(sample)
    return result


def whole(grads: list[Any]) -> list[Any]:
    """Return the gradients as tensors, where they are IndexedSlices."""
    return [None if grad is None else dense(grad) for grad in grads]


def weights(array: np.ndarray, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    result = random.uniform(0.5, 1.5, array.shape)
    if array.dtype.kind == "c":
        result = result + 1j * random.uniform(0.5, 1.5, array.shape)
    return np.asarray(result, array.dtype)


def inner(ws: list[np.ndarray], ys: list[np.ndarray]) -> float:
    """Return the sum of all w y; of complex ones the real part of conj(w) y."""
    return float(sum(np.sum(np.conj(w) * y).real for w, y in zip(ws, ys, strict=True)))


def differences(of: Callable[[], float], array: np.ndarray) -> np.ndarray:
    """Central differences of `of()` by each element of `array`, which is moved in place."""
    result = np.zeros_like(array)
    for position in np.ndindex(*array.shape):
        before = array[position]
        for unit in (1.0, 1j) if array.dtype.kind == "c" else (1.0,):
            values = []
            for sign in (STEP, -STEP):
                array[position] = before + sign * unit
                values.append(of())
            array[position] = before
            result[position] += (values[0] - values[1]) / (2 * STEP) * unit
    return result


def kernel_differences(op_type: str, sample: Sample, ys: list[int], ws: list[Any]) -> list[Any]:
    """Return the expected gradients, from the kernel alone."""
    run = Alone(op_type, sample, cpu_kernel(op_type, sample))

    def projected() -> float:
        results = run()
        return inner(ws, [results[slot] for slot in ys])

    return [differences(projected, run.inputs[slot]) for slot in differentiable(op_type, sample)]


Slopes = list[tuple[Any, np.ndarray, str]]
"""Gradients as tensors (None for zero), the expected values, and a description of each."""


def compare_slopes(running: tf.Session, slopes: Slopes, feeds: dict[Any, Any]) -> None:
    """Compute all gradients as one plan, and compare."""
    fetches = [dx for dx, _, _ in slopes if dx is not None]
    values = iter(running.run(fetches, feeds) if fetches else [])
    for dx, slope, label in slopes:
        value = np.zeros_like(slope) if dx is None else next(values)
        assert np.shape(value) == slope.shape, f"{label}: {np.shape(value)}"
        np.testing.assert_allclose(value, slope, 1e-5, 1e-5, err_msg=label)


def gradient_slopes(op_type: str, sample: Sample, feeds: dict[Any, Any]) -> Slopes:
    """Return the gradients, of static and of unknown shapes; add their feeds to `feeds`."""
    grad = DECLARATIONS[op_type].grad
    results, xs = alone(op_type, sample), differentiable(op_type, sample)
    ys = [slot for slot, array in enumerate(results) if array.dtype.kind in "fc"]
    ws = [weights(results[slot], 3) for slot in ys]
    slopes: Slopes = []
    wanted = None
    for known in (True, False):
        built = Built(op_type, sample, known=known)
        feeds.update(built.feeds)
        outputs = [built.outputs[slot] for slot in ys]
        inputs = [built.inputs[slot] for slot in xs]
        starts = [tf.constant(w) for w in ws]
        if op_type in REFUSES:
            with pytest.raises(LookupError):
                tf.gradients(outputs, inputs, starts)
            continue
        result = whole(tf.gradients(outputs, inputs, starts))
        if not callable(grad) or op_type in NOTHING_FLOWS:
            assert result == [None] * len(result), "it is declared to have no gradient"
            continue
        if wanted is None:
            wanted = kernel_differences(op_type, sample, ys, ws)
        for slot, dx, slope in zip(xs, result, wanted, strict=True):
            if (op_type, slot) in STOPPED:
                assert dx is None, f"input {slot} has a gradient"
            else:
                slopes.append((dx, slope, f"input {slot}, shapes known: {known}"))
    return slopes


def gradients_are_slopes(op_type: str, samples: list[Sample]) -> None:
    feeds: dict[Any, Any] = {}
    with session() as running:
        slopes = [item for sample in samples for item in gradient_slopes(op_type, sample, feeds)]
        compare_slopes(running, slopes, feeds)


@every_op
def test_gradient_is_the_slope(op_type: str) -> None:
    """Against central differences of the kernel, with known and with unknown shapes."""
    if not DECLARATIONS[op_type].memory.writes:
        walk_together(gradients_are_slopes, op_type, precise_samples(op_type))


EXEMPT = NOTHING_FLOWS | REFUSES | IN_SINGLE | SPOKEN | GATED
DIFFERENTIABLE = [
    op_type for op_type in EVERY if callable(DECLARATIONS[op_type].grad) and op_type not in EXEMPT
]


def second_slopes(
    running: tf.Session, op_type: str, sample: Sample, all_feeds: dict[Any, Any]
) -> Slopes:
    """Return the gradients of the gradient; add their feeds to `all_feeds`."""
    results, slots = alone(op_type, sample), differentiable(op_type, sample)
    built = Built(op_type, sample)
    ys = [slot for slot, array in enumerate(results) if array.dtype.kind in "fc"]
    ws = [tf.placeholder(results[slot].dtype, results[slot].shape) for slot in ys]
    xs = [built.inputs[slot] for slot in slots]
    first = whole(tf.gradients([built.outputs[slot] for slot in ys], xs, ws))
    first = [dx for dx in first if dx is not None]
    sources = [*xs, *ws]
    start = {w: weights(results[slot], 5) for slot, w in zip(ys, ws, strict=True)}
    feeds = {x: np.array(value) for x, value in {**built.feeds, **start}.items()}
    run = running.make_callable(first, list(feeds))
    if op_type in REFUSES_TWICE:
        with pytest.raises(LookupError, match="No gradient defined"):
            tf.gradients(first, sources)
        return []
    vs = [weights(value, 7) for value in map(np.asarray, run(*feeds.values()))]
    if op_type in ONCE:
        with pytest.raises(LookupError):
            tf.gradients(first, sources)
        return []
    second = whole(tf.gradients(first, sources, [tf.constant(v) for v in vs]))

    def projected() -> float:
        return inner(vs, run(*feeds.values()))

    all_feeds.update(feeds)
    return [
        (dx, differences(projected, feeds[source]), f"by {'x' if index < len(xs) else 'dy'}")
        for index, (source, dx) in enumerate(zip(sources, second, strict=True))
        if index >= len(slots) or (op_type, slots[index]) not in STOPPED
    ]


def second_gradients_are_slopes(op_type: str, samples: list[Sample]) -> None:
    feeds: dict[Any, Any] = {}
    with session() as running:
        slopes = [
            item for sample in samples for item in second_slopes(running, op_type, sample, feeds)
        ]
        compare_slopes(running, slopes, feeds)


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # of gather_nd
@pytest.mark.parametrize("op_type", DIFFERENTIABLE)
def test_second_gradient_is_the_slope_of_the_first(op_type: str) -> None:
    """By the inputs and by the incoming gradient."""
    walk_together(second_gradients_are_slopes, op_type, precise_samples(op_type))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize(
    ("check", "op_types"),
    [
        *((check, EVERY) for check in (agree_on_cpu_and_gpu, *OPENED)),
        (gradients_are_slopes, [op for op in EVERY if not DECLARATIONS[op].memory.writes]),
        (second_gradients_are_slopes, DIFFERENTIABLE),
    ],
    ids=["on devices", "sizes open", "rank open", "gradients", "second gradients"],
)
def test_each_sample_in_a_plan_of_its_own(check: Any, op_types: list[str]) -> None:
    """The checks above that use one plan for all samples of an op pass with one plan per sample."""
    faults = []
    for op_type in op_types:
        is_slope = check in (gradients_are_slopes, second_gradients_are_slopes)
        samples = precise_samples(op_type) if is_slope else TABLE[op_type].samples
        faults += failures(op_type, lambda sample, op=op_type: check(op, [sample]), samples)
    assert not faults, "\n".join(["", *faults])


def test_walk_covers_everything() -> None:
    """Each skipped case is covered elsewhere: nothing above passes for lack of samples."""
    assert len(EVERY) > 140
    wanting = {op for op in DIFFERENTIABLE if not precise_samples(op)} - set(RANDOM)
    assert not wanting, f"no sample to differentiate {sorted(wanting)} at"
