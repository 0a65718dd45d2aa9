"""A training dies again and again before its first checkpoint: each start makes the same steps, and none but the last ones count."""

import datetime
import signal
import subprocess
import time

from smserver import wait_until

STARTS, STEPS, SECONDS_A_STEP, PAUSE_S = 8, 50, 10, 120
MEGATRON = "iteration {:8d}/    1000 | consumed samples: {:12d} | elapsed time per iteration (ms): 10000.0 | learning rate: 3.000000E-04 | lm loss: {:.6E} |"
NANOGPT = "iter {}: loss {:.4f}, time 10000.00ms, mfu 30.00%"


def clock(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def tell(server, name, status, at_s):
    said = {"SecondaryStatus": status, "time_ms": 1000 * at_s}
    assert server.post(f"/api/v1/jobs/{name}/transitions", json=said).status == 204


def goodput(server, name):
    return server.get(f"/api/v1/jobs/{name}/goodput").body


def live(server, tmp_path, name):
    """A real process that sm-ship runs, killed each time at the same step, and started again on the same machine."""
    script = 'for k in $(seq 1 12); do printf "iter %d: loss 2.%03d, time 50.00ms, mfu 30.00%%\\n" $k $((900 - k)); done; kill -ABRT $$'
    for _ in range(4):
        done = subprocess.run([server.bin("sm-ship"), "--server", server.url, "--quiet", "--spool", tmp_path / "spool", "--job", name, "--resume", "--", "bash", "-c", script], timeout=60)
        assert done.returncode == 128 + signal.SIGABRT


def test_a_crash_loop_before_the_first_checkpoint_makes_its_steps_once(server, tmp_path):
    began = int(time.time()) - 6 * 3600
    forms = {"megatron": lambda step: MEGATRON.format(step, 512 * step, 8 - step / 100), "nanogpt": lambda step: NANOGPT.format(step, 8 - step / 100)}
    for name, form in forms.items():
        assert server.post("/api/v1/jobs", json={"TrainingJobName": name}).status == 201
        at_s, lines = began, []
        for _ in range(STARTS):
            tell(server, name, "Training", at_s)
            first_s = at_s + 30
            lines += [f"[{clock(first_s + SECONDS_A_STEP * (step - 1))}] {form(step)}" for step in range(1, STEPS + 1)]
            at_s = first_s + SECONDS_A_STEP * STEPS
            tell(server, name, "Failed", at_s)
            at_s += PAUSE_S
        assert server.post(f"/api/v1/logs?job={name}&stream=algo-1", body="".join(f"{line}\n" for line in lines).encode()).status == 200
    live(server, tmp_path, "live")
    server.wait_for_extraction()
    for name in forms:
        found = goodput(server, name)
        steps = found["steps"]
        # By hand: 8 starts of 50 steps. What seven of them made was made again, and each began anew from the first step.
        assert (steps["made"], steps["lost"], steps["last"]) == (STEPS, (STARTS - 1) * STEPS, STEPS), (name, steps)
        assert [one.get("lost_steps") for one in found["breaks"]] == [STEPS] * (STARTS - 1) + [None], found["breaks"]
        # A start's first step is printed 30 s behind it and took ten, so 20 s are launching's, and each end comes 10 s behind the last step.
        wanted = {"first_step": 20, "productive": 500, "redone": 7 * 500, "restart": 7 * (10 + 20), "idle": 7 * PAUSE_S, "stalled": 10}
        assert {key: bucket["seconds"] for key, bucket in found["buckets"].items() if bucket["seconds"]} == wanted, (name, found["buckets"])
        restarts = server.get(f"/api/v1/jobs/{name}/continuity").body["restarts"]
        assert [(one["attempt"], one["from_step"], one["overlap_steps"]) for one in restarts] == [(n, 0, STEPS) for n in range(2, STARTS + 1)]
    wait_until(lambda: goodput(server, "live").get("steps", {}).get("made") is not None, what="the steps of what was run")
    steps = goodput(server, "live")["steps"]
    assert (steps["made"], steps["lost"]) == (12, 36), steps
