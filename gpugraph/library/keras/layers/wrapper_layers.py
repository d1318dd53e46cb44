"""Wrapper, the base class of layers that wrap another layer, and TimeDistributed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_rnn import rnn
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import config_entry, deserialize_layer
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import shape as shape_of
from gpugraph.ops.reductions.reduction_functions import reduce_any


class Wrapper(Layer):
    """A layer that wraps another layer, `layer`, and has its variables.

    The constructor raises ValueError for an object that is not a layer.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `{type(self).__name__}` layer with a `Layer` instance. You "
                f"passed: {layer!r}"
            )
        super().__init__(**kwargs)
        self.layer: Any = layer

    def build(self, input_shape: Any) -> None:
        """Build the wrapped layer for the shape of the inputs."""
        self.layer.build_for(input_shape, self.dtype)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Return the configuration, which includes the class name and configuration of the wrapped
        layer.
        """
        return {**super().get_config(), "layer": config_of(self.layer)}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a layer from a dict that `get_config` returned.

        The new layer has new variables.
        """
        inner = deserialize_layer(config_entry(config, "layer", cls.__name__), custom_objects)
        return cls(inner, **{name: value for name, value in config.items() if name != "layer"})


def config_of(layer: Any) -> dict[str, Any]:
    """Return a dict of the class name and configuration of a layer."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


def takes(layer: Any, name: str) -> bool:
    """Return whether the layer's `call` has a parameter with this name."""
    return name in inspect.signature(layer.call).parameters


class TimeDistributed(Wrapper):
    """A layer that applies another layer to each step of inputs [n, steps, ...]. The outputs are
    [n, steps, ...].

    Usually the wrapped layer is called once, with the steps of all examples as a batch [n * steps,
    ...]. There is one exception. If `n` is known statically, a wrapped layer that is stateful, or
    whose class is not part of gpugraph, is called in a loop over the steps.
    """

    supports_masking = True

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        is_ours = type(layer).__module__.startswith(f"{__name__.partition('.')[0]}.")
        self._all_at_once = is_ours and not layer.stateful

    def build(self, input_shape: Any) -> None:
        """Build the wrapped layer for one step. Raises ValueError for inputs with fewer than three
        axes.
        """
        shapes = _shapes(input_shape)
        for shape in flatten(shapes):
            if shape.rank is None or shape.rank < 3:
                raise ValueError(
                    "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 "
                    f"dimensions, received: {input_shape} (layer {self.name})"
                )
        self.input_spec = [
            InputSpec(shape=[None, None, *shape.as_list()[2:]]) for shape in flatten(shapes)
        ]
        super().build(map_structure(_without_steps, shapes))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the wrapped layer's outputs, with the number of steps inserted as
        the second size.
        """
        shapes = _shapes(input_shape)
        steps = flatten(shapes)[0].as_list()[1]
        outputs = _shapes(self.layer.compute_output_shape(map_structure(_without_steps, shapes)))
        return map_structure(
            lambda shape: TensorShape([shape.as_list()[0], steps, *shape.as_list()[1:]]), outputs
        )

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Return the wrapped layer's outputs for all steps.

        Args:
          mask: the mask of the inputs, [n, steps, ...]. The mask is passed to the wrapped layer if
            the layer's `call` accepts a mask.
        """
        further = {"training": training} if takes(self.layer, "training") else {}
        first = flatten(inputs)[0]
        if self._goes_by_step(first):
            return rnn(
                lambda step, _: (self.layer(step, **further), []),
                inputs,
                [],
                mask=None if mask is None else flatten(mask)[0],
                input_length=first.shape.as_list()[1],
            )[1]
        if mask is not None and takes(self.layer, "mask"):
            further["mask"] = map_structure(_steps_as_examples, mask)
        outputs = self.layer(map_structure(_steps_as_examples, inputs), **further)
        return map_structure(lambda output: _by_steps(output, first), outputs)

    def _goes_by_step(self, first: Tensor) -> bool:
        return first.shape.as_list()[0] is not None and not self._all_at_once

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the masks of the wrapped layer's outputs. If the wrapped layer computes no mask,
        return the mask of the steps.
        """
        first = flatten(inputs)[0]
        if self._goes_by_step(first):
            return mask
        flat_mask = None if mask is None else map_structure(_steps_as_examples, mask)
        computed = self.layer.compute_mask(map_structure(_steps_as_examples, inputs), flat_mask)
        if computed is not None:
            return map_structure(
                lambda one: None if one is None else _by_steps(one, first), computed
            )
        if mask is None:
            return None
        steps = flatten(mask)[0]
        rank = steps.shape.rank or 2
        return reduce_any(steps, axis=list(range(2, rank))) if rank > 2 else steps


def _shapes(structure: Any) -> Any:
    """Convert a shape, or each shape in a structure, to a TensorShape. A tuple of ints is a shape,
    not a structure.
    """
    if isinstance(structure, (list, tuple)) and any(
        isinstance(item, (list, tuple, TensorShape)) for item in structure
    ):
        return [as_shape(item) for item in structure]
    if isinstance(structure, dict):
        return {name: as_shape(item) for name, item in structure.items()}
    return as_shape(structure)


def _without_steps(shape: TensorShape) -> TensorShape:
    """Return the shape of one step of a sequence with this shape."""
    batch, _, *sizes = shape.as_list()
    return TensorShape([batch, *sizes])


def _sizes(tensor: Tensor, begin: int) -> list[Any]:
    """Return the sizes of a tensor's axes from axis `begin` on. An unknown size is a scalar
    tensor.
    """
    dynamic = None
    sizes: list[Any] = tensor.shape.as_list()[begin:]
    for axis, size in enumerate(sizes):
        if size is None:
            dynamic = shape_of(tensor) if dynamic is None else dynamic
            sizes[axis] = dynamic[begin + axis]
    return sizes


def _reshaped(tensor: Tensor, sizes: list[Any]) -> Tensor:
    is_static = all(isinstance(size, int) for size in sizes)
    result = reshape(tensor, sizes if is_static else stack(sizes))
    result.set_shape([size if isinstance(size, int) and size >= 0 else None for size in sizes])
    return result


def _steps_as_examples(tensor: Any) -> Any:
    """Reshape [n, steps, ...] to [n * steps, ...]."""
    return None if tensor is None else _reshaped(tensor, [-1, *_sizes(tensor, 2)])


def _by_steps(output: Tensor, inputs: Tensor) -> Tensor:
    """Reshape `output` [n * steps, ...] to [n, steps, ...]. n and steps are the first sizes of
    `inputs`.
    """
    batch, steps = inputs.shape.as_list()[:2]
    count = _sizes(inputs, 1)[0] if steps is None else steps
    return _reshaped(output, [-1 if batch is None else batch, count, *_sizes(output, 1)])
