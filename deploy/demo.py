#!/usr/bin/python3
"""A small simulated fleet that logs to a running server by the ordinary ingest path. Standard library only.

    deploy/demo.py [--url http://127.0.0.1:8080] [--with-parent]

The first start sends the last twenty minutes at once, with their times; then everything goes on in real time. A later
start goes on where each job stands. --with-parent: end when the process that started this ends (deploy/run's server).
"""

import argparse
import datetime
import json
import math
import os
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

TICK_S, CHUNK_ENTRIES, FINAL = 1.0, 2000, {"Completed", "Failed", "Stopped"}
over = threading.Event()


# ---- what a step is worth ----
def curve(job, tick):
    """Loss, gradient norm, learning rate, seconds a step: the same for the same job and tick, always."""
    noise = random.Random(f"{job.name}/{tick}")
    step = tick * job.stride
    warmup = min(1.0, (step + 1) / job.warmup)
    decay = 0.5 + 0.5 * math.cos(math.pi * min(1.0, step / job.total_steps))
    loss = job.floor + (job.top - job.floor) * (1 + tick / job.tau) ** -0.9
    values = {"step": step, "loss": loss * (1 + noise.gauss(0, job.noise)), "grad": 0.4 + 1.2 / (1 + tick / 40) + abs(noise.gauss(0, 0.06)),
        "lr": job.lr * warmup * (0.1 + 0.9 * decay), "seconds": job.interval / job.stride * (1 + noise.gauss(0, 0.012))}
    if job.story:
        job.story(tick, values)
    return values


def story_spike(tick, values):
    """Now and then a bad batch; ten steps later all is well again. One is in the history, the next comes soon."""
    since = (tick - 310) % 210 if tick >= 310 else 1000
    values["loss"] += 3.2 * math.exp(-since / 4)
    values["grad"] *= 1 + 40 * math.exp(-since / 3)


def story_divergence(tick, values):
    since = tick - 380
    if since > 60:
        values["loss"] = values["grad"] = math.nan
    elif since > 0:
        values["loss"] += 0.05 * math.exp(since / 12)
        values["grad"] *= math.exp(since / 14)


def story_straggler(tick, values):
    """From tick 420 on one node throttles, and everybody waits for it."""
    values["slow"] = tick >= 420
    if values["slow"]:
        values["seconds"] *= 1.34


# ---- how trainers say it: each gives (node, text) pairs; tick 0 begins with what a trainer prints when it starts ----
def clock(when):
    return datetime.datetime.fromtimestamp(when, datetime.timezone.utc)


def nanogpt(job, tick, v, when):
    if tick == 0:
        yield 0, "tokens per iteration will be: 491,520"
        yield 0, "number of parameters: 123.59M"
    if v["step"] % 250 == 0:
        yield 0, f"step {v['step']}: train loss {v['loss'] * 0.99:.4f}, val loss {v['loss'] * 1.015:.4f}"
        yield 0, "saving checkpoint to out-gpt2"
    yield 0, f"iter {v['step']}: loss {v['loss']:.4f}, time {v['seconds'] * 1000:.2f}ms, mfu {41 * job.speed(v):.2f}%"


def megatron(job, tick, v, when):
    last = job.nodes - 1 # Megatron's last rank prints
    if tick == 0:
        yield 0, f"using world size: {job.nodes * 8}, data-parallel size: {job.nodes}, tensor-model-parallel size: 8"
        for node in range(job.nodes):
            yield node, f"[rank{node * 8}] > initialized tensor model parallel with size 8"
    yield last, (f" [{clock(when):%Y-%m-%d %H:%M:%S}] iteration {v['step']:8d}/{job.total_steps:8d} | consumed samples: {v['step'] * 512:12d} | "
        f"elapsed time per iteration (ms): {v['seconds'] * 1000:.1f} | throughput per GPU (TFLOP/s/GPU): {182 * job.speed(v):.1f} | "
        f"learning rate: {v['lr']:.6E} | global batch size:   512 | lm loss: {v['loss']:.6E} | loss scale: 1.0 | "
        f"grad norm: {v['grad']:.3f} | number of skipped iterations:   0 | number of nan iterations:   {int(math.isnan(v['loss']))} |")
    if tick and tick % 100 == 0:
        yield 0, f"saving checkpoint at iteration {v['step']:7d} to s3://training-checkpoints/{job.name} in torch_dist format"


def hf_trainer(job, tick, v, when):
    if tick == 0:
        yield 0, "***** Running training *****"
        yield 0, "  Num examples = 52,002"
    yield 0, str({"loss": round(v["loss"], 4), "grad_norm": round(v["grad"], 4), "learning_rate": v["lr"], "epoch": round(v["step"] / 1625, 3)})
    if tick and tick % 60 == 0:
        yield 0, str({"eval_loss": round(v["loss"] * 1.04, 4), "eval_runtime": 21.4, "eval_samples_per_second": 93.1, "epoch": round(v["step"] / 1625, 3)})


def llmc(job, tick, v, when):
    if v["step"] % 250 == 0:
        yield 0, f"s:{v['step']} tel:{v['loss'] * 1.01:.4f}"
    yield 0, f"s:{v['step']} trl:{v['loss']:.4f} lr:{v['lr']:.6f} norm:{v['grad']:.2f}"


def torchtitan(job, tick, v, when):
    stamp = f"[titan] {clock(when):%Y-%m-%d %H:%M:%S},{int(when * 1000) % 1000:03d} - root - INFO - "
    if tick == 0:
        for node in range(job.nodes):
            yield node, stamp + "Building 1-D device mesh with ['dp_shard'], [64]"
    for node in range(job.nodes):
        tps = 4376 * job.speed(v) * (0.93 if v.get("slow") and node == 2 else 1)
        yield node, (stamp + f"step: {v['step']:2d}  loss: {v['loss'] + node * 1e-5:8.5f}  grad_norm: {v['grad']:7.4f}  memory: 48.87GiB(51.44%)  "
            f"tps: {round(tps):,}  tflops: {tps * 0.0579:.2f}  mfu: {tps * 0.00586:.2f}%")


def olmo(job, tick, v, when):
    head = f"{clock(when):%Y-%m-%d %H:%M:%S}.{int(when * 1000) % 1000:03d}\tnode-0:0\tolmo.train:979\tINFO\t"
    if tick == job.crash_tick:
        yield 0, head + f"Loading checkpoint from s3://training-checkpoints/{job.name}/step{v['step']}"
        yield 0, head + "Checkpoint successfully loaded"
    yield 0, head + f"[step={v['step']}/{job.total_steps},epoch=0]"
    yield 0, f"    optim/total_grad_norm={v['grad']:.4f}"
    yield 0, f"    train/CrossEntropyLoss={v['loss']:.3f}"
    yield 0, f"    train/Perplexity={math.exp(min(v['loss'], 20)):.1f}"
    yield 0, f"    throughput/device/tokens_per_second={11_800 * job.speed(v):,.0f}"
    yield 0, f"    optim/learning_rate_group0={v['lr']:.6f}"


def sagemaker_epochs(job, tick, v, when):
    if tick == 0:
        yield 0, "Starting training script train.py --epochs 40 --batch-size 256"
    yield 0, f"Epoch: {v['step']} | Loss: {v['loss']:.4f}"


def key_value(job, tick, v, when):
    for node in range(job.nodes):
        if node == 0 or tick % 10 == node:
            yield node, (f"{clock(when):%Y-%m-%dT%H:%M:%SZ} INFO step={v['step']} loss={v['loss']:.4f} lr={v['lr']:.2e} grad_norm={v['grad']:.3f} "
                f"tokens_per_sec={round(61_000 * job.speed(v))}")


# ---- the fleet ----
NCCL_TIMEOUT = ("[rank5]:[E ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)",
    "Traceback (most recent call last):", '  File "scripts/train.py", line 417, in <module>', "torch.distributed.DistBackendError: NCCL timeout")


class Job:
    """One entry of the fleet: what it is, and where it stands."""

    story = None
    warmup, tau, noise = 200, 60.0, 0.008
    crash_tick = resume_tick = None # restarts from a checkpoint: at crash_tick it goes on as if it were resume_tick
    ends_after = None # ticks; None: long enough for any demonstration
    final, reason = "Completed", None
    last_words = () # of the log
    pool = None # (KeepAlivePeriodInSeconds, WarmPoolStatus or None: the server works it out)

    def __init__(self, base, trainer, nodes, instance, ago_min, interval, **rest):
        self.base = self.name = base
        self.trainer, self.nodes, self.instance, self.ago_min, self.interval = trainer, nodes, instance, ago_min, interval
        self.__dict__.update(rest)
        self.start = self.next_tick = 0

    def position(self, tick):
        """The tick whose step it is at: behind the crash the steps since the checkpoint come once more."""
        if self.crash_tick is None or tick < self.crash_tick:
            return tick
        return tick - self.crash_tick + self.resume_tick

    def speed(self, values):
        """1: as fast as it should be."""
        return self.interval / self.stride / values["seconds"]

    def tick_behind(self, last_step):
        """The first tick that is not logged yet. The HF Trainer prints no step: there the server counts the lines."""
        tick = last_step // (1 if self.trainer is hf_trainer else self.stride) + 1
        return tick if self.crash_tick is None or tick <= self.resume_tick else tick + self.crash_tick - self.resume_tick

    def lines(self, tick):
        """(when, node, text) of one tick."""
        when = self.start + tick * self.interval
        if self.crash_tick is not None and tick == self.crash_tick:
            yield from self.crash(when)
        values = curve(self, self.position(tick))
        for node, text in self.trainer(self, tick, values, when):
            yield when, node, text
        for text in self.last_words if tick + 1 == self.ends_after else ():
            yield when, 0, text

    def crash(self, when):
        for text in (*NCCL_TIMEOUT, "restarting all ranks (1 of 3)"):
            yield when - 20, 0, text

    def document(self):
        bucket = self.tags["team"]
        resource = {"InstanceType": self.instance, "InstanceCount": self.nodes, "VolumeSizeInGB": 500}
        document = {
            "TrainingJobName": self.name,
            "RoleArn": "arn:aws:iam::123456789012:role/training",
            "AlgorithmSpecification": {"TrainingImage": f"123456789012.dkr.ecr.us-west-2.amazonaws.com/{self.trainer.__name__.replace('_', '-')}:2.4",
                "TrainingInputMode": "FastFile"},
            "HyperParameters": {key: str(value) for key, value in {"lr": self.lr, "warmup_steps": self.warmup, "max_steps": self.total_steps,
                **self.hyper}.items()},
            "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix",
                "S3Uri": f"s3://corpora-{bucket}/{self.data}/", "S3DataDistributionType": "FullyReplicated"}}}],
            "OutputDataConfig": {"S3OutputPath": f"s3://models-{bucket}/{self.name}/"},
            "CheckpointConfig": {"S3Uri": f"s3://training-checkpoints/{self.name}/"},
            "ResourceConfig": resource,
            "StoppingCondition": {"MaxRuntimeInSeconds": 5 * 86400},
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
        }
        if self.pool:
            resource["KeepAlivePeriodInSeconds"], status = self.pool
            if status:
                document["WarmPoolStatus"] = status
        return document


def make_fleet():
    nlp, vision, research = ({"team": team, "project": project} for team, project in
        (("nlp", "llama"), ("vision", "detector"), ("research", "scaling-laws")))
    return [
        Job("gpt2-124m-nanogpt", nanogpt, 1, "ml.p4d.24xlarge", 20, 1.5, stride=10, lr=6e-4, top=10.9, floor=3.05, total_steps=600_000,
            tags=research, data="openwebtext", hyper={"n_layer": 12, "n_head": 12, "batch_size": 12}),
        Job("llama-7b-pretrain-0412", megatron, 8, "ml.p5.48xlarge", 20, 2.4, stride=1, lr=3e-4, top=11.2, floor=2.05, total_steps=95_000,
            story=story_spike, tags=nlp, data="redpajama", hyper={"num_layers": 32, "hidden_size": 4096, "global_batch_size": 512}),
        Job("llama-13b-sft-lr8e-5", megatron, 4, "ml.p4d.24xlarge", 19, 2.4, stride=1, lr=8e-5, top=11.2, floor=2.1, total_steps=20_000,
            ends_after=170, final="Failed", reason="AlgorithmError: ExecuteUserScriptError: NCCL timeout, exit code 1", last_words=NCCL_TIMEOUT,
            tags=nlp, data="redpajama/sft", hyper={"num_layers": 40, "hidden_size": 5120, "global_batch_size": 256}),
        Job("llama-13b-sft-lr5e-5", megatron, 4, "ml.p4d.24xlarge", 18, 2.4, stride=1, lr=5e-5, top=11.2, floor=1.9, total_steps=300,
            ends_after=300, pool=(3600, None),
            tags=nlp, data="redpajama/sft", hyper={"num_layers": 40, "hidden_size": 5120, "global_batch_size": 256}),
        Job("moe-16x1b-lr-sweep-7", llmc, 2, "ml.p4de.24xlarge", 18, 2.0, stride=5, lr=3e-3, top=10.8, floor=3.2, total_steps=40_000,
            story=story_divergence, ends_after=480, final="Failed", reason="AlgorithmError: loss is NaN for 40 steps, giving up. exit code 1",
            tags=research, data="fineweb-10b", hyper={"experts": 16, "top_k": 2, "optimizer": "adamw"}),
        Job("titan-8b-fsdp", torchtitan, 4, "ml.p5.48xlarge", 20, 2.5, stride=10, lr=3e-4, top=12.1, floor=2.6, total_steps=120_000,
            story=story_straggler, tags=nlp, data="c4", hyper={"dp_shard": 32, "seq_len": 8192, "compile": True}),
        Job("olmo-1b-tied", olmo, 2, "ml.trn1.32xlarge", 20, 3.0, stride=5, lr=4e-4, top=10.5, floor=2.9, total_steps=30_000,
            crash_tick=240, resume_tick=200, tags=research, data="dolma", hyper={"d_model": 2048, "n_layers": 16, "weight_tying": True}),
        Job("alpaca-sft-warm-a", hf_trainer, 1, "ml.g5.12xlarge", 20, 1.8, stride=10, lr=2e-5, top=1.9, floor=0.82, total_steps=3_000,
            noise=0.03, ends_after=300,
            pool=(1800, {"Status": "Reused", "ResourceRetainedBillableTimeInSeconds": 96, "ReusedByJob": "graph-classifier-warm-b"}),
            tags=vision, data="alpaca-52k", hyper={"epochs": 2, "per_device_batch": 8, "lora_r": 16}),
        Job("graph-classifier-warm-b", sagemaker_epochs, 1, "ml.g5.12xlarge", 9, 4.0, stride=1, lr=1e-2, top=0.9, floor=0.08, total_steps=2_000,
            tau=6.0, noise=0.04, warmup=1, pool=(1800, {"Status": "InUse"}), tags=vision, data="citations", hyper={"epochs": 2000, "batch_size": 256}),
        Job("detector-r50-kv", key_value, 4, "ml.g5.48xlarge", 14, 1.0, stride=20, lr=1e-3, top=4.2, floor=0.65, total_steps=90_000, noise=0.05,
            tags=vision, data="coco", hyper={"backbone": "resnet50", "image_size": 1024}),
    ]


# ---- the server ----
class Api:
    def __init__(self, url):
        self.url = url.rstrip("/")

    def call(self, method, path, body=None, content_type="application/json"):
        """(status, parsed body or None). Waits for a server that is not there, and while it is busy."""
        request = urllib.request.Request(self.url + path, body, {"Content-Type": content_type}, method=method)
        while not over.is_set():
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:
                    text = reply.read()
                    return reply.status, json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                text = error.read()
                if error.code not in (429, 503):
                    return error.code, text.decode(errors="replace")
            except OSError:
                pass
            over.wait(1)
        sys.exit(0)

    def post(self, path, document):
        return self.call("POST", path, json.dumps(document).encode())

    def send(self, entries):
        """Lines of any jobs and streams in one body, as NDJSON."""
        for begin in range(0, len(entries), CHUNK_ENTRIES):
            body = "".join(json.dumps(entry) + "\n" for entry in entries[begin:begin + CHUNK_ENTRIES]).encode()
            status, reply = self.call("POST", "/api/v1/logs", body, "application/x-ndjson")
            if status != 200:
                print(f"demo: lines were refused: {status} {reply}", file=sys.stderr)

    def job_path(self, job, rest=""):
        return "/api/v1/jobs/" + urllib.parse.quote(job.name, safe="") + rest

    def transition(self, job, status, when, message, **more):
        self.post(self.job_path(job, "/transitions"), {"SecondaryStatus": status, "StatusMessage": message, "time_ms": int(when * 1000), **more})


def begin(api, job, now):
    """A job that is not there yet: created in the past, as far as its history goes."""
    job.start, job.next_tick = now - job.ago_min * 60 + 40, 0
    api.post("/api/v1/jobs", job.document())
    is_warm = job.pool and job.pool[1] and job.pool[1]["Status"] == "InUse"
    api.transition(job, "Starting", job.start - (12 if is_warm else 40), "Launched from a warm pool" if is_warm else "Launching requested ML instances")
    api.transition(job, "Downloading", job.start - (8 if is_warm else 15), "Downloading input data")
    api.transition(job, "Training", job.start - 2, "Training in progress")


def go_on(api, job, now):
    """A job that an earlier start left running: goes on behind the last step that it logged."""
    _, reply = api.call("GET", api.job_path(job, "/metrics"))
    steps = [series["last_step"] for series in reply["series"] if series["role"] == "loss" and "last_step" in series]
    job.next_tick = job.tick_behind(max(steps)) if steps else 0
    job.start = now - job.next_tick * job.interval


def entries_due(job, now):
    entries = []
    while job.start + job.next_tick * job.interval <= now and (job.ends_after is None or job.next_tick < job.ends_after):
        for when, node, text in job.lines(job.next_tick):
            entries.append({"job": job.name, "stream": f"algo-{node + 1}", "ts": int(when * 1000), "line": text})
        job.next_tick += 1
    return entries


def finish(api, job):
    end = job.start + job.ends_after * job.interval
    if job.final == "Completed":
        api.transition(job, "Uploading", end, "Uploading generated training model")
    more = {"FailureReason": job.reason} if job.reason else {}
    api.transition(job, job.final, end + (9 if job.final == "Completed" else 1), job.reason or "Training job completed", **more)


def run(api, parent):
    now = time.time()
    _, reply = api.call("GET", "/api/v1/jobs?limit=1000")
    known = {row["TrainingJobName"]: row["TrainingJobStatus"] for row in reply["jobs"]}
    fleet = [job for job in make_fleet() if known.get(job.name) not in FINAL]
    for job in fleet:
        (go_on if job.name in known else begin)(api, job, now)
    while fleet and not over.is_set():
        entries = [entry for job in fleet for entry in entries_due(job, time.time())]
        entries.sort(key=lambda entry: entry["ts"])
        if entries:
            api.send(entries)
        for job in [job for job in fleet if job.ends_after is not None and job.next_tick >= job.ends_after]:
            finish(api, job)
            fleet.remove(job)
        over.wait(TICK_S)
        if parent is not None and os.getppid() != parent:
            return


def watch(parent):
    """Ends a demo whose server is gone while it waits for an answer."""
    while not over.wait(TICK_S):
        if os.getppid() != parent:
            over.set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--with-parent", action="store_true")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    parent = os.getppid() if arguments.with_parent else None
    if parent is not None:
        threading.Thread(target=watch, args=(parent,), daemon=True).start()
    run(Api(arguments.url), parent)


if __name__ == "__main__":
    main()
