"""stable-baselines: DQN, SAC, TD3, ACKTR, ACER and recurrent policies, callbacks, vectorized environments."""
import tempfile
import warnings

warnings.filterwarnings('ignore')
import gym
import numpy as np
from stable_baselines import A2C, ACER, ACKTR, DQN, PPO2, SAC, TD3
from stable_baselines.common.callbacks import BaseCallback, CheckpointCallback, EvalCallback
from stable_baselines.common.evaluation import evaluate_policy
from stable_baselines.common.noise import NormalActionNoise
from stable_baselines.common.policies import FeedForwardPolicy, MlpLnLstmPolicy, MlpLstmPolicy, MlpPolicy
from stable_baselines.common.vec_env import DummyVecEnv, VecNormalize
from stable_baselines.deepq.policies import LnMlpPolicy
from stable_baselines.sac.policies import MlpPolicy as SACPolicy
from stable_baselines.td3.policies import MlpPolicy as TD3Policy


class Custom(FeedForwardPolicy):
    def __init__(self, *args, **kwargs):
        super(Custom, self).__init__(*args, **kwargs, net_arch=[8, dict(pi=[8], vf=[8])], feature_extraction='mlp')


class Counted(BaseCallback):
    def _on_step(self):
        self.count = getattr(self, 'count', 0) + 1
        return True


folder = tempfile.mkdtemp()
model = DQN(LnMlpPolicy, 'CartPole-v1', learning_starts=50, buffer_size=500, prioritized_replay=True,
            target_network_update_freq=60, seed=0, n_cpu_tf_sess=1)
counted = Counted()
model.learn(200, callback=[counted, CheckpointCallback(100, folder)])
assert counted.count == 200
model.save(folder + '/dqn')
observation = model.get_env().reset()
assert DQN.load(folder + '/dqn').predict(observation)[0] == model.predict(observation)[0]
reward, _ = evaluate_policy(model, gym.make('CartPole-v1'), n_eval_episodes=2)
assert reward > 5
noise = NormalActionNoise(np.zeros(1), 0.1 * np.ones(1))
for algorithm, policy, options in ((SAC, SACPolicy, {}), (TD3, TD3Policy, {'action_noise': noise})):
    model = algorithm(policy, 'Pendulum-v0', learning_starts=40, buffer_size=300, batch_size=16, seed=0,
                      n_cpu_tf_sess=1, policy_kwargs={'layers': [8, 8]}, **options)
    model.learn(80)
    parameters = model.get_parameters()
    model.load_parameters(parameters)
    assert -2 <= model.predict(model.get_env().reset())[0].ravel()[0] <= 2
environment = DummyVecEnv([lambda: gym.make('CartPole-v1')] * 2)
for algorithm, policy, options in ((A2C, MlpLstmPolicy, {}), (ACKTR, MlpPolicy, {}), (ACER, MlpPolicy, {}),
                                   (PPO2, MlpLnLstmPolicy, {'nminibatches': 1, 'n_steps': 16}), (A2C, Custom, {})):
    model = algorithm(policy, environment, seed=0, n_cpu_tf_sess=1, **options)
    model.learn(96)
    model.save(folder + '/' + algorithm.__name__)
    again = algorithm.load(folder + '/' + algorithm.__name__)
    observation = environment.reset()
    np.testing.assert_array_equal(
        model.predict(observation, deterministic=True)[0], again.predict(observation, deterministic=True)[0])
