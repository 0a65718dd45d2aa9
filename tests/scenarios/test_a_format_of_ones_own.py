"""
A life in a format that nobody else prints: announced by curl, logged by sm-ship; killed, and gone on with on another machine from the checkpoint,
so that steps go back; a NaN at a known step; stopped. Nobody wrote a definition. Who was told what, and what was lost.
"""

import json
import shlex
import subprocess
import time

import pytest

from facts import expect_facts

JOB, TYPE = "own-format", "ml.own.8xlarge"
SETUP_S, SAVED, BROKE, RESTART_S, NAN, LAST = 20, 100, 150, 60, 230, 240  # a step takes a second
CURVES = {"train:loss": "loss", "train:lr": "learning_rate", "train:throughput": "throughput", "train:grad_norm": "grad_norm"}


def loss_of(step):
    """From 8 down to 2, with a little noise."""
    return float("nan") if step >= NAN else round(2 + 6 * 0.98 ** step + (step * 7919 % 100) / 2000, 4)


def values_of(step):
    """As printed: none has more digits than its place on the line."""
    return {"train:loss": loss_of(step), "train:lr": step * 1e-6, "train:throughput": 15000 + step * 31 % 97,
        "train:grad_norm": round(0.9 + step * 17 % 29 / 100, 3)}


def line_of(at_s, step):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))
    loss, lr, speed, norm = values_of(step).values()
    return f"{at} {{lab}} [step {step}] [loss {loss:.4f}] [lr {lr:.3e}] [{speed} tok/s] [gnorm {norm:.3f}]"


def said(at_s, text):
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at_s))} {{lab}} {text}"


def trained(at_s, first, last):
    """Step `first` ends a second behind at_s."""
    lines = []
    for step in range(first, last + 1):
        lines.append(line_of(at_s + step - first + 1, step))
        if step == SAVED:
            lines.append(said(at_s + step - first + 1, f"saved checkpoint at step {step}"))
    return lines


def curl(server, path, body):
    return json.loads(subprocess.run(["curl", "-sSf", "-H", "Content-Type: application/json", "-d", json.dumps(body),
        server.url + path], capture_output=True, check=True, timeout=60).stdout or "null")


def program(ship, host, lines, ending):
    """A command that prints these lines, and then does `ending`; and the options of sm-ship around it."""
    printed = ship.folder / f"{host}.txt"
    printed.write_text("".join(line + "\n" for line in lines))
    return "--host", host, "--", "sh", "-c", f"cat {shlex.quote(str(printed))}; {ending}"


def told(job, *kinds):
    return [(f"incident.{what}", kind, job) for what, kind in kinds]


def drawn(server, metric):
    found = server.get(f"/api/v1/jobs/{JOB}/points?metric={metric}&raw=true").body["series"]
    return [(step, float(value)) for series in found for step, value in zip(series["step"], series["value"])]


@pytest.fixture
def quick(make_server, ship):
    """A server whose leases are short, so that sm-ship asks often; sm-ship talks to it."""
    server = make_server("--lease", "2s")
    ship.env["SMFLEET_SERVER"] = server.url
    return server


def test_a_job_in_a_format_of_ones_own_lives_as_any_other(quick, ship, receiver):
    assert quick.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["incident"]}).status == 201
    curl(quick, "/api/v1/jobs", {"TrainingJobName": JOB, "ResourceConfig": {"InstanceType": TYPE, "InstanceCount": 1, "VolumeSizeInGB": 50}})
    begun_s = int(time.time()) - 600  # what is older than a quarter of an hour when it comes rings nobody

    first = [said(begun_s, "hello"), *trained(begun_s + SETUP_S, 1, BROKE)]
    done = ship.run("--job", JOB, *program(ship, "gpu-a", first, "kill -9 $$"))
    assert done.returncode == 137, done
    failed = ("job_failed", "critical", "open", 0)  # of the job, not of a point
    messages = told(JOB, ("opened", "job_failed"))
    expect_facts(quick, JOB, receiver, status=("Failed", "Failed"), hosts={"algo-1": "gpu-a"}, lines=len(first), attempts=1, last_step=BROKE,
        lost_steps=0, incidents=[failed], messages=messages)

    # Elsewhere, from the checkpoint: steps go back, and those behind it are made again. Then a NaN.
    again_s = begun_s + SETUP_S + BROKE + RESTART_S
    second = [said(again_s, f"resuming from checkpoint at step {SAVED}"), *trained(again_s, SAVED + 1, LAST)]
    running = ship.start("--job", JOB, "--resume", "--on", "stop=TERM",
        *program(ship, "gpu-b", second, "trap 'exit 0' TERM; while :; do sleep 0.02; done"))
    failed = ("job_failed", "critical", "recovered", 0)
    messages += told(JOB, ("recovered", "job_failed"), ("opened", "non_finite"))
    whole = {"hosts": {"algo-1": "gpu-b"}, "lines": len(first) + len(second), "attempts": 2, "last_step": LAST, "lost_steps": BROKE - SAVED}
    expect_facts(quick, JOB, receiver, status=("InProgress", "Training"), incidents=[failed, ("non_finite", "critical", "open", NAN)],
        messages=messages, **whole)

    # Somebody reads the message, and stops it.
    curl(quick, f"/api/v1/jobs/{JOB}/commands", {"command": "stop"})
    out, errors = running.communicate(timeout=60)
    assert (running.returncode, out.decode().splitlines()) == (0, second), errors
    messages += told(JOB, ("recovered", "non_finite"))
    expect_facts(quick, JOB, receiver, status=("Stopped", "Stopped"), failure=None, incidents=[failed, ("non_finite", "critical", "recovered", NAN)],
        messages=messages, **whole)
    expect_curves(quick)


def expect_curves(server):
    """Each step once, of the attempt that counts; the bare names of the roles, and nothing else."""
    found = {row["metric"]: row["role"] for row in server.get(f"/api/v1/jobs/{JOB}/metrics").body["series"]
             if not row["metric"].startswith("derived:")}
    assert found == CURVES
    for metric in CURVES:
        wanted = [(step, pytest.approx(values_of(step)[metric], nan_ok=True, rel=1e-9)) for step in range(1, LAST + 1)]
        assert drawn(server, metric) == wanted, metric
