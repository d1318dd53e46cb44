"""Cells of recurrent networks, by TensorFlow's names: `tf.nn.rnn_cell`."""

from gpugraph.rnn.basic_and_gru_cells import BasicRNNCell, GRUCell
from gpugraph.rnn.cell_wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper
from gpugraph.rnn.lstm_cells import BasicLSTMCell, LSTMCell, LSTMStateTuple
from gpugraph.rnn.multi_rnn_cell import MultiRNNCell
from gpugraph.rnn.rnn_cell_base import RNNCell

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
