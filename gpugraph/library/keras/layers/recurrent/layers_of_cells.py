"""SimpleRNN, GRU and LSTM: recurrent layers that create their cell and accept its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from gpugraph.base.named_function import with_signature
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer
from gpugraph.library.keras.layers.recurrent.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell
from gpugraph.library.keras.layers.recurrent.recurrent_layer import RNN
from gpugraph.platform import logging


class OfCell:
    """A read-only property of a layer that returns the attribute of the same name of the layer's
    cell.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.__doc__ = f"The cell's `{name}`."

    def __get__(self, layer: Any, owner: type) -> Any:
        return self if layer is None else getattr(layer.cell, self.name)


class LayerOfCell(RNN):
    """A recurrent layer that creates its cell, of the class `cell_class`, and accepts the cell's
    arguments.

    The constructor first has the parameters of the cell, with `activity_regularizer` after
    `bias_regularizer`. These parameters are followed by the parameters of RNN that `flags` lists.
    The cell's parameters that `last_arguments` lists come last.
    """

    cell_class: type[ConfiguredLayer]
    flags: tuple[str, ...] = (
        *("return_sequences", "return_state", "go_backwards", "stateful", "unroll"),
    )
    last_arguments: tuple[str, ...] = ()
    rank_of_inputs = 3

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "cell_class" in vars(cls):
            for name in _arguments_of(cls.cell_class):
                setattr(cls, name, OfCell(name))
            setattr(cls, "__init__", cls._constructor())  # noqa: B010

    @classmethod
    def _constructor(cls) -> Callable[..., None]:
        """Return the constructor of the class. The class's docstring describes its parameters."""
        parameters = []
        for parameter in inspect.signature(cls.cell_class.__init__).parameters.values():
            if parameter.name not in ("kwargs", *cls.last_arguments):
                parameters.append(parameter)
            if parameter.name == "bias_regularizer":
                parameters.append(parameter.replace(name="activity_regularizer"))
        known = inspect.signature(cls.cell_class.__init__).parameters
        further = [known[name] for name in cls.last_arguments]
        flags = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=False) for name in cls.flags
        ]

        @with_signature(Signature([*parameters, *flags, *further, known["kwargs"]]))
        def __init__(self: Any, **arguments: Any) -> None:
            self.make(arguments)

        return __init__

    def make(self, arguments: Mapping[str, Any]) -> None:
        """Initialize the layer.

        Args:
          arguments: a dict from names to the constructor's arguments. The item `kwargs`
            contains the remaining keyword arguments.
        """
        kwargs = dict(arguments["kwargs"])
        of_cell = {name: arguments[name] for name in _arguments_of(self.cell_class)}
        general = {"dtype": kwargs.get("dtype"), "trainable": kwargs.get("trainable", True)}
        cell = self.cell_class(**of_cell, **general)
        kwargs |= {name: arguments[name] for name in (*self.flags, "activity_regularizer")}
        super().__init__(cell, **kwargs)
        self.input_spec = [InputSpec(ndim=self.rank_of_inputs)]
        self._argument_names += ("activity_regularizer",)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor: the arguments of the cell and of RNN."""
        config = super().get_config()
        of_cell = config.pop("cell")["config"]
        return {**config, **{name: of_cell[name] for name in _arguments_of(self.cell_class)}}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a layer from a dict that `get_config` returned.

        The new layer has new variables.
        """
        return cls(**{key: value for key, value in config.items() if key != "num_constants"})


def _arguments_of(cell_class: type) -> list[str]:
    """Return the names of the parameters of a cell's constructor, except `kwargs`."""
    parameters = inspect.signature(cell_class).parameters.values()
    return [
        parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD
    ]


class SimpleRNN(LayerOfCell):
    """A layer that runs a `SimpleRNNCell`. For the arguments, see `SimpleRNNCell` and `RNN`."""

    cell_class = SimpleRNNCell

    def make(self, arguments: Mapping[str, Any]) -> None:
        """Initialize the layer. The deprecated argument `implementation` only causes a warning."""
        kwargs = dict(arguments["kwargs"])
        if kwargs.pop("implementation", None) is not None:
            logging.warning(
                "The `implementation` argument in `SimpleRNN` has been deprecated. Please remove "
                "it from your layer call."
            )
        super().make({**arguments, "kwargs": kwargs})


class GRU(LayerOfCell):
    """A layer that runs a `GRUCell`. For the arguments, see `GRUCell` and `RNN`."""

    cell_class = GRUCell
    last_arguments = ("reset_after",)


class LSTM(LayerOfCell):
    """A layer that runs an `LSTMCell`. For the arguments, see `LSTMCell` and `RNN`."""

    cell_class = LSTMCell
