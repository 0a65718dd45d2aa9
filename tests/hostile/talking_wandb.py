"""Steps of a conversation by the protocol of W&B's SDK: a run is known by team, project and id, and its lines by their number."""

import json
import math
import time

import wandbclient
from fleet_model import Job
from smserver import quote
from talking import SENDERS, told, verb

RUNS, HISTORY = ["p1", "p1", "p2"], "wandb-history.jsonl"
EXITS = {0: "Completed", 1: "Failed", 255: "Stopped"}


class Logged:
    """A run's job, and the lines of its history; code: with which its client has ended, None of one that goes on."""

    def __init__(self, job):
        self.job, self.lines, self.code = job, [], None


def lines_behind(known, values, from_s):
    """The next ones; a run's clock does not go back."""
    count = len(known.lines)
    from_s = max([from_s, *(row["_timestamp"] + 0.001 for row in known.lines[-1:])])
    return [{"_step": count + n, "_timestamp": from_s + n / 1000, "m": told(value)} for n, value in enumerate(values)]


def refusal_or_run(talk, who, run):
    """(refusal, None) or (None, the run of the token's team: None where there is none, or its job is deleted)."""
    refusal = talk.model.refuse(who, "write")
    if refusal:
        return refusal, None
    known = talk.logged.get((talk.model.tokens[who].team, run))
    return None, known if known and known.job in talk.model.jobs.values() else None


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "run": chance.choice(RUNS), "config": chance.choice([{}, {"lr": 0.5}, {"seed": "7"}])})
def wandb_begin(talk, who, run, config):
    refusal = talk.model.refuse(who, "write")
    members = {"project": talk.name("w"), "config": json.dumps({key: {"value": value} for key, value in config.items()})}
    if refusal:
        status, _ = wandbclient.ask(talk.server, "UpsertBucket", {"name": run, **members}, token=talk.secrets.get(who, "smf_stranger"))
        assert status == refusal, (status, refusal)
        return None
    team = talk.model.tokens[who].team
    if (team, run) in talk.logged:
        return None  # it would go on with it
    before, query = set(talk.model.jobs), f'TrackedProject="{talk.name("w")}"'
    wandbclient.make_run(talk.server, run, token=talk.secrets[who], **members)
    found = talk.expect(200, "root", "GET", f"/api/v1/jobs?q={quote(query)}&limit=1000").body["jobs"]
    name, = {row["TrainingJobName"] for row in found} - before
    talk.model.check_new_name(talk.name(f"w/{run}"), name)
    job = Job(name, team)
    job.has_document, job.phase, job.is_stated = True, "Training", True
    job.hp = {key: str(value) for key, value in config.items()}
    talk.model.jobs[name] = job
    talk.logged[team, run] = Logged(job)
    return talk.short(job)


def draw_lines(chance):
    values = [chance.choice([1.5, -2, 0.25, math.nan, math.inf]) for _ in range(chance.randrange(1, 6))]
    return {"who": chance.choice(SENDERS), "run": chance.choice(RUNS), "values": values, "overlap": chance.choice([0, 0, 1, 3])}


@verb(6, draw_lines)
def wandb_log(talk, who, run, values, overlap):
    """Lines behind those that are there, and some of these again."""
    refusal, known = refusal_or_run(talk, who, run)
    if refusal:
        reply = wandbclient.post(talk.server, run, {HISTORY: (0, [])}, project=talk.name("w"), token=talk.secrets.get(who, "smf_stranger"))
        assert reply.status == refusal, (refusal, reply)
        return None
    if not known or known.job.has_ended():
        return None
    count = len(known.lines)
    known.lines += lines_behind(known, values, talk.began_ms / 1000 + count)
    first = max(0, count - overlap)
    reply = wandbclient.post(talk.server, run, {HISTORY: (first, known.lines[first:])}, project=talk.name("w"), token=talk.secrets[who])
    assert reply.status == 200, reply
    talk.model.add_points(known.job, "algo-1", [("m", count + n, value) for n, value in enumerate(values)])
    known.job.see_sign_of_life(False)
    return talk.short(known.job)


@verb(2, lambda chance: {"who": chance.choice(SENDERS), "run": chance.choice(RUNS), "code": chance.choice(list(EXITS))})
def wandb_end(talk, who, run, code):
    refusal, known = refusal_or_run(talk, who, run)
    if refusal or not known or known.job.has_ended():
        return None
    reply = wandbclient.post(talk.server, run, project=talk.name("w"), token=talk.secrets[who], complete=True, exitcode=code)
    assert reply.status == 200, reply
    known.job.phase, known.code = EXITS[code], code
    return talk.short(known.job)


def began(at_s, **members):
    """What a process says of itself as it begins."""
    return {"config": json.dumps({"_wandb": {"value": {"start_time": at_s}}}), **members}


def ask_resume(talk, who, run):
    """What the client is told that would go on with a run, or begins one that must not be there; None: there is none."""
    status, body = wandbclient.ask(talk.server, "RunResumeStatus", {"project": talk.name("w"), "name": run}, token=talk.secrets[who])
    assert status == 200 and not body.get("errors"), (status, body)
    return body["data"]["model"]["bucket"]


@verb(5, lambda chance: {"who": chance.choice(SENDERS), "run": chance.choice(RUNS), "resume": chance.choice(["must", "allow", "never"]),
    "values": [chance.choice([1.5, -2, 0.25, math.nan]) for _ in range(chance.randrange(1, 4))]})
def wandb_go_on(talk, who, run, resume, values):
    """As another process of the SDK: it decides by what the server tells of the run."""
    refusal, known = refusal_or_run(talk, who, run)
    if refusal:
        return None
    team, bucket = talk.model.tokens[who].team, ask_resume(talk, who, run)
    if not known:
        assert bucket is None or (team, run) in talk.logged, f"nobody has begun {run}: {bucket}"
        return None
    tail = [json.loads(line) for line in json.loads(bucket["historyTail"])]
    here = bucket["historyLineCount"], [row["_step"] for row in tail][-1:]
    wanted = len(known.lines), [row["_step"] for row in known.lines][-1:]
    assert here == wanted, f"whoever goes on with {run} should be told of {wanted}: {here}"
    if resume == "never" or (known.code is None) == known.job.has_ended():
        return None
    count, now_s = len(known.lines), time.time()
    wandbclient.make_run(talk.server, run, token=talk.secrets[who], **began(now_s, project=talk.name("w")))
    lines = lines_behind(known, values, now_s)
    reply = wandbclient.post(talk.server, run, {HISTORY: (count, lines)}, project=talk.name("w"), token=talk.secrets[who])
    assert reply.status == 200, reply
    known.lines += lines
    talk.model.add_points(known.job, "algo-1", [("m", count + n, value) for n, value in enumerate(values)])
    if known.code is None:
        known.job.see_sign_of_life(True)
    else:
        known.job.phase, known.job.is_stated, known.code = "Training", True, None
    return talk.short(known.job)


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "run": chance.choice(RUNS), "times": chance.choice([1, 2])})
def wandb_sync(talk, who, run, times):
    """Of what the server has already: nothing changes."""
    refusal, known = refusal_or_run(talk, who, run)
    if refusal or not known or not known.lines or (known.code is None) == known.job.has_ended():
        return None
    end = {} if known.code is None else {"complete": True, "exitcode": known.code}
    for _ in range(times):
        wandbclient.make_run(talk.server, run, token=talk.secrets[who], **began(talk.began_ms / 1000, project=talk.name("w"), host="node-1", program="-m wandb.__main__"))
        reply = wandbclient.post(talk.server, run, {HISTORY: (0, known.lines)}, project=talk.name("w"), token=talk.secrets[who], **end)
        assert reply.status == 200, reply
    return talk.short(known.job)
