"""Recurrent layers: cells, stacks of cells, layers that run them, and bidirectional layers.

`recurrent_layer` runs a cell along sequences, `recurrent_cells` has the cells, `state_sizes` the
shapes of their states.
"""
