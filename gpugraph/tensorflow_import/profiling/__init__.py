"""`tf.profiler`: parameters, floating-point operations, times and memory of a graph's operations.

float_operations   the number of floating-point operations, by op type
profile_options    options of profiles, and their builder
graph_profiles     profiles by name scope and by op type
"""
