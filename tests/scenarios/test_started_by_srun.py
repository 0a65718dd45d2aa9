"""
A job of Slurm's that no document announces: `srun sm-ship -- python train.py` on two machines. It dies of an NCCL timeout, is started again by hand
from its checkpoint, and completes; nobody says what it runs on, so its price, and what was wrong, is set right by hand, and taken back.
"""

import sys
import time

import pytest

from facts import answer, expect_facts
from smserver import PATIENCE_S, wait_until

JOB, TYPE = "llama-4711", "our-a100-pair"
TIMEOUT = "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, Timeout(ms)=600000) ran for 600061 milliseconds"
BROKE, SAVED, LAST, PER_HOUR = 60, 50, 100, 3600

TRAIN = """\
import argparse, os, sys, time
options = argparse.ArgumentParser()
for name in ("--lr", "--resume-from", "--until", "--end"):
    options.add_argument(name)
options = options.parse_args()
first = int(options.resume_from or 0)
if first:
    print("Loading checkpoint from step", first)
for step in range(first + 1, int(options.until) + 1):
    print(f"step {step} loss: {4 - step / 100:.3f}", flush=True)
    if step == 50:
        print("saved checkpoint at step 50", flush=True)
rank = os.environ["SLURM_PROCID"]
if options.end == "fail" and rank == "1":
    print(%r, file=sys.stderr, flush=True)
while (rank == "0" or options.end == "fail") and not os.path.exists(os.environ["OVER"] + rank):
    time.sleep(0.02)
sys.exit(1 if options.end == "fail" else 0)
""" % TIMEOUT


class Srun:
    """What `srun -N 2 sm-ship … -- python train.py …` starts on two machines; a rank that waits ends when it is let go."""

    def __init__(self, ship, step_id, *options, arguments):
        (ship.folder / "train.py").write_text(TRAIN)
        self.over = ship.folder / f"over-{step_id}-"
        self.ranks = [ship.start(*options, "--", sys.executable, str(ship.folder / "train.py"), *arguments, OVER=str(self.over),
            SLURM_JOB_ID="4711", SLURM_JOB_NAME="llama", SLURM_JOB_USER="eve", SLURM_JOB_NUM_NODES="2", SLURM_NNODES="2", SLURM_NTASKS="2",
            SLURM_STEP_ID=str(step_id), SLURM_PROCID=str(rank), SLURM_NODEID=str(rank), SLURM_LOCALID="0", SLURM_NTASKS_PER_NODE="1",
            SLURMD_NODENAME=f"gpu{rank + 6:03}", SMFLEET_SPOOL=str(ship.folder / f"spool-{step_id}-{rank}")) for rank in range(2)]

    def finish(self, rank):
        self.over.with_name(f"{self.over.name}{rank}").touch()
        _, said = self.ranks[rank].communicate(timeout=PATIENCE_S)
        return self.ranks[rank].returncode, said.decode()


def phases(server):
    return [(row["Status"], row["StartTime"]) for row in answer(server, f"/api/v1/jobs/{JOB}")["SecondaryStatusTransitions"]]


def patch(server, by_hand):
    reply = server.patch(f"/api/v1/jobs/{JOB}", json={"by_hand": by_hand})
    assert reply.status == 200, reply


def expect_summed(server, nodes, billable_s, cost, instance=None):
    """The sums of the fleet say the same, and of the type of machine that it ran on."""
    wanted = [instance, 1, pytest.approx(billable_s, abs=1e-3), pytest.approx(billable_s * nodes / 3600, rel=1e-4), cost and pytest.approx(cost, abs=1e-3)]

    def is_so():
        (group,) = answer(server, f"/api/v1/aggregate?q=name={JOB}&by=instance&of=count,sum:billable,sum:node_hours,sum:cost")["groups"]
        assert [group[name] for name in ("instance", "count", "sum:billable", "sum:node_hours", "sum:cost")] == wanted
        return True
    wait_until(is_so, what=f"the sums {wanted}")


def opened(kind):
    return "incident.opened", kind, JOB


def recovered(kind):
    return "incident.recovered", kind, JOB


def test_a_job_of_slurm_that_dies_goes_on_and_is_paid_for(server, ship, receiver):
    assert server.post("/api/v1/webhooks", json={"url": receiver.url}).status == 201
    from_s = time.time()
    first = Srun(ship, 0, arguments=("--lr", "3e-4", "--until", str(BROKE), "--end", "fail"))
    told = [opened("log_signature")]
    expect_facts(server, JOB, receiver, status=("InProgress", "Training"), failure=None, nodes=2, nodes_from="stated", attempts=1,
        hosts={"algo-1": "gpu006", "algo-2": "gpu007"}, lines=2 * (BROKE + 1) + 1, last_step=BROKE, lost_steps=0, cost=None,
        incidents=[("log_signature", "critical", "open", 0)], messages=told)  # 0: of a line, not of a point

    # The second rank ends first; the other one is taken down by the launcher.
    assert [first.finish(rank)[0] for rank in (1, 0)] == [1, 1]
    told += [opened("job_failed"), recovered("log_signature")]
    expect_facts(server, JOB, receiver, status=("Failed", "Failed"), nodes=2, attempts=1, last_step=BROKE, lost_steps=0, cost=None,
        failure=f"algo-2 on gpu007 (rank 1): exit code 1; NCCL timeout, first reported by gpu007: {TIMEOUT}",
        incidents=[("job_failed", "critical", "open", 0), ("log_signature", "critical", "recovered", 0)], messages=told)
    document = answer(server, f"/api/v1/jobs/{JOB}")
    assert document["FailureClass"] == "AlgorithmError" and document["HyperParameters"]["lr"] == "3e-4"
    assert {"Key": "owner", "Value": "eve"} in document["Tags"]

    # By hand, from the checkpoint, in the same job.
    second = Srun(ship, 1, "--resume", arguments=("--lr", "3e-4", "--resume-from", str(SAVED), "--until", str(LAST), "--end", "well"))
    assert [second.finish(rank)[0] for rank in (1, 0)] == [0, 0]
    to_s = time.time()
    told.append(recovered("job_failed"))
    whole = {"status": ("Completed", "Completed"), "failure": None, "attempts": 2, "last_step": LAST, "lost_steps": BROKE - SAVED,
        "lines": 2 * (BROKE + 1) + 1 + 2 * (1 + LAST - SAVED), "hosts": {"algo-1": "gpu006", "algo-2": "gpu007"}, "messages": told,
        "incidents": [("job_failed", "critical", "recovered", 0), ("log_signature", "critical", "recovered", 0)]}
    expect_facts(server, JOB, receiver, **whole)
    shown = phases(server)
    assert [status for status, _ in shown] == ["Training", "Failed", "Training", "Completed"]
    begun_s, failed_s, again_s, ended_s = times = [at_s for _, at_s in shown]
    assert sorted(times) == times and from_s - 0.001 <= begun_s and ended_s <= to_s + 0.001
    billable_s = (failed_s - begun_s) + (ended_s - again_s)  # nobody held the machines in between
    plain = {"start": begun_s, "start_from": "stated", "end": ended_s, "end_from": "stated", "nodes": 2, "nodes_from": "stated",
        "wall_s": ended_s - begun_s, "billable_s": billable_s, "cost": None, "phases": shown}
    expect_facts(server, JOB, receiver, **whole, **plain)
    expect_summed(server, 2, billable_s, None)

    # What it costs is known to who pays for it.
    patch(server, {"price_per_hour": PER_HOUR})
    priced = {**plain, "cost": billable_s * 2 * PER_HOUR / 3600}
    expect_facts(server, JOB, receiver, **whole, **priced)
    expect_summed(server, 2, billable_s, priced["cost"])

    # Four machines were reserved, an hour before the log begins and ten minutes behind it.
    start_s, end_s = begun_s - 3600, ended_s + 600
    patch(server, {"nodes": 4, "instance_type": TYPE, "start_ms": round(start_s * 1000), "end_ms": round(end_s * 1000)})
    reserved_s = billable_s + 3600 + 600
    by_hand = {"start": start_s, "start_from": "by_hand", "end": end_s, "end_from": "by_hand", "nodes": 4, "nodes_from": "by_hand",
        "wall_s": end_s - start_s, "billable_s": reserved_s, "cost": reserved_s * 4 * PER_HOUR / 3600,
        "phases": [("Training", start_s), *shown[1:3], ("Completed", end_s)]}
    expect_facts(server, JOB, receiver, **whole, **by_hand)
    expect_summed(server, 4, reserved_s, by_hand["cost"], TYPE)
    server.restart()
    expect_facts(server, JOB, receiver, **whole, **by_hand)

    # It was not so: all but the price is taken back, then that, too.
    patch(server, {"nodes": None, "instance_type": None, "start_ms": None, "end_ms": None})
    expect_facts(server, JOB, receiver, **whole, **priced)
    patch(server, None)
    expect_facts(server, JOB, receiver, **whole, **plain)
    expect_summed(server, 2, billable_s, None)
    changes = [row for row in answer(server, "/api/v1/audit")["entries"] if "by_hand" in str(row)]
    assert len(changes) >= 4, changes
