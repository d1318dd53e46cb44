"""Ops that draw classes by log probability, permute rows at random, and crop tensors at random.

The same seed gives the same choices as TensorFlow's kernels on a single thread. With several
threads, TensorFlow's choices for large draws depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, REAL, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import (
    Arg,
    Call,
    CompiledFile,
    KernelContext,
    Launch,
    OpMemory,
    Scratch,
    Signature,
)
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import of_rank, same_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.strided_slice import slice
from gpugraph.ops.random.bits_to_distributions import doubles
from gpugraph.ops.random.native_random import FILE, position_array
from gpugraph.ops.random.philox import Philox
from gpugraph.ops.random.random_launches import seed_type
from gpugraph.ops.random.random_ops import drawing_op, random_uniform
from gpugraph.ops.random.seeds_and_streams import (
    INDEX,
    RESERVED,
    SEED_ATTRS,
    place_of_seed,
    seeds_of,
    stored_stream,
    stream_of,
)
from gpugraph.ops.random.stateless_random import check_seed_shape, seed_shape_fault
from gpugraph.ops.reductions.reduction_functions import reduce_all

_SUMMARY = 1000


# -- classes

_FEW = 64
"""The number of classes to draw for each row from which on each row is searched separately."""

_AT_ONCE = 1 << 18

_COMPARED = 4096
"""The number of comparisons from which on native code counts them."""

_FEW_COLUMNS = 16

_MANY_CLASSES = 512
"""The number of classes from which on searching is faster than counting."""


def _infer_multinomial(context: InferContext) -> Sequence[TensorShape]:
    rows = of_rank(context.shapes[0], 2, "logits")[0]
    of_rank(context.shapes[1], 0, "num_samples")
    if len(context.shapes) > 2:
        fault = seed_shape_fault(context.shapes[2])
        if fault:
            raise ValueError(fault)
    count = context.value(1)
    if count is not None and count < 0:
        raise ValueError(f"num_samples should be non-negative, got {count}")
    return [TensorShape.of((rows, None if count is None else int(count)))]


def _draw_classes(place: Philox, logits: Any, out: Any, file: CompiledFile | None = None) -> None:
    """Draw classes for each row, each from one double in [0, 1) and the cumulative probabilities.

    Classes whose logit is infinite or NaN have probability 0. If no logit of a row is finite, the
    result is the number of classes.

    Args:
      file: the compiled file with `gg_classes`, or None. The drawn classes do not depend on it.
    """
    rows, count = out.shape
    if not out.size:
        return
    sums = _cumulative(logits.astype(np.float64))
    drawn = doubles(place.words(2 * out.size).view(np.uint64)).reshape(rows, count)
    drawn *= sums[:, -1:]
    if file is not None:
        classes = np.empty(out.shape, np.int32)
        numbers = [sums.view(np.float32), drawn.view(np.float32), classes.view(np.float32)]
        file.bind("gg_classes", [rows, sums.shape[1], count], numbers)()
        out[...] = classes
        return
    if count >= _FEW:
        for row in range(rows):
            out[row] = np.searchsorted(sums[row], drawn[row], side="right")
        return
    step = max(1, _AT_ONCE // (count * sums.shape[1]))
    for start in range(0, rows, step):
        part = np.s_[start : start + step]
        out[part] = (sums[part, None, :] <= drawn[part, :, None]).sum(axis=-1)


def _cumulative(wide: Any) -> Any:
    """Return the cumulative sums of exp(x - m) over the finite numbers x of each row, with their
    maximum m. Few classes are processed one by one, which is faster."""
    finite, lowest = np.isfinite(wide), -np.finfo(np.float64).max
    count = wide.shape[1]
    if count > _FEW_COLUMNS:
        largest = np.max(wide, axis=1, where=finite, initial=lowest, keepdims=True)
        return np.cumsum(np.where(finite, np.exp(wide - largest), 0), axis=1)
    numbers = np.where(finite, wide, lowest)
    largest = reduce(np.maximum, [numbers[:, column] for column in range(count)])[:, None]
    sums = np.where(finite, np.exp(wide - largest), 0)
    for column in range(1, count):
        sums[:, column] += sums[:, column - 1]
    return sums


def _check_classes(logits: Any, out: Any) -> None:
    if logits.shape[1] == 0 and out.size:
        raise invalid_argument("num_classes should be positive, got 0")


def _blocks(rows: int, count: int) -> int:
    """Return the number of Philox blocks that a draw of `count` classes for each row reserves."""
    return 2 * rows * -(-count // 4) * 4 * RESERVED


def _multinomial(context: KernelContext, logits: Any, out: Any) -> Callable[[], Any]:
    _check_classes(logits, out)
    stream, blocks = stream_of(context), _blocks(*out.shape)
    file = _classes_file(context, logits, out)
    return lambda: _draw_classes(stream.reserve(blocks), logits, out, file())


def _classes_file(
    context: KernelContext, logits: Any, out: Any
) -> Callable[[], CompiledFile | None]:
    """Return a function that returns the file with `gg_classes`, or None where it is not used."""
    classes = logits.shape[1]
    if out.size * classes < _COMPARED or classes > _MANY_CLASSES:
        return lambda: None
    return partial(context.compiled(FILE), 0.0)


def _stateless(context: KernelContext, logits: Any, seed: Any, out: Any) -> Callable[[], Any]:
    _check_classes(logits, out)
    check_seed_shape(seed.shape)
    file = _classes_file(context, logits, out)
    return lambda: _draw_classes(place_of_seed(seed), logits, out, file())


def _launch_multinomial(signature: Signature) -> list[Launch]:
    blocks = _blocks(*signature.output_shapes[0])
    arguments = Arg(1), stored_stream(signature), blocks
    return _launch_classes("gg_classes", signature, arguments, "int32_t")


def _launch_stateless(signature: Signature) -> list[Launch]:
    check_seed_shape(signature.input_shapes[2])
    arguments = Arg(2), Arg(1)
    return _launch_classes("gg_stateless_classes", signature, arguments, seed_type(signature, 2))


def _launch_classes(
    function: str, signature: Signature, arguments: tuple[Any, ...], seed: str
) -> list[Launch]:
    """Return two launches. The first computes the cumulative probabilities, and the second calls
    `function` to draw.

    Args:
      arguments: the arguments of `function`, except for sizes.
      seed: the C type of an element of the seed.
    """
    (rows, classes), (_, count) = signature.input_shapes[0], signature.output_shapes[0]
    sums = Scratch("sums", rows * classes, dtypes.float64)
    types = {"T": signature.input_types[0].base_dtype}
    defines = {"OUT": f"{signature.output_types[0].name}_t", "SEED": seed}
    sizes, block = (rows * count, count, classes), (THREADS, 1, 1)
    summed, pairs = (Arg(0), sums, rows, classes), grid_of(-(-rows * count // 2))
    return [
        Launch("gg_class_sums", grid_of(rows, 1), block, summed, types, defines),
        Launch(function, pairs, block, (sums, *arguments, *sizes), types, defines),
    ]


_multinomial_op = drawing_op(
    "Multinomial",
    _multinomial,
    _launch_multinomial,
    "multinomial.cu",
    inputs="logits: T, num_samples: int32",
    outputs="output: output_dtype",
    attrs={**SEED_ATTRS, "T": REAL, "output_dtype": Attr("type", dtypes.int64, allowed=INDEX)},
    infer=_infer_multinomial,
    memory=OpMemory(host_inputs=[1]),
    stateful=True,
    doc="Classes [batch, num_samples], drawn with the log probabilities in each row of `logits`.",
)
_stateless_op = drawing_op(
    "StatelessMultinomial",
    _stateless,
    _launch_stateless,
    "multinomial.cu",
    inputs="logits: T, num_samples: int32, seed: Tseed",
    outputs="output: output_dtype",
    attrs={"T": REAL, "Tseed": INDEX, "output_dtype": INDEX},
    infer=_infer_multinomial,
    memory=OpMemory(host_inputs=[1]),
    doc=(
        "Classes [batch, num_samples], drawn with the log probabilities in each row of `logits` "
        "and determined by `seed`."
    ),
)


def _classes(
    function: OpFunction, scope: tuple[str | None, str], logits: Any, options: tuple[Any, Any, Any]
) -> Tensor:
    """Add a multinomial op in a name scope.

    Args:
      options: (number of draws, their dtype or None for int64, the seed).
    """
    count, dtype, seed = options
    with op_scope(*scope, logits):
        tensor = convert_to_tensor(logits, name="logits")
        wanted = as_dtype(dtype or dtypes.int64)
        seeds = {"seed": seed} if function is _stateless_op else seeds_of(seed)
        return function(tensor, count, output_dtype=wanted, **seeds)


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Return classes [batch, num_samples], drawn with the probabilities of `logits`.

    Raises ValueError if the logits are not a matrix. A run raises InvalidArgumentError if there are
    no classes.

    Args:
      logits: log probabilities of shape [batch, classes]. They need not be normalized. Classes
        whose logit is not finite are never drawn.
      output_dtype: int64 (the default) or int32.

    >>> session.run(tf.multinomial([[0.0, -100.0]], num_samples=3, seed=1))
    array([[0, 0, 0]])
    """
    options = num_samples, output_dtype, seed
    return _classes(_multinomial_op, (name, "multinomial"), logits, options)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw classes. This is a newer name of `multinomial`."""
    options = num_samples, dtype, seed
    return _classes(_multinomial_op, (name, "categorical"), logits, options)


def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draw classes in the same way as `multinomial`. The result depends only on the logits and on
    `seed`, which is two integers.
    """
    options = num_samples, output_dtype, seed
    return _classes(_stateless_op, (name, "stateless_multinomial"), logits, options)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Draw classes. This is a newer name of `stateless_multinomial`."""
    options = num_samples, dtype, seed
    return _classes(_stateless_op, (name, "stateless_categorical"), logits, options)


# -- permutations

_FEW = 512
"""The number of rows below which Python is as fast as binding and calling a C function."""


def _order(place: Philox, count: int, file: CompiledFile | None) -> Any:
    """Return the integers from 0 to `count` - 1 in random order (Fisher-Yates shuffle, from the
    front).

    Args:
      file: the compiled file with `gg_order`, or None. The order does not depend on it.
    """
    if file is not None:
        numbers = np.empty(count, np.int64)
        file.bind("gg_order", [count], [position_array(place), numbers.view(np.float32)])()
        return numbers
    words = place.words(count - 1)
    left = np.arange(count, 1, -1, dtype=np.uint32)
    order = list(range(count))
    for index, offset in enumerate((words % left).tolist()):
        order[index], order[index + offset] = order[index + offset], order[index]
    return np.array(order, np.intp)


def _shuffle(context: KernelContext, value: Any, out: Any) -> Callable[[], Any]:
    stream = stream_of(context)
    count = value.shape[0] if value.ndim else 1
    compiled = context.compiled(FILE) if _FEW <= count < 2**31 else None

    def run() -> None:
        if count < 2 or not value.size:
            np.copyto(out, value)
            return
        place = stream.reserve(-(-(count - 1) // 4))
        order = _order(place, count, compiled(0.0) if compiled else None)
        np.take(value, order, axis=0, out=out, mode="clip")

    return run


_random_shuffle = op(
    "RandomShuffle",
    inputs="value: T",
    outputs="output: T",
    attrs={**SEED_ATTRS, "T": ALL},
    infer=same_shape(0),
    cpu=Call(make=_shuffle),
    gpu=Call(make=_shuffle),
    grad=NO_GRADIENT,
    stateful=True,
    doc="`value` with its rows (the slices along the first axis) in random order.",
)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return `value` with its rows (slices along the first axis) in random order.

    >>> sorted(session.run(tf.random_shuffle([1, 2, 3], seed=1)).tolist())
    [1, 2, 3]
    """
    return _random_shuffle(value, **seeds_of(seed), name=name)


# -- crops


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return a part of `value` with the sizes `size`, at a random position.

    A run raises InvalidArgumentError if `value` is smaller than `size`.

    >>> session.run(tf.random_crop(tf.range(10), [4], seed=1)).shape
    (4,)
    """
    with op_scope(name, "random_crop", value, size) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        sizes = shape(value)
        shown = ["Need value.shape >= size, got ", sizes, size]
        fits = reduce_all(sizes >= size)
        with sizes.graph.name_scope("Assert"):
            convert_to_tensor(
                shown[0]
            )  # as in tf.Assert, since op seeds depend on the number of ops so far
            check = raw_ops.Assert(fits, shown, summarize=_SUMMARY, name="Assert")
        sizes = with_dependencies([check], sizes)
        limit = sizes - size + 1
        largest = np.iinfo(np.int32).max
        drawn = random_uniform(shape(sizes), maxval=largest, dtype=dtypes.int32, seed=seed)
        return slice(value, drawn % limit, size, name=scope)
