"""`tf.train.Checkpoint`, whose checkpoints identify values by the references between objects.

object_graph         the objects below a root, their names and keys
object_saver         saves them, and starts restores
object_restore       matches a checkpoint's objects with a program's, and restores the values
load_status          the result of `restore`: checks, and runs of the operations
object_checkpoint    `tf.train.Checkpoint`
checkpoint_manager   `tf.train.CheckpointManager`
"""
