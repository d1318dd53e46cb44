"""Messages of graphs: tensors, attributes, nodes, ops, functions, control flow, variables.

The tables have the syntax of `declaration_text`. Names and numbers are TensorFlow 1.15's. The field
`experimental_type` is from a later version. It has no effect, but the text of that version's
GraphDefs can't be parsed without it.
"""

from __future__ import annotations

_TYPES = """
    FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16
    QINT16 QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64
"""
_NUMBERED = [f"DT_{name} {number}" for number, name in enumerate(_TYPES.split(), 1)]
_NUMBERED += [f"DT_{name}_REF {number + 100}" for number, name in enumerate(_TYPES.split(), 1)]

TENSORS = f"""
enum DataType: DT_INVALID 0, {", ".join(_NUMBERED)}
TensorShapeProto: 2 dim *Dim, 3 unknown_rank bool
TensorShapeProto.Dim: 1 size int64, 2 name string
TensorProto: 1 dtype DataType, 2 tensor_shape TensorShapeProto, 3 version_number int32,
    4 tensor_content bytes, 13 half_val *int32, 5 float_val *float, 6 double_val *double,
    7 int_val *int32, 8 string_val *bytes, 9 scomplex_val *float, 10 int64_val *int64,
    11 bool_val *bool, 12 dcomplex_val *double, 14 resource_handle_val *ResourceHandleProto,
    15 variant_val *VariantTensorDataProto, 16 uint32_val *uint32, 17 uint64_val *uint64
VariantTensorDataProto: 1 type_name string, 2 metadata bytes, 3 tensors *TensorProto
ResourceHandleProto: 1 device string, 2 container string, 3 name string, 4 hash_code uint64,
    5 maybe_type_name string, 6 dtypes_and_shapes *DtypeAndShape
ResourceHandleProto.DtypeAndShape: 1 dtype DataType, 2 shape TensorShapeProto
TensorSliceProto: 1 extent *Extent
TensorSliceProto.Extent: 1 start int64, 2 length int64 |has_length_hack
"""

GRAPHS = """
enum FullTypeId: TFT_UNSET 0, TFT_VAR 1, TFT_ANY 2, TFT_PRODUCT 3, TFT_NAMED 4, TFT_FOR_EACH 20,
    TFT_CALLABLE 100, TFT_BOOL 200, TFT_UINT8 201, TFT_UINT16 202, TFT_UINT32 203, TFT_UINT64 204,
    TFT_INT8 205, TFT_INT16 206, TFT_INT32 207, TFT_INT64 208, TFT_HALF 209, TFT_FLOAT 210,
    TFT_DOUBLE 211, TFT_COMPLEX64 212, TFT_COMPLEX128 213, TFT_STRING 214, TFT_BFLOAT16 215,
    TFT_TENSOR 1000, TFT_ARRAY 1001, TFT_OPTIONAL 1002, TFT_LITERAL 1003, TFT_ENCODED 1004,
    TFT_SHAPE_TENSOR 1005, TFT_DATASET 10102, TFT_RAGGED 10103, TFT_ITERATOR 10104,
    TFT_MUTEX_LOCK 10202, TFT_LEGACY_VARIANT 10203
FullTypeDef: 1 type_id FullTypeId, 2 args *FullTypeDef, 3 s string |attr, 4 i int64 |attr
AttrValue: 2 s bytes |value, 3 i int64 |value, 4 f float |value, 5 b bool |value,
    6 type DataType |value, 7 shape TensorShapeProto |value, 8 tensor TensorProto |value,
    1 list ListValue |value, 10 func NameAttrList |value, 9 placeholder string |value
AttrValue.ListValue: 2 s *bytes, 3 i *int64, 4 f *float, 5 b *bool, 6 type *DataType,
    7 shape *TensorShapeProto, 8 tensor *TensorProto, 9 func *NameAttrList
NameAttrList: 1 name string, 2 attr string:AttrValue
NodeDef: 1 name string, 2 op string, 3 input *string, 4 device string, 5 attr string:AttrValue,
    6 experimental_debug_info ExperimentalDebugInfo, 7 experimental_type FullTypeDef
NodeDef.ExperimentalDebugInfo: 1 original_node_names *string, 2 original_func_names *string
VersionDef: 1 producer int32, 2 min_consumer int32, 3 bad_consumers *int32
GraphDef: 1 node *NodeDef, 4 versions VersionDef, 3 version int32, 2 library FunctionDefLibrary
FunctionDefLibrary: 1 function *FunctionDef, 2 gradient *GradientDef
FunctionDef: 1 signature OpDef, 5 attr string:AttrValue, 7 arg_attr uint32:ArgAttrs,
    3 node_def *NodeDef, 4 ret string:string, 6 control_ret string:string
FunctionDef.ArgAttrs: 1 attr string:AttrValue
GradientDef: 1 function_name string, 2 gradient_func string
OpDef: 1 name string, 2 input_arg *ArgDef, 3 output_arg *ArgDef, 20 control_output *string,
    4 attr *AttrDef, 8 deprecation OpDeprecation, 5 summary string, 6 description string,
    18 is_commutative bool, 16 is_aggregate bool, 17 is_stateful bool,
    19 allows_uninitialized_input bool
OpDef.ArgDef: 1 name string, 2 description string, 3 type DataType, 4 type_attr string,
    5 number_attr string, 6 type_list_attr string, 16 is_ref bool
OpDef.AttrDef: 1 name string, 2 type string, 3 default_value AttrValue, 4 description string,
    5 has_minimum bool, 6 minimum int64, 7 allowed_values AttrValue
OpDeprecation: 1 version int32, 2 explanation string
OpList: 1 op *OpDef
"""

CLIENT = """
VariableDef: 1 variable_name string, 6 initial_value_name string, 2 initializer_name string,
    3 snapshot_name string, 4 save_slice_info_def SaveSliceInfoDef, 5 is_resource bool,
    7 trainable bool, 8 synchronization VariableSynchronization, 9 aggregation VariableAggregation
enum VariableSynchronization: VARIABLE_SYNCHRONIZATION_AUTO 0, VARIABLE_SYNCHRONIZATION_NONE 1,
    VARIABLE_SYNCHRONIZATION_ON_WRITE 2, VARIABLE_SYNCHRONIZATION_ON_READ 3
enum VariableAggregation: VARIABLE_AGGREGATION_NONE 0, VARIABLE_AGGREGATION_SUM 1,
    VARIABLE_AGGREGATION_MEAN 2, VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA 3
SaveSliceInfoDef: 1 full_name string, 2 full_shape *int64, 3 var_offset *int64,
    4 var_shape *int64
ValuesDef: 1 values *string, 2 external_values string:string
ControlFlowContextDef: 1 cond_ctxt CondContextDef |ctxt, 2 while_ctxt WhileContextDef |ctxt
CondContextDef: 1 context_name string, 2 pred_name string, 3 pivot_name string, 4 branch int32,
    5 values_def ValuesDef, 6 nested_contexts *ControlFlowContextDef
WhileContextDef: 1 context_name string, 2 parallel_iterations int32, 3 back_prop bool,
    4 swap_memory bool, 5 pivot_name string, 6 pivot_for_pred_name string,
    7 pivot_for_body_name string, 8 loop_exit_names *string, 10 loop_enter_names *string,
    9 values_def ValuesDef, 11 maximum_iterations_name string,
    12 nested_contexts *ControlFlowContextDef
QueueRunnerDef: 1 queue_name string, 2 enqueue_op_name *string, 3 close_op_name string,
    4 cancel_op_name string, 5 queue_closed_exception_types *error.Code
HParamDef: 1 hparam string:HParamType
HParamDef.BytesList: 1 value *bytes
HParamDef.FloatList: 1 value *float
HParamDef.Int64List: 1 value *int64
HParamDef.BoolList: 1 value *bool
HParamDef.HParamType: 1 int64_value int64 |kind, 2 float_value float |kind,
    3 bytes_value bytes |kind, 7 bool_value bool |kind, 4 int64_list Int64List |kind,
    5 float_list FloatList |kind, 6 bytes_list BytesList |kind, 8 bool_list BoolList |kind
"""

ERROR_CODES = """
enum Code: OK 0, CANCELLED 1, UNKNOWN 2, INVALID_ARGUMENT 3, DEADLINE_EXCEEDED 4, NOT_FOUND 5,
    ALREADY_EXISTS 6, PERMISSION_DENIED 7, UNAUTHENTICATED 16, RESOURCE_EXHAUSTED 8,
    FAILED_PRECONDITION 9, ABORTED 10, OUT_OF_RANGE 11, UNIMPLEMENTED 12, INTERNAL 13,
    UNAVAILABLE 14, DATA_LOSS 15,
    DO_NOT_USE_RESERVED_FOR_FUTURE_EXPANSION_USE_DEFAULT_IN_SWITCH_INSTEAD_ 20
"""
"""The codes of errors, which belong to the protobuf package `tensorflow.error`."""
