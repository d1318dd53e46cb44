"""Recurrent layers: cells, stacks of cells, layers that run a cell, and bidirectional layers.

A cell is a layer for one step of a sequence. `recurrent_layer` runs a cell along sequences,
`recurrent_cells` has the cells, and `state_sizes` has the shapes of their states.
"""
