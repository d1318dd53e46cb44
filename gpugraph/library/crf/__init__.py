"""Conditional random fields over sequences of tags: `tf.contrib.crf`."""

from gpugraph.library.crf.best_sequences import (
    CrfDecodeBackwardRnnCell as CrfDecodeBackwardRnnCell,
    CrfDecodeForwardRnnCell as CrfDecodeForwardRnnCell,
    crf_decode as crf_decode,
    viterbi_decode as viterbi_decode,
)
from gpugraph.library.crf.sequence_scores import (
    CrfForwardRnnCell as CrfForwardRnnCell,
    crf_binary_score as crf_binary_score,
    crf_log_likelihood as crf_log_likelihood,
    crf_log_norm as crf_log_norm,
    crf_multitag_sequence_score as crf_multitag_sequence_score,
    crf_sequence_score as crf_sequence_score,
    crf_unary_score as crf_unary_score,
)
