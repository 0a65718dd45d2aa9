"""Steps of a conversation by MLflow's protocol: runs are jobs EXPERIMENT/RUN of the token's team, and go by their ids."""

import math

from fleet_model import Job
from smserver import quote
from talking import READERS, SENDERS, verb

RUNS = ["r", "r", "s"]
ENDS = {"FINISHED": "Completed", "FAILED": "Failed", "KILLED": "Stopped"}


class Run:
    """Its job may have another name by now, or be in the trash."""

    def __init__(self, number, job):
        self.number, self.job = number, job


def call(talk, who, path, body=None):
    if body is None:
        return talk.ask(who, "GET", f"/api/2.0/mlflow/{path}")
    return talk.ask(who, "POST", f"/api/2.0/mlflow/{path}", json=body)


def answered(reply, *statuses):
    assert reply.status in statuses, (statuses, reply)
    return reply.body


def where_is(talk, run):
    if run.job in talk.model.jobs.values():
        return "active"
    return "deleted" if run.job in talk.model.trash else "gone"


def choose(talk, which):
    return talk.runs[which % len(talk.runs)] if talk.runs else None


def refusals(talk, who, run, scope="write"):
    """The statuses, any of which is right, of who may not change the run; () of who may."""
    refusal = talk.model.refuse(who, scope)
    if refusal:
        return (refusal,)
    if where_is(talk, run) == "gone":
        return (404,)
    if talk.model.owns(who, run.job):
        return ()
    return (403,) if talk.model.may_read(who, run.job) else (403, 404)


def refusals_to_write(talk, who, run):
    """Who may see it hears first that it is deleted."""
    is_seen = talk.model.refuse(who, "write") is None and talk.model.may_read(who, run.job)
    return (400,) if is_seen and where_is(talk, run) == "deleted" else refusals(talk, who, run)


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "run": chance.choice(RUNS)})
def mlflow_create(talk, who, run):
    refusal = talk.model.refuse(who, "write")
    if refusal:
        answered(call(talk, who, "runs/create", {"experiment_id": "0", "run_name": run}), refusal)
        return None
    team = talk.model.tokens[who].team
    if team not in talk.experiments:
        talk.experiments[team] = answered(call(talk, who, "experiments/create", {"name": talk.name("e")}), 200)["experiment_id"]
    body = {"experiment_id": talk.experiments[team], "run_name": run, "start_time": talk.began_ms}
    number = answered(call(talk, who, "runs/create", body), 200)["run"]["info"]["run_id"]
    row, = talk.expect(200, "root", "GET", f"/api/v1/jobs?q={quote(f'TrackedRunId={number}')}").body["jobs"]
    wanted, name = talk.name(f"e/{run}"), row["TrainingJobName"]
    talk.model.check_new_name(wanted, name)
    job = Job(name, team)
    job.has_document, job.phase, job.is_stated = True, "Training", True
    job.tags = {"mlflow.runName": run}
    talk.model.jobs[name] = job
    talk.runs.append(Run(number, job))
    return talk.short(job)


def draw_rows(chance):
    """Steps are of no other request: what two of them share is told twice. A client that got no answer sends all of one again, and one may have a point twice."""
    rows = [(chance.choice(["m", "q/r"]), chance.randrange(1, 1 << 40), chance.choice([1.5, -2, 0.25, math.nan, math.inf])) for _ in range(chance.randrange(1, 8))]
    rows += rows[:1] if chance.random() < 0.2 else []
    entries = [{"key": chance.choice(["lr", "seed"]), "value": chance.choice(["0.2", "7"])}] if chance.random() < 0.4 else []
    tags = [{"key": chance.choice(["colour", "mlflow.runName"]), "value": chance.choice(["red", "blue"])}] if chance.random() < 0.4 else []
    return {"who": chance.choice(SENDERS), "which": chance.randrange(4), "rows": rows, "params": entries, "tags": tags, "times": chance.choice([1, 1, 2])}


@verb(5, draw_rows)
def mlflow_log(talk, who, which, rows, params, tags, times):
    run = choose(talk, which)
    if not run:
        return None
    metrics = [{"key": metric, "step": step, "timestamp": talk.began_ms, "value": value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity"} for metric, step, value in rows]
    refused = refusals_to_write(talk, who, run)
    for _ in range(times):
        answered(call(talk, who, "runs/log-batch", {"run_id": run.number, "metrics": metrics, "params": params, "tags": tags}), *(refused or (200,)))
    if refused:
        return None
    talk.model.add_points(run.job, "algo-1", dict.fromkeys(rows))
    run.job.hp.update({entry["key"]: entry["value"] for entry in params})
    run.job.tags.update({entry["key"]: entry["value"] for entry in tags})
    return talk.short(run.job)


@verb(4, lambda chance: {"who": chance.choice(SENDERS), "which": chance.randrange(4), "status": chance.choice(["FINISHED", "FAILED", "KILLED", "RUNNING"])})
def mlflow_update(talk, who, which, status):
    run = choose(talk, which)
    if not run or (run.job.has_ended() and status != "RUNNING"):
        return None
    reply = call(talk, who, "runs/update", {"run_id": run.number, "status": status})
    refused = refusals_to_write(talk, who, run)
    answered(reply, *(refused or (200,)))
    if not refused:
        run.job.phase, run.job.is_stated = ENDS.get(status, "Training"), True
    return talk.short(run.job)


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "which": chance.randrange(4)})
def mlflow_delete(talk, who, which):
    run = choose(talk, which)
    if not run:
        return None
    refused, place = refusals(talk, who, run), where_is(talk, run)
    if not refused and place == "active" and not run.job.has_ended():
        refused = (400,)
    answered(talk.asked_again(lambda: call(talk, who, "runs/delete", {"run_id": run.number})), *(refused or (200,)))
    if not refused and place == "active":
        talk.model.throw(run.job)
    return talk.short(run.job)


@verb(3, lambda chance: {"who": chance.choice(SENDERS), "which": chance.randrange(4)})
def mlflow_restore(talk, who, which):
    run = choose(talk, which)
    if not run:
        return None
    refused, place = refusals(talk, who, run), where_is(talk, run)
    answered(call(talk, who, "runs/restore", {"run_id": run.number}), *(refused or (200,)))
    if not refused and place == "deleted":
        row, = talk.expect(200, "root", "GET", f"/api/v1/jobs?q={quote(f'TrackedRunId={run.number}')}").body["jobs"]
        talk.model.take_back(run.job, row["TrainingJobName"])
    return talk.short(run.job)


@verb(2, lambda chance: {"who": chance.choice([*READERS, "a-write", "b-write"]), "which": chance.randrange(4)})
def mlflow_history(talk, who, which):
    """Also with a token to write, of the run's team."""
    run = choose(talk, which)
    if not run or where_is(talk, run) != "active" or who == "writer":
        return
    token = talk.model.tokens.get(who)
    if token and token.scope == "write" and token.team != run.job.team:
        return
    refusal = None if token else 401
    if not refusal and not talk.model.may_read(who, run.job):
        refusal = 404
    body = answered(call(talk, who, f"metrics/get-history?run_id={run.number}&metric_key=m"), refusal or 200)
    if refusal:
        return
    series = run.job.series.get(("algo-1", "m"))
    here = [(row["step"], repr(float(row["value"]))) for row in body["metrics"]]
    wanted = [(step, repr(float(value))) for step, value in series.points] if series else []
    assert here == wanted, f"the history of m should be {wanted}: {here}"
