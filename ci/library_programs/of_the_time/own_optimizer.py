"""An optimizer of the program, gradient overrides, frozen graphs."""

import tensorflow as tf, numpy as np
from tensorflow.python import debug as tf_debug
from tensorflow.python.framework import (
    ops,
    dtypes,
    tensor_util,
    graph_util,
    constant_op,
    random_seed,
    errors_impl,
)
from tensorflow.python.ops import (
    gen_array_ops,
    control_flow_ops,
    init_ops,
    math_ops,
    nn_ops,
    partitioned_variables,
    standard_ops,
    state_ops,
    data_flow_ops,
)
from tensorflow.python.training import (
    moving_averages,
    slot_creator,
    training_util,
    queue_runner_impl,
)
from tensorflow.python.training.optimizer import Optimizer
import tensorflow.contrib.eager as tfe


class AMSGrad(Optimizer):
    def __init__(
        self,
        learning_rate=0.01,
        beta1=0.9,
        beta2=0.99,
        epsilon=1e-8,
        use_locking=False,
        name="AMSGrad",
    ):
        super(AMSGrad, self).__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._b1p = self._b2p = None

    def _create_slots(self, var_list):
        first_var = min(var_list, key=lambda x: x.name)
        create_new = self._b1p is None or self._b1p.graph is not first_var.graph
        if create_new:
            with ops.colocate_with(first_var):
                from tensorflow.python.ops import variable_scope

                self._b1p = variable_scope.variable(
                    self._beta1, name="beta1_power", trainable=False
                )
                self._b2p = variable_scope.variable(
                    self._beta2, name="beta2_power", trainable=False
                )
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)
            self._zeros_slot(v, "vhat", self._name)

    def _prepare(self):
        self._lr_t = ops.convert_to_tensor(self._lr)
        self._b1t = ops.convert_to_tensor(self._beta1)
        self._b2t = ops.convert_to_tensor(self._beta2)
        self._et = ops.convert_to_tensor(self._epsilon)

    def _apply_dense(self, grad, var):
        c = lambda t: math_ops.cast(t, var.dtype.base_dtype)
        lr = c(self._lr_t) * math_ops.sqrt(1 - c(self._b2p)) / (1 - c(self._b1p))
        m = self.get_slot(var, "m")
        m_t = state_ops.assign(
            m, c(self._b1t) * m + grad * (1 - c(self._b1t)), use_locking=self._use_locking
        )
        v = self.get_slot(var, "v")
        v_t = state_ops.assign(
            v, c(self._b2t) * v + grad * grad * (1 - c(self._b2t)), use_locking=self._use_locking
        )
        vh = self.get_slot(var, "vhat")
        vh_t = state_ops.assign(vh, math_ops.maximum(v_t, vh))
        up = state_ops.assign_sub(
            var, lr * m_t / (math_ops.sqrt(vh_t) + c(self._et)), use_locking=self._use_locking
        )
        return control_flow_ops.group(*[up, m_t, v_t, vh_t])

    def _resource_apply_dense(self, grad, handle):
        return self._apply_dense(grad, handle)

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        m = self.get_slot(var, "m")
        m_t = state_ops.assign(m, m * self._b1t)
        with ops.control_dependencies([m_t]):
            m_t = scatter_add(m, indices, grad * (1 - self._b1t))
        return control_flow_ops.group(*[state_ops.assign_sub(var, self._lr_t * m_t), m_t])

    def _apply_sparse(self, grad, var):
        return self._apply_sparse_shared(
            grad.values,
            var,
            grad.indices,
            lambda x, i, v: state_ops.scatter_add(x, i, v, use_locking=self._use_locking),
        )

    def _finish(self, update_ops, name_scope):
        with ops.control_dependencies(update_ops):
            with ops.colocate_with(self._b1p):
                u1 = self._b1p.assign(self._b1p * self._b1t, use_locking=self._use_locking)
                u2 = self._b2p.assign(self._b2p * self._b2t, use_locking=self._use_locking)
        return control_flow_ops.group(*update_ops + [u1, u2], name=name_scope)


@ops.RegisterGradient("HardTanhSTE")
def _g(op, grad):
    return grad * tf.cast(tf.abs(op.inputs[0]) <= 1, grad.dtype)


def binarize(x):
    g = tf.get_default_graph()
    with ops.name_scope("Binarized") as name:
        with g.gradient_override_map({"Sign": "HardTanhSTE"}):
            return tf.sign(x, name=name)


def bn(x, train):
    with tf.variable_scope("bn"):
        shp = x.get_shape()[-1:]
        mm = tf.get_variable("mm", shp, initializer=init_ops.zeros_initializer(), trainable=False)
        mv = tf.get_variable("mv", shp, initializer=tf.ones_initializer, trainable=False)
        axes = list(range(len(x.get_shape()) - 1))
        mean, var = tf.nn.moments(x, axes)
        um = moving_averages.assign_moving_average(mm, mean, 0.9, zero_debias=False)
        uv = moving_averages.assign_moving_average(mv, var, 0.9, zero_debias=False)
        tf.add_to_collection(ops.GraphKeys.UPDATE_OPS, um)
        tf.add_to_collection(ops.GraphKeys.UPDATE_OPS, uv)
        mean, var = control_flow_ops.cond(train, lambda: (mean, var), lambda: (mm, mv))
        return tf.nn.batch_normalization(x, mean, var, None, None, 1e-3)


x = tf.placeholder(tf.float32, [None, 8])
y = tf.placeholder(tf.float32, [None, 1])
ids = tf.placeholder(tf.int32, [None])
train = tf.placeholder_with_default(True, [])
emb = tf.get_variable("emb", [5, 8])
h = tf.layers.dense(x + tf.gather(emb, ids), 16, name="d1")
h = binarize(bn(h, train))
out = tf.layers.dense(h, 1)
loss = tf.reduce_mean(tf.abs(out - y))
gs = training_util.get_or_create_global_step()
with ops.control_dependencies(ops.get_collection(ops.GraphKeys.UPDATE_OPS)):
    op = AMSGrad(0.01).minimize(loss, global_step=gs)
r = np.random.RandomState(0)
X = r.randn(32, 8)
Y = X[:, :1] * 2
I = r.randint(0, 5, 32)
with tf.Session() as sess:
    if False:
        sess = tf_debug.LocalCLIDebugWrapperSession(sess)
        sess.add_tensor_filter("has_inf_or_nan", tf_debug.has_inf_or_nan)
    sess.run(tf.global_variables_initializer())
    ls = [sess.run([loss, op], {x: X, y: Y, ids: I})[0] for _ in range(60)]
    gd = graph_util.convert_variables_to_constants(sess, sess.graph_def, [out.op.name])
    gd = graph_util.remove_training_nodes(gd)
    print(
        ls[0] > ls[-1],
        len(gd.node),
        tensor_util.constant_value(constant_op.constant(3)),
        sess.run(gs),
    )
    print(
        tensor_util.MakeNdarray(tensor_util.make_tensor_proto([1.0, 2.0])),
        errors_impl.OutOfRangeError is tf.errors.OutOfRangeError,
        dtypes.as_dtype("float32").as_numpy_enum
        if hasattr(dtypes.DType, "as_numpy_enum")
        else dtypes.float32.as_datatype_enum,
    )
