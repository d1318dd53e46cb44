"""Sequence to sequence: decoders, attention, beam search."""

from gpugraph.seq2seq import *
