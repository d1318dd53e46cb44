"""Sequence to sequence: decoders, attention, beam search."""

from gpugraph.library.seq2seq import *
