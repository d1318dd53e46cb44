"""Cells of recurrent networks, under TensorFlow's names: `tf.nn.rnn_cell`."""

from gpugraph.library.rnn.basic_and_gru_cells import (
    BasicRNNCell as BasicRNNCell, GRUCell as GRUCell,
)
from gpugraph.library.rnn.cell_wrappers import (
    DeviceWrapper as DeviceWrapper, DropoutWrapper as DropoutWrapper,
    ResidualWrapper as ResidualWrapper,
)
from gpugraph.library.rnn.lstm_cells import (
    BasicLSTMCell as BasicLSTMCell, LSTMCell as LSTMCell, LSTMStateTuple as LSTMStateTuple,
)
from gpugraph.library.rnn.multi_rnn_cell import MultiRNNCell as MultiRNNCell
from gpugraph.library.rnn.rnn_cell_base import RNNCell as RNNCell
