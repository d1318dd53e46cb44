"""Convolutions that cuDNN computes, if it is installed.

A filter of cuDNN has the outputs on the first axis, and the channels on the same axis as the
images. TensorFlow's filters have the axes (window, channels, outputs). So the filter is transposed
to scratch memory, which is small compared with the images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.devices.cuda.driver.convolution_record import ConvolutionRecord, StridedTensor
from gpugraph.devices.cuda.launching.enqueued_work import Enqueued, EnqueuedPart
from gpugraph.devices.cuda.launching.tf32_precision import is_tf32
from gpugraph.devices.cuda.launching.unbound_launch import Touches
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.kernel import Signature, ViewCopies, WindowSums

_PLACES = {"forward": (0, 1, -1), "input": (-1, 0, 1), "filter": (0, -1, 1)}
"""By `WindowSums.kind`: the indices of images, filter and results among an op's arrays."""


def library_convolution(
    launcher: Any,
    sums: WindowSums,
    signature: Signature,
    arrays: Sequence[Array],
    allocate: Callable[[tuple[int, ...], DType], Array],
) -> Enqueued | None:
    """Return a step that computes a convolution with cuDNN. If cuDNN does not support the
    convolution, return None.

    Args:
      launcher: the `Launcher`.
      arrays: the op's inputs, followed by its output.
      allocate: a function that allocates scratch memory.
    """
    driver = launcher.driver
    version = driver.cudnn
    if not version:
        return None
    images, filter, results = (arrays[index] for index in _PLACES[sums.kind])
    turned = _outputs_first(filter.ndim, sums.is_last)
    dtype = as_dtype(filter.dtype)
    copy = allocate(tuple(filter.shape[axis] for axis in turned), dtype)
    convolution = ConvolutionRecord(
        sums.kind,
        str(filter.dtype),
        _tensor(images, sums.is_last),
        _tensor(copy, sums.is_last),
        _tensor(results, sums.is_last),
        *(sums.strides, sums.dilations, sums.before, sums.after),
        bias=arrays[2].address if sums.has_bias else 0,
        relu=sums.relu,
        tf32=dtype.name == "float32" and is_tf32(driver.properties.arch),
    )
    call = driver.convolution(convolution, launcher.workspace, launcher.stream)
    if call is None:
        return None
    reads, writes = convolution.spans()
    part = EnqueuedPart(call, Touches(reads, (*writes, launcher.workspace)))
    precision = " in TF32" if convolution.tf32 else ""
    step = Enqueued([part], launcher.lock, [f"is computed by cuDNN {version}{precision}"])
    transpose = _transposed if sums.kind != "filter" else _transposed_back
    order = [filter, copy] if sums.kind != "filter" else [copy, filter]
    moves = launcher.moves(ViewCopies(lambda _, x, y: transpose(x, y, turned)), signature, order)
    first, then = (moves, step) if sums.kind != "filter" else (step, moves)
    whole = launcher.both(first, then)
    whole.notes = step.notes
    return whole


def _outputs_first(ndim: int, is_last: bool) -> tuple[int, ...]:
    """Return the order of axes to which a filter must be transposed for cuDNN."""
    *window, channels, outputs = range(ndim)
    return (outputs, *window, channels) if is_last else (outputs, channels, *window)


def _transposed(source: Any, target: Any, order: tuple[int, ...]) -> list[tuple[Any, Any]]:
    return [(source.transpose(order), target)]


def _transposed_back(source: Any, target: Any, order: tuple[int, ...]) -> list[tuple[Any, Any]]:
    return [(source.transpose(np.argsort(order)), target)]


def _tensor(array: Array, is_last: bool) -> StridedTensor:
    """Return an array with its channels as the second axis."""
    sizes, strides, step = array.shape, [0] * array.ndim, 1
    for axis in reversed(range(array.ndim)):
        strides[axis] = step
        step *= sizes[axis]
    first, *rest = range(array.ndim)
    order = (first, rest[-1], *rest[:-1]) if is_last else tuple(range(array.ndim))
    return StridedTensor(
        array.address, tuple(sizes[axis] for axis in order), tuple(strides[axis] for axis in order)
    )
