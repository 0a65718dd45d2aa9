"""Advice on a job from its document and its log, before it is submitted and after; muted one by one."""

import json

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


def spoken(server, instance, nodes, **settings):
    """Of degrees and batches alone."""
    document = {"TrainingJobName": "j", "HyperParameters": {key: str(value) for key, value in settings.items()},
        "ResourceConfig": {"InstanceType": instance, "InstanceCount": nodes, "VolumeSizeInGB": 5}}
    about = ("tensor_parallel_across_nodes", "pipeline_across_nodes", "degrees_and_devices", "degrees_divide", "global_batch", "global_batch_divides", "prescaled_batch")
    return {row["rule"]: row["text"] for row in server.post("/api/v1/jobs?dry_run=true", json=document).body["advice"] if row["rule"] in about}


def test_degrees_count_the_cores_of_trainium(server):
    """trn1.32xlarge: 16 devices of 2 cores; trn2.48xlarge: 16 of 8, two of which are one unless the environment says otherwise."""
    trn1 = "ml.trn1.32xlarge"
    assert 8 * 512 == 128 * 32 and spoken(server, trn1, 128, tensor_parallel_degree=8, data_parallel_size=512) == {}
    assert spoken(server, trn1, 4, tensor_parallel_degree=32, pipeline_parallel_degree=4) == {}
    assert list(spoken(server, trn1, 128, tensor_parallel_degree=8, data_parallel_size=256)) == ["degrees_and_devices"]
    assert "64 is larger than the 32 " in spoken(server, trn1, 4, tensor_parallel_degree=64)["tensor_parallel_across_nodes"]
    assert spoken(server, trn1, 4, tensor_parallel_degree=8, train_micro_batch_size_per_gpu=1, global_batch_size=16) == {}  # 4 x 32 / 8
    assert list(spoken(server, trn1, 4, tensor_parallel_degree=8, train_micro_batch_size_per_gpu=1, global_batch_size=24)) == ["global_batch_divides"]
    trn2 = "ml.trn2.48xlarge"
    assert spoken(server, trn2, 2, tensor_parallel_degree=64, data_parallel_size=2) == {}
    assert "128 is larger than the 64 " in spoken(server, trn2, 2, tensor_parallel_degree=128)["tensor_parallel_across_nodes"]
    single = {"TrainingJobName": "j", "HyperParameters": {"tensor_parallel_degree": "128"}, "Environment": {"NEURON_LOGICAL_NC_CONFIG": "1"},
        "ResourceConfig": {"InstanceType": trn2, "InstanceCount": 2, "VolumeSizeInGB": 5}}
    rules = [row["rule"] for row in server.post("/api/v1/jobs?dry_run=true", json=single).body["advice"]]
    assert "tensor_parallel_across_nodes" not in rules
    p4d = "ml.p4d.24xlarge"  # 8 GPUs
    assert "32 is larger than the 8 " in spoken(server, p4d, 4, tensor_model_parallel_size=32)["tensor_parallel_across_nodes"]
    assert list(spoken(server, p4d, 4, tensor_model_parallel_size=8, pipeline_model_parallel_size=3)) == ["degrees_divide"]


def test_guidelines_of_the_model_parallel_library(server):
    def speaks(instance="ml.p4d.24xlarge", hyperparameters=None, **parameters):
        document = {"TrainingJobName": "j", "HyperParameters": {"mp_parameters": json.dumps(parameters), **(hyperparameters or {})},
            "ResourceConfig": {"InstanceType": instance, "InstanceCount": 2, "VolumeSizeInGB": 5}}
        return {row["rule"] for row in server.post("/api/v1/jobs?dry_run=true", json=document).body["advice"]}
    degrees = {"pipeline_parallel_degree": 2, "tensor_parallel_degree": 8, "microbatches": 4}
    assert "prescaled_batch" in speaks(**degrees) and "prescaled_batch" not in speaks(prescaled_batch=True, **degrees)
    offloads = {"offload_activations": True, **degrees}
    assert "offload_needs_checkpointing" in speaks(**offloads)
    assert "offload_needs_checkpointing" not in speaks(hyperparameters={"activation_checkpointing": "1"}, **offloads)
    assert "offload_needs_checkpointing" not in speaks(**degrees)
    assert "microbatches_divide" in speaks(hyperparameters={"train_batch_size": "6"}, **degrees)
    assert "microbatches_divide" not in speaks(hyperparameters={"train_batch_size": "8"}, **degrees)


def test_a_provider_of_libfabric_is_an_answer(server):
    server.post("/api/v1/jobs", json={"TrainingJobName": "j", **DOCUMENT})
    server.send("j", "algo-1:80:90 [0] NCCL INFO NET/OFI Selected Provider is tcp (found 1 nics)", stream="algo-1")
    server.send("j", "algo-2:80:90 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)", stream="algo-2")
    rules, body = wait_until(lambda: len(advice(server, "j")[1].get("networks", [])) == 2 and advice(server, "j"), what="the log to be searched")
    assert sorted((row["stream"], row["network"]) for row in body["networks"]) == [("algo-1", "tcp"), ("algo-2", "efa")]
    assert "efa_unknown" not in rules and rules["efa_not_chosen"]["text"] == "NCCL chose sockets on 1 nodes"
