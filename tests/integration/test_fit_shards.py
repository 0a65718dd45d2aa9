"""Shards that stay within a group of ranks, copies beside them, and the words for both: bytes of each device, by hand."""

import pytest

from test_fit import GIB, GPT3, fit

N = 8e9
PLAIN = {"num_parameters": "8000000000", "bf16": "true"}  # 2 bytes of a parameter, 2 of its gradient, 12 of Adam
ON = {"distributed_type": "FSDP"}


def states(server, settings, count=2, base=PLAIN, **more):
    got = fit(server, {**base, **settings}, "ml.p5.48xlarge", count, **more)
    return got, tuple(got["per_device_bytes"][name] for name in ("parameters", "gradients", "optimizer"))


WHOLE, FULL, GRAD_OP = (2 * N, 2 * N, 12 * N), (2 * N / 16, 2 * N / 16, 12 * N / 16), (2 * N, 2 * N / 16, 12 * N / 16)
HYBRID, HYBRID_2 = (2 * N / 8, 2 * N / 8, 12 * N / 8), (2 * N, 2 * N / 8, 12 * N / 8)  # within a node of 8, whatever the other node does


@pytest.mark.parametrize("said, taken", [("FULL_SHARD", FULL), ("SHARD_GRAD_OP", GRAD_OP), ("NO_SHARD", WHOLE), ("HYBRID_SHARD", HYBRID),
    ("HYBRID_SHARD_ZERO2", HYBRID_2), ("_HYBRID_SHARD_ZERO2", HYBRID_2), (1, FULL), (2, GRAD_OP), (3, WHOLE), (4, HYBRID), (5, HYBRID_2), ("5", HYBRID_2)])
def test_each_of_accelerates_strategies(shared_server, said, taken):
    for settings in ({**ON, "fsdp_config": {"fsdp_sharding_strategy": said, "fsdp_offload_params": False}}, {**ON, "fsdp_sharding_strategy": said},
                     {**ON, "fsdp_config": str({"fsdp_sharding_strategy": said})}):
        got, found = states(shared_server, settings)
        assert found == taken and got["not_understood"] == [], settings


@pytest.mark.parametrize("settings, taken", [
    # FSDP2 has true for FULL_SHARD and false for SHARD_GRAD_OP; true is its default
    ({**ON, "fsdp_config": {"fsdp_version": 2, "fsdp_reshard_after_forward": True}}, FULL), ({**ON, "fsdp_config": {"fsdp_version": 2}}, FULL),
    ({**ON, "fsdp_config": {"fsdp_version": 2, "fsdp_reshard_after_forward": False}}, GRAD_OP),
    ({**ON, "fsdp_config": {"fsdp_version": 1, "fsdp_reshard_after_forward": "SHARD_GRAD_OP"}}, GRAD_OP),
    ({"fsdp": "full_shard auto_wrap", "fsdp_config": {"version": 2, "reshard_after_forward": False}}, GRAD_OP),
    ({"fsdp": "True", "fsdp_config": {"version": "2"}}, FULL),
    # of 16 ranks' shards each group of 8 keeps between forward and backward what it has gathered, 2 N / 8
    ({**ON, "fsdp_config": {"fsdp_version": 2, "fsdp_reshard_after_forward": 8}}, (2 * N / 16 + 2 * N / 8, 2 * N / 16, 12 * N / 16)),
    # a list, as it is in YAML and as it is printed
    ({"fsdp": ["full_shard", "auto_wrap"]}, FULL), ({"fsdp": ["shard_grad_op"]}, GRAD_OP), ({"fsdp": []}, WHOLE),
    ({"fsdp": "[<FSDPOption.HYBRID_SHARD: 'hybrid_shard'>, <FSDPOption.AUTO_WRAP: 'auto_wrap'>]"}, HYBRID),
    ({"fsdp": "hybrid_shard_zero2 auto_wrap"}, HYBRID_2), ({"strategy": "fsdp", "sharding_strategy": "ShardingStrategy.HYBRID_SHARD"}, HYBRID),
    # two copies of eight, four of four
    ({"fsdp": "hybrid_shard", "device_mesh": [2, 8]}, HYBRID), ({"fsdp": "hybrid_shard", "device_mesh": "(4, 4)"}, (2 * N / 4, 2 * N / 4, 12 * N / 4)),
    ({"sharding_strategy": "HYBRID_SHARD", "hsdp": "True", "sharding_group_size": "4", "replica_group_size": "4"}, (2 * N / 4, 2 * N / 4, 12 * N / 4)),
    ({**ON, "fsdp_config": {"fsdp_version": 2}, "parallelism_config": {"parallelism_config_dp_replicate_size": 2, "parallelism_config_dp_shard_size": 8}}, HYBRID),
    # with two of tensor parallelism a device has N / 2, and shards them over the four that each of two copies has
    ({**ON, "fsdp_config": {"fsdp_version": 2}, "parallelism_config": {"parallelism_config_dp_replicate_size": 2, "parallelism_config_tp_size": 2}},
        (2 * N / 2 / 4, 2 * N / 2 / 4, 12 * N / 2 / 4)),
])
def test_what_fsdp_shards(shared_server, settings, taken):
    got, found = states(shared_server, settings)
    assert found == taken and got["not_understood"] == []


@pytest.mark.parametrize("settings, taken", [
    # MiCS: all three over 8 of the 16 ranks, and nothing at other stages
    ({"mics_shard_size": 8}, HYBRID), ({"mics_shard_size": 4}, (2 * N / 4, 2 * N / 4, 12 * N / 4)), ({"mics_shard_size": -1}, FULL),
    ({"mics_shard_size": 16, "mics_hierarchical_params_gather": True}, FULL), ({"stage": 2, "mics_shard_size": 8}, GRAD_OP),
    # hpZ: the shards, and 2 N / 8 of a copy within the node
    ({"zero_hpz_partition_size": 8, "zero_quantized_weights": True, "zero_quantized_gradients": True}, (2 * N / 16 + 2 * N / 8, 2 * N / 16, 12 * N / 16)),
    ({"zero_hpz_partition_size": 1, "mics_shard_size": -1}, FULL), ({"stage": 1, "zero_hpz_partition_size": 8}, (2 * N, 2 * N, 12 * N / 16)),
])
def test_groups_of_deepspeed(shared_server, settings, taken):
    zero = {"stage": 3, **settings}
    for said in ({"zero_optimization": zero}, {"deepspeed": str({"zero_optimization": zero})}, {f"--zero_optimization.{key}": str(value) for key, value in zero.items()}):
        got, found = states(shared_server, said)
        assert found == taken and got["not_understood"] == [], said


def test_a_second_copy_is_shown(shared_server):
    got, _ = states(shared_server, {"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}})
    assert (got["inputs"]["sharded_over"], got["inputs"]["second_copy_over"]) == (16, 8)
    each = "parameters / (tensor_parallel * pipeline_parallel) * "
    assert got["formulas"]["parameters"] == f"{each}bytes_of_a_parameter / sharded_over + {each}2 / second_copy_over"
    plain, _ = states(shared_server, {"zero_optimization": {"stage": 3}})
    assert plain["inputs"]["second_copy_over"] is None


@pytest.mark.parametrize("settings, key", [({"zero_optimization": {"stage": 3, "mics_shard_size": 8, "zero_hpz_partition_size": 4}}, "zero_optimization.zero_hpz_partition_size"),
    ({"zero_stage": "3", "fsdp": "hybrid_shard"}, "fsdp"), ({"fsdp": "hybrid_shard", "process_group": "mod2"}, "process_group"),
    ({"fsdp": "hybrid_shard", "tensor_parallel_size": "2"}, "fsdp"), ({"fsdp": "hybrid_shard", "device_mesh": "mesh"}, "device_mesh")])
def test_groups_that_are_not_followed(shared_server, settings, key):
    got, found = states(shared_server, settings)
    assert got["not_understood"] == [key] and found == (None, None, None)


@pytest.mark.parametrize("settings", [{"mics_shard_size": 12}, {"mics_shard_size": 32}, {"zero_hpz_partition_size": 5}])
def test_groups_that_do_not_divide_the_ranks(shared_server, settings):
    got, _ = states(shared_server, {"zero_optimization": {"stage": 3, **settings}})
    assert got["fits"] is None and "data_parallel" in got["unknown"]


def test_a_node_of_another_machine(shared_server):
    """14 N bytes of a node's 8 H100, or of the 32 ranks of a trn1: 16e9 * 8 / 32. Of devices alone nobody says what a node is."""
    got, _ = states(shared_server, {"fsdp": "hybrid_shard"}, instances=["4 x ml.p5.48xlarge", "4 x ml.trn1.32xlarge", "8 x H100"])
    p5, trainium, devices = (row["per_device_bytes"]["optimizer"] for row in got["instances"])
    assert (p5, trainium, devices) == (12 * N / 8, 12 * N / 32, None)
    mics, _ = states(shared_server, {"zero_optimization": {"stage": 3, "mics_shard_size": 8}}, instances=["8 x H100", "4 x ml.trn1.32xlarge", "4 x H100"])
    assert [row["per_device_bytes"]["optimizer"] for row in mics["instances"]] == [12 * N / 8, 12 * N / 8, None]  # 4 devices are no group of 8


@pytest.mark.parametrize("settings, taken", [
    # SageMaker's: sharded data parallelism is MiCS; a degree of 1 shards nothing
    ({"mp_parameters": '{"ddp": true, "sharded_data_parallel_degree": 8, "sdp_hierarchical_allgather": true}'}, HYBRID),
    ({"hybrid_shard_degree": "4"}, (2 * N / 4, 2 * N / 4, 12 * N / 4)), ({"hybrid_shard_degree": "1"}, WHOLE),
    ({"hybrid_shard_degree": "8", "sharding_strategy": "hybrid_shard_zero2"}, HYBRID_2),
    # Neuron's
    ({"distributed_strategy": {"tensor_model_parallel_size": 8, "zero1": True}}, (2 * N / 8, 2 * N / 8, 12 * N / 8 / 2)), ({"zero_1": "True"}, (2 * N, 2 * N, 12 * N / 16)),
])
def test_what_aws_libraries_shard(shared_server, settings, taken):
    got, found = states(shared_server, settings)
    assert found == taken and got["not_understood"] == []


def test_a_group_that_would_fit(shared_server):
    """Of GPT-3's activations 40.3 GB are left with a micro-batch of 1; in groups of 8 a tensor degree is no remedy, as their nodes change with it."""
    got = fit(shared_server, {**GPT3, "tensor_model_parallel_size": "1", "pipeline_model_parallel_size": "1", "micro_batch_size": "2", "num_parameters": "8e9",
                              "num_layers": "8", "zero_stage": "3", "mics_shard_size": "8"}, "ml.p5.48xlarge", 8)
    of_one = 8 * 25165824 * (34 + 80)  # 22.95 GB
    assert got["per_device_bytes"]["total"] == 16 * N / 8 + 2 * of_one and got["limit_bytes"] == 80 * GIB and got["fits"] is True
    tight = fit(shared_server, {**GPT3, "tensor_model_parallel_size": "1", "pipeline_model_parallel_size": "1", "micro_batch_size": "4", "num_parameters": "8e9",
                                "num_layers": "8", "zero_stage": "3", "mics_shard_size": "8"}, "ml.p5.48xlarge", 8)  # 16 + 91.8 GB
    assert [row["changes"] for row in tight["would_fit"]] == [{"micro_batch": 2}, {"recompute": "selective"}, {"recompute": "full"}]
