"""The training of models: the setup by `compile`, data in batches, and the loops over batches.

`training_setup` has the losses and metrics of outputs, `step_functions` the run of one batch,
`epoch_loops` the loops, and `model_loops` the methods `fit`, `evaluate` and `predict`.
"""
