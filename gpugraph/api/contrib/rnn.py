"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell` and more, and networks of known length."""

from gpugraph.api.rnn_cell import *
from gpugraph.rnn import (
    static_bidirectional_rnn as static_bidirectional_rnn, static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)
from gpugraph.rnn.attention_and_highway_wrappers import (
    AttentionCellWrapper as AttentionCellWrapper, HighwayWrapper as HighwayWrapper,
)
from gpugraph.rnn.dynamic_rnn import transpose_batch_time as transpose_batch_time
from gpugraph.rnn.fused_networks import (
    FusedRNNCell as FusedRNNCell, FusedRNNCellAdaptor as FusedRNNCellAdaptor,
    GRUBlockCell as GRUBlockCell, GRUBlockCellV2 as GRUBlockCellV2, LSTMBlockCell as LSTMBlockCell,
    LSTMBlockFusedCell as LSTMBlockFusedCell, TimeReversedFusedRNN as TimeReversedFusedRNN,
)
from gpugraph.rnn.gated_cells import (
    IntersectionRNNCell as IntersectionRNNCell, NASCell as NASCell, UGRNNCell as UGRNNCell,
)
from gpugraph.rnn.normalized_and_phased_lstm import (
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell, PhasedLSTMCell as PhasedLSTMCell,
)
from gpugraph.rnn.projection_wrappers import (
    EmbeddingWrapper as EmbeddingWrapper, InputProjectionWrapper as InputProjectionWrapper,
    OutputProjectionWrapper as OutputProjectionWrapper,
)
from gpugraph.rnn.stacked_bidirectional_rnn import (
    stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn as stack_bidirectional_rnn,
)
