"""Cells of recurrent networks, by TensorFlow's names: `tf.nn.rnn_cell`."""

from gpugraph.rnn.basic_and_gru_cells import BasicRNNCell as BasicRNNCell, GRUCell as GRUCell
from gpugraph.rnn.cell_wrappers import (
    DeviceWrapper as DeviceWrapper, DropoutWrapper as DropoutWrapper,
    ResidualWrapper as ResidualWrapper,
)
from gpugraph.rnn.lstm_cells import (
    BasicLSTMCell as BasicLSTMCell, LSTMCell as LSTMCell, LSTMStateTuple as LSTMStateTuple,
)
from gpugraph.rnn.multi_rnn_cell import MultiRNNCell as MultiRNNCell
from gpugraph.rnn.rnn_cell_base import RNNCell as RNNCell
