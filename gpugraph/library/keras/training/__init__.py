"""The training of models: the setup by `compile`, data in batches, and the loops over them.

`training_setup` has losses and metrics of the outputs, `step_functions` the run of one batch,
`epoch_loops` the loops, `model_training` the methods of models.
"""
