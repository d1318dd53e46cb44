"""Checkpoints of variables: savers, the files of a folder, readers, objects.

saveable_objects      the saved objects and their names
saver_builder         the operations of a saver
saver                 `tf.train.Saver`
meta_graph_with_saver `export_meta_graph`
saver_of_meta_graph   `import_meta_graph`
checkpoint_files      the state file, the latest checkpoint, removal
checkpoint_reading    the contents of a checkpoint, without a graph
checkpoint_initializers, warm_start
                      initialization of variables with values of a checkpoint
remapped_matrices     matrices of a checkpoint, with rows reordered by vocabularies
object_graph_keys     the graph of objects in a checkpoint
checkpoints_iterator  waits for checkpoints
"""
