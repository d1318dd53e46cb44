"""Reversible residual blocks (Gomez et al., 2017), whose inputs follow from their outputs.

y1 = x1 + f(x2), y2 = x2 + g(y1), so x2 = y2 - g(y1), x1 = y1 - f(x2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import get_collection
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.layers.base_layer import Layer

Function = Callable[..., Any]


class RevBlock(Layer):
    """A sequence of reversible layers. Each adds a function of one half to the other half.

    Gradients use the values that the forward pass has computed: unlike in TensorFlow, they save no
    memory.

    Args:
      f, g: functions of a tensor, whose result has the tensor's shape, or lists of one function for
        each layer. They create their variables by `tf.get_variable`.
      num_layers: the number of layers.
      f_side_input, g_side_input: lists of tensors, which `f` and `g` get as second arguments.
      use_efficient_backprop: has no effect.
    """

    def __init__(
        self,
        f: Function | Sequence[Function],
        g: Function | Sequence[Function],
        num_layers: int = 1,
        f_side_input: Sequence[Any] | None = None,
        g_side_input: Sequence[Any] | None = None,
        use_efficient_backprop: bool = True,
        name: str = "revblock",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        del use_efficient_backprop
        self._functions = [_of_layers(f, num_layers, "f"), _of_layers(g, num_layers, "g")]
        self._has_variables = False
        self._sides = [list(f_side_input or ()), list(g_side_input or ())]

    def call(self, inputs: Any, training: bool = True) -> Any:
        """Return (y1, y2) for inputs (x1, x2)."""
        del training
        return self.forward(*inputs)

    def forward(self, x1: Any, x2: Any) -> tuple[Any, Any]:
        """Return the outputs (y1, y2)."""
        for f, g in self._layers_in(range(len(self._functions[0]))):
            x1 = x1 + f(x2)
            x2 = x2 + g(x1)
        return x1, x2

    def backward(self, y1: Any, y2: Any) -> tuple[Any, Any]:
        """Return the inputs (x1, x2) that have these outputs. The variables must exist."""
        for f, g in self._layers_in(reversed(range(len(self._functions[0])))):
            y2 = y2 - g(y1)
            y1 = y1 - f(y2)
        return y1, y2

    def _layers_in(self, order: Iterable[int]) -> Iterator[list[Function]]:
        """Yield the functions f and g of each layer, in its variable scope."""
        self._set_scope(None)
        with variable_scope(self._scope, use_resource=True, reuse=self._has_variables or None):
            for number in order:
                with variable_scope(f"revlayer_{number}"):
                    yield [self._part(part, number) for part in (0, 1)]
            if not self._has_variables:
                self._take_variables()
        self._has_variables = True

    def _take_variables(self) -> None:
        """Make the variables in the scope those of the layer."""
        place = f"{self.scope_name}/"
        trainable = get_collection(GraphKeys.TRAINABLE_VARIABLES, place)
        self._trainable_weights += trainable
        others = get_collection(GraphKeys.GLOBAL_VARIABLES, place)
        self._non_trainable_weights += [
            variable for variable in others if variable not in trainable
        ]

    def _part(self, part: int, number: int) -> Function:
        function, side = self._functions[part][number], self._sides[part]

        def call(x: Any) -> Any:
            with variable_scope("fg"[part]):
                return function(x, side) if side else function(x)

        return call


def _of_layers(functions: Any, count: int, name: str) -> list[Function]:
    """Return one function for each layer. Raises ValueError for another number of them."""
    if not isinstance(functions, (list, tuple)):
        return [functions] * count
    if len(functions) != count:
        raise ValueError(f"{name} has {len(functions)} functions for num_layers={count}")
    return list(functions)


def rev_block(
    x1: Any,
    x2: Any,
    f: Function | Sequence[Function],
    g: Function | Sequence[Function],
    num_layers: int = 1,
    f_side_input: Sequence[Any] | None = None,
    g_side_input: Sequence[Any] | None = None,
    is_training: bool = True,
) -> tuple[Any, Any]:
    """Return the outputs (y1, y2) of a new `RevBlock` for the inputs x1 and x2."""
    block = RevBlock(f, g, num_layers, f_side_input, g_side_input, is_training)
    return block.forward(x1, x2)
