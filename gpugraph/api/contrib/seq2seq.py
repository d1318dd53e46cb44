"""`tf.contrib.seq2seq`: decoders, attention and beam search for sequence-to-sequence models."""

from gpugraph.library.seq2seq import *
