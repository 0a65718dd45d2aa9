"""What a job ran on, as somebody set it right: whatever is worked out of its machines is of these, and goes back with them."""

import pytest

from test_derived import ARGUMENTS, derived, steps
from test_pools import MINUTE_MS, document as pool_document, now_ms, pools, run_job, status

WRONG, RIGHT = "ml.m5.large", "ml.p4d.24xlarge"  # the one has no devices, the other 8 of 312 TFLOP/s each
NODES = 2


def set_by_hand(server, name, **values):
    reply = server.patch(f"/api/v1/jobs/{name}", json={"by_hand": values or None})
    assert reply.status == 200, reply


@pytest.mark.parametrize("when", ["in the document", "later"])
def test_the_mfu_is_of_the_peak_of_what_was_set(server, when):
    document = {"TrainingJobName": "gpt", "ResourceConfig": {"InstanceType": WRONG, "InstanceCount": 1}}
    machines = {"instance_type": RIGHT, "nodes": NODES}
    if when == "in the document":
        document["by_hand"] = machines
    assert server.post("/api/v1/jobs", json=document).status == 201
    if when == "later":
        set_by_hand(server, "gpt", **machines)
    server.send("gpt", [*ARGUMENTS, *steps(0, 101)])
    server.wait_for_points("gpt", "derived:mfu", 99)
    percent = 100 * 6 * 6.7e9 * (512 * 2048 / 20) / (NODES * 8) / 1e12 / 312  # what the arguments say of the model and the batch, 20 s a step
    assert derived(server, "gpt")["derived:mfu"]["last"] == pytest.approx(percent, rel=1e-6)
    assert f"{NODES} x {RIGHT}" in str(derived(server, "gpt")["derived:mfu"]["derived"]["inputs"])


def test_a_warm_pool_is_of_the_type_that_was_set(server):
    begun_ms = now_ms() - 60 * MINUTE_MS
    run_job(server, "first", begun_ms, 60, 20, keep_alive=3600)  # of four p4d
    other = pool_document("second")
    other["ResourceConfig"] |= {"InstanceType": WRONG, "InstanceCount": 1}
    assert server.post("/api/v1/jobs", json=other).status == 201
    for secondary, at_ms in (("Starting", begun_ms + 25 * MINUTE_MS), ("Training", begun_ms + 26 * MINUTE_MS), ("Completed", begun_ms + 40 * MINUTE_MS)):
        assert server.post("/api/v1/jobs/second/transitions", json={"SecondaryStatus": secondary, "time_ms": at_ms}).status < 300
    assert status(server, "first")["Status"] == "Available"
    set_by_hand(server, "second", instance_type=RIGHT, nodes=4)
    assert status(server, "first")["Status"] == "Reused" and status(server, "first")["ReusedByJob"] == "second"
    [pool] = pools(server)
    assert (pool["jobs"], pool["InstanceType"], pool["InstanceCount"]) == (["first", "second"], RIGHT, "4")
    assert server.get("/api/v1/jobs/second/warm-pool").body["position"] == 1
    set_by_hand(server, "second")
    assert status(server, "first")["Status"] == "Available"
    # which pool a document would get, and what it would need, is of what it sets by hand as well
    asked = other | {"by_hand": {"instance_type": RIGHT, "nodes": 4}}
    matched = server.post("/api/v1/warm-pools/match", json=asked)
    assert matched.status == 200 and matched.body["match"], matched
    assert not server.post("/api/v1/warm-pools/match", json=other).body["match"]


def test_advice_is_for_the_machines_that_were_set(server):
    hyper = {"tensor_parallel_degree": "16", "data_parallel_size": "1"}
    resources = {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 5}
    document = {"TrainingJobName": "j", "HyperParameters": hyper, "ResourceConfig": resources}
    assert server.post("/api/v1/jobs", json=document).status == 201

    def texts():
        return {one["rule"]: one["text"] for one in server.get("/api/v1/jobs/j/advice").body["advice"]}
    assert "16 is larger than the 8 " in texts()["tensor_parallel_across_nodes"]
    set_by_hand(server, "j", instance_type="ml.trn1.32xlarge", nodes=1)  # 32 cores: all of it is on one
    assert "tensor_parallel_across_nodes" not in texts()
    set_by_hand(server, "j")
    assert "tensor_parallel_across_nodes" in texts()
    dry = server.post("/api/v1/jobs?dry_run=true", json=document | {"TrainingJobName": "k", "by_hand": {"instance_type": "ml.trn1.32xlarge", "nodes": 1}})
    assert "tensor_parallel_across_nodes" not in {one["rule"] for one in dry.body["advice"]}
