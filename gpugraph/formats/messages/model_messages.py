"""Messages of models in files: meta graphs, savers, checkpoints, SavedModels and their objects.

The tables have the syntax of `declaration_text`. Names and numbers are TensorFlow 1.15's.
"""

from __future__ import annotations

META_GRAPHS = """
MetaGraphDef: 1 meta_info_def MetaInfoDef, 2 graph_def GraphDef, 3 saver_def SaverDef,
    4 collection_def string:CollectionDef, 5 signature_def string:SignatureDef,
    6 asset_file_def *AssetFileDef, 7 object_graph_def SavedObjectGraph
MetaGraphDef.MetaInfoDef: 1 meta_graph_version string, 2 stripped_op_list OpList,
    3 any_info google.protobuf.Any, 4 tags *string, 5 tensorflow_version string,
    6 tensorflow_git_version string, 7 stripped_default_attrs bool
CollectionDef: 1 node_list NodeList |kind, 2 bytes_list BytesList |kind,
    3 int64_list Int64List |kind, 4 float_list FloatList |kind, 5 any_list AnyList |kind
CollectionDef.NodeList: 1 value *string
CollectionDef.BytesList: 1 value *bytes
CollectionDef.Int64List: 1 value *int64
CollectionDef.FloatList: 1 value *float
CollectionDef.AnyList: 1 value *google.protobuf.Any
TensorInfo: 1 name string |encoding, 4 coo_sparse CooSparse |encoding,
    5 composite_tensor CompositeTensor |encoding, 2 dtype DataType,
    3 tensor_shape TensorShapeProto
TensorInfo.CooSparse: 1 values_tensor_name string, 2 indices_tensor_name string,
    3 dense_shape_tensor_name string
TensorInfo.CompositeTensor: 1 type_spec TypeSpecProto, 2 components *TensorInfo
SignatureDef: 1 inputs string:TensorInfo, 2 outputs string:TensorInfo, 3 method_name string
AssetFileDef: 1 tensor_info TensorInfo, 2 filename string
SavedModel: 1 saved_model_schema_version int64, 2 meta_graphs *MetaGraphDef
"""

CHECKPOINTS = """
SaverDef: 1 filename_tensor_name string, 2 save_tensor_name string, 3 restore_op_name string,
    4 max_to_keep int32, 5 sharded bool, 6 keep_checkpoint_every_n_hours float,
    7 version CheckpointFormatVersion
enum SaverDef.CheckpointFormatVersion: LEGACY 0, V1 1, V2 2
BundleHeaderProto: 1 num_shards int32, 2 endianness Endianness, 3 version VersionDef
enum BundleHeaderProto.Endianness: LITTLE 0, BIG 1
BundleEntryProto: 1 dtype DataType, 2 shape TensorShapeProto, 3 shard_id int32, 4 offset int64,
    5 size int64, 6 crc32c fixed32, 7 slices *TensorSliceProto
CheckpointState: 1 model_checkpoint_path string, 2 all_model_checkpoint_paths *string,
    3 all_model_checkpoint_timestamps *double, 4 last_preserved_timestamp double
TrackableObjectGraph: 1 nodes *TrackableObject
TrackableObjectGraph.TrackableObject: 1 children *ObjectReference, 2 attributes *SerializedTensor,
    3 slot_variables *SlotVariableReference
TrackableObjectGraph.TrackableObject.ObjectReference: 1 node_id int32, 2 local_name string
TrackableObjectGraph.TrackableObject.SerializedTensor: 1 name string, 2 full_name string,
    3 checkpoint_key string, 4 optional_restore bool
TrackableObjectGraph.TrackableObject.SlotVariableReference: 1 original_variable_node_id int32,
    2 slot_name string, 3 slot_variable_node_id int32
"""

SAVED_OBJECTS = """
SavedObjectGraph: 1 nodes *SavedObject, 2 concrete_functions string:SavedConcreteFunction
SavedObject: 1 children *TrackableObjectGraph.TrackableObject.ObjectReference,
    3 slot_variables *TrackableObjectGraph.TrackableObject.SlotVariableReference,
    4 user_object SavedUserObject |kind, 5 asset SavedAsset |kind, 6 function SavedFunction |kind,
    7 variable SavedVariable |kind, 8 bare_concrete_function SavedBareConcreteFunction |kind,
    9 constant SavedConstant |kind, 10 resource SavedResource |kind
SavedUserObject: 1 identifier string, 2 version VersionDef, 3 metadata string
SavedAsset: 1 asset_file_def_index int32
SavedFunction: 1 concrete_functions *string, 2 function_spec FunctionSpec
SavedConcreteFunction: 2 bound_inputs *int32, 3 canonicalized_input_signature StructuredValue,
    4 output_signature StructuredValue
SavedBareConcreteFunction: 1 concrete_function_name string, 2 argument_keywords *string,
    3 allowed_positional_arguments int64
SavedConstant: 1 operation string
SavedVariable: 1 dtype DataType, 2 shape TensorShapeProto, 3 trainable bool,
    4 synchronization VariableSynchronization, 5 aggregation VariableAggregation, 6 name string
FunctionSpec: 1 fullargspec StructuredValue, 2 is_method bool, 5 input_signature StructuredValue
SavedResource: 1 device string
StructuredValue: 1 none_value NoneValue |kind, 11 float64_value double |kind,
    12 int64_value sint64 |kind, 13 string_value string |kind, 14 bool_value bool |kind,
    31 tensor_shape_value TensorShapeProto |kind, 32 tensor_dtype_value DataType |kind,
    33 tensor_spec_value TensorSpecProto |kind, 34 type_spec_value TypeSpecProto |kind,
    51 list_value ListValue |kind, 52 tuple_value TupleValue |kind,
    53 dict_value DictValue |kind, 54 named_tuple_value NamedTupleValue |kind
NoneValue:
ListValue: 1 values *StructuredValue
TupleValue: 1 values *StructuredValue
DictValue: 1 fields string:StructuredValue
PairValue: 1 key string, 2 value StructuredValue
NamedTupleValue: 1 name string, 2 values *PairValue
TensorSpecProto: 1 name string, 2 shape TensorShapeProto, 3 dtype DataType
TypeSpecProto: 1 type_spec_class TypeSpecClass, 2 type_state StructuredValue,
    3 type_spec_class_name string
enum TypeSpecProto.TypeSpecClass: UNKNOWN 0, SPARSE_TENSOR_SPEC 1, INDEXED_SLICES_SPEC 2,
    RAGGED_TENSOR_SPEC 3, TENSOR_ARRAY_SPEC 4, DATA_DATASET_SPEC 5, DATA_ITERATOR_SPEC 6,
    OPTIONAL_SPEC 7, PER_REPLICA_SPEC 8
"""
