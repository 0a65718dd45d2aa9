"""
A training of a tiny model by a real framework, run by tests/integration/test_frameworks.py in a process of its own: `tinytrain.py FRAMEWORK
TRACKER STEPS [HOW]`. HOW: fail raises after step 15; nan makes the weights of the Trainer's model NaN after step 12, and nan-kept has
logging_nan_inf_filter off, too; quiet keeps the Trainer from printing what it logs; batches and autolog are other ways to log of Keras' callbacks. The Trainer goes on from out/checkpoint-10
where there is one. SM_GATES="20=gone,60=back" makes it say `at 20` and wait there for the file `gone`. The file SM_TOLD gets what it logged:
{"history": [{step, name: value…}], "runtime_s": …, "longest_s": of a step without its pace}. It does not print that, since what it prints is read for metrics, too.
"""

import contextlib
import json
import os
import sys
import time

GATES = dict(pair.split("=") for pair in os.environ.get("SM_GATES", "").split(",") if pair)
PACE_S = float(os.environ.get("SM_PACE_S", "0"))  # of a step, for an outage of a given length
waited_s = [0.0]  # at gates
steps_s = []  # of each step, with what was logged before it ended
last_end = [time.monotonic()]
framework, tracker, steps, *more = sys.argv[1:]
how, steps = (more or [""])[0], int(steps)


def pass_gate(step):
    time.sleep(PACE_S)
    name = GATES.get(str(step))
    if not name:
        return
    print(f"at {step}", flush=True)
    begun = time.monotonic()
    while not os.path.exists(name):
        time.sleep(0.02)
    waited_s[0] += time.monotonic() - begun


def end_step(step):
    steps_s.append(time.monotonic() - last_end[0])
    pass_gate(step)
    last_end[0] = time.monotonic()
    if how == "fail" and step == 15:
        raise RuntimeError("the disk of checkpoints is full")


def train_by_trainer():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

    class Gate(TrainerCallback):
        def on_step_end(self, arguments, state, control, **_):
            end_step(state.global_step)
            if how.startswith("nan") and state.global_step == 12:
                torch.nn.init.constant_(model.transformer.ln_f.weight, float("nan"))

    set_seed(7)
    rows = [{"input_ids": torch.tensor([n % 11, (n + 1) % 11, 3, 4]), "labels": torch.tensor([n % 11, (n + 1) % 11, 3, 4])} for n in range(64)]
    model = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0))
    arguments = TrainingArguments(output_dir="out", run_name="tiny", report_to=[] if tracker == "none" else [tracker], max_steps=steps,
        logging_steps=5, eval_strategy="steps", eval_steps=10, save_steps=10, per_device_train_batch_size=4, use_cpu=True, disable_tqdm=True,
        learning_rate=0.01, logging_nan_inf_filter=how != "nan-kept")
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8], callbacks=[Gate()])
    if how == "quiet":
        trainer.remove_callback(PrinterCallback)
    begun = time.monotonic()
    trainer.train(resume_from_checkpoint=os.path.isdir("out/checkpoint-10") or None)
    return trainer.state.log_history, time.monotonic() - begun - waited_s[0]


def make_torch_importable():
    """Debian's torch 1.13 has a default that Python 3.11 takes for mutable, as its class has no hash; Lightning imports that module."""
    import dataclasses

    plain = dataclasses.dataclass
    dataclasses.dataclass = lambda of=None, **how: plain(of, **how, unsafe_hash=getattr(of, "__name__", "") == "TensorProperties")
    import torch.distributed._shard.sharded_tensor  # noqa: F401

    dataclasses.dataclass = plain


def train_by_lightning():
    make_torch_importable()
    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.loggers import MLFlowLogger, WandbLogger

    logged = []

    class Tiny(pl.LightningModule):
        def __init__(self, learning_rate):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, _):
            loss = self.layer(batch).pow(2).mean()
            self.log("loss", loss)
            if (self.global_step + 1) % 5 == 0:  # as log_every_n_steps counts
                logged.append({"step": self.global_step, "loss": loss.item()})
            return loss

        def validation_step(self, batch, _):
            self.log("eval_loss", self.layer(batch).abs().mean())

        def on_train_batch_end(self, *_):
            end_step(self.global_step)

        def on_validation_end(self):
            if not self.trainer.sanity_checking:
                logged.append({"step": self.global_step - 1, "eval_loss": self.trainer.callback_metrics["eval_loss"].item()})

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.learning_rate)

    pl.seed_everything(7)
    batches = torch.utils.data.DataLoader(torch.randn(40, 4), batch_size=4)
    logger = MLFlowLogger("exp", "tiny", os.environ["MLFLOW_TRACKING_URI"]) if tracker == "mlflow" else WandbLogger("tiny", project="exp")
    trainer = pl.Trainer(logger=logger, max_steps=steps, log_every_n_steps=5, accelerator="cpu", enable_progress_bar=False, default_root_dir="out")
    begun = time.monotonic()
    trainer.fit(Tiny(0.01), batches, batches)
    return logged, time.monotonic() - begun - waited_s[0]


def train_by_keras():
    import keras
    import numpy

    logged = []

    class Record(keras.callbacks.Callback):
        steps = 0

        def on_train_batch_end(self, batch, logs=None):
            self.steps += 1
            if how == "batches" and batch % 5 == 0:
                logged.append({"step": self.steps - 1, "loss": float(logs["loss"])})
            end_step(self.steps)

        def on_epoch_end(self, epoch, logs=None):
            if how != "batches":
                logged.append({"step": epoch, **{name: float(value) for name, value in logs.items()}})

    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse", metrics=["mae"])
    rows = numpy.random.default_rng(7).normal(size=(40, 4)).astype("float32")
    call = {"x": rows, "y": rows.sum(axis=1), "batch_size": 4, "epochs": steps // 10, "verbose": 0}
    begun = time.monotonic()
    with keras_run() as callbacks:
        model.fit(**call, callbacks=[Record(), *callbacks], validation_data=(rows[:8], rows[:8].sum(axis=1)))
    return logged, time.monotonic() - begun - waited_s[0]


@contextlib.contextmanager
def keras_run():
    """A run of the tracker, and the callbacks by which it hears of the training."""
    if tracker == "wandb":
        import wandb
        from wandb.integration.keras import WandbMetricsLogger

        wandb.init(project="exp", name="tiny", config={"learning_rate": 0.01})  # ended by wandb's own atexit, with the code of the exit
        yield [WandbMetricsLogger(log_freq=5 if how == "batches" else "epoch")]
    else:
        import mlflow.keras

        mlflow.set_experiment("exp")
        if how == "autolog":
            mlflow.keras.autolog()
        with mlflow.start_run(run_name="tiny"):
            yield [] if how == "autolog" else [mlflow.keras.MlflowCallback()]


history, runtime_s = {"trainer": train_by_trainer, "lightning": train_by_lightning, "keras": train_by_keras}[framework]()
with open(os.environ["SM_TOLD"], "w") as told:
    json.dump({"history": history, "runtime_s": runtime_s, "longest_s": max(steps_s[1:])}, told)
