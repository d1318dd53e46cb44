"""`tf.contrib.legacy_seq2seq`: sequence-to-sequence models with one tensor per time step."""

from gpugraph.library.seq2seq.legacy_decoders import (
    attention_decoder as attention_decoder,
    basic_rnn_seq2seq as basic_rnn_seq2seq,
    embedding_attention_decoder as embedding_attention_decoder,
    embedding_attention_seq2seq as embedding_attention_seq2seq,
    embedding_rnn_decoder as embedding_rnn_decoder,
    embedding_rnn_seq2seq as embedding_rnn_seq2seq, rnn_decoder as rnn_decoder,
    tied_rnn_seq2seq as tied_rnn_seq2seq,
)
from gpugraph.library.seq2seq.legacy_losses import (
    model_with_buckets as model_with_buckets, sequence_loss as sequence_loss,
    sequence_loss_by_example as sequence_loss_by_example,
)
