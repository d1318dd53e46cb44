"""The training of models: its configuration by `compile`, data in batches, and the loops over
batches.

`training_setup` has the losses and metrics of outputs, `step_functions` runs one batch,
`epoch_loops` has the loops, and `model_loops` has the methods `fit`, `evaluate` and `predict`.
"""
