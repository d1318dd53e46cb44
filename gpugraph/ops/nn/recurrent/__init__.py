"""Ops for a step or a whole sequence of a GRU or LSTM network."""
