"""graph-nets and spektral: graph networks over toy graphs."""
import graph_nets as gn
import numpy as np
import sonnet as snt
import tensorflow as tf
from graph_nets import modules, utils_np, utils_tf

random = np.random.RandomState(0)


def graph(nodes):
    return {'nodes': random.randn(nodes, 2).astype(np.float32), 'edges': random.randn(nodes, 1).astype(np.float32),
            'senders': np.arange(nodes), 'receivers': (np.arange(nodes) + 1) % nodes,
            'globals': np.zeros(1, np.float32)}


dicts = [graph(3), graph(4)]
graphs = utils_tf.data_dicts_to_graphs_tuple(dicts)
network = modules.GraphNetwork(
    edge_model_fn=lambda: snt.nets.MLP([8, 4]), node_model_fn=lambda: snt.nets.MLP([8, 4]),
    global_model_fn=lambda: snt.nets.MLP([8, 1]))
attention = modules.SelfAttention()
output = network(network(graphs) if False else graphs)
relations = modules.RelationNetwork(lambda: snt.Linear(4), lambda: snt.Linear(2))(graphs)
loss = tf.reduce_mean(tf.square(output.globals - [[1.0], [2.0]])) + 0.0 * tf.reduce_sum(relations.globals)
step = tf.train.AdamOptimizer(0.02).minimize(loss)
placeholder = utils_tf.placeholders_from_data_dicts(dicts)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(40):
        session.run(step)
    assert session.run(loss) < first * 0.5
    values = session.run(output)
    assert values.nodes.shape == (7, 4) and len(utils_np.graphs_tuple_to_data_dicts(values)) == 2
    feed = utils_tf.get_feed_dict(placeholder, utils_np.data_dicts_to_graphs_tuple(dicts))
    assert session.run(placeholder.nodes, feed).shape == (7, 2)
