"""Image translation from PNG files."""

from __future__ import absolute_import, division, print_function
import tensorflow as tf, numpy as np, argparse, os, json, glob, random, collections, math, time, tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--ngf", type=int, default=4)
parser.add_argument("--ndf", type=int, default=4)
parser.add_argument("--separable_conv", action="store_true")
a = parser.parse_args()
EPS = 1e-12
Examples = collections.namedtuple("Examples", "paths, inputs, targets, count, steps_per_epoch")
Model = collections.namedtuple(
    "Model", "outputs, predict_real, predict_fake, discrim_loss, gen_loss_GAN, gen_loss_L1, train"
)
d = tempfile.mkdtemp()
with tf.Session(graph=tf.Graph()) as s:
    for i in range(4):
        open(os.path.join(d, "%d.png" % i), "wb").write(
            s.run(
                tf.image.encode_png(
                    np.random.RandomState(i).randint(0, 255, (32, 64, 3)).astype(np.uint8)
                )
            )
        )


def preprocess(image):
    with tf.name_scope("preprocess"):
        return image * 2 - 1


def deprocess(image):
    return (image + 1) / 2


def load_examples():
    paths = sorted(glob.glob(os.path.join(d, "*.png")))
    with tf.name_scope("load_images"):
        q = tf.train.string_input_producer(paths, shuffle=True)
        reader = tf.WholeFileReader()
        p, contents = reader.read(q)
        raw = tf.image.convert_image_dtype(tf.image.decode_png(contents), dtype=tf.float32)
        assertion = tf.assert_equal(tf.shape(raw)[2], 3, message="image does not have 3 channels")
        with tf.control_dependencies([assertion]):
            raw = tf.identity(raw)
        raw.set_shape([None, None, 3])
        w = tf.shape(raw)[1]
        A = preprocess(raw[:, : w // 2, :])
        B = preprocess(raw[:, w // 2 :, :])
    seed = random.randint(0, 2**31 - 1)

    def transform(image):
        r = tf.image.random_flip_left_right(image, seed=seed)
        r = tf.image.resize_images(r, [36, 36], method=tf.image.ResizeMethod.AREA)
        offset = tf.cast(
            tf.floor(tf.random_uniform([2], 0, 36 - 32 + 1, seed=seed)), dtype=tf.int32
        )
        return tf.image.crop_to_bounding_box(r, offset[0], offset[1], 32, 32)

    pb, ib, tb = tf.train.batch([p, transform(A), transform(B)], batch_size=1)
    return Examples(pb, ib, tb, len(paths), int(math.ceil(len(paths) / 1)))


init = tf.random_normal_initializer(0, 0.02)


def gen_conv(x, c):
    return (
        tf.layers.separable_conv2d(
            x, c, 4, (2, 2), "same", depthwise_initializer=init, pointwise_initializer=init
        )
        if a.separable_conv
        else tf.layers.conv2d(
            x, c, kernel_size=4, strides=(2, 2), padding="same", kernel_initializer=init
        )
    )


def gen_deconv(x, c):
    return tf.layers.conv2d_transpose(
        x, c, kernel_size=4, strides=(2, 2), padding="same", kernel_initializer=init
    )


def lrelu(x, k):
    with tf.name_scope("lrelu"):
        x = tf.identity(x)
        return (0.5 * (1 + k)) * x + (0.5 * (1 - k)) * tf.abs(x)


def batchnorm(x):
    return tf.layers.batch_normalization(
        x,
        axis=3,
        epsilon=1e-5,
        momentum=0.1,
        training=True,
        gamma_initializer=tf.random_normal_initializer(1.0, 0.02),
    )


def create_generator(x):
    layers = []
    with tf.variable_scope("encoder_1"):
        layers.append(gen_conv(x, a.ngf))
    for c in [a.ngf * 2, a.ngf * 4]:
        with tf.variable_scope("encoder_%d" % (len(layers) + 1)):
            layers.append(batchnorm(gen_conv(lrelu(layers[-1], 0.2), c)))
    n = len(layers)
    for k, (c, drop) in enumerate([(a.ngf * 2, 0.5), (a.ngf, 0.0)]):
        skip = n - k - 1
        with tf.variable_scope("decoder_%d" % (skip + 1)):
            inp = layers[-1] if k == 0 else tf.concat([layers[-1], layers[skip]], axis=3)
            o = batchnorm(gen_deconv(tf.nn.relu(inp), c))
            o = tf.nn.dropout(o, keep_prob=1 - drop) if drop > 0 else o
            layers.append(o)
    with tf.variable_scope("decoder_1"):
        layers.append(
            tf.tanh(gen_deconv(tf.nn.relu(tf.concat([layers[-1], layers[0]], axis=3)), 3))
        )
    return layers[-1]


def create_discriminator(x, y):
    h = tf.concat([x, y], axis=3)
    for i, (c, s) in enumerate([(a.ndf, 2), (a.ndf * 2, 2), (1, 1)]):
        with tf.variable_scope("layer_%d" % (i + 1)):
            h = tf.pad(h, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="CONSTANT")
            h = tf.layers.conv2d(
                h, c, kernel_size=4, strides=(s, s), padding="valid", kernel_initializer=init
            )
            h = tf.sigmoid(h) if i == 2 else lrelu(batchnorm(h) if i else h, 0.2)
    return h


def create_model(x, t):
    with tf.variable_scope("generator"):
        outputs = create_generator(x)
    with tf.name_scope("real_discriminator"):
        with tf.variable_scope("discriminator"):
            pr = create_discriminator(x, t)
    with tf.name_scope("fake_discriminator"):
        with tf.variable_scope("discriminator", reuse=True):
            pf = create_discriminator(x, outputs)
    dl = tf.reduce_mean(-(tf.log(pr + EPS) + tf.log(1 - pf + EPS)))
    gg = tf.reduce_mean(-tf.log(pf + EPS))
    gl = tf.reduce_mean(tf.abs(t - outputs))
    gen = gg + 100 * gl
    dv = [v for v in tf.trainable_variables() if v.name.startswith("discriminator")]
    do = tf.train.AdamOptimizer(2e-4, 0.5)
    dg = do.compute_gradients(dl, var_list=dv)
    dt = do.apply_gradients(dg)
    with tf.control_dependencies([dt]):
        gv = [v for v in tf.trainable_variables() if v.name.startswith("generator")]
        go = tf.train.AdamOptimizer(2e-4, 0.5)
        gt = go.apply_gradients(go.compute_gradients(gen, var_list=gv))
    ema = tf.train.ExponentialMovingAverage(decay=0.99)
    ul = ema.apply([dl, gg, gl])
    gs = tf.train.get_or_create_global_step()
    inc = tf.assign(gs, gs + 1)
    return Model(
        outputs, pr, pf, ema.average(dl), ema.average(gg), ema.average(gl), tf.group(ul, inc, gt)
    )


ex = load_examples()
m = create_model(ex.inputs, ex.targets)
conv = lambda im: tf.image.convert_image_dtype(im, dtype=tf.uint8, saturate=True)
disp = {
    "paths": ex.paths,
    "outputs": tf.map_fn(
        tf.image.encode_png, conv(deprocess(m.outputs)), dtype=tf.string, name="output_pngs"
    ),
}
tf.summary.image("predict_real", tf.image.convert_image_dtype(m.predict_real, dtype=tf.uint8))
tf.summary.scalar("gen_loss_L1", m.gen_loss_L1)
for var in tf.trainable_variables():
    tf.summary.histogram(var.op.name + "/values", var)
pc = tf.reduce_sum([tf.reduce_prod(tf.shape(v)) for v in tf.trainable_variables()])
saver = tf.train.Saver(max_to_keep=1)
out = tempfile.mkdtemp()
sv = tf.train.Supervisor(logdir=out, save_summaries_secs=0, saver=None)
with sv.managed_session() as sess:
    print("parameter_count =", sess.run(pc))
    for step in range(6):
        f = {"train": m.train, "global_step": sv.global_step, "L1": m.gen_loss_L1}
        if step == 5:
            f["summary"] = sv.summary_op
            f["display"] = disp
        r = sess.run(
            f,
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) if step == 5 else None,
            run_metadata=tf.RunMetadata(),
        )
    sv.summary_writer.add_summary(r["summary"], r["global_step"])
    saver.save(sess, os.path.join(out, "model"), global_step=sv.global_step)
    print(
        r["global_step"],
        r["L1"],
        len(r["display"]["outputs"][0]),
        os.path.basename(r["display"]["paths"][0].decode()),
    )
