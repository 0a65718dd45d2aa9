"""Steps of a conversation by the protocol of W&B's SDK: a run is known by team, project and id, and its lines by their number."""

import json
import math

import wandbclient
from fleet_model import Job
from smserver import quote
from talking import SENDERS, told, verb

RUNS, HISTORY = ["p1", "p1", "p2"], "wandb-history.jsonl"
EXITS = {0: "Completed", 1: "Failed", 255: "Stopped"}


class Logged:
    """A run's job, and the lines of its history."""

    def __init__(self, job):
        self.job, self.lines = job, []


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
    known.lines += [{"_step": count + n, "_timestamp": talk.began_ms / 1000 + count + n, "m": told(value)} for n, value in enumerate(values)]
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
    known.job.phase = EXITS[code]
    return talk.short(known.job)
