"""Cells of recurrent networks, by TensorFlow's names: `tf.nn.rnn_cell`."""

from gpugraph.rnn.basic import BasicRNNCell, GRUCell
from gpugraph.rnn.cell import RNNCell
from gpugraph.rnn.lstm import BasicLSTMCell, LSTMCell, LSTMStateTuple
from gpugraph.rnn.multi import MultiRNNCell
from gpugraph.rnn.wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper

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
