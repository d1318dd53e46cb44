"""Messages of ensembles of decision trees, of the package `tensorflow.boosted_trees`.

The syntax of the table below is described in `declaration_text`. Names and numbers are those of
TensorFlow 1.15.
"""

from __future__ import annotations

TREES = """
enum SplitTypeWithDefault: INEQUALITY_DEFAULT_LEFT 0, INEQUALITY_DEFAULT_RIGHT 1,
    EQUALITY_DEFAULT_RIGHT 3
enum DefaultDirection: DEFAULT_LEFT 0, DEFAULT_RIGHT 1
Node: 1 leaf Leaf |node, 2 bucketized_split BucketizedSplit |node,
    3 categorical_split CategoricalSplit |node, 4 dense_split DenseSplit |node,
    777 metadata NodeMetadata
NodeMetadata: 1 gain float, 2 original_leaf Leaf
Leaf: 1 vector Vector |leaf, 2 sparse_vector SparseVector |leaf, 3 scalar float
Vector: 1 value *float
SparseVector: 1 index *int32, 2 value *float
BucketizedSplit: 1 feature_id int32, 2 threshold int32, 5 dimension_id int32,
    6 default_direction DefaultDirection, 3 left_id int32, 4 right_id int32
CategoricalSplit: 1 feature_id int32, 2 value int32, 5 dimension_id int32, 3 left_id int32,
    4 right_id int32
DenseSplit: 1 feature_id int32, 2 threshold float, 3 left_id int32, 4 right_id int32
Tree: 1 nodes *Node
TreeMetadata: 2 num_layers_grown int32, 3 is_finalized bool,
    4 post_pruned_nodes_meta *PostPruneNodeUpdate
TreeMetadata.PostPruneNodeUpdate: 1 new_node_id int32, 2 logit_change *float
GrowingMetadata: 1 num_trees_attempted int64, 2 num_layers_attempted int64,
    3 last_layer_node_start int32, 4 last_layer_node_end int32
TreeEnsemble: 1 trees *Tree, 2 tree_weights *float, 3 tree_metadata *TreeMetadata,
    4 growing_metadata GrowingMetadata
DebugOutput: 1 feature_ids *int32, 2 logits_path *float
"""
