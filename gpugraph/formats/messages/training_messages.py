"""Messages of training: examples, summaries, events.

The tables have the syntax of `declaration_text`. Names and numbers are TensorFlow 1.15's.
"""

from __future__ import annotations

EXAMPLES = """
Example: 1 features Features
SequenceExample: 1 context Features, 2 feature_lists FeatureLists
Features: 1 feature string:Feature
Feature: 1 bytes_list BytesList |kind, 2 float_list FloatList |kind, 3 int64_list Int64List |kind
BytesList: 1 value *bytes
FloatList: 1 value *float
Int64List: 1 value *int64
FeatureList: 1 feature *Feature
FeatureLists: 1 feature_list string:FeatureList
"""

PROJECTORS = """
SpriteMetadata: 1 image_path string, 2 single_image_dim *uint32
EmbeddingInfo: 1 tensor_name string, 2 metadata_path string, 3 bookmarks_path string,
    4 tensor_shape *uint32, 5 sprite SpriteMetadata, 6 tensor_path string
ProjectorConfig: 1 model_checkpoint_path string, 2 embeddings *EmbeddingInfo,
    3 model_checkpoint_dir string
"""

SUMMARIES = """
Summary: 1 value *Value
Summary.Value: 7 node_name string, 1 tag string, 9 metadata SummaryMetadata,
    2 simple_value float |value, 3 obsolete_old_style_histogram bytes |value,
    4 image Image |value, 5 histo HistogramProto |value, 6 audio Audio |value,
    8 tensor TensorProto |value
Summary.Image: 1 height int32, 2 width int32, 3 colorspace int32, 4 encoded_image_string bytes
Summary.Audio: 1 sample_rate float, 2 num_channels int64, 3 length_frames int64,
    4 encoded_audio_string bytes, 5 content_type string
SummaryMetadata: 1 plugin_data PluginData, 2 display_name string, 3 summary_description string
SummaryMetadata.PluginData: 1 plugin_name string, 2 content bytes
SummaryDescription: 1 type_hint string
HistogramProto: 1 min double, 2 max double, 3 num double, 4 sum double, 5 sum_squares double,
    6 bucket_limit *double, 7 bucket *double
Event: 1 wall_time double, 2 step int64, 3 file_version string |what, 4 graph_def bytes |what,
    5 summary Summary |what, 6 log_message LogMessage |what, 7 session_log SessionLog |what,
    8 tagged_run_metadata TaggedRunMetadata |what, 9 meta_graph_def bytes |what
LogMessage: 1 level Level, 2 message string
enum LogMessage.Level: UNKNOWN 0, DEBUGGING 10, INFO 20, WARN 30, ERROR 40, FATAL 50
SessionLog: 1 status SessionStatus, 2 checkpoint_path string, 3 msg string
enum SessionLog.SessionStatus: STATUS_UNSPECIFIED 0, START 1, STOP 2, CHECKPOINT 3
TaggedRunMetadata: 1 tag string, 2 run_metadata bytes
"""
