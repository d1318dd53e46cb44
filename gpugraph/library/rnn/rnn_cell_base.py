"""RNNCell: a function that maps the input of one step and a state to an output and the next
state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.nest import flatten
from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.engine.layer_configs import arguments_config
from gpugraph.library.keras.layers.recurrent.state_sizes import zero_state_of_cell
from gpugraph.library.layers.base_layer import Layer
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class RNNCell(Layer):
    """One step of a recurrent network: `cell(inputs, state)` returns `(output, next state)`.

    A subclass defines `state_size` and `output_size`, which are numbers, shapes, or nested
    structures of these. It also defines `call(inputs, state)` or `__call__(inputs, state,
    scope=None)`. Variables that `call` creates belong to the cell.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Return the output and the next state.

        Args:
          inputs: [batch, ...], or a structure of such tensors.
          state: tensors in the structure of `state_size`. The first axis of each is the batch.
          scope: the name or scope of the cell's variables. By default, the name is derived
            from the name of the cell's class.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._get) as opened:
                return super().__call__(inputs, state, scope=opened)
        with variable_scope(get_variable_scope(), custom_getter=self._get):
            return super().__call__(inputs, state)

    def _get(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Get a variable and record it in the cell. This method is the custom getter of the cell's
        scope.
        """
        variable = getter(*args, **kwargs)
        if hasattr(variable, "trainable"):
            self.track_variable(variable, variable.trainable)
        return variable

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        raise NotImplementedError(f"{type(self).__name__} does not define `call`")

    @property
    def state_size(self) -> Any:
        """The sizes of states, without the batch: a number, a shape, or a structure of these."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_size")

    @property
    def output_size(self) -> Any:
        """The size of outputs, without the batch: a number, a shape, or a structure of these."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_size")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a zero state: a tensor [batch_size, size] for each size in `state_size`."""
        graph = get_default_graph()
        with graph.name_scope(f"{type(self).__name__}ZeroState"):
            return zero_state_of_cell(self.state_size, batch_size, dtype)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return a zero state for a batch of `inputs`, or for `batch_size` and `dtype`.

        Raises ValueError if neither `inputs` nor the other two arguments are passed, or if `inputs`
        contradict `batch_size` or `dtype`.
        """
        if inputs is not None:
            batch_size, dtype = _of_inputs(
                convert_to_tensor(inputs, name="inputs"), batch_size, dtype
            )
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


def _of_inputs(inputs: Tensor, batch_size: Any, dtype: Any) -> tuple[Any, Any]:
    known = inputs.shape.as_list()[0]
    if batch_size is not None:
        size = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
        if size != known:
            raise ValueError(
                "batch size from input tensor is different from the input param. Input tensor "
                f"batch: {known}, batch_size: {size}"
            )
    if dtype is not None and inputs.dtype != dtype:
        raise ValueError(
            "dtype from input tensor is different from the input param. Input tensor dtype: "
            f"{inputs.dtype}, dtype: {dtype}"
        )
    return (shape(inputs)[0] if known is None else known), inputs.dtype


class LayerCell(RNNCell):
    """Base class of cells that add all their variables in `build`."""

    input_spec = InputSpec(ndim=2)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        for tensor in flatten([inputs, state]):
            dtype = getattr(tensor, "dtype", None)
            if isinstance(dtype, DType) and not (dtype.is_floating or dtype.is_complex):
                raise ValueError(
                    f"RNN cell only supports floating point inputs, but saw dtype: {dtype.name} "
                    f"({self.name}, {tensor})"
                )
        return Layer.__call__(self, inputs, state, scope=scope)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as a dict of plain values."""
        return {**super().get_config(), **arguments_config(self)}


def check_cell(cell_name: str, cell: Any) -> None:
    """Raise TypeError if `cell` does not have the methods and properties of a cell.

    Args:
      cell_name: the name of the caller's argument, for the message.
    """
    missing = [
        f"'{name}' property is missing"
        for name in ("output_size", "state_size")
        if not hasattr(type(cell), name) and not hasattr(cell, name)
    ]
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        missing.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(
            f"The argument {cell_name!r} ({cell!r}) is not an RNNCell: {', '.join(missing)}."
        )
