"""Recurrent layers: cells, stacks of them, the layers that run them, and layers in both directions.

`recurrent_layer` runs a cell along sequences, `recurrent_cells` has the cells, `state_sizes` the
shapes of their states.
"""
