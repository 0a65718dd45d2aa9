"""
The life of a job whose checkpoints its log tells wrongly: one was cut off, an asynchronous writer said nothing of another. It is announced, logged,
begun again on another machine from the older checkpoint, dies, and another job goes on with it. All figures are made here a second time, by hand.
"""

import json
import time

import pytest

from smserver import wait_until

STEP_S, EVERY = 10, 10  # a step takes ten seconds; each tenth is printed
AWAY_S = 60
CUT_OFF = {"usable": False, "why": "md5 differs from that of the upload"}
UNSAID_STEP = 48


class Trainer:
    def __init__(self, server, job, begun_s):
        self.server, self.job, self.at_s, self.saved_s = server, job, begun_s, {}

    def run(self, host, first, last, saves=()):
        """From the checkpoint `first`: prints, saves, and stops behind step `last`."""
        lines = []
        for step in range(first + 1, last + 1):
            self.at_s += STEP_S
            if step % EVERY == 0:
                lines.append(json.dumps({"line": f"step: {step} | loss: {2 + 40 / (40 + step):.4f}", "ts": self.at_s * 1000}))
            if step in saves:
                self.saved_s[step] = self.at_s
                lines.append(json.dumps({"line": f"saved checkpoint to /ckpt/step-{step} at step {step}", "ts": self.at_s * 1000}))
        self.at_s += AWAY_S
        reply = self.server.post(f"/api/v1/logs?job={self.job}&stream=algo-1&host={host}", "\n".join([*lines, ""]).encode(), content_type="application/x-ndjson")
        assert reply.status == 200, reply

    def set_right(self, place, value):
        assert self.server.patch(f"/api/v1/jobs/{self.job}", json={"by_hand": {"checkpoints": {place: value}}}).status == 200


def figures(server, job="life"):
    goodput = server.get(f"/api/v1/jobs/{job}/goodput").body
    row, = server.get(f"/api/v1/jobs/{job}/continuity").body["restarts"]
    restart = server.get(f"/api/v1/jobs/{job}/restart").body
    return {"lost": goodput["breaks"][0]["lost_steps"], "redone_s": goodput["buckets"]["redone"]["seconds"], "from": row["from_step"],
        "newest": row["newest_checkpoint_step"],
        "restart": (restart["checkpoint"]["job"], restart["checkpoint"]["step"], restart["checkpoint"]["path"]), "passed_over": restart.get("passed_over", {}).get("step")}


def by_hand(restarted_from, newest, restart, passed_over=None):
    """What follows from where the second attempt went on from."""
    lost = 100 - restarted_from
    return {"lost": lost, "redone_s": pytest.approx(lost * STEP_S), "from": restarted_from, "newest": newest, "restart": restart, "passed_over": passed_over}


def expect(server, wanted):
    wait_until(lambda: figures(server) == wanted, what=f"{wanted}")


def test_the_life_of_a_job_with_a_checkpoint_that_was_cut_off(server, receiver):
    begun_s = int(time.time()) - 2800  # all is of the past; the failure of less than a quarter of an hour ago, so it is told
    assert server.post("/api/v1/webhooks", json={"url": receiver.url, "events": ["restart"]}).status == 201
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "life", "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1}}).status == 201
    assert server.post("/api/v1/jobs/life/transitions", json={"SecondaryStatus": "Training", "time_ms": begun_s * 1000}).status == 204
    trainer = Trainer(server, "life", begun_s)
    trainer.run("gpu-1", 0, 100, saves=(45, 85))
    wait_until(lambda: len(server.get("/api/v1/jobs/life/checkpoints").body["checkpoints"]) == 2, what="both checkpoints")
    # what was saved last cannot be read: on another machine it goes on from the older one
    trainer.run("gpu-2", 45, 160, saves=(125,))
    wait_until(lambda: len(server.get("/api/v1/jobs/life/checkpoints").body["checkpoints"]) == 3, what="the third one")
    told = by_hand(45, 85, ("life", 125, "/ckpt/step-125"))
    assert "85" in str(server.get("/api/v1/jobs/life/continuity").body["restarts"][0]["why"]), "it went on from an older one, says the log"
    expect(server, told)

    # Somebody knows why, and that an asynchronous writer had saved step 48.
    trainer.set_right("1:85", CUT_OFF)
    expect(server, by_hand(45, 45, ("life", 125, "/ckpt/step-125")))
    trainer.set_right("1:48", {"ts_ms": (trainer.saved_s[45] + 3 * STEP_S) * 1000, "path": "s3://ckpt/async/48", "why": "the writer is asynchronous"})
    expect(server, by_hand(UNSAID_STEP, UNSAID_STEP, ("life", 125, "/ckpt/step-125")))
    # The last one is cut off, too: then it dies, and whoever starts it again is told of the one that no line tells of.
    trainer.set_right("2:125", CUT_OFF)
    last = by_hand(UNSAID_STEP, UNSAID_STEP, ("life", 48, "s3://ckpt/async/48"), 125)
    expect(server, last)
    assert server.post("/api/v1/jobs/life/transitions", json={"SecondaryStatus": "Failed", "FailureReason": "exit code 1"}).status == 204
    message = wait_until(receiver.messages, what="the message to whoever starts it again")[0]["data"]
    assert (message["job"], message["due"], message["checkpoint"]["step"], message["checkpoint"]["path"]) == ("life", True, 48, "s3://ckpt/async/48")
    assert (message["checkpoint"]["stream"], message["checkpoint"]["worked_out"], message["passed_over"]["step"]) == (None, None, 125)

    # Another job goes on from it; before it has saved anything its own restart would be from the same one.
    assert server.post("/api/v1/jobs", json={"TrainingJobName": "life-2", "Tags": [{"Key": "continues", "Value": "life"}]}).status == 201
    again = Trainer(server, "life-2", trainer.at_s)
    again.run("gpu-3", UNSAID_STEP, 100)
    wait_until(lambda: server.get("/api/v1/jobs/life/restart").body["continued_by"] == "life-2", what="the other job")
    asked = server.get("/api/v1/jobs/life-2/restart").body
    assert (asked["checkpoint"]["job"], asked["checkpoint"]["step"], asked["passed_over"]["step"]) == ("life", 48, 125)
    continued, = wait_until(lambda: server.get("/api/v1/jobs/life-2/continuity").body["restarts"], what="how it went on")
    assert (continued["continues"], continued["from_step"], continued["newest_checkpoint_step"]) == ("life", 48, 48)

    # All of it is undone: what the log says.
    assert server.patch("/api/v1/jobs/life", json={"by_hand": None}).status == 200
    # the other job printed step 50 first, so from 40 on all is made again: 41 to 100 of the first attempt, 46 to 160 of the second
    expect(server, {**told, "redone_s": pytest.approx((60 + 115) * STEP_S)})
    continued, = server.get("/api/v1/jobs/life-2/continuity").body["restarts"]
    assert (continued["from_step"], continued["newest_checkpoint_step"]) == (45, 125)
