"""The layers of `tf.contrib.cudnn_rnn`: LSTMs, GRUs and simple networks of several layers."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype, float16, float32, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.default_graph_functions import add_to_collection
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.contrib_rnn.canonical_weights import (
    GRU,
    LSTM,
    RELU,
    TANH,
    NetworkSizes,
    from_vector,
    to_cells,
    to_vector,
)
from gpugraph.library.contrib_rnn.weight_cells import cell_of
from gpugraph.library.contrib_rnn.weight_saveables import (
    CudnnGRUSaveable,
    CudnnLSTMSaveable,
    CudnnOpaqueParamsSaveable,
    CudnnRNNReluSaveable,
    CudnnRNNTanhSaveable,
    num_directions,
)
from gpugraph.library.layers import Layer
from gpugraph.library.rnn.bidirectional_rnn import bidirectional_dynamic_rnn
from gpugraph.library.rnn.dynamic_rnn import dynamic_rnn
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.arrays.split_and_unstack import unstack
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.dropout import dropout
from gpugraph.ops.random.variable_initializers import Constant, GlorotUniform

_INPUT_MODES = ("linear_input", "auto_select")


class _CudnnRNN(Layer):
    """A network of recurrent layers. One variable, `opaque_kernel`, contains all weights.

    A `tf.train.Saver` writes the weights as the weights of RNN cells.

    Args:
      num_layers: the number of layers.
      num_units: the number of units of each layer.
      direction: "unidirectional" or "bidirectional".
      dropout: the dropout rate between layers, in training.
      kernel_initializer: the initializer of the matrices; by default Glorot's uniform initializer.
      bias_initializer: the initializer of the biases; by default 0.
    """

    rnn_mode = LSTM
    _num_states = 1
    _saveable_cls: type[CudnnOpaqueParamsSaveable] = CudnnLSTMSaveable

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if as_dtype(dtype) not in (float16, float32, float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        if input_mode not in _INPUT_MODES:
            raise NotImplementedError(
                f"input_mode {input_mode!r}: the inputs of these networks are always multiplied by "
                f"weights: use {_INPUT_MODES[0]!r}"
            )
        self.num_dirs, self.direction = num_directions(direction), direction
        self.num_layers, self.num_units = num_layers, num_units
        self.input_mode, self._dropout, self._seed = input_mode, dropout, seed
        self._kernel_initializer = kernel_initializer or GlorotUniform(seed=seed)
        self._bias_initializer = bias_initializer or Constant(0.0)
        self._sizes: NetworkSizes | None = None
        self.saveable: CudnnOpaqueParamsSaveable | None = None

    @property
    def input_size(self) -> int:
        """The depth of the inputs. Raises ValueError if the depth is not known yet."""
        if self._sizes is None:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._sizes.input_size

    @property
    def canonical_weight_shapes(self) -> list[list[int]]:
        """The shapes of the weight matrices. Raises RuntimeError if the depth of the inputs is not
        known yet.
        """
        if self._sizes is None:
            raise RuntimeError(
                f"{type(self).__name__}.canonical_weight_shapes invoked before input shape is known"
            )
        return self._sizes.weight_shapes()

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of the biases."""
        return self._sizes_for(1).bias_shapes()

    def _sizes_for(self, input_size: int) -> NetworkSizes:
        return NetworkSizes(
            self.rnn_mode, self.num_layers, self.num_units, input_size, self.num_dirs
        )

    def build(self, input_shape: Any) -> None:
        """Add the variable, for inputs [time, batch, depth]. Raises ValueError if the inputs have
        another rank.
        """
        shape = TensorShape(input_shape)
        if shape.rank != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.rank}")
        if shape[-1].value is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self._sizes = sizes = self._sizes_for(shape[-1].value)

        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            del shape, partition_info
            weights = [
                self._kernel_initializer(sizes_of, dtype) for sizes_of in sizes.weight_shapes()
            ]
            biases = [self._bias_initializer(sizes_of, dtype) for sizes_of in sizes.bias_shapes()]
            return to_vector(weights, biases)

        is_first = self.saveable is None
        self.kernel = self.add_variable("opaque_kernel", [sizes.params_size()], initializer=initial)
        if is_first:
            self.saveable = self._saveable_cls(
                self.kernel, self.num_layers, self.num_units, sizes.input_size,
                direction=self.direction, scope=self.kernel.op.name.rpartition("/")[0],
                name=f"{self.kernel.op.name}_saveable",
            )  # fmt: skip
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self.saveable)
        self.built = True

    def state_shape(self, batch_size: int) -> tuple[list[int], ...]:
        """Return the shapes of the states: [layers * directions, batch, units]."""
        sizes = [self.num_layers * self.num_dirs, batch_size, self.num_units]
        return (sizes,) * self._num_states

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: Any = True,
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return (outputs, states): outputs [time, batch, directions * units], and a tuple of final
        states.

        Raises TypeError for an initial state that is not a tuple.

        Args:
          initial_state: a tuple of tensors [layers * directions, batch, units]: the outputs and,
            for an LSTM, the memories. The default is 0.
          sequence_lengths: the number of steps of each sequence. Outputs after these steps are 0.
          time_major: whether the axes of all tensors begin with the time. Otherwise the first two
            axes are exchanged.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {type(initial_state)}, expecting tuple.")
        source = convert_to_tensor(inputs, dtype=self.dtype)
        source = source if time_major else transpose(source, [1, 0, 2])
        states = self._initial_states(source, initial_state, time_major)
        assert self._sizes is not None
        kernels, biases = to_cells(self._sizes, *from_vector(self._sizes, self.kernel))
        finals: list[Any] = []
        for layer in range(self.num_layers):
            if layer and self._dropout:
                source = self._dropped(source, layer, training)
            source, ended = self._layer(source, layer, kernels, biases, states, sequence_lengths)
            finals += ended
        results = tuple(stack(parts) for parts in zip(*finals))
        if time_major:
            return source, results
        return transpose(source, [1, 0, 2]), tuple(transpose(s, [1, 0, 2]) for s in results)

    def _initial_states(self, inputs: Any, initial: Any, time_major: bool) -> list[tuple[Any, ...]]:
        """Return the initial states for each layer and direction: the output and, for an LSTM, the
        memory.
        """
        count = self.num_layers * self.num_dirs
        if initial is None:
            empty = zeros(stack([shape(inputs)[1], self.num_units]), dtype=inputs.dtype)
            return [(empty,) * self._num_states] * count
        axis = 0 if time_major else 1
        return list(zip(*(unstack(state, count, axis) for state in initial)))

    def _dropped(self, inputs: Any, layer: int, training: Any) -> Any:
        seed = None if self._seed is None else self._seed + layer
        return smart_cond(
            training, lambda: dropout(inputs, rate=self._dropout, seed=seed), lambda: inputs
        )

    def _layer(
        self, inputs: Any, layer: int, kernels: list[Any], biases: list[Any],
        states: list[tuple[Any, ...]], lengths: Any,
    ) -> tuple[Any, list[tuple[Any, ...]]]:  # fmt: skip
        """Run one layer. Return its outputs and the final states of each direction."""
        parts = 3 if self.rnn_mode == GRU else 1
        first = layer * self.num_dirs
        places = [slice(i * parts, (i + 1) * parts) for i in range(first, first + self.num_dirs)]
        cells = [
            cell_of(self.rnn_mode, self.num_units, kernels[place], biases[place])
            for place in places
        ]
        begin = [self._cell_state(states[first + i]) for i in range(self.num_dirs)]
        if self.num_dirs == 1:
            outputs, end = dynamic_rnn(cells[0], inputs, lengths, begin[0], time_major=True)
            return outputs, [self._network_state(end)]
        forward, backward = cells
        both, ends = bidirectional_dynamic_rnn(
            forward, backward, inputs, lengths, begin[0], begin[1], time_major=True
        )
        return concat(both, 2), [self._network_state(end) for end in ends]

    def _cell_state(self, state: tuple[Any, ...]) -> Any:
        """Return the state of a cell. For an LSTM, (output, memory) becomes (memory, output)."""
        return (state[1], state[0]) if self._num_states == 2 else state[0]

    def _network_state(self, state: Any) -> tuple[Any, ...]:
        return (state[1], state[0]) if self._num_states == 2 else (state,)


class CudnnLSTM(_CudnnRNN):
    """LSTM layers without peepholes. The states are outputs and memories."""

    _num_states = 2


class CudnnGRU(_CudnnRNN):
    """GRU layers whose reset gate is applied after the product with the state."""

    rnn_mode = GRU
    _saveable_cls = CudnnGRUSaveable


class CudnnRNNTanh(_CudnnRNN):
    """Simple recurrent layers with the activation tanh."""

    rnn_mode = TANH
    _saveable_cls = CudnnRNNTanhSaveable


class CudnnRNNRelu(_CudnnRNN):
    """Simple recurrent layers with the activation ReLU."""

    rnn_mode = RELU
    _saveable_cls = CudnnRNNReluSaveable
