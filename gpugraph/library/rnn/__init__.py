"""Recurrent networks: cells, and functions that call a cell once for each step of a sequence.

A cell is a function from one step's input and a state to an output and the next state. It has
variables, a `state_size` and an `output_size`. `dynamic_rnn` calls a cell in one while loop.
`static_rnn` adds the cell's ops once for each step. `raw_rnn` calls a function of the program to
get the inputs and state of each step. The bidirectional networks read a sequence from both ends.
`rnn_cell_base` has RNNCell, the base class of all cells, and `state_sizes` has the shapes of
states. `api/rnn_cell.py` exports the public cells.
"""

from gpugraph.library.rnn.bidirectional_rnn import (
    bidirectional_dynamic_rnn as bidirectional_dynamic_rnn,
    static_bidirectional_rnn as static_bidirectional_rnn,
)
from gpugraph.library.rnn.dynamic_rnn import dynamic_rnn as dynamic_rnn
from gpugraph.library.rnn.raw_rnn import raw_rnn as raw_rnn
from gpugraph.library.rnn.state_saving_rnn import static_state_saving_rnn as static_state_saving_rnn
from gpugraph.library.rnn.static_rnn import static_rnn as static_rnn
