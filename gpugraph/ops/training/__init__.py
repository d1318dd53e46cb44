"""The ops with which optimizers update variables. There is one op for each optimizer."""
