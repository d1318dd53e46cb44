"""`tf.contrib.seq2seq`: decoders with their helpers, attention, beam search, and the sequence loss.

The names and the behaviour are the same as in TensorFlow 1.15. This module only re-exports names.
"""

from gpugraph.library.seq2seq.attention_mechanisms import (
    AttentionMechanism as AttentionMechanism,
    BahdanauAttention as BahdanauAttention,
    LuongAttention as LuongAttention,
)
from gpugraph.library.seq2seq.attention_wrapper import (
    AttentionWrapper as AttentionWrapper,
    AttentionWrapperState as AttentionWrapperState,
    hardmax as hardmax,
)
from gpugraph.library.seq2seq.basic_decoder import (
    BasicDecoder as BasicDecoder,
    BasicDecoderOutput as BasicDecoderOutput,
    Decoder as Decoder,
    dynamic_decode as dynamic_decode,
)
from gpugraph.library.seq2seq.beam_search_decoder import (
    BeamSearchDecoder as BeamSearchDecoder,
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
    BeamSearchDecoderState as BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput as FinalBeamSearchDecoderOutput,
)
from gpugraph.library.seq2seq.beam_tensors import (
    gather_tree_from_array as gather_tree_from_array,
    tile_batch as tile_batch,
)
from gpugraph.library.seq2seq.decoding_helpers import (
    CustomHelper as CustomHelper,
    GreedyEmbeddingHelper as GreedyEmbeddingHelper,
    Helper as Helper,
    InferenceHelper as InferenceHelper,
    SampleEmbeddingHelper as SampleEmbeddingHelper,
    TrainingHelper as TrainingHelper,
)
from gpugraph.library.seq2seq.monotonic_mechanisms import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
    LuongMonotonicAttention as LuongMonotonicAttention,
)
from gpugraph.library.seq2seq.monotonic_weights import (
    monotonic_attention as monotonic_attention,
    safe_cumprod as safe_cumprod,
)
from gpugraph.library.seq2seq.scheduled_sampling import (
    ScheduledEmbeddingTrainingHelper as ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper as ScheduledOutputTrainingHelper,
)
from gpugraph.library.seq2seq.sequence_loss import sequence_loss as sequence_loss
from gpugraph.ops.indexing.gather_tree import gather_tree as gather_tree
