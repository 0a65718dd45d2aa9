"""Each preset's lines behind what launchers, collectors and loggers put in front: how many presets still give the same points."""

import collections
import json

import reading

RECORDS = 60


def clock(index, form="{:02}:{:02}:{:02}", start=36_000):
    """A time of day, a second or so a line."""
    seconds = start + index
    return form.format(seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)


def padded(text, index):
    """Milliseconds or the like that do not repeat."""
    return f"{(index * 7919 + 123) % 10 ** text:0{text}}"


def front(form):
    """A prefix made of: $T a time of day, $3 $6 $9 digits of its fraction, $N the number of the line."""
    def wrap(line, index):
        text = form.replace("$T", clock(index)).replace("$N", str(index))
        for digits in (3, 6, 9):
            text = text.replace(f"${digits}", padded(digits, index))
        return text + line
    return wrap


def rich(line, index):
    """Rich's handler: the time only when it changes, the file right-aligned behind the text."""
    lead = f"[{clock(index // 3)}] " if index % 3 == 0 else " " * 11
    return f"{lead}INFO     {line.ljust(80)} trainer.py:{412 + index % 2}"


def docker_json(line, index):
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": f"2026-03-01T{clock(index)}.{padded(9, index)}Z"})


def json_record(line, index):
    """A JSON logger's record, as structlog and python-json-logger write it."""
    return json.dumps({"ts": f"2026-03-01T{clock(index)}.{padded(6, index)}Z", "level": "info", "logger": "train", "message": line})


PREFIXES = {
    "none": front(""),
    "kubectl --prefix": front("[pod/train-worker-0/trainer] "),
    "stern": front("train-worker-0 trainer "),
    "docker compose": front("trainer-1  | "),
    "journald": front("Mar 01 $T gpu-node-07 train.sh[48213]: "),
    "basicConfig": front("INFO:train:"),
    "asctime - name - level": front("2026-03-01 $T,$3 - train.loop - INFO - "),
    "loguru": front("2026-03-01 $T.$3 | INFO     | train.loop:run:118 - "),
    "Accelerate": front("03/01/2026 $T - INFO - train.loop - "),
    "rich": rich,
    "hydra": front("[2026-03-01 $T,$3][train.loop][INFO] - "),
    "glog": front("I0301 $T.$6  48213 train_loop.py:118] "),
    "absl": front("I0301 $T.$6 140228473214784 train_loop.py:118] "),
    "docker json-file": docker_json,
    "Ray": front("(TrainWorker pid=48213, ip=10.0.3.7) "),
    "Ray, coloured": front("\x1b[36m(TrainWorker pid=48213)\x1b[0m "),
    "CRI": front("2026-03-01T$T.$9Z stderr F "),
    "Kubernetes times": front("2026-03-01T$T.$9Z "),
    "torchrun tee": front("[default0]:"),
    "srun --label": front(" 0: "),
    "mpirun tag": front("[1,0]<stdout>:"),
    "JSON records": json_record,
    "unknown 1": front("<<job 7f3a-22 / host n12>> "),
    "unknown 2": front("@n12!trainer!$N! "),
    "unknown 3": front("$T.$3|W0|main|"),
    "unknown 4": front("{train.py#118} (info) "),
    "unknown 5": front("cluster=eu-1 host=n12 task=train :: "),
}


def shape(points):
    """What must stay: the rank that a prefix tells is a label, and no other series."""
    return collections.Counter((point.line, point.name.partition("{rank=")[0], point.step, repr(point.value)) for point in points)


def has_bare_numbers(text):
    """Behind `srun --label`, "3: 0.25" may be a row of two numbers: the tag is none before a digit."""
    return any(line[:1].isdigit() for line in text.lines)


def report(texts, is_verbose):
    """A preset counts behind a prefix when all of its texts give the points that they give without one, by the same preset."""
    bare = reading.read((reading.CHOICE, text.lines) for text in texts)
    wanted = [shape(found.points) for found in bare]
    chosen = {text.preset for text in texts} - {text.preset for text, found in zip(texts, bare) if found.preset != text.preset}
    presets = sorted({text.preset for text in texts})
    print(f"\n## Prefixes: presets of {len(presets)} that give the same points ({len(chosen)} are chosen for all of their bare lines)\n")
    print("| prefix | presets | points kept, percent | points more, percent | not the same |\n|---|---|---|---|---|")
    for name, wrap in PREFIXES.items():
        skipped = [name == "srun --label" and has_bare_numbers(text) for text in texts]
        found = reading.read((reading.CHOICE, [wrap(line, index) for index, line in enumerate(text.lines)]) for text in texts)
        broken, there, kept, more = set(), 0, 0, 0
        for text, want, is_skipped, got in zip(texts, wanted, skipped, found):
            if is_skipped:
                continue
            have = shape(got.points)
            there, kept, more = there + want.total(), kept + (want & have).total(), more + (have - want).total()
            if have != want:
                broken.add(text.preset)
        listed = ", ".join(sorted(broken)) if is_verbose or len(broken) <= 8 else f"{len(broken)} of them"
        print(f"| {name} | {len(presets) - len(broken)} | {100 * kept / there:.1f} | {100 * more / there:.1f} | {listed} |")
