"""Advice on a job from its document and its log, before it is submitted and after; muted one by one."""

from smserver import wait_until

DOCUMENT = {"HyperParameters": {"mp_parameters": '{"tensor_parallel_degree": 6, "pipeline_parallel_degree": 2, "microbatches": 4}', "num_parameters": "10e9"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 16, "VolumeSizeInGB": 50},
    "VpcConfig": {"Subnets": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}}


def advice(server, job):
    body = server.get(f"/api/v1/jobs/{job}/advice").body
    return {row["rule"]: row for row in body["advice"]}, body


def test_before_it_is_submitted(server):
    body = server.post("/api/v1/jobs?dry_run=true", json={"TrainingJobName": "j", **DOCUMENT}).body
    rules = {row["rule"]: row for row in body["advice"]}
    assert {"tensor_parallel_power_of_two", "one_subnet", "retries", "checkpoint_configured", "prescaled_batch", "collective_timeout"} <= set(rules)
    assert rules["tensor_parallel_power_of_two"]["text"] == "the tensor parallel degree 6 is no power of two"
    assert rules["tensor_parallel_power_of_two"]["field"] == "hp.tensor_parallel_degree" and rules["retries"]["source"].startswith("https://")
    assert server.get("/api/v1/jobs/j").status == 404
    good = {"TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 5}}
    assert server.post("/api/v1/jobs?dry_run=true", json=good).body["advice"] == []


def test_of_a_job_and_its_log(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "j", **DOCUMENT})
    rules, body = advice(server, "j")
    assert "tensor_parallel_power_of_two" in rules and "efa_unknown" not in rules and body["muted"] == []
    if "reference" in body:
        assert body["reference"]["name"] == "10B" and body["own"]["tensor_parallel"] == 6
    server.send("j", "algo-1:80:90 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)", stream="algo-1")
    server.send("j", ["algo-2:80:90 [0] NCCL INFO Using network Socket",
        "An error occurred (SlowDown) when calling the GetObject operation (reached max retries: 2): Please reduce your request rate."], stream="algo-2")
    rules, body = wait_until(lambda: "s3_slow_down" in advice(server, "j")[0] and advice(server, "j"), what="the log to be searched")
    assert rules["efa_not_chosen"]["text"] == "NCCL chose sockets on 1 nodes" and "12" not in rules["s3_slow_down"]["text"]
    assert sorted((row["stream"], row["network"]) for row in body["networks"]) == [("algo-1", "efa"), ("algo-2", "socket")]


def test_a_rule_is_muted_for_one_job(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "j", **DOCUMENT})
    server.post("/api/v1/jobs", json={"TrainingJobName": "k", **DOCUMENT})
    assert server.patch("/api/v1/jobs/j", json={"muted_advice": ["retries", "one_subnet"]}).status < 300
    rules, body = advice(server, "j")
    assert "retries" not in rules and sorted(body["muted"]) == ["one_subnet", "retries"] and "retries" in advice(server, "k")[0]
    for wrong in (["nonsense"], "retries", [7]):
        assert server.patch("/api/v1/jobs/j", json={"muted_advice": wrong}).status == 422
    assert server.patch("/api/v1/jobs/j", json={"muted_advice": None}).status < 300
    assert "retries" in advice(server, "j")[0]
    assert server.get("/api/v1/jobs/nobody/advice").status == 404
