"""One line of another framework at line 300 of 1000 of each preset's lines: do the metrics go on unharmed?"""

import collections

import reading

LINES, AT = 1000, 300
TEXTS = 2  # of a preset

STRAYS = {
    "DeepSpeed log_dist": "[2026-03-01 10:05:00,123] [INFO] [logging.py:128:log_dist] [Rank 0] step=300, skipped=0, lr=[5e-05, 5e-05], mom=[(0.9, 0.95), (0.9, 0.95)]",
    "DeepSpeed timer": "[2026-03-01 10:05:00,124] [INFO] [timer.py:264:stop] epoch=0/micro_step=600/global_step=300, RunningAvgSamplesPerSec=46.98, CurrSamplesPerSec=50.87, MemAllocated=5.53GB, MaxMemAllocated=8.61GB",
    "MLLOG": ':::MLLOG {"namespace": "", "time_ms": 1772359500123, "event_type": "POINT_IN_TIME", "key": "eval_accuracy", "value": 0.71, "metadata": {"file": "train.py", "lineno": 467, "epoch_num": 3}}',
    "HF eval dictionary": "{'eval_loss': 1.25, 'eval_runtime': 3.5, 'eval_samples_per_second': 120.1, 'epoch': 1.0}",
    "HF train dictionary": "{'loss': 0.4117, 'grad_norm': 1.5, 'learning_rate': 4.98e-05, 'epoch': 0.01}",
    "Megatron validation": " validation loss at iteration 300 | lm loss value: 8.017406E+00 | lm loss PPL: 3.033300E+03 | ",
    "Megatron iteration": " iteration      300/     500 | consumed samples:        38400 | elapsed time per iteration (ms): 412.7 | learning rate: 1.0E-04 | global batch size:   128 | lm loss: 7.1E+00 | loss scale: 1.0 | grad norm: 1.2 |",
    "CSV header": "epoch,step,train_loss,val_loss",
    "CSV header and row": "step,loss,lr\n300,2.5,0.0001",
    "NCCL banner": "n12:48213:48213 [0] NCCL INFO NCCL version 2.21.5+cuda12.4",
    "nccl-tests table": "    33554432       8388608     float     sum      -1    455.6   73.65  138.09    N/A    454.1   73.89  138.55    N/A",
    "tqdm bar": " 30%|###       | 300/1000 [05:00<11:40,  1.00s/it]",
    "Keras bar": "100/100 [==============================] - 9s 90ms/step - loss: 0.6898 - acc: 0.5285 - val_loss: 0.6724 - val_acc: 0.5950",
    "XGBoost": "[300]\ttrain-rmse:1.5\tvalidation-rmse:1.75",
    "LightGBM": "[300]\ttraining's l2: 0.25\tvalid_1's l2: 0.5",
    "Lightning": "Epoch 3: 100%|██████████| 100/100 [00:10<00:00,  9.50it/s, v_num=0, train_loss_step=0.523, val_loss=0.61]",
    "nanoGPT": "iter 300: loss 2.6351, time 350.12ms, mfu 12.50%",
    "torchtitan": "[rank0]:2026-03-01 10:05:00,123 - root - INFO - step: 300  loss:  2.8350  grad_norm:  0.6669  memory: 48.87GiB(51.44%)  tps: 4,376  mfu: 25.62%",
    "generic": "step 300 loss: 2.5 lr: 0.0001 grad_norm: 0.9",
    "JSON record": '{"step": 300, "train_loss": 2.5, "lr": 0.0001}',
    "stable-baselines row": "|    ep_rew_mean          | 21.5        |",
    "argument dump": "TrainingArguments(learning_rate=5e-05, max_steps=1000, per_device_train_batch_size=8, warmup_steps=300)",
    "config lines": "learning_rate: 0.0003\nmax_steps: 1000\nseed: 1234",
    "traceback tail": "RuntimeError: CUDA error: device-side assert triggered (loss=nan at step 300)",
    "resume message": "Resuming from checkpoint /ckpt/step_300 (epoch 3, loss 2.41)",
    "free text": "At step 300 of 1000 the loss is 2.5 and falling; next checkpoint in 12 minutes.",
}


def shape(points, since=0, by=0):
    """Points by what a user sees of them; lines from `since` on counted `by` further up."""
    return collections.Counter((point.line - (by if point.line >= since else 0), point.name, point.step, point.attempt, repr(point.value))
        for point in points)


def spoilt(want, got, since, by):
    """Points of the old lines that are gone or changed, and new ones on them."""
    after = [point for point in got.points if not since <= point.line < since + by]
    have = shape(after, since + by, by)
    return (want - have).total(), (have - want).total()


def without_presets(texts):
    """The texts, and the presets of which none knows them: those that do are taken away, unless a stray line is theirs."""
    presets = reading.shipped()
    generic = {preset["name"] for preset in presets if preset.get("generic")} | {"-"}
    of_strays = {found.preset for found in reading.read((reading.CHOICE, stray.split("\n")) for stray in STRAYS.values())}
    while True:
        chosen = [found.preset for found in reading.read(((reading.CHOICE, text.lines) for text in texts), presets)]
        texts = [text for text, preset in zip(texts, chosen) if preset in generic or preset not in of_strays]
        known = set(chosen) - generic - of_strays
        if not known:
            return texts, presets
        presets = [dict(preset, include=[name for name in preset.get("include", ()) if name not in known])
            for preset in presets if preset["name"] not in known]


def report(grown, others, is_verbose):
    """The texts of presets, and of formats without one: there a stray line of a known framework tempts most."""
    counts = collections.Counter()
    some = [text for text in grown if counts.update([text.preset]) or counts[text.preset] <= TEXTS]
    report_texts(f"{len({text.preset for text in grown})} presets", some, None, is_verbose)
    others, presets = without_presets([text._replace(preset=text.name) for text in others])
    report_texts(f"{len(others)} formats without a preset", others, presets, is_verbose)


def report_texts(title, texts, presets, is_verbose):
    texts = [text._replace(lines=text.lines[:LINES]) for text in texts if len(text.lines) >= LINES]
    bare = reading.read(((reading.CHOICE, text.lines) for text in texts), presets)
    streams = sorted({text.preset for text in texts})
    all_cells = unharmed_cells = all_points = lost_points = 0
    print(f"\n## Stray lines: at line {AT} of {LINES}, {title}\n")
    print("| stray line | unharmed | points lost, percent | points more, percent | harmed |\n|---|---|---|---|---|")
    for name, stray in STRAYS.items():
        extra = stray.split("\n")
        found = reading.read(((reading.CHOICE, text.lines[:AT] + extra + text.lines[AT:]) for text in texts), presets)
        harmed, there, lost, more = set(), 0, 0, 0
        own = reading.read([(reading.CHOICE, extra)])[0].preset
        for text, before, after in zip(texts, bare, found):
            if text.preset == own:
                continue  # of another framework, that is
            gone, new = spoilt(shape(before.points), after, AT, len(extra))
            there, lost, more = there + len(before.points), lost + gone, more + new
            if gone or new:
                harmed.add(text.preset)
        all_cells, unharmed_cells = all_cells + len(streams), unharmed_cells + len(streams) - len(harmed)
        all_points, lost_points = all_points + there, lost_points + lost
        listed = ", ".join(sorted(harmed)) if is_verbose or len(harmed) <= 8 else f"{len(harmed)} of them"
        print(f"| {name} | {len(streams) - len(harmed)} | {100 * lost / there:.1f} | {100 * more / there:.1f} | {listed} |")
    print(f"| **all** | {100 * unharmed_cells / all_cells:.1f} % | {100 * lost_points / all_points:.1f} | | |")
