"""The optimizers' updates, one op each."""
