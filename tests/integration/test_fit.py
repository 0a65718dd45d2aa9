"""Will it fit: formulas by hand."""

import json
import pathlib
import re
import subprocess

import pytest

from smserver import PATIENCE_S, ROOT, wait_until

GIB = 2 ** 30
# GPT-3 175B of Korthikanti et al., table 3
GPT3 = {"num_parameters": "175000000000", "hidden_size": "12288", "num_layers": "96", "num_attention_heads": "96", "seq_length": "2048",
    "micro_batch_size": "1", "tensor_model_parallel_size": "8", "pipeline_model_parallel_size": "8", "bf16": "true"}


def fit(server, settings, instance="ml.p4de.24xlarge", count=8, status=200, **more):
    reply = server.post("/api/v1/fit", json={"HyperParameters": settings, "ResourceConfig": {"InstanceType": instance, "InstanceCount": count}, **more})
    assert reply.status == status, reply
    return reply.body


def test_gpt_3_on_64_devices_of_80_gib(shared_server):
    """175e9 / 64 = 2.734e9 parameters of 2 + 2 + 12 bytes; activations 96 s b h (10 + 3 + 80 / 8), s b h = 25165824."""
    got = fit(shared_server, GPT3)
    each = 175e9 / 64
    assert got["per_device_bytes"] == {"parameters": 2 * each, "gradients": 2 * each, "optimizer": 12 * each, "activations": 96 * 25165824 * 23,
                                       "total": 16 * each + 96 * 25165824 * 23}
    assert got["limit_bytes"] == 80 * GIB and got["fits"] is False and got["observed_factor"] is None and got["unknown"] == []
    saved = fit(shared_server, {**GPT3, "recompute_granularity": "selective", "sequence_parallel": "true"})
    assert saved["per_device_bytes"]["activations"] == 96 * 25165824 * 34 / 8 and saved["fits"] is True
    assert fit(shared_server, {**GPT3, "gradient_checkpointing": "true"})["per_device_bytes"]["activations"] == 96 * 25165824 * 2


@pytest.mark.parametrize("settings, total", [({}, 120e9), ({"zero_stage": "1"}, 31.4e9), ({"zero_stage": "2"}, 16.6e9), ({"zero_stage": "3"}, 1.9e9),
    ({"zero_optimization": '{"stage": 2}'}, 16.6e9), ({"deepspeed": '{"zero_optimization": {"stage": 3}}'}, 1.9e9),
    ({"deepspeed": "ds_z3.json", "zero_stage": "3"}, 1.9e9), ({"fsdp": "full_shard auto_wrap"}, 1.9e9), ({"use_distributed_optimizer": "true"}, 31.4e9),
    # as Python prints it
    ({"deepspeed": "{'zero_optimization': {'stage': 3, 'overlap_comm': True, 'offload_param': None}, 'bf16': {'enabled': True}, 'it\\'s': (1, 2)}"}, 1.9e9),
    ({"zero_optimization": "{'stage': 2}"}, 16.6e9),
    # Lightning's
    ({"strategy": "ddp"}, 120e9), ({"trainer.strategy": "ddp_find_unused_parameters_false"}, 120e9), ({"trainer.strategy": "fsdp"}, 1.9e9),
    ({"strategy": "deepspeed_stage_1"}, 31.4e9), ({"strategy": "deepspeed_stage_2"}, 16.6e9), ({"strategy": "deepspeed_stage_3"}, 1.9e9),
    ({"strategy": {"class_path": "lightning.pytorch.strategies.DeepSpeedStrategy", "init_args": {"stage": 2}}}, 16.6e9),
    # accelerate's
    ({"distributed_type": "FSDP", "fsdp_config": {"fsdp_sharding_strategy": 1, "fsdp_offload_params": False}}, 1.9e9),
    ({"distributed_type": "DistributedType.FSDP", "fsdp_config": "{'fsdp_sharding_strategy': 'SHARD_GRAD_OP'}"}, 16.6e9),
    ({"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 2, "offload_optimizer_device": "none"}}, 16.6e9),
    ({"distributed_type": "DEEPSPEED", "deepspeed_config_file": "ds.yaml", "zero_stage": 0}, 120e9), ({"distributed_type": "MULTI_GPU"}, 120e9),
    ({"distributed_type": "DistributedType.NO"}, 120e9),
    # a default that is printed beside what is on
    ({"zero_stage": "0", "fsdp": "shard_grad_op auto_wrap"}, 16.6e9), ({"deepspeed": "0.16.4"}, 120e9),
    # of two the lower one
    ({"zero_stage": "3", "fsdp": "shard_grad_op"}, 16.6e9), ({"strategy": "deepspeed_stage_1", "fsdp": "full_shard"}, 31.4e9)])
def test_model_states_of_the_paper(shared_server, settings, total):
    """Rajbhandari et al., figure 1: 7.5B parameters on 64 devices."""
    got = fit(shared_server, {"num_parameters": "7500000000", "bf16": "true", **settings}, "ml.p5.48xlarge", 8)
    states = got["per_device_bytes"]
    assert got["not_understood"] == [] and abs(states["parameters"] + states["gradients"] + states["optimizer"] - total) < 0.05e9
    assert states["activations"] is None and states["total"] is None and "hidden_size" in got["unknown"]
    assert got["fits"] is (False if total == 120e9 else None)  # more than 80 GiB without any activation


def test_what_is_not_known_is_null(shared_server):
    got = fit(shared_server, {}, "ml.c5.xlarge", 1)
    assert set(got["per_device_bytes"].values()) == {None} and got["fits"] is None and got["limit_bytes"] is None
    assert fit(shared_server, {**GPT3, "optimizer": "adafactor"})["per_device_bytes"]["optimizer"] is None
    for key, name in (("tensor_model_parallel_size", "tensor_parallel"), ("hidden_size", "hidden_size"), ("micro_batch_size", "micro_batch")):
        for value in ("0", "-1", "1e400", *(() if name == "tensor_parallel" else ("NaN", "x"))):  # a degree that is no number was not said: 1
            got = fit(shared_server, {**GPT3, key: value})
            assert got["inputs"][name] is None and name in got["unknown"] and got["per_device_bytes"]["total"] is None, (key, value, got)
    for other in ({"num_experts": "8"}, {"lora_r": "16"}, {"offload_optimizer.device": "cpu"}, {"offload_optimizer": "cpu"},
                  {"fsdp": "full_shard offload auto_wrap"}, {"fsdp_offload_params": "true"}, {"zero_optimization": '{"stage": 2, "offload_optimizer": {"device": "cpu"}}'},
                  {"zero_optimization": "{'stage': 3, 'offload_optimizer': {'device': 'none'}, 'offload_param': {'device': 'cpu'}}"},
                  {"deepspeed_config": {"zero_stage": 3, "offload_optimizer_device": "none", "offload_param_device": "nvme"}},
                  {"strategy": "deepspeed_stage_2_offload"}, {"trainer.strategy": "fsdp_cpu_offload"}):
        got = fit(shared_server, {**GPT3, **other})
        assert got["fits"] is None and got["per_device_bytes"]["total"] is None and got["not_covered"], other
    trainium = fit(shared_server, GPT3, "ml.trn1.32xlarge", 8)
    assert trainium["limit_bytes"] == 16 * GIB and trainium["inputs"]["data_parallel"] == 4  # a rank is one of a chip's two cores
    assert fit(shared_server, GPT3, "ml.p4d.24xlarge")["limit_bytes"] == 40 * GIB
    reply = shared_server.post("/api/v1/fit", json={"ResourceConfig": {}})
    assert reply.status == 422 and reply.body["field"] == "HyperParameters"


@pytest.mark.parametrize("said", [{"attention_backend": "flash"}, {"attn_implementation": "flash_attention_2"}, {"use_flash_attn": "true"}])
def test_each_way_to_say_flash_attention(shared_server, said):
    got = fit(shared_server, {**GPT3, **said})
    assert got["inputs"]["flash_attention"] is True and got["per_device_bytes"]["activations"] == 96 * 25165824 * 13


@pytest.mark.parametrize("key, value", [("fsdp", "true"), ("zero_stage", "three"), ("deepspeed", "ds_z3.json"),
    ("--deepspeed_config", "/cfg/ds.json"), ("model.optim.name", "distributed_fused_adam"), ("zero_optimization", "true"), ("deepspeed", "true"),
    ("deepspeed", "ds_z3.yaml"), ("deepspeed", "ds.jsonc"), ("deepspeed", "{'zero_optimization': {'stage': nan}}"), ("--use_deepspeed", "true"),
    ("strategy", "deepspeed"), ("trainer.strategy", "ddp_sharded"), ("strategy.class_path", "lightning.fabric.strategies.FSDPStrategy"),
    ("distributed_type", "FSDP"), ("distributed_type", "DistributedType.DEEPSPEED"), ("distributed_type", "MEGATRON_LM"), ("--config_file", "fsdp.yaml"),
    ("fsdp_sharding_strategy", "6")])
def test_sharding_that_is_not_followed_is_named(shared_server, key, value):
    """It is not stage 0, which would not fit."""
    got = fit(shared_server, {"num_parameters": "7500000000", "bf16": "true", key: value}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [key] and got["fits"] is None and got["per_device_bytes"]["optimizer"] is None


def test_lightnings_precision_of_sixteen_bits_alone(shared_server):
    """2 + 2 + 4 bytes, where bf16-mixed has 2 + 2 + 12 as mixed precision of the paper does."""
    got = fit(shared_server, {"num_parameters": "7500000000", "precision": "bf16-true"}, "ml.p5.48xlarge", 8)["per_device_bytes"]
    assert (got["parameters"], got["gradients"], got["optimizer"]) == (15e9, 15e9, 30e9)
    got = fit(shared_server, {"num_parameters": "7500000000", "precision": "bf16-mixed"}, "ml.p5.48xlarge", 8)["per_device_bytes"]
    assert (got["parameters"], got["gradients"], got["optimizer"]) == (15e9, 15e9, 90e9)


def test_names_as_on_a_command_line(shared_server):
    """Dashes before and within change nothing of what is read, and advice speaks of the degrees: 6 is no power of two."""
    dashed = {f"--{key.replace('_', '-')}": value for key, value in GPT3.items()}
    plain, got = fit(shared_server, GPT3), fit(shared_server, dashed)
    assert got["inputs"]["tensor_parallel"] == got["inputs"]["pipeline_parallel"] == 8 and got["inputs"]["micro_batch"] == 1
    assert (got["inputs"], got["per_device_bytes"], got["fits"]) == (plain["inputs"], plain["per_device_bytes"], plain["fits"])
    reply = shared_server.post("/api/v1/jobs?dry_run=true", json={"TrainingJobName": "dashes", "HyperParameters": {"--tensor-model-parallel-size": "6"},
        "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 8, "VolumeSizeInGB": 50}})
    found, = (each for each in reply.body["advice"] if each["rule"] == "tensor_parallel_power_of_two")
    assert found["field"] == "hp.--tensor-model-parallel-size"


@pytest.mark.parametrize("key, value", [("fsdp", ""), ("fsdp", "[]"), ("fsdp", "NO_SHARD"), ("zero_stage", "0"), ("deepspeed", "false"),
    ("zero_optimization", "{}"), ("zero_optimization", '{"stage": 0}')])
def test_sharding_that_is_off(shared_server, key, value):
    got = fit(shared_server, {"num_parameters": "7500000000", "bf16": "true", key: value}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [] and got["fits"] is False


PAPER = {"num_parameters": "7500000000", "bf16": "true"}


@pytest.mark.parametrize("settings", [{"strategy": "fsdp", "sharding_strategy": "NO_SHARD"}, {"strategy": "fsdp", "sharding_strategy": "3"},
    {"strategy": "fsdp", "strategy.init_args.sharding_strategy": "NO_SHARD"}, {"sharding_strategy": "ShardingStrategy.NO_SHARD", "trainer.strategy": "fsdp"},
    {"strategy": {"class_path": "lightning.pytorch.strategies.FSDPStrategy", "init_args": {"sharding_strategy": "NO_SHARD"}}},
    {"distributed_type": "FSDP", "fsdp_config": {"fsdp_sharding_strategy": 3}}, {"enable_fsdp": "True", "sharding_strategy": "NO_SHARD"},
    {"fsdp": "no_shard auto_wrap"}, {"zero_stage": "0", "fsdp_sharding_strategy": "NO_SHARD", "config_file": "fsdp.yaml"},
    {"use_fsdp": "False", "use_deepspeed": "False", "distributed_type": "NO", "strategy": "ddp", "zero_stage": "0"}])
def test_what_has_no_shard_is_whole(shared_server, settings):
    """Whatever a strategy's default is: 120 GB on each of 64 devices."""
    got = fit(shared_server, {**PAPER, **settings}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [] and got["fits"] is False and got["per_device_bytes"]["optimizer"] == 90e9


@pytest.mark.parametrize("settings, key", [({"distributed_type": "MULTI_GPU", "fsdp_sharding_strategy": "1"}, "distributed_type"),
    ({"distributed_type": "DistributedType.NO", "fsdp_sharding_strategy": "FULL_SHARD"}, "distributed_type"),
    ({"distributed_type": "MULTI_GPU", "zero_stage": 2}, "distributed_type"), ({"use_fsdp": "False", "fsdp_sharding_strategy": "1"}, "use_fsdp"),
    ({"enable_fsdp": "False", "sharding_strategy": "ShardingStrategy.FULL_SHARD"}, "enable_fsdp"),
    ({"fsdp_config": {"enable_fsdp": False, "sharding_strategy": "SHARD_GRAD_OP"}}, "fsdp_config.enable_fsdp"), ({"use_fsdp": "0", "strategy": "fsdp"}, "use_fsdp"),
    ({"use_fsdp": "no", "strategy": "fsdp"}, "use_fsdp"),
    ({"use_deepspeed": "False", "zero_stage": "3"}, "use_deepspeed"), ({"deepspeed": "False", "zero_stage": "1"}, "deepspeed"),
    ({"strategy": "ddp", "zero_stage": "3"}, "strategy"), ({"trainer.strategy": "ddp_find_unused_parameters_true", "fsdp": "full_shard"}, "trainer.strategy"),
    ({"fsdp": "full_shard", "fsdp_sharding_strategy": "NO_SHARD"}, "fsdp_sharding_strategy"),
    ({"zero_stage": "0", "fsdp": "true"}, "fsdp"), ({"sharding_strategy": "NO_SHARD", "use_deepspeed": "true"}, "use_deepspeed")])
def test_shards_that_something_switches_off_are_not_followed(shared_server, settings, key):
    """What is left over in a file of settings neither shards nor says that nothing does."""
    got = fit(shared_server, {**PAPER, **settings}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [key] and got["fits"] is None and got["per_device_bytes"]["optimizer"] is None


@pytest.mark.parametrize("settings", [{"use_fsdp": "False", "zero_stage": "3"}, {"enable_fsdp": "False", "strategy": "deepspeed_stage_2"},
    {"use_deepspeed": "False", "fsdp": "full_shard"}, {"deepspeed": "None", "zero_stage": "3"},
    {"fsdp": "", "fsdp_sharding_strategy": "FULL_SHARD"}, {"fsdp": "[]", "zero_stage": "1"},
    {"strategy": "ddp", "use_distributed_optimizer": "True"}, {"strategy": "auto", "zero_stage": "2"}])
def test_a_switch_of_the_other_kind_and_a_printed_default_switch_nothing_off(shared_server, settings):
    got = fit(shared_server, {**PAPER, **settings}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [] and got["per_device_bytes"]["optimizer"] == 90e9 / 64


# ---- FSDP by the names of torchtitan and Megatron-LM: n parameters on 64 devices, (parameters, gradients, optimizer) of each device ----

TITAN = {"num_parameters": "8000000000"}
MEGATRON = {**TITAN, "bf16": "true"}


def states(server, settings, count=8):
    got = fit(server, settings, "ml.p5.48xlarge", count)
    return got, tuple(got["per_device_bytes"][name] for name in ("parameters", "gradients", "optimizer"))


@pytest.mark.parametrize("degrees, each, over", [
    ({"data_parallel_shard_degree": "-1"}, 8e9, 64),
    ({"tensor_parallel_degree": "8"}, 1e9, 8),  # nobody says how many shards: the rest
    ({"tensor_parallel_degree": "8", "context_parallel_degree": "2", "data_parallel_shard_degree": "4"}, 1e9, 8),  # 4 of data x 2 of context
    ({"tensor_parallel_degree": "4", "data_parallel_replicate_degree": "2", "data_parallel_shard_degree": "8"}, 2e9, 8),
    ({"tensor_parallel_degree": "4", "data_parallel_replicate_degree": "2"}, 2e9, 8),
    ({"data_parallel_shard_degree": "1", "data_parallel_replicate_degree": "64"}, 8e9, 1),  # nothing is sharded
])
def test_what_torchtitan_shards(shared_server, degrees, each, over):
    """32 bits are kept: 4 of a parameter, 4 of its gradient, 8 of Adam."""
    got, taken = states(shared_server, {**TITAN, **{f"parallelism.{key}": value for key, value in degrees.items()}})
    assert taken == (4 * each / over, 4 * each / over, 8 * each / over) and got["not_understood"] == []
    assert got["inputs"]["data_parallel"] == 64 * each / 8e9 / int(degrees.get("context_parallel_degree", 1))


def test_torchtitan_beyond_its_degrees(shared_server):
    half, taken = states(shared_server, {**TITAN, "parallelism.data_parallel_shard_degree": "-1", "training.dtype": "bfloat16"})
    assert taken == (2 * 8e9 / 64, 2 * 8e9 / 64, 4 * 8e9 / 64) and half["inputs"]["sharded_over"] == 64
    assert half["formulas"]["gradients"] == "parameters / (tensor_parallel * pipeline_parallel) * bytes_of_a_gradient / sharded_over"
    other, taken = states(shared_server, {**TITAN, "parallelism.data_parallel_shard_degree": "16"})  # of 64
    assert taken == (None, None, None) and "data_parallel" in other["unknown"]
    other, taken = states(shared_server, {**TITAN, "parallelism.tensor_parallel_degree": "8", "parallelism.context_parallel_degree": "4",
                                          "parallelism.data_parallel_replicate_degree": "4"})  # 2 of data: no part of a context parallel group is a copy
    assert taken == (None, None, None) and "data_parallel" in other["unknown"]
    never = {**TITAN, "parallelism.tensor_parallel_degree": "8", "parallelism.fsdp_reshard_after_forward": "never"}  # gathered in 16 bits, from 4 in the shards
    got, taken = states(shared_server, never)
    assert taken == (4 * 1e9 / 8 + 2 * 1e9, 4 * 1e9 / 8, 8 * 1e9 / 8) and got["inputs"]["second_copy_over"] == 1
    piped = {**TITAN, "parallelism.pipeline_parallel_degree": "4", "parallelism.tensor_parallel_degree": "2"}
    got, taken = states(shared_server, piped)
    assert taken == (None, None, None) and got["not_understood"] == ["parallelism.fsdp_reshard_after_forward"]
    got, taken = states(shared_server, {**piped, "parallelism.fsdp_reshard_after_forward": "always"})
    assert taken == (4 * 1e9 / 8, 4 * 1e9 / 8, 8 * 1e9 / 8) and got["inputs"]["micro_batch"] == 1
    got, taken = states(shared_server, {**TITAN, "parallelism.tensor_parallel_degree": "8", "parallelism.expert_parallel_degree": "8"})
    assert taken == (None, None, None) and got["not_covered"] == "a mixture of experts"


def test_activations_of_torchtitan_are_in_16_bits(shared_server):
    """Llama 3 8B's sizes: 32 s b h (10 + 24 / 1), s b h = 8192 * 2 * 4096."""
    sizes = {**TITAN, "hidden_size": "4096", "num_layers": "32", "num_attention_heads": "32", "training.seq_len": "8192", "training.local_batch_size": "2",
             "attn_implementation": "sdpa", "parallelism.data_parallel_shard_degree": "-1"}
    got, _ = states(shared_server, sizes)
    assert got["per_device_bytes"]["activations"] == 32 * 8192 * 2 * 4096 * 34
    got, _ = states(shared_server, {**sizes, "training.mixed_precision_param": "float32"})
    assert got["per_device_bytes"]["activations"] is None


@pytest.mark.parametrize("flags, taken", [
    ({"use_torch_fsdp2": "True"}, (2e9 / 8, 2e9 / 8, 12e9 / 8)),
    ({"--use-megatron-fsdp": "True", "--data-parallel-sharding-strategy": "optim_grads_params"}, (2e9 / 8, 2e9 / 8, 12e9 / 8)),
    ({"use_custom_fsdp": "True", "data_parallel_sharding_strategy": "optim_grads"}, (2e9, 2e9 / 8, 12e9 / 8)),
    ({"use_megatron_fsdp": "True", "data_parallel_sharding_strategy": "optim"}, (2e9, 2e9, 12e9 / 8)),
    ({"use_megatron_fsdp": "True", "data_parallel_sharding_strategy": "no_shard"}, (2e9, 2e9, 12e9)),
    ({"use_megatron_fsdp": "True", "data_parallel_sharding_strategy": "optim_grads_params", "context_parallel_size": "2"}, (2e9 / 8, 2e9 / 8, 12e9 / 8)),
    ({"use_megatron_fsdp": "True", "data_parallel_sharding_strategy": "optim_grads_params", "num_distributed_optimizer_instances": "2"},
        (2e9 / 4, 2e9 / 4, 12e9 / 4)),
    ({"use_distributed_optimizer": "True", "num_distributed_optimizer_instances": "4"}, (2e9, 2e9, 12e9 / 2)),
    ({"use_distributed_optimizer": "True", "num_distributed_optimizer_instances": "4", "context_parallel_size": "4"}, (2e9, 2e9, 12e9 / 2)),  # 2 x 4 ranks / 4
    ({"use_distributed_optimizer": "True", "num_distributed_optimizer_instances": "16", "context_parallel_size": "4"}, (2e9, 2e9, None)),
    ({"use_distributed_optimizer": "True", "data_parallel_sharding_strategy": "optim_grads_params", "use_megatron_fsdp": "False"}, (2e9, 2e9, 12e9 / 8)),
])
def test_what_megatrons_fsdps_shard(shared_server, flags, taken):
    """8e9 / 8 of tensor parallelism; 8 ranks of data. Megatron prints a strategy for jobs without FSDP, too."""
    got, found = states(shared_server, {**MEGATRON, "tensor_model_parallel_size": "8", **flags})
    assert found == taken and got["not_understood"] == []


@pytest.mark.parametrize("flags, key", [
    ({"use_megatron_fsdp": "True"}, "use_megatron_fsdp"),  # its default has changed
    ({"use_megatron_fsdp": "True", "data_parallel_sharding_strategy": "both"}, "data_parallel_sharding_strategy"),
    ({"use_torch_fsdp2": "True", "torch_fsdp2_reshard_after_forward": "False"}, "torch_fsdp2_reshard_after_forward"),
    ({"use_megatron_fsdp": "True", "data_parallel_sharding_strategy": "optim", "num_distributed_optimizer_instances": "2",
      "outer_dp_sharding_strategy": "optim"}, "outer_dp_sharding_strategy"),
])
def test_what_is_not_followed_of_megatrons_fsdps(shared_server, flags, key):
    got, found = states(shared_server, {**MEGATRON, **flags})
    assert found == (None, None, None) and got["not_understood"] == [key] and got["fits"] is None


@pytest.mark.parametrize("tensor, count", [("16", 1), ("1.5", 1), ("3", 8)])
def test_degrees_that_are_none_of_these_devices(shared_server, tensor, count):
    small = {"num_parameters": "1000000", "hidden_size": "64", "num_layers": "2", "num_attention_heads": "4", "seq_length": "128",
             "micro_batch_size": "1", "bf16": "true"}
    assert fit(shared_server, {**small, "tensor_model_parallel_size": "8"}, count=count)["fits"] is True
    got = fit(shared_server, {**small, "tensor_model_parallel_size": tensor}, count=count)
    assert got["fits"] is None and "data_parallel" in got["unknown"]


def test_what_the_document_shows(shared_server):
    command, = re.findall(r"^```sh\n(.*?)^```", pathlib.Path(ROOT, "docs/fit.md").read_text(), re.M | re.S)
    got = json.loads(subprocess.run(["bash", "-c", command.replace(":8080", f":{shared_server.port}").replace("curl ", "curl -f ")], stdout=subprocess.PIPE,
        timeout=PATIENCE_S, check=True).stdout)
    assert got["fits"] is True and got["inputs"]["zero_stage"] == 1 and got["inputs"]["data_parallel"] == 64
    assert got["per_device_bytes"]["activations"] == 32 * 2048 * 4096 * 34


# ---- parameters by the sizes of the model ----

LLAMA2_7B = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000, "hidden_act": "silu"}
SIZES = [
    # Brown et al. (2020), table 2.1: 175.0B. 12 L h^2 + 13 L h + (V + s) h + 2 h, 0.23 % below
    ({"hidden_size": 12288, "num_layers": 96, "num_attention_heads": 96, "vocab_size": 50257, "seq_length": 2048}, 174604259328),
    # the counts of model.safetensors.index.json
    (LLAMA2_7B, 6738415616),
    ({"hidden_size": 8192, "num_layers": 80, "num_attention_heads": 64, "num_query_groups": 8, "ffn_hidden_size": 28672, "padded_vocab_size": 32000,
      "swiglu": "True", "normalization": "RMSNorm", "untie_embeddings_and_output_weights": "True", "disable_bias_linear": "True"}, 68976648192),
    ({"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
      "model_type": "llama"}, 8030261248),
    ({"n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}, 124439808),
    ({**LLAMA2_7B, "tie_word_embeddings": False}, 6738415616),
    ({**LLAMA2_7B, "tie_word_embeddings": "true"}, 6738415616 - 32000 * 4096),
    ({**LLAMA2_7B, "head_dim": 256}, 6738415616 + 32 * 4 * 4096 * 4096),
]


@pytest.mark.parametrize("sizes, parameters", SIZES)
def test_parameters_by_sizes(shared_server, sizes, parameters):
    got = fit(shared_server, {**sizes, "bf16": "true"})
    assert got["inputs"]["parameters"] == parameters and got["per_device_bytes"]["parameters"] == 2 * parameters
    assert got["model"]["formula"].startswith("hidden_size * (") and "parameters" not in got["from"]


def test_sizes_that_do_not_suffice_are_named(shared_server):
    without = {key: value for key, value in LLAMA2_7B.items() if key not in ("vocab_size", "intermediate_size")}
    got = fit(shared_server, {**without, "bf16": "true"})
    assert got["inputs"]["parameters"] is None and {"parameters", "vocabulary", "feed_forward"} <= set(got["unknown"])
    stated = fit(shared_server, {**LLAMA2_7B, "num_parameters": "6.7B", "bf16": "true"})
    assert stated["inputs"]["parameters"] == 6.7e9 and stated["model"] is None and stated["from"]["parameters"] == "num_parameters, HyperParameters"
    assert stated["from"]["hidden_size"] == "hidden_size" and stated["formulas"]["optimizer"] == "parameters / (tensor_parallel * pipeline_parallel) * bytes_of_optimizer"


# ---- other machines, and what would fit ----

LLAMA_RUN = {**LLAMA2_7B, "max_seq_length": 4096, "per_device_train_batch_size": 4, "bf16": "true", "zero_stage": 1, "attn_implementation": "flash_attention_2"}


def test_several_instance_types_in_one_call(shared_server):
    """16 n bytes: 2 n + 2 n + 12 n / d; activations 32 s b h 34 = 32 * 4096 * 4 * 4096 * 34 = 73014444032."""
    n, kept = 6738415616, 32 * 4096 * 4 * 4096 * 34
    got = fit(shared_server, LLAMA_RUN, "ml.p4d.24xlarge", 2, instances=["8 x H100", "ml.p5en.48xlarge", "4xml.trn1.32xlarge"])
    assert got["per_device_bytes"]["total"] == 4 * n + 12 * n / 16 + kept and got["fits"] is False and got["limit_bytes"] == 40 * GIB
    eight, h200, trainium = got["instances"]
    assert (eight["instance_type"], eight["instance_count"], eight["devices"], eight["limit_bytes"]) == ("H100", 8, 8, 80 * GIB)
    assert eight["per_device_bytes"]["total"] == 4 * n + 12 * n / 8 + kept and eight["fits"] is False
    assert (h200["instance_count"], h200["devices"], h200["fits"]) == (2, 16, True) and h200["would_fit"] == []
    assert (trainium["devices"], trainium["limit_bytes"]) == (128, 16 * GIB) and trainium["per_device_bytes"]["optimizer"] == 12 * n / 128
    for wrong, what in ((["m5.large"], "devices.json"), (["x"], "devices.json"), (["0 x ml.p5.48xlarge"], "count"), ("ml.p5.48xlarge", "array"), ([7], "no instance type")):
        reply = shared_server.post("/api/v1/fit", json={"HyperParameters": LLAMA_RUN, "ResourceConfig": {}, "instances": wrong})
        assert reply.status == 422 and reply.body["field"] == "instances" and what in reply.body["detail"], reply


def test_what_would_fit(shared_server):
    """On 8 x 80 GiB = 85899345920 each: 4 n + 1.5 n = 37061285888 of states leave 48.8e9 of activations, so that a micro batch of 2 (36.5e9) does."""
    n, of_one = 6738415616, 32 * 4096 * 4096 * 34
    got = fit(shared_server, LLAMA_RUN, "ml.p5.48xlarge", 1)
    would = {next(iter(each["changes"])): each for each in got["would_fit"]}
    assert all(len(each["changes"]) == 1 for each in got["would_fit"]) and got["fits"] is False
    assert would["micro_batch"]["changes"] == {"micro_batch": 2} and would["micro_batch"]["total_bytes"] == 5.5 * n + 2 * of_one
    assert would["micro_batch"]["text"] == "micro_batch 2 instead of 4"
    assert would["recompute"]["changes"] == {"recompute": "full"} and would["recompute"]["total_bytes"] == 5.5 * n + 32 * 4096 * 4 * 4096 * 2
    assert would["tensor_parallel"]["changes"] == {"tensor_parallel": 2}  # (4 n + 12 n / 4) / 2 + 4 * 32 s h (10 + 12)
    assert would["tensor_parallel"]["total_bytes"] == 7 * n / 2 + 4 * 32 * 4096 * 4096 * 22
    assert "zero_stage" not in would  # 16 n / 8 + 73.0e9 = 86.5e9
    tight = fit(shared_server, LLAMA_RUN, "ml.p4d.24xlarge", 1)  # 42.9e9: a micro batch of 1 leaves 55.3e9; 2 n + 4 * 32 s h 13 are 41.4e9
    assert [each["changes"] for each in tight["would_fit"]] == [{"recompute": "full"}, {"tensor_parallel": 8}]
    assert fit(shared_server, LLAMA_RUN, "ml.g5.xlarge", 1)["would_fit"] == []  # one device of 24 GiB: 16 n alone are more


def test_a_job_that_exists(emptied_server):
    server = emptied_server
    server.post("/api/v1/jobs", json={"TrainingJobName": "llama", "HyperParameters": {key: str(value) for key, value in LLAMA_RUN.items()},
                                      "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1}})
    got = server.get("/api/v1/jobs/llama/fit?instances=ml.p5en.48xlarge,2%20x%20ml.trn2.48xlarge").body
    asked = fit(server, LLAMA_RUN, "ml.p5.48xlarge", 1, instances=["ml.p5en.48xlarge", "2 x ml.trn2.48xlarge"])
    assert got.pop("job") == "llama" and got == asked and [row["fits"] for row in got["instances"]] == [True, False]
    assert server.get("/api/v1/jobs/llama/fit").body == {"job": "llama", **{key: value for key, value in asked.items() if key != "instances"}}
    assert server.get("/api/v1/jobs/none/fit").status == 404
    assert server.get("/api/v1/jobs/llama/fit?instances=none").status == 422


# ---- what was observed ----

def start(server, name, settings, instance="ml.p5.48xlarge", nodes=1):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": name, "HyperParameters": {key: str(value) for key, value in settings.items()},
                                              "ResourceConfig": {"InstanceType": instance, "InstanceCount": nodes}})
    assert reply.status in (200, 201), reply


def observed(server, settings, count):
    wait_until(lambda: fit(server, settings, "ml.p5.48xlarge", 1)["observed_jobs"] == count)
    return fit(server, settings, "ml.p5.48xlarge", 1)


def test_peaks_of_the_same_family_correct_the_total(emptied_server):
    """The formulas say 5.5 n + 32 s b h 34 of a job with a micro batch of 2: 73568507904 bytes = 68.5 GiB. Megatron's memory is in MiB."""
    server = emptied_server
    run = {**LLAMA_RUN, "per_device_train_batch_size": 2}
    total = 5.5 * 6738415616 + 2 * 32 * 4096 * 4096 * 34
    assert fit(server, run, "ml.p5.48xlarge", 1)["observed_factor"] is None and fit(server, run, "ml.p5.48xlarge", 1)["observed"] == []
    for name, mib in (("a", 77000), ("b", 80000), ("c", 90000)):
        start(server, name, run)
        server.post(f"/api/v1/logs?job={name}&stream=algo-1", body=(
            " [2025-01-01 10:00:00] iteration       10/     100 | consumed samples:          80 | elapsed time per iteration (ms): 100.0 | "
            "learning rate: 1.000000E-04 | global batch size:     8 | lm loss: 1.0E+01 |\n"
            f"[Rank 0] (after 10 iterations) memory (MB) | allocated: 1000.0 | max allocated: {mib}.0 | reserved: 1.0 | max reserved: 1.0\n"))
    start(server, "other", {**run, "hidden_size": 2048})
    start(server, "without", run)
    got = observed(server, run, 3)
    assert got["observed_factor"] == pytest.approx(80000 * 2 ** 20 / total) and got["corrected_bytes"] == pytest.approx(80000 * 2 ** 20)
    assert [(one["job"], one["peak_bytes"], one["formula_bytes"]) for one in got["observed"]] == [
        ("a", 77000 * 2 ** 20, total), ("b", 80000 * 2 ** 20, total), ("c", 90000 * 2 ** 20, total)]
    assert {one["metric"] for one in got["observed"]} == {"train:memory_max_allocated"}
    assert got["fits"] is True and got["per_device_bytes"]["total"] == total  # 80000 MiB are 78.1 of 80 GiB
    named = {**run, "model_type": "llama"}
    assert fit(server, named, "ml.p5.48xlarge", 1)["observed_jobs"] == 0  # none of these jobs says so


def test_the_peak_of_the_fullest_gpu_that_sm_ship_sees(emptied_server):
    """As --system sends it, a series a GPU."""
    server = emptied_server
    run = {**LLAMA_RUN, "per_device_train_batch_size": 2}
    total = 5.5 * 6738415616 + 2 * 32 * 4096 * 4096 * 34
    start(server, "seen", run)
    points = [{"metric": f'gpu_memory_used_mib{{gpu="{gpu}"}}', "ts_ms": 1740000000000 + at, "step": 0, "value": value}
              for at, values in enumerate([(50000, 70000), (60000, 65000)]) for gpu, value in enumerate(values)]
    points += [{"metric": 'gpu_memory_total_mib{gpu="0"}', "ts_ms": 1740000000000, "step": 0, "value": 81559}]
    assert server.post("/api/v1/points?job=seen&stream=system/h1", json={"points": points}).status == 200
    got = observed(server, run, 1)
    assert got["observed"] == [{"job": "seen", "metric": "gpu_memory_used_mib", "peak_bytes": 70000 * 2 ** 20, "formula_bytes": total,
                                "factor": pytest.approx(70000 * 2 ** 20 / total)}]


def test_an_incident_of_a_full_gpu_says_what_would_have_fit(emptied_server):
    server = emptied_server
    start(server, "full", LLAMA_RUN)
    server.post("/api/v1/logs?job=full&stream=algo-1", body=("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 79.15 GiB of which 1.20 GiB is free.\n"))
    wait_until(lambda: server.get("/api/v1/incidents?q=name%3Dfull").body["incidents"])
    incident, = server.get("/api/v1/incidents?q=name%3Dfull").body["incidents"]
    would = incident["evidence"]["would_fit"]
    assert would == fit(server, LLAMA_RUN, "ml.p5.48xlarge", 1)["would_fit"] and would[0]["text"] == "micro_batch 2 instead of 4"
    assert server.get(f"/api/v1/incidents/{incident['id']}").body["incident"]["evidence"]["would_fit"] == would


def test_out_of_memory_though_the_formulas_left_room(emptied_server):
    """68.5 GiB of 80: what the formulas leave out took the rest, so that only what takes a tenth less is named. 5.5 n + 32 s h 34 = 53.2 GB do."""
    server = emptied_server
    start(server, "full", {**LLAMA_RUN, "per_device_train_batch_size": 2})
    start(server, "unknown", {"bf16": "true"})
    for job in ("full", "unknown"):
        server.post(f"/api/v1/logs?job={job}&stream=algo-1", body="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
        wait_until(lambda: server.get(f"/api/v1/incidents?q=name%3D{job}").body["incidents"])
    incident, = server.get("/api/v1/incidents?q=name%3Dfull").body["incidents"]
    texts = [each["text"] for each in incident["evidence"]["would_fit"]]
    assert texts[0] == "micro_batch 1 instead of 2" and "full recomputation of activations" in texts
    incident, = server.get("/api/v1/incidents?q=name%3Dunknown").body["incidents"]
    assert "would_fit" not in incident["evidence"]
