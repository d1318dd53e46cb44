"""`tf.train.Checkpoint`: checkpoints of objects, which find their values by what holds what.

object_graph         the objects below a root, their names and keys
object_saver         saves them, and begins to restore
object_restore       matches a checkpoint's objects with a program's, and restores the values
load_status          what `restore` gives: checks, and runs of the operations
object_checkpoint    `tf.train.Checkpoint`
checkpoint_manager   `tf.train.CheckpointManager`
"""
