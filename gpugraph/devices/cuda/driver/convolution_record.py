"""Records that describe a convolution to drivers."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from gpugraph.devices.cuda.driver.driver_interface import ITEM_BYTES, Span


class StridedTensor(NamedTuple):
    """An array of images, of results, or a filter: its address, and the sizes and strides, in
    elements, of its axes.

    The axes are listed in the order (images, channels, ...) or, for filters, (outputs, channels,
    ...), regardless of their order in memory.
    """

    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def span(self, item_bytes: int) -> Span:
        """Return the span of memory of the tensor. The tensor must have no gaps."""
        return self.address, prod(self.sizes) * item_bytes


class ConvolutionRecord(NamedTuple):
    """A convolution, or one of its gradients.

    Args:
      kind: `forward`, which writes `results`; `input`, which writes `images`; or `filter`, which
        writes `filter`.
      strides, dilations: a number for each spatial axis.
      before, after: the padding before and after each spatial axis.
      bias: the address of a bias with one number for each output channel, or 0 if there is no bias.
      relu: whether to replace negative results by 0.
      tf32: whether float32 operands may be rounded to 10 bits of mantissa.
    """

    kind: str
    dtype: str
    images: StridedTensor
    filter: StridedTensor
    results: StridedTensor
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    bias: int = 0
    relu: bool = False
    tf32: bool = False

    def spans(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """Return the memory that the convolution reads, and the memory that it writes."""
        item = ITEM_BYTES[self.dtype]
        tensors = {"input": self.images, "filter": self.filter, "forward": self.results}
        writes = tensors.pop(self.kind).span(item)
        reads = [tensor.span(item) for tensor in tensors.values()]
        if self.bias:
            reads.append((self.bias, self.results.sizes[1] * item))
        return tuple(reads), (writes,)
