"""
Runs that finished well and go on later, by their own names: from the next step, from a checkpoint before it, minutes or a day behind. Nothing had
broken, so nothing is lost but what is made again; beside them runs that did break off, of which all stays lost. Each second is worked out here.
"""

import concurrent.futures
import datetime
import os
import signal
import sys
import time

import pytest

import mlflowclient
import wandbclient
from smserver import quote, wait_until

BEGUN_S = int(datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.timezone.utc).timestamp())
TYPE, PRICE = "ml.p4d.24xlarge", 36  # a cent a second
HOUR_S = 3600
STEP_S, LAST, FINAL, MADE_S, EVALUATED_S, SAVED_S, SAID_S, ENDED_S = 10, 60, 80, 600, 650, 700, 710, 720  # of the first part, and the last step of all
BOOT_S, CLOSING_S = 60, 20  # of the second part: up to its first step, behind its last one
NEXT_S, BACK_S = (BOOT_S + STEP_S * (FINAL - first) + CLOSING_S for first in (61, 51))  # how long the second part is


@pytest.fixture
def quick(make_server):
    server = make_server("--goodput-every", "100ms")
    assert server.put("/api/v1/prices", json={"currency": "USD", "prices": [{"instance": TYPE, "per_hour": PRICE}]}).status == 200
    return server


def line(at_s, text):
    return f"{datetime.datetime.fromtimestamp(BEGUN_S + at_s, datetime.timezone.utc):%Y-%m-%d %H:%M:%S} {text}"


def steps(first, last, printed_s):
    return [line(printed_s + STEP_S * (step - first), f"step: {step} loss: {2 + 1 / step:.4f}") for step in range(first, last + 1)]


def first_part(kept):
    return [line(0, "begins"), *steps(1, LAST, STEP_S), line(EVALUATED_S, f"step: {LAST} eval_loss: 2.1"),
        line(SAVED_S, f"Saved checkpoint to /ckpt/checkpoint-{kept}"), line(SAID_S, "bye")]


def announce(server, settings):
    machines = {"InstanceType": TYPE, "InstanceCount": 1, "VolumeSizeInGB": 30}
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "j", "ResourceConfig": machines, "HyperParameters": settings}).status == 201


def say(server, job, status, at_s):
    change = {"SecondaryStatus": status} | ({} if at_s is None else {"time_ms": 1000 * (BEGUN_S + at_s)})
    assert server.post(f"/api/v1/jobs/{job}/transitions", json=change).status == 204


def goodput(server, job):
    return server.get(f"/api/v1/jobs/{quote(job)}/goodput").body


def facts(server, job):
    found = goodput(server, job)
    told = {bucket: row["seconds"] for bucket, row in found["buckets"].items() if row["seconds"]}
    broken = [(row["cause"], row.get("lost_steps"), row["redone_seconds"], row["restart_seconds"], row["repair_seconds"]) for row in found["breaks"]]
    return told, broken, round(100 * (found["cost"]["lost"] or 0)), found["cost"]["billable_seconds"]


TAIL = {"evaluation": 50, "checkpoint": 50}  # and ten or twenty seconds of nothing, up to the end


def table():
    """name: how it ended, the first step and the beginning of the second part; then buckets, breaks, seconds that are lost, and those that are billed."""
    well = {"productive": 800, "first_step": BOOT_S - STEP_S} | TAIL
    for name, later_s in (("minutes", 600), ("an hour", HOUR_S), ("a day", 30 * HOUR_S)):
        yield f"told, {name}", "Completed", LAST + 1, later_s, well | {"idle": 20 + later_s + CLOSING_S}, [], 0, ENDED_S + NEXT_S
    back = well | {"redone": 100}
    for name, later_s in (("minutes", 600), ("a day", 30 * HOUR_S)):
        yield (f"told, back, {name}", "Completed", 51, later_s, back | {"idle": 20 + later_s + CLOSING_S}, [("unknown", 10, 100, 0, BOOT_S)], 100,
            ENDED_S + BACK_S)
    yield "told without a time", "undated", LAST + 1, HOUR_S, well | {"idle": 10 + (HOUR_S + 10) + CLOSING_S}, [], 0, SAID_S + NEXT_S
    held = {"productive": 800} | TAIL  # all of it is billed: nobody said that the machines were given back
    yield "declared", "declared", LAST + 1, HOUR_S, held | {"idle": 20 + HOUR_S + BOOT_S - STEP_S + CLOSING_S}, [], 0, ENDED_S + HOUR_S + NEXT_S
    yield ("declared, back", "declared", 51, HOUR_S, held | {"redone": 100, "idle": 20 + HOUR_S + BOOT_S - STEP_S + CLOSING_S},
        [("unknown", 10, 100, 0, ENDED_S - MADE_S + HOUR_S + BOOT_S)], 100, ENDED_S + HOUR_S + BACK_S)
    # what broke off: as it was
    stood = ENDED_S - MADE_S + BOOT_S - STEP_S
    broken = {"productive": 800, "redone": 100, "restart": stood}
    repair_s = ENDED_S - MADE_S + HOUR_S + BOOT_S
    for status, cause in (("Failed", "unknown"), ("Stopped", "stopped by a user")):
        yield (status, status, 51, HOUR_S, broken | {"idle": HOUR_S + CLOSING_S}, [(cause, 10, 100, stood + HOUR_S, repair_s)], 100 + stood,
            ENDED_S + BACK_S)
        yield (f"{status}, next step", status, LAST + 1, HOUR_S, {"productive": 800, "restart": stood, "idle": HOUR_S + CLOSING_S},
            [(cause, 0, 0, stood + HOUR_S, repair_s)], stood, ENDED_S + NEXT_S)
    yield ("a spot interruption", "Interrupted", 51, HOUR_S, broken | {"restart": stood + HOUR_S, "idle": CLOSING_S},
        [("spot interruption", 10, 100, stood + HOUR_S, repair_s)], 100 + stood, ENDED_S + BACK_S)
    yield ("nobody said how", "untold", 51, HOUR_S, broken | {"restart": stood + HOUR_S, "idle": CLOSING_S},
        [("unknown", 10, 100, stood + HOUR_S, repair_s)], 100 + stood + HOUR_S, ENDED_S + HOUR_S + BACK_S)
    yield ("nobody said how, next step", "untold", LAST + 1, HOUR_S, {"productive": 800, "stalled": 20 + HOUR_S + BOOT_S - STEP_S, "idle": CLOSING_S} | TAIL,
        [], 20 + HOUR_S + BOOT_S - STEP_S, ENDED_S + HOUR_S + NEXT_S)
    # nobody said anything of it but its end: the day in which it was put aside is no time of its own, and the save explains what is around it
    yield ("put aside, next step", "put aside", LAST + 1, 30 * HOUR_S, {"productive": 800, "evaluation": 50, "idle": CLOSING_S,
        "checkpoint": 50 + (SAID_S - SAVED_S) + BOOT_S - STEP_S}, [], 0, SAID_S + NEXT_S)
    yield ("put aside, back", "put aside", 51, 30 * HOUR_S, broken | {"restart": stood - 10, "idle": CLOSING_S},
        [("unknown", 10, 100, stood - 10, ENDED_S - MADE_S + 30 * HOUR_S + BOOT_S)], 100 + stood - 10, SAID_S + BACK_S)


CASES = list(table())


@pytest.mark.parametrize("how, first, later_s, buckets, breaks, lost_s, billed_s", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_job_that_is_logged_on(quick, how, first, later_s, buckets, breaks, lost_s, billed_s):
    again_s = ENDED_S + later_s
    announce(quick, {"max_steps": str(LAST)} if how == "declared" else {})
    if how not in ("undated", "put aside"):  # else its log says when it was
        say(quick, "j", "Training", 0)
    quick.send("j", first_part(first - 1))
    if how not in ("declared", "untold", "put aside"):
        say(quick, "j", "Completed" if how == "undated" else how, None if how == "undated" else ENDED_S)
        say(quick, "j", "Training", again_s)
    lines = [line(again_s, f"Resuming from checkpoint {first - 1}"), line(again_s, f"max_steps: {FINAL}"), *steps(first, FINAL, again_s + BOOT_S)]
    quick.send("j", lines)
    say(quick, "j", "Completed", again_s + BOOT_S + STEP_S * (FINAL - first) + CLOSING_S)
    wait_until(lambda: goodput(quick, "j")["steps"].get("last") == FINAL and facts(quick, "j") == (buckets, breaks, lost_s, billed_s),
        what=f"{(buckets, breaks, lost_s, billed_s)}, not {facts(quick, 'j')}")
    row = quick.get("/api/v1/jobs/j").body
    wait_until(lambda: quick.get("/api/v1/jobs/j").body["cost"] == pytest.approx(billed_s / 100), what="the cost in its row")
    assert row["TrainingJobStatus"] == "Completed"


def test_lines_behind_an_end_that_stands_lose_nothing_in_front_of_it(quick):
    """Nobody said that the job goes on: its lines are kept, and what is in front of its end is as it was."""
    announce(quick, {})
    say(quick, "j", "Training", 0)
    quick.send("j", first_part(LAST))
    say(quick, "j", "Completed", ENDED_S)
    wanted = ({"productive": 600, "idle": 20} | TAIL, [], 0, ENDED_S)
    wait_until(lambda: facts(quick, "j") == wanted, what="the first part")
    quick.send("j", steps(LAST + 1, FINAL, ENDED_S + HOUR_S))
    wait_until(lambda: goodput(quick, "j")["steps"].get("last") == FINAL, what="the steps behind the end")
    assert facts(quick, "j") == wanted


# ---- sm-ship ----

TRAINER = """
import os, sys, time
open(sys.argv[0].replace(".py", ".pid"), "w").write(str(os.getpid()))
first, last, boot_s, tail_s, status = int(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:6])
time.sleep(boot_s)
for step in range(first, last + 1):
    time.sleep(0.1)
    print(f"step: {step} loss: {2 + 1 / step:.4f}", flush=True)
print("out of steps", flush=True)
time.sleep(tail_s)
sys.exit(int(status))
"""
QUIET_S = 3  # beyond jitter


def spent(server, job):
    found = goodput(server, job)
    told = {bucket: row["seconds"] for bucket, row in found["buckets"].items() if row["seconds"]}
    return told, found["cost"]["lost"] * 100, found["breaks"]


def test_sm_ship_goes_on_with_what_it_completed(quick, ship, tmp_path):
    ship.env["SMFLEET_SERVER"] = quick.url
    trainer = tmp_path / "train.py"
    trainer.write_text(TRAINER)

    def command(job, *options, arguments):
        return ["--job", job, "--instance-type", TYPE, "--spool", str(tmp_path / job), *options, "--", sys.executable, str(trainer), *map(str, arguments)]

    def live(job, status, first):
        assert ship.run(*command(job, arguments=(1, 20, 0, QUIET_S, status))).returncode == status
        before = wait_until(lambda: (found := goodput(quick, job))["steps"].get("last") == 20 and found, what="the first part")
        assert ship.run(*command(job, "--resume", "--hp", "max_steps=30", arguments=(first, 30, QUIET_S, 0, 0))).returncode == 0
        wait_until(lambda: goodput(quick, job)["steps"].get("last") == 30, what="the second part")
        return before["buckets"], *spent(quick, job)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        on, back, failed = pool.map(live, ("on", "back", "failed"), (0, 0, 1), (21, 16, 16))
    before, told, lost, broken = on
    assert (told.get("restart"), told.get("stalled"), lost, broken) == (None, None, 0, [])
    assert told["first_step"] >= before["first_step"]["seconds"] + QUIET_S - 0.2 and told["idle"] > before["idle"]["seconds"] > QUIET_S - 0.2
    _, told, lost, [broken] = back
    assert (told.get("restart"), told.get("stalled"), broken["lost_steps"], broken["restart_seconds"]) == (None, None, 5, 0)
    assert 0.4 < told["redone"] < 2 and lost == pytest.approx(told["redone"])
    _, told, lost, [broken] = failed
    assert told["restart"] > 2 * QUIET_S and broken["lost_steps"] == 5 and lost == pytest.approx(told["restart"] + told["redone"])


def test_what_was_killed_is_lost_as_before(quick, ship, tmp_path):
    ship.env["SMFLEET_SERVER"] = quick.url
    trainer = tmp_path / "train.py"
    trainer.write_text(TRAINER)
    options = ("--job", "killed", "--instance-type", TYPE)
    first = ship.start(*options, "--", sys.executable, str(trainer), "1", "20", "0", "600", "0")
    try:
        wait_until(lambda: goodput(quick, "killed")["steps"].get("last") == 20, what="its steps")
    finally:
        first.kill()  # before its training: how that ends is seen by nobody
        first.wait()
        os.kill(int(trainer.with_suffix(".pid").read_text()), signal.SIGKILL)
    assert ship.run(*options, "--resume", "--", sys.executable, str(trainer), "16", "30", str(QUIET_S), "0", "0").returncode == 0
    wait_until(lambda: goodput(quick, "killed")["steps"].get("last") == 30, what="the second part")
    told, lost, [broken] = spent(quick, "killed")
    assert told["restart"] >= QUIET_S and broken["lost_steps"] == 5 and lost == pytest.approx(told["restart"] + told["redone"])


# ---- trackers ----

DAY_S = 86400
TRACKED = """
begun = int(sys.argv[1])
run = client.create_run(client.create_experiment("sft"), start_time=1000 * begun, run_name="later").info.run_id
for step in range(1, 61):
    client.log_metric(run, "loss", 2 + 1 / step, 1000 * (begun + 10 * step), step)
client.set_terminated(run, "FINISHED", 1000 * (begun + 720))
give(run)
"""
TRACKED_ON = """
with mlflow.start_run(run_id=sys.argv[1]):
    for step in range(int(sys.argv[2]), 81):
        mlflow.log_metric("loss", 2 + 1 / step, step=step)
give(1)
"""


@pytest.mark.parametrize("first", [61, 51])
def test_mlflow_goes_on_with_a_run_a_day_after_its_end(quick, first):
    run = mlflowclient.run(quick, "3", TRACKED, int(time.time()) - DAY_S)
    told, broken, _, billed_s = wait_until(lambda: (found := facts(quick, "sft/later"))[0].get("productive") == 600 and found, what="the first part")
    assert (told, broken, billed_s) == ({"productive": 600, "idle": 120}, [], 720)
    mlflowclient.run(quick, "3", TRACKED_ON, run, first)
    wait_until(lambda: goodput(quick, "sft/later")["steps"].get("last") == 80, what="the second part")
    told, broken, _, _ = facts(quick, "sft/later")
    assert (told.get("restart"), told.get("stalled"), told.get("redone")) == (None, None, None if first == 61 else 100)
    assert told["idle"] > DAY_S - 720 and [row[1:4] for row in broken] == ([] if first == 61 else [(10, 100, 0)])


LOGGED = """
run = wandb.init(project="exp", id="later", resume="allow" if int(sys.argv[1]) == 1 else "must")
time.sleep(float(sys.argv[3]))
for step in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
    time.sleep(0.1)
    run.log({"loss": 2 + 1 / step}, step=step)
time.sleep(float(sys.argv[4]))
run.finish()
"""


def test_wandb_goes_on_with_a_run_that_is_finished(quick):
    wandbclient.run(quick, wandbclient.VERSIONS[-1], LOGGED, 1, 20, 0, QUIET_S)
    before = wait_until(lambda: (found := goodput(quick, "exp/later"))["steps"].get("last") == 20 and found, what="the first part")
    wandbclient.run(quick, wandbclient.VERSIONS[-1], LOGGED, 21, 30, QUIET_S, 0)
    found = wait_until(lambda: (found := goodput(quick, "exp/later"))["steps"].get("last") == 30 and found, what="the second part")
    told = {bucket: row["seconds"] for bucket, row in found["buckets"].items() if row["seconds"]}
    assert (told.get("restart"), told.get("stalled"), found["breaks"]) == (None, None, [])
    assert told["first_step"] >= QUIET_S and told["idle"] >= before["buckets"]["idle"]["seconds"] >= QUIET_S - 1
