"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell`, and networks of known length."""

from gpugraph.api.rnn_cell import *
from gpugraph.rnn import (
    static_bidirectional_rnn as static_bidirectional_rnn, static_rnn as static_rnn,
)
