"""
A training of a tiny model by a real framework, run by tests/integration/test_frameworks.py in a process of its own: `tinytrain.py trainer
TRACKER STEPS [fail|nan|nan-kept]`: it raises after step 15; or its weights become NaN after step 12, and nan-kept has logging_nan_inf_filter off. It goes on from out/checkpoint-10 where there is one. SM_GATES="20=gone,60=back" makes it say `at 20` and wait there
for the file `gone`. Its last line is what it logged: {"history": [{step, name: value…}], "runtime_s": …}.
"""

import json
import os
import sys
import time

import torch

GATES = dict(pair.split("=") for pair in os.environ.get("SM_GATES", "").split(",") if pair)
PACE_S = float(os.environ.get("SM_PACE_S", "0"))  # of a step, for an outage of a given length
waited_s = [0.0]  # at gates
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


def train_by_trainer():
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

    class Gate(TrainerCallback):
        def on_step_end(self, arguments, state, control, **_):
            pass_gate(state.global_step)
            if how == "fail" and state.global_step == 15:
                raise RuntimeError("the disk of checkpoints is full")
            if how.startswith("nan") and state.global_step == 12:
                torch.nn.init.constant_(model.transformer.ln_f.weight, float("nan"))

    set_seed(7)
    rows = [{"input_ids": torch.tensor([n % 11, (n + 1) % 11, 3, 4]), "labels": torch.tensor([n % 11, (n + 1) % 11, 3, 4])} for n in range(64)]
    model = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=8, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0))
    arguments = TrainingArguments(output_dir="out", run_name="tiny", report_to=[] if tracker == "none" else [tracker], max_steps=steps,
        logging_steps=5, eval_strategy="steps", eval_steps=10, save_steps=10, per_device_train_batch_size=4, use_cpu=True, disable_tqdm=True,
        learning_rate=0.01, logging_nan_inf_filter=how != "nan-kept")
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8], callbacks=[Gate()])
    begun = time.monotonic()
    trainer.train(resume_from_checkpoint=os.path.isdir("out/checkpoint-10") or None)
    return trainer.state.log_history, time.monotonic() - begun - waited_s[0]


history, runtime_s = {"trainer": train_by_trainer}[framework]()
print("\n" + json.dumps({"history": history, "runtime_s": runtime_s}), flush=True)
