"""Sequence-to-sequence models: decoders, attention, beam search."""

from gpugraph.library.seq2seq import *
