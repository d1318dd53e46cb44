"""InputSpec: a layer's requirements on the rank, shape, dtype and sizes of an input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.base.value_text import shown
from gpugraph.library.keras.engine.layer_calls import next_call_text


class InputSpec:
    """The requirements on one input of a layer, which a layer stores in its attribute `input_spec`.

    An argument that is None requires nothing. The constructor raises ValueError for an axis beyond
    the rank, and TypeError for `axes` that are not a dict.

    Args:
      dtype, shape: the dtype and shape of the input. A size in the shape may be None, for any size.
      ndim, max_ndim, min_ndim: the exact, maximum and minimum rank. A shape overrides `ndim`.
      axes: a dict of required sizes by axis.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[Any, int | None] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = None if shape is None else tuple(as_shape(shape).as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        if axes is not None and not isinstance(axes, Mapping):
            raise TypeError(f"axes must be a dict of sizes by axis, not {shown(axes)}")
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        max_rank = max_ndim if self.ndim is None else self.ndim
        if self.axes and max_rank is not None and max(self.axes) > max_rank - 1:
            raise ValueError(
                f"Axis {max(self.axes)} is greater than the maximum allowed value: {max_rank - 1}"
            )

    def __repr__(self) -> str:
        fields = {key: value for key, value in vars(self).items() if value not in (None, {})}
        return f"InputSpec({', '.join(f'{key}={value}' for key, value in fields.items())})"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """Return a new InputSpec with arguments that `get_config` returned."""
        return cls(**config)

    def _fault(self, shape: TensorShape, dtype: Any) -> str:
        """Return a description of the first requirement that an input of this shape and dtype
        violates.

        Return "" if the input violates no requirement.
        """
        rank, sizes = shape.rank, shape.sizes
        bounds = self.ndim, self.max_ndim, self.min_ndim
        if rank is None and bounds != (None, None, None):
            return "its rank is undefined, but the layer requires a defined rank."
        if rank is not None:
            full = f"found ndim={rank}. Full shape received: {shape.as_list()}"
            if self.ndim is not None and rank != self.ndim:
                return f"expected ndim={self.ndim}, {full}"
            if self.max_ndim is not None and rank > self.max_ndim:
                return f"expected max_ndim={self.max_ndim}, found ndim={rank}"
            if self.min_ndim is not None and rank < self.min_ndim:
                return f"expected min_ndim={self.min_ndim}, {full}"
        if self.dtype is not None and dtype.base_dtype.name != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={dtype.base_dtype.name}"
        if sizes is None:
            return ""
        for axis, wanted in self.axes.items():
            if not _may_be(sizes[axis], wanted):
                return (
                    f"expected axis {axis} of input shape to have value {wanted} but received "
                    f"input with shape {shape.as_list()}"
                )
        if self.shape is not None and not all(map(_may_be, sizes, self.shape)):
            return f"expected shape={self.shape}, found shape={sizes}"
        return ""


def _may_be(size: int | None, wanted: int | None) -> bool:
    return size is None or wanted is None or size == wanted


def check_inputs(specs: Any, inputs: Sequence[Any], layer: Any) -> None:
    """Raise ValueError if the inputs of `layer` violate `specs`.

    Raises TypeError for a spec that is not an InputSpec, and for inputs that are not tensors.

    Args:
      specs: an InputSpec, None, which accepts any input, or a list with one of these for each
        input.
    """
    listed = list(specs) if isinstance(specs, (list, tuple)) else [specs]
    for spec in listed:
        if spec is not None and not isinstance(spec, InputSpec):
            raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec!r}")
    check_input_count(len(listed), inputs, layer)
    for number, (spec, tensor) in enumerate(zip(listed, inputs, strict=True)):
        if spec is not None and not (hasattr(tensor, "shape") and hasattr(tensor, "dtype")):
            raise TypeError(f"Inputs to a layer should be tensors. Got: {shown(tensor)}")
        fault = "" if spec is None else spec._fault(tensor.shape, tensor.dtype)
        if fault:
            raise ValueError(
                f"Input {number} of layer {layer.name} is incompatible with the layer: {fault}"
                f"{next_call_text(layer, [tensor])}"
            )


def check_input_count(count: int, inputs: Sequence[Any], layer: Any) -> None:
    """Raise ValueError unless the layer receives `count` inputs."""
    if len(inputs) != count:
        raise ValueError(
            f"Layer {layer.name} expects {count} inputs, but it received {len(inputs)} input "
            f"tensors. Inputs received: {list(inputs)}{next_call_text(layer, inputs)}"
        )
