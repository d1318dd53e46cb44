"""`tf.contrib.rnn`: the cells of `tf.nn.rnn_cell`, more cells, and networks unrolled in the
graph.
"""

from gpugraph.api.rnn_cell import *
from gpugraph.library.rnn import (
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)
from gpugraph.library.rnn.attention_and_highway_wrappers import (
    AttentionCellWrapper as AttentionCellWrapper,
    HighwayWrapper as HighwayWrapper,
)
from gpugraph.library.rnn.convolutional_lstm import (
    Conv1DLSTMCell as Conv1DLSTMCell,
    Conv2DLSTMCell as Conv2DLSTMCell,
    Conv3DLSTMCell as Conv3DLSTMCell,
    ConvLSTMCell as ConvLSTMCell,
)
from gpugraph.library.rnn.coupled_gates import (
    CoupledInputForgetGateLSTMCell as CoupledInputForgetGateLSTMCell,
)
from gpugraph.library.rnn.dynamic_rnn import transpose_batch_time as transpose_batch_time
from gpugraph.library.rnn.frequency_cells import (
    BidirectionalGridLSTMCell as BidirectionalGridLSTMCell,
    GridLSTMCell as GridLSTMCell,
    TimeFreqLSTMCell as TimeFreqLSTMCell,
)
from gpugraph.library.rnn.fused_networks import (
    FusedRNNCell as FusedRNNCell,
    FusedRNNCellAdaptor as FusedRNNCellAdaptor,
    GRUBlockCell as GRUBlockCell,
    GRUBlockCellV2 as GRUBlockCellV2,
    LSTMBlockCell as LSTMBlockCell,
    LSTMBlockFusedCell as LSTMBlockFusedCell,
    TimeReversedFusedRNN as TimeReversedFusedRNN,
)
from gpugraph.library.rnn.gated_cells import (
    IntersectionRNNCell as IntersectionRNNCell,
    NASCell as NASCell,
    UGRNNCell as UGRNNCell,
)
from gpugraph.library.rnn.group_lstm import GLSTMCell as GLSTMCell
from gpugraph.library.rnn.independent_cells import IndRNNCell as IndRNNCell, SRUCell as SRUCell
from gpugraph.library.rnn.normalized_and_phased_lstm import (
    LayerNormBasicLSTMCell as LayerNormBasicLSTMCell,
    PhasedLSTMCell as PhasedLSTMCell,
)
from gpugraph.library.rnn.projection_wrappers import (
    EmbeddingWrapper as EmbeddingWrapper,
    InputProjectionWrapper as InputProjectionWrapper,
    OutputProjectionWrapper as OutputProjectionWrapper,
)
from gpugraph.library.rnn.stacked_bidirectional_rnn import (
    stack_bidirectional_dynamic_rnn as stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn as stack_bidirectional_rnn,
)
