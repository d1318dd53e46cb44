"""The updates of variables by optimizers, one op for each optimizer."""
