"""Batch normalization of images as a single op, and its gradient.

    y = (x - mean) / sqrt(variance + epsilon) * scale + offset

In training, mean and variance are computed from the images, channel by channel, and are outputs.
Otherwise they are inputs. For float16 images, per-channel values are float32. Unlike TensorFlow's
op, this op also accepts float64, so that gradients can be checked in float64.

The NumPy kernels repeat the per-channel values to form a row as long as an image. A single NumPy
call then combines all images, in either data format, with this row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import FLOATING, DType, float32, float64
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.framework.op_declaration import Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.nn.normalization.batch_norm_gradients import (
    forward_gradient,
    gradient_of_gradient,
)
from gpugraph.ops.nn.normalization.batch_norm_launches import (
    native,
    no_moments,
    norm_back_gpu,
    norm_gpu,
)
from gpugraph.ops.nn.windows.window_geometry import IMAGES, check_equal

_SMALLEST_EPSILON = 1.001e-5  # the minimum in cuDNN
_NOTHING = TensorShape.of((0,))

Run = Callable[[], Any]


# -- kernels


class _Images:
    """Images of a shape and data format. `count` is the number of elements per channel, and `dtype`
    is the dtype of the computation.
    """

    def __init__(self, context: KernelContext, like: Any) -> None:
        self.context = context
        self.last = IMAGES.channels_last(context.attrs)
        self.batch = like.shape[0]
        self.channels = like.shape[3 if self.last else 1]
        self.pixels = like.shape[1] * like.shape[2] if self.last else like.shape[2] * like.shape[3]
        self.count = self.batch * self.pixels
        self.shape = (self.batch, self.pixels * self.channels)
        wide = float64 in (dtype.base_dtype for dtype in context.input_types)
        self.dtype: DType = float64 if wide else float32
        self.ones = np.ones(self.count, self.dtype.as_numpy_dtype, like=like)

    def vector(self) -> Any:
        """Allocate scratch memory for one number per channel."""
        return self.context.scratch((self.channels,), self.dtype)

    def scratch(self) -> Any:
        """Allocate scratch memory for the images, with one row for each image."""
        return self.context.scratch(self.shape, self.dtype)

    def rows(self, array: Any, is_written: bool = False) -> tuple[Any, list[Run]]:
        """Return the images as rows in the dtype of the computation, and calls that convert between
        `array` and the rows.

        If `is_written` is false, the calls copy from `array`, and must run before the computation.
        If it is true, they copy to `array`, and must run after the computation.
        """
        flat = array.reshape(self.shape)
        if np.dtype(array.dtype) == self.dtype.as_numpy_dtype:
            return flat, []
        copy = self.scratch()
        arrays = (flat, copy) if is_written else (copy, flat)
        return copy, [partial(np.copyto, *arrays, casting="same_kind")]

    def row(self, vector: Any) -> tuple[Any, Run]:
        """Return a row that has, for each element of an image, the number of its channel in
        `vector`. Also return the call that fills the row.
        """
        shape = (self.pixels, self.channels) if self.last else (self.channels, self.pixels)
        whole = self.context.scratch(shape, self.dtype)
        source = vector if self.last else vector[:, None]
        return whole.reshape(-1), partial(np.copyto, whole, source)

    def sums(self, rows: Any, out: Any) -> Run:
        """Return the call that stores the sum of each channel of `rows` in `out`."""
        if self.last:
            return partial(np.matmul, self.ones, rows.reshape(self.count, self.channels), out)
        split = rows.reshape(self.batch, self.channels, self.pixels)
        return partial(np.sum, split, (0, 2), None, out)


def _check_empty(mean: Any, variance: Any) -> None:
    if mean.size or variance.size:
        raise invalid_argument(
            "mean and variance must be empty where is_training is True, but have "
            f"{mean.size} and {variance.size} elements"
        )


def _bind_forward(
    context: KernelContext,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    out: Any,
    *results: Any,
) -> Run:
    """Bind the forward kernel.

    Args:
      results: the outputs after y. The last output of FusedBatchNormV3, reserve_space_3, is empty.
    """
    work = _Images(context, x)
    source, before = work.rows(x)
    target, after = work.rows(out, is_written=True)
    steps = list(before)
    if context.attrs["is_training"]:
        if mean.size or variance.size:
            return partial(_check_empty, mean, variance)
        steps += _statistics(work, source, target, results)
        mean, variance = results[2:4]
    else:
        for result, moment in zip(results, (mean, variance, mean, variance)):
            steps.append(partial(np.copyto, result, moment))
        mean_row, lay_mean = work.row(mean)
        steps += [lay_mean, partial(np.subtract, source, mean_row, target)]
    factor = work.vector()
    factor_row, lay_factor = work.row(factor)
    offset_row, lay_offset = work.row(offset)
    steps += [
        *_inverse_deviation(context, variance, factor),
        partial(np.multiply, factor, scale, factor),
        lay_factor,
        lay_offset,
        partial(np.multiply, target, factor_row, target),
        partial(np.add, target, offset_row, target),
    ]
    return _quiet(run_all([*steps, *after]))


def _quiet(run: Run) -> Run:
    """Wrap `run` so that NumPy's warnings are suppressed. The mean of no images is 0 / 0."""

    def quiet() -> None:
        with np.errstate(all="ignore"):
            run()

    return quiet


def _statistics(work: _Images, source: Any, centered: Any, results: Sequence[Any]) -> list[Run]:
    """Return the steps that compute mean, variance and `centered`, the images minus their mean."""
    batch_mean, batch_variance, mean, variance = results[:4]
    squares = work.scratch()
    mean_row, lay_mean = work.row(mean)
    unbiased = work.count / max(work.count - 1, 1)
    dtype = work.dtype.as_numpy_dtype
    count = dtype(work.count)
    return [
        work.sums(source, mean),
        partial(np.divide, mean, count, mean),
        lay_mean,
        partial(np.subtract, source, mean_row, centered),
        partial(np.multiply, centered, centered, squares),
        work.sums(squares, variance),
        partial(np.divide, variance, count, variance),
        partial(np.copyto, batch_mean, mean),
        partial(np.multiply, variance, dtype(unbiased), batch_variance),
    ]


def _inverse_deviation(context: KernelContext, variance: Any, out: Any) -> list[Run]:
    """Return the steps that compute out = 1 / sqrt(variance + epsilon)."""
    return [
        partial(np.add, variance, out.dtype.type(context.attrs["epsilon"]), out),
        partial(np.sqrt, out, out),
        partial(np.divide, 1, out, out),
    ]


def _bind_backward(
    context: KernelContext, dy: Any, x: Any, scale: Any, mean: Any, variance: Any, *others: Any
) -> Run:
    """Bind the gradient kernel.

    Args:
      others: the input reserve_space_3, which only FusedBatchNormGradV3 has, and the outputs dx,
        dscale, doffset, and two empty outputs.
    """
    dx, dscale, doffset = others[-5:-2]
    work = _Images(context, x)
    if not work.count:
        return run_all([partial(dscale.fill, 0), partial(doffset.fill, 0)])
    slope, read_slope = work.rows(dy)
    source, read_source = work.rows(x)
    target, after = work.rows(dx, is_written=True)
    centered, products, inverse = work.scratch(), work.scratch(), work.vector()
    mean_row, lay_mean = work.row(mean)
    steps: list[Run] = [
        *read_slope,
        *read_source,
        *_inverse_deviation(context, variance, inverse),
        lay_mean,
        partial(np.subtract, source, mean_row, centered),
        partial(np.multiply, slope, centered, products),
        work.sums(products, dscale),
        partial(np.multiply, dscale, inverse, dscale),
        work.sums(slope, doffset),
    ]
    factor = work.vector()
    factor_row, lay_factor = work.row(factor)
    steps += [partial(np.multiply, inverse, scale, factor), lay_factor]
    if context.attrs["is_training"]:
        steps += _subtract_statistics_part(
            work, slope, centered, inverse, (dscale, doffset), target
        )
        slope = target
    steps.append(partial(np.multiply, slope, factor_row, target))
    return _quiet(run_all([*steps, *after]))


def _subtract_statistics_part(
    work: _Images, slope: Any, centered: Any, inverse: Any, sums: tuple[Any, Any], target: Any
) -> list[Run]:
    """Return steps that compute target = `slope` minus the contributions of mean and variance to
    the gradient.

    Args:
      sums: dscale and doffset.
    """
    dscale, doffset = sums
    part, share = work.vector(), work.dtype.as_numpy_dtype(1 / max(work.count, 1))
    row, lay = work.row(part)
    return [
        partial(np.multiply, dscale, inverse, part),
        partial(np.multiply, part, share, part),
        lay,
        partial(np.multiply, centered, row, centered),
        partial(np.multiply, doffset, share, part),
        lay,
        partial(np.subtract, slope, row, target),
        partial(np.subtract, target, centered, target),
    ]


# -- shapes


def _channel_count(context: InferContext, channels: int | None, vectors: Sequence[int]) -> Any:
    """Return the number of channels of the images and of the inputs `vectors`. Raises ValueError if
    these numbers differ.
    """
    for index in vectors:
        (size,) = of_rank(context.shapes[index], 1, "the inputs by channel")
        check_equal(channels, size, "the images' channels and the inputs by channel")
        channels = size if channels is None else channels
    return channels


def _infer_forward(context: InferContext) -> list[TensorShape]:
    batch, spatial, channels = IMAGES.sizes(context.shapes[0], context.attrs)
    vectors = (1, 2) if context.attrs["is_training"] else (1, 2, 3, 4)
    channels = _channel_count(context, channels, vectors)
    for index in (3, 4):
        of_rank(context.shapes[index], 1, "mean and variance")
    by_channel = TensorShape.of((channels,))
    whole = IMAGES.shape(context.attrs, batch, spatial, channels)
    return [whole, *[by_channel] * 4, _NOTHING]


def _infer_forward_without_third(context: InferContext) -> list[TensorShape]:
    return _infer_forward(context)[:5]


def _infer_backward(context: InferContext) -> list[TensorShape]:
    merged = []
    for size, other in zip(*(of_rank(shape, 4, "input") for shape in context.shapes[:2])):
        check_equal(size, other, "the images and their gradient")
        merged.append(other if size is None else size)
    batch, spatial, channels = IMAGES.sizes(TensorShape.of(tuple(merged)), context.attrs)
    channels = _channel_count(context, channels, (2, 3, 4))
    by_channel = TensorShape.of((channels,))
    return [
        IMAGES.shape(context.attrs, batch, spatial, channels),
        by_channel,
        by_channel,
        _NOTHING,
        _NOTHING,
    ]


# -- declarations


class _Version(NamedTuple):
    """One version of the op: its dtypes, and whether there is an output reserve_space_3."""

    suffix: str
    by_channel: str
    types: dict[str, Any]
    third: bool


_WIDE = (float32, float64)
_VERSIONS = (
    _Version("", "T", {"T": _WIDE}, False),
    _Version("V2", "U", {"T": FLOATING, "U": _WIDE}, False),
    _Version("V3", "U", {"T": FLOATING, "U": _WIDE}, True),
)
_ATTRS = {
    "epsilon": Attr("float", 0.0001),
    "data_format": Attr("string", "NHWC", allowed=("NHWC", "NCHW")),
    "is_training": Attr("bool", True),
}


def _declare(version: _Version) -> Any:
    """Declare one version of the op and its gradient. Return the function of the op."""
    u = version.by_channel
    reserves = [f"reserve_space_{number}: {u}" for number in range(1, 4 if version.third else 3)]
    backward = f"FusedBatchNormGrad{version.suffix}"
    op(
        backward,
        inputs=["y_backprop: T", "x: T", f"scale: {u}", *reserves],
        outputs=["x_backprop: T"]
        + [f"{n}: {u}" for n in ("scale_backprop", "offset_backprop")]
        + [f"reserve_space_{n}: {u}" for n in ((4, 5) if version.third else (3, 4))],
        attrs={**version.types, **_ATTRS},
        infer=_infer_backward,
        cpu=Call(make=_bind_backward),
        gpu=norm_back_gpu(Call(make=_bind_backward), 3 + len(reserves)),
        native=native("gg_batch_norm_back", 0, lambda _: len(reserves)),
        grad=gradient_of_gradient,
        doc="The gradients of FusedBatchNorm with respect to x, scale and offset, and two empty "
        "outputs. The op has normalized by the mean reserve_space_1 and the variance "
        "reserve_space_2.",
    )
    return op(
        f"FusedBatchNorm{version.suffix}",
        inputs=["x: T", *(f"{name}: {u}" for name in ("scale", "offset", "mean", "variance"))],
        outputs=["y: T", f"batch_mean: {u}", f"batch_variance: {u}", *reserves],
        attrs={**version.types, **_ATTRS},
        infer=_infer_forward if version.third else _infer_forward_without_third,
        cpu=Call(make=_bind_forward),
        gpu=norm_gpu(Call(make=_bind_forward)),
        native=native("gg_batch_norm", 0, no_moments),
        grad=partial(forward_gradient, backward),
        doc="(x - mean) / sqrt(variance + epsilon) * scale + offset, channel by channel. In "
        "training, mean and variance are computed from the images, and are outputs. The output "
        "batch_variance is divided by n - 1.",
    )


_FUSED = [_declare(version) for version in _VERSIONS][-1]


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize `x` by channel, multiply by `scale` and add `offset`. Return (y, mean, variance).

    All tensors except `x` and `y` are float32 vectors with one number per channel. Raises
    ValueError if the shapes do not match, or if `mean` or `variance` is passed in training.

    Args:
      x: images [n, h, w, c], or [n, c, h, w] with data_format "NCHW", of dtype float16 or float32.
      is_training: whether to normalize by the mean and variance of `x`, which are then returned.
        The returned variance is divided by n - 1 instead of n. If False, normalize by the arguments
        `mean` and `variance`.
      epsilon: a number that is added to the variance, at least 1.001e-5. Smaller numbers are raised
        to this number.
    """
    images_in = convert_to_tensor(x, name="input")
    factor = convert_to_tensor(scale, name="scale")
    shift = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    outputs = _FUSED(
        images_in,
        factor,
        shift,
        constant([]) if mean is None else mean,
        constant([]) if variance is None else variance,
        epsilon=max(float(epsilon), _SMALLEST_EPSILON),
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return outputs.y, outputs.batch_mean, outputs.batch_variance
