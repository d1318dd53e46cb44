"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell` and more, and networks of known length."""

from gpugraph.api.rnn_cell import *
from gpugraph.rnn import (
    static_bidirectional_rnn as static_bidirectional_rnn, static_rnn as static_rnn,
)
from gpugraph.rnn.dynamic_rnn import transpose_batch_time as transpose_batch_time
from gpugraph.rnn.projection_wrappers import (
    EmbeddingWrapper as EmbeddingWrapper, InputProjectionWrapper as InputProjectionWrapper,
    OutputProjectionWrapper as OutputProjectionWrapper,
)
