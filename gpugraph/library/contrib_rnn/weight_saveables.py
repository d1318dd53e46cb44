"""Objects that save networks' weights to checkpoints as the kernels and biases of RNN cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variable_scope import get_variable_scope
from gpugraph.library.contrib_rnn.canonical_weights import (
    GRU,
    LSTM,
    RELU,
    TANH,
    NetworkSizes,
    from_cells,
    from_vector,
    to_cells,
    to_vector,
)
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.reference_variable_ops import assign

_CELLS = {
    LSTM: "cudnn_compatible_lstm_cell",
    GRU: "cudnn_compatible_gru_cell",
    RELU: "basic_rnn_cell",
    TANH: "basic_rnn_cell",
}
_PARTS = ("gates", "candidate/input_projection", "candidate/hidden_projection")


def num_directions(direction: str) -> int:
    """Return 1 for "unidirectional" and 2 for "bidirectional". Raises ValueError for other
    values.
    """
    if direction not in ("unidirectional", "bidirectional"):
        raise ValueError(
            f"Invalid direction: {direction}, expecting unidirectional or bidirectional"
        )
    return 1 if direction == "unidirectional" else 2


class CudnnParamsFormatConverter:
    """The conversion between the vector of a network's weights and the weights of RNN cells."""

    _rnn_mode = LSTM

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        num_proj: int | None = None,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
    ) -> None:
        if num_proj:
            raise NotImplementedError("there are no projections of outputs in these networks")
        del input_mode
        self.sizes = NetworkSizes(
            self._rnn_mode, num_layers, num_units, input_size, num_directions(direction)
        )

    def tf_canonical_to_opaque(self, tf_canonicals: Sequence[Any]) -> Any:
        """Return the vector for a list of the kernels of cells, followed by their biases."""
        middle = len(tf_canonicals) // 2
        return to_vector(*from_cells(self.sizes, tf_canonicals[:middle], tf_canonicals[middle:]))

    def opaque_to_tf_canonical(self, opaque_param: Any) -> tuple[list[Any], list[Any]]:
        """Return the kernels and the biases of cells whose weights a vector contains."""
        return to_cells(self.sizes, *from_vector(self.sizes, opaque_param))


class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    """The conversion for LSTMs."""


class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """The conversion for GRUs."""

    _rnn_mode = GRU


class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverter):
    """The conversion for networks with ReLU."""

    _rnn_mode = RELU


class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverter):
    """The conversion for networks with tanh."""

    _rnn_mode = TANH


class CudnnOpaqueParamsSaveable(SaveableObject):
    """The vector of a network's weights. A Saver writes it as the kernels and biases of cells.

    The names in the checkpoint are the names of the variables of `CudnnCompatible...Cell`s,
    combined in a `MultiRNNCell`, in `dynamic_rnn` or in `stack_bidirectional_dynamic_rnn`.
    """

    _converter: type[CudnnParamsFormatConverter] = CudnnParamsFormatConverterLSTM

    def __init__(
        self,
        opaque_params: Any,
        num_layers: int,
        num_units: int,
        input_size: int,
        num_proj: int | None = None,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        scope: Any = None,
        name: str = "cudnn_rnn_saveable",
    ) -> None:
        self._format_converter = self._converter(
            num_layers, num_units, input_size, num_proj, input_mode, direction
        )
        self._vector = opaque_params
        prefix = getattr(scope or get_variable_scope(), "name", scope)
        weights, biases = self._format_converter.opaque_to_tf_canonical(
            convert_to_tensor(opaque_params)
        )
        names = [f"{prefix}/{name}" if prefix else name for name in self._names()]
        specs = [SaveSpec(value, "", key) for value, key in zip([*weights, *biases], names)]
        super().__init__(opaque_params, specs, name)

    @property
    def format_converter(self) -> CudnnParamsFormatConverter:
        """The conversion between the vector and the weights of cells."""
        return self._format_converter

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the operation that sets the vector to the restored weights."""
        del restored_shapes
        shaped = [convert_to_tensor(tensor) for tensor in restored_tensors]
        for tensor, spec in zip(shaped, self.specs):
            tensor.set_shape(spec.tensor.shape)
        return assign(self._vector, self._format_converter.tf_canonical_to_opaque(shaped))

    def _names(self) -> list[str]:
        sizes = self._format_converter.sizes
        prefixes = [
            prefix
            for layer in range(sizes.num_layers)
            for prefix in _prefixes(sizes.mode, layer, sizes.num_dirs)
        ]
        parts = [f"/{part}" for part in _PARTS] if sizes.mode == GRU else [""]
        return [
            f"{prefix}{part}/{kind}"
            for kind in ("kernel", "bias")
            for prefix in prefixes
            for part in parts
        ]


def _prefixes(mode: str, layer: int, num_dirs: int) -> list[str]:
    if num_dirs == 1:
        return [f"rnn/multi_rnn_cell/cell_{layer}/{_CELLS[mode]}"]
    whole = f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn"
    return [f"{whole}/{direction}/{_CELLS[mode]}" for direction in ("fw", "bw")]


class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    """The weight vector of a `CudnnLSTM`."""


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """The weight vector of a `CudnnGRU`."""

    _converter = CudnnParamsFormatConverterGRU


class CudnnRNNReluSaveable(CudnnOpaqueParamsSaveable):
    """The weight vector of a `CudnnRNNRelu`."""

    _converter = CudnnParamsFormatConverterRelu


class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    """The weight vector of a `CudnnRNNTanh`."""

    _converter = CudnnParamsFormatConverterTanh
