"""Wrappers of cells: dropout, a residual connection, and placement on a device."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.base.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.cell_configs import (
    cell_of_config,
    config_of_cell,
    config_of_function,
    function_of_config,
)
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple
from gpugraph.library.rnn.rnn_cell_base import RNNCell, check_cell
from gpugraph.ops.elementwise.division import divide
from gpugraph.ops.elementwise.unary_functions import floor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.dropout import dropout
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class _Wrapper(RNNCell):
    """Base class of wrappers. A wrapper calls another cell and has that cell's variables."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_cell("cell", cell)
        self.cell = cell

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return self._around(inputs, state, lambda *arguments: self.cell(*arguments, scope=scope))

    def _around(self, inputs: Any, state: Any, call_cell: Callable[..., Any]) -> Any:
        """Return `call_cell(inputs, state)`, with the wrapper's operations before and after it."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_around`")

    def get_config(self) -> dict[str, Any]:
        """Return a dict of the wrapped cell's class and arguments, and the wrapper's arguments."""
        return {**super().get_config(), "cell": config_of_cell(self.cell)}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a wrapper from a dict that `get_config` returned.

        Args:
          custom_objects: a dict from names to classes and functions.
        """
        arguments = dict(config)
        for name, argument in cls._function_arguments:
            function = function_of_config(name, arguments, custom_objects)
            if function is not None:
                arguments[argument] = function
        return cls(cell_of_config(arguments.pop("cell"), custom_objects), **arguments)

    _function_arguments: tuple[tuple[str, str], ...] = ()
    """Pairs (name of a function in a configuration, constructor argument that receives it)."""

    @property
    def wrapped_cell(self) -> Any:
        """The cell that this wrapper calls."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """The state size of the wrapped cell."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """The output size of the wrapped cell."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable weights of the wrapped cell."""
        return list(getattr(self.cell, "trainable_weights", ()))

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable weights of the wrapped cell."""
        return list(getattr(self.cell, "non_trainable_weights", ()))

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a zero state of the wrapped cell."""
        graph = get_default_graph()
        with graph.name_scope(f"{type(self).__name__}ZeroState"):
            return self.cell.zero_state(batch_size, dtype)


class DeviceWrapper(_Wrapper):
    """A wrapper that places a cell's ops on `device`, a name or a device function."""

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def get_config(self) -> dict[str, Any]:
        """Return a dict of the wrapped cell and the device."""
        return {**super().get_config(), "device": self._device}

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a zero state of the wrapped cell, placed on the device."""
        with get_default_graph().device(self._device):
            return super().zero_state(batch_size, dtype)

    def _around(self, inputs: Any, state: Any, call_cell: Callable[..., Any]) -> Any:
        with get_default_graph().device(self._device):
            return call_cell(inputs, state)


class ResidualWrapper(_Wrapper):
    """A wrapper that adds a cell's inputs to its outputs, or combines them with `residual_fn`.

    If there is no `residual_fn`, a call raises ValueError if inputs and outputs differ in structure
    or shape.

    Args:
      residual_fn: a function of (inputs, outputs).
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[..., Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    _function_arguments = (("residual_fn", "residual_fn"),)

    def get_config(self) -> dict[str, Any]:
        """Return a dict of the wrapped cell and the code of `residual_fn`."""
        return {**super().get_config(), **config_of_function("residual_fn", self._residual_fn)}

    def _around(self, inputs: Any, state: Any, call_cell: Callable[..., Any]) -> Any:
        outputs, new_state = call_cell(inputs, state)
        return (self._residual_fn or _sum)(inputs, outputs), new_state


def _sum(inputs: Any, outputs: Any) -> Any:
    def add(one: Any, other: Any) -> Any:
        one.shape.assert_is_compatible_with(other.shape)
        return one + other

    assert_same_structure(inputs, outputs)
    return map_structure(add, inputs, outputs)


class DropoutWrapper(_Wrapper):
    """A wrapper with dropout of a cell's inputs, outputs and states. Source: arXiv:1409.2329.

    The constructor raises ValueError for a probability outside of [0, 1], and if arguments that
    `variational_recurrent` (arXiv:1512.05287) requires are missing. It raises TypeError if
    `dropout_state_filter_visitor` is not callable.

    Args:
      input_keep_prob, output_keep_prob, state_keep_prob: the probabilities that an element is kept.
        They are numbers in [0, 1] or scalar tensors.
      variational_recurrent: whether all steps (and all batch entries) use the same mask. This
        requires `dtype`, and `input_size` unless all inputs are kept.
      seed: an int from which different seeds for inputs, states and outputs are derived.
      dropout_state_filter_visitor: a function that returns whether dropout applies to a state, or
        to each component of it. By default, dropout applies to all components except TensorArrays
        and the memory `c` of an LSTM.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        visitor = dropout_state_filter_visitor
        if visitor is not None and not callable(visitor):
            raise TypeError(f"dropout_state_filter_visitor must be callable: {visitor!r}")
        self._visitor = visitor or _all_but_memory
        with get_default_graph().name_scope("DropoutWrapperInit"):
            self._input_keep = _probability("input_keep_prob", input_keep_prob)
            self._state_keep = _probability("state_keep_prob", state_keep_prob)
            self._output_keep = _probability("output_keep_prob", output_keep_prob)
        self._seed, self._input_size = seed, input_size
        self._noise: dict[str, list[Tensor]] | None = None
        if variational_recurrent:
            self._noise = self._draw_noise(input_size, dtype)

    _function_arguments = (("dropout_fn", "dropout_state_filter_visitor"),)

    def get_config(self) -> dict[str, Any]:
        """Return a dict of the wrapped cell, the arguments, and the code of a custom visitor."""
        visitor = None if self._visitor is _all_but_memory else self._visitor
        return {
            **super().get_config(),
            "input_keep_prob": self._input_keep,
            "output_keep_prob": self._output_keep,
            "state_keep_prob": self._state_keep,
            "variational_recurrent": self._noise is not None,
            "input_size": self._input_size,
            "seed": self._seed,
            **config_of_function("dropout_fn", visitor),
        }

    def _draw_noise(self, input_size: Any, dtype: Any) -> dict[str, list[Tensor]]:
        """Return the random numbers that all steps use, for each component of inputs, states and
        outputs.
        """
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self.cell.state_size, "output": self.cell.output_size}
        if _drops(self._input_keep):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes = {"input": input_size, **sizes}
        return {
            kind: [
                random_uniform(
                    [1, *as_shape(size).as_list()], seed=self._seed_of(kind, index), dtype=dtype
                )
                for index, size in enumerate(flatten(some))
            ]
            for kind, some in sizes.items()
        }

    def _seed_of(self, kind: str, index: int) -> int | None:
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{kind}_{index}".encode(), usedforsecurity=False)
        return int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF

    def _around(self, inputs: Any, state: Any, call_cell: Callable[..., Any]) -> Any:
        if _drops(self._input_keep):
            inputs = self._apply_dropout("input", inputs, self._input_keep)
        output, new_state = call_cell(inputs, state)
        if _drops(self._state_keep):
            chosen = _select(self._visitor, new_state)
            new_state = self._apply_dropout("state", new_state, self._state_keep, chosen)
        if _drops(self._output_keep):
            output = self._apply_dropout("output", output, self._output_keep)
        return output, new_state

    def _apply_dropout(self, kind: str, values: Any, keep: Any, chosen: Any = None) -> Any:
        """Apply dropout to the components of `values` that `chosen` selects.

        Args:
          kind: "input", "output" or "state".
          keep: the probability that an element is kept.
          chosen: a structure of bools, which may be nested less deeply than `values`. None selects
            all components.
        """
        if chosen is None:
            chosen = map_structure(lambda _: True, values)
        dropped = [
            self._drop(kind, index, value, keep) if mark else value
            for index, (mark, value) in enumerate(zip(flatten(chosen), _up_to(chosen, values)))
        ]
        return pack_sequence_as(chosen, dropped)

    def _drop(self, kind: str, index: int, value: Any, keep: Any) -> Any:
        if self._noise is None:
            return dropout(value, rate=1.0 - keep, seed=self._seed_of(kind, index))
        scaled = divide(value, keep) * floor(keep + self._noise[kind][index])
        scaled.set_shape(value.shape)
        return scaled


def _probability(name: str, value: Any) -> Any:
    """Return a probability as a float if its value is known, otherwise as a tensor.

    Raises ValueError for a known value outside of [0, 1].
    """
    tensor = convert_to_tensor(value)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {known}")
    return float(known)


def _drops(keep: Any) -> bool:
    return not isinstance(keep, numbers.Real) or keep < 1


def _all_but_memory(substate: Any) -> Any:
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(substate, TensorArray)


def _select(visitor: Callable[..., Any], state: Any) -> Any:
    """Return a structure of bools that marks the components of `state` that the visitor selects.

    For a structure, the visitor returns one bool for the whole structure, or a structure of bools
    for its components. The visitor is called again with each selected component.
    """
    answer = visitor(state)
    if not is_nested(state) or answer is False:
        return answer
    parts = _parts(state)
    if isinstance(answer, bool):
        wanted = [answer] * len(parts)
    else:
        assert_same_structure(map_structure(lambda _: True, answer), answer)
        wanted = _parts(answer)
    marks = [_select(visitor, part) if want else False for want, part in zip(wanted, parts)]
    return _like(state, marks)


def _parts(structure: Any) -> list[Any]:
    """Return the direct components of a structure. The components of a dict are sorted by their
    keys.
    """
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def _like(structure: Any, parts: list[Any]) -> Any:
    """Return a structure of the same type as `structure`, with these components."""
    if isinstance(structure, Mapping):
        return dict(zip(sorted(structure), parts))
    named = hasattr(structure, "_fields")
    return type(structure)(*parts) if named else type(structure)(parts)


def _up_to(shallow: Any, values: Any) -> list[Any]:
    """Return the substructures of `values` that correspond to the leaves of `shallow`, a structure
    that is nested less deeply.
    """
    if not is_nested(shallow):
        return [values]
    pairs = zip(_parts(shallow), _parts(values))
    return [part for upper, lower in pairs for part in _up_to(upper, lower)]
