"""stable-baselines: A2C and PPO2 on CartPole, saved and loaded."""
import tempfile
import warnings

warnings.filterwarnings('ignore')
import numpy as np
from stable_baselines import A2C, PPO2
from stable_baselines.common.policies import MlpPolicy

for algorithm in (A2C, PPO2):
    model = algorithm(MlpPolicy, 'CartPole-v1', seed=0, n_cpu_tf_sess=1)
    model.learn(total_timesteps=300)
    observation = model.env.reset()
    action, _ = model.predict(observation, deterministic=True)
    path = tempfile.mkdtemp() + '/agent'
    model.save(path)
    again = algorithm.load(path)
    np.testing.assert_array_equal(again.predict(observation, deterministic=True)[0], action)
