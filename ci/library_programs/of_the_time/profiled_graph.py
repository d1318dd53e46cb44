"""Counts of operations and parameters by tf.profiler, and timelines."""

import tensorflow as tf, numpy as np, os, tempfile
from tensorflow.python.client import timeline
from tensorflow.python.profiler import model_analyzer, option_builder

tf.reset_default_graph()
x = tf.placeholder(tf.float32, [1, 32, 32, 3], name="x")
net = tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu, name="c1")
net = tf.layers.max_pooling2d(net, 2, 2)
net = tf.layers.flatten(net)
y = tf.layers.dense(net, 10, name="fc")
flops = tf.profiler.profile(
    tf.get_default_graph(), options=tf.profiler.ProfileOptionBuilder.float_operation()
)
params = tf.profiler.profile(
    tf.get_default_graph(), options=tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
)
print("FLOPs: {};    Trainable params: {}".format(flops.total_float_ops, params.total_parameters))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    rm = tf.RunMetadata()
    sess.run(
        y,
        {x: np.zeros((1, 32, 32, 3))},
        options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
        run_metadata=rm,
    )
    t = timeline.Timeline(rm.step_stats)
    open(os.path.join(tempfile.mkdtemp(), "t.json"), "w").write(
        t.generate_chrome_trace_format(show_memory=True)
    )
    prof = tf.profiler.Profiler(sess.graph)
    prof.add_step(0, rm)
    opts = (
        option_builder.ProfileOptionBuilder(option_builder.ProfileOptionBuilder.time_and_memory())
        .with_max_depth(10)
        .order_by("micros")
        .with_empty_output()
        .build()
    )
    r = prof.profile_operations(opts)
    assert r is not None
    prof.advise(
        {"ExpensiveOperationChecker": {}, "AcceleratorUtilizationChecker": {}}
    ) if False else None
    n = model_analyzer.profile(
        sess.graph,
        run_meta=rm,
        cmd="scope",
        options=tf.profiler.ProfileOptionBuilder.trainable_variables_parameter(),
    )
    print(n.total_parameters, n.name, [c.name for c in n.children])
    a = tf.contrib.tfprof.model_analyzer.print_model_analysis(
        tf.get_default_graph(),
        tfprof_options=tf.contrib.tfprof.model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
    )
    print(a.total_parameters)
