"""Training: optimizers, learning rate schedules, moving averages, threads, and the global step."""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names

if TYPE_CHECKING:
    from gpugraph.building.graph_files.write_graph import write_graph as write_graph
    from gpugraph.cluster.cluster_spec import ClusterSpec as ClusterSpec
    from gpugraph.cluster.grpc_server import Server as Server
    from gpugraph.library.summary.summary_iterator import summary_iterator as summary_iterator
    from gpugraph.library.train import experimental as experimental
    from gpugraph.library.train.coordination import queue_runner as queue_runner
    from gpugraph.library.train.coordination.coordinator import Coordinator as Coordinator
    from gpugraph.library.train.coordination.looper_thread import LooperThread as LooperThread
    from gpugraph.library.train.coordination.queue_runner import (
        QueueRunner as QueueRunner,
        add_queue_runner as add_queue_runner,
        start_queue_runners as start_queue_runners,
    )
    from gpugraph.library.train.global_step import (
        assert_global_step as assert_global_step,
        create_global_step as create_global_step,
        get_global_step as get_global_step,
        get_or_create_global_step as get_or_create_global_step,
        global_step as global_step,
    )
    from gpugraph.library.train.hooks.checkpoint_saver_hook import (
        CheckpointSaverHook as CheckpointSaverHook,
        CheckpointSaverListener as CheckpointSaverListener,
    )
    from gpugraph.library.train.hooks.logging_hooks import (
        LoggingTensorHook as LoggingTensorHook,
        NanLossDuringTrainingError as NanLossDuringTrainingError,
        NanTensorHook as NanTensorHook,
        StepCounterHook as StepCounterHook,
    )
    from gpugraph.library.train.hooks.profiler_hook import ProfilerHook as ProfilerHook
    from gpugraph.library.train.hooks.progress_hook import ProgressHook as ProgressHook
    from gpugraph.library.train.hooks.session_run_hook import (
        SessionRunArgs as SessionRunArgs,
        SessionRunContext as SessionRunContext,
        SessionRunHook as SessionRunHook,
        SessionRunValues as SessionRunValues,
    )
    from gpugraph.library.train.hooks.step_timer import SecondOrStepTimer as SecondOrStepTimer
    from gpugraph.library.train.hooks.stop_and_wait_hooks import (
        FeedFnHook as FeedFnHook,
        FinalOpsHook as FinalOpsHook,
        GlobalStepWaiterHook as GlobalStepWaiterHook,
        StopAtStepHook as StopAtStepHook,
    )
    from gpugraph.library.train.hooks.summary_saver_hook import SummarySaverHook as SummarySaverHook
    from gpugraph.library.train.inputs.batches import (
        batch as batch,
        batch_join as batch_join,
        maybe_batch as maybe_batch,
        maybe_batch_join as maybe_batch_join,
        maybe_shuffle_batch as maybe_shuffle_batch,
        maybe_shuffle_batch_join as maybe_shuffle_batch_join,
        shuffle_batch as shuffle_batch,
        shuffle_batch_join as shuffle_batch_join,
    )
    from gpugraph.library.train.inputs.input_producers import (
        input_producer as input_producer,
        limit_epochs as limit_epochs,
        match_filenames_once as match_filenames_once,
        range_input_producer as range_input_producer,
        slice_input_producer as slice_input_producer,
        string_input_producer as string_input_producer,
    )
    from gpugraph.library.train.learning_rate_decay import (
        cosine_decay as cosine_decay,
        cosine_decay_restarts as cosine_decay_restarts,
        exponential_decay as exponential_decay,
        inverse_time_decay as inverse_time_decay,
        linear_cosine_decay as linear_cosine_decay,
        natural_exp_decay as natural_exp_decay,
        noisy_linear_cosine_decay as noisy_linear_cosine_decay,
        piecewise_constant as piecewise_constant,
        polynomial_decay as polynomial_decay,
    )
    from gpugraph.library.train.monitored_sessions.monitored_session import (
        MonitoredSession as MonitoredSession,
        SingularMonitoredSession as SingularMonitoredSession,
    )
    from gpugraph.library.train.monitored_sessions.monitored_training_session import (
        MonitoredTrainingSession as MonitoredTrainingSession,
    )
    from gpugraph.library.train.monitored_sessions.scaffold import Scaffold as Scaffold
    from gpugraph.library.train.monitored_sessions.session_creators import (
        ChiefSessionCreator as ChiefSessionCreator,
        SessionCreator as SessionCreator,
        WorkerSessionCreator as WorkerSessionCreator,
    )
    from gpugraph.library.train.monitored_sessions.session_manager import (
        SessionManager as SessionManager,
    )
    from gpugraph.library.train.monitored_sessions.supervisor import Supervisor as Supervisor
    from gpugraph.library.train.moving_averages import (
        ExponentialMovingAverage as ExponentialMovingAverage,
    )
    from gpugraph.library.train.object_checkpoints.checkpoint_manager import (
        CheckpointManager as CheckpointManager,
    )
    from gpugraph.library.train.object_checkpoints.object_checkpoint import Checkpoint as Checkpoint
    from gpugraph.library.train.optimizers.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
    from gpugraph.library.train.optimizers.adagrad import (
        AdagradDAOptimizer as AdagradDAOptimizer,
        AdagradOptimizer as AdagradOptimizer,
        ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    )
    from gpugraph.library.train.optimizers.adam import AdamOptimizer as AdamOptimizer
    from gpugraph.library.train.optimizers.ftrl import FtrlOptimizer as FtrlOptimizer
    from gpugraph.library.train.optimizers.gradient_descent import (
        GradientDescentOptimizer as GradientDescentOptimizer,
        MomentumOptimizer as MomentumOptimizer,
    )
    from gpugraph.library.train.optimizers.optimizer import Optimizer as Optimizer
    from gpugraph.library.train.optimizers.proximal_gradient_descent import (
        ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
    )
    from gpugraph.library.train.optimizers.rmsprop import RMSPropOptimizer as RMSPropOptimizer
    from gpugraph.library.train.replica_devices import (
        replica_device_setter as replica_device_setter,
    )
    from gpugraph.library.train.savers.checkpoint_files import (
        checkpoint_exists as checkpoint_exists,
        generate_checkpoint_state_proto as generate_checkpoint_state_proto,
        get_checkpoint_mtimes as get_checkpoint_mtimes,
        get_checkpoint_state as get_checkpoint_state,
        latest_checkpoint as latest_checkpoint,
        remove_checkpoint as remove_checkpoint,
        update_checkpoint_state as update_checkpoint_state,
    )
    from gpugraph.library.train.savers.checkpoint_initializers import (
        init_from_checkpoint as init_from_checkpoint,
    )
    from gpugraph.library.train.savers.checkpoint_reading import (
        NewCheckpointReader as NewCheckpointReader,
        list_variables as list_variables,
        load_checkpoint as load_checkpoint,
        load_variable as load_variable,
    )
    from gpugraph.library.train.savers.checkpoints_iterator import (
        checkpoints_iterator as checkpoints_iterator,
    )
    from gpugraph.library.train.savers.meta_graph_with_saver import (
        export_meta_graph as export_meta_graph,
    )
    from gpugraph.library.train.savers.saver import Saver as Saver
    from gpugraph.library.train.savers.saver_of_meta_graph import (
        import_meta_graph as import_meta_graph,
    )
    from gpugraph.library.train.savers.warm_start import warm_start as warm_start
    from gpugraph.library.train.sync_replicas_optimizer import (
        SyncReplicasOptimizer as SyncReplicasOptimizer,
    )
    from gpugraph.library.train.training_loops import (
        VocabInfo as VocabInfo,
        basic_train_loop as basic_train_loop,
    )

    piecewise_constant_decay = piecewise_constant
else:
    __getattr__, __dir__, __all__ = deferred_names(__name__)
