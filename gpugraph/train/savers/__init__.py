"""Checkpoints of variables: savers, the files of a folder, readers, objects.

saveable_objects      what is saved under which names
saver_builder         the operations of a saver
saver                 `tf.train.Saver`
checkpoint_files      the state file, the latest checkpoint, removal
checkpoint_reading    what is in a checkpoint, without a graph
"""
