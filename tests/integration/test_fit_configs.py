"""
Configurations as their projects publish them, posted whole, and what of them changes the memory that is taken. h = 4096, 32 layers and 32 heads
of 8.03e9 parameters on two nodes of eight H100, unless they say otherwise; with attention's scores not kept a layer has 34 s b h bytes.
"""

import json

import pytest

from test_fit import GPT3, fit
from smserver import wait_until

N = 8030261248  # Llama 3 8B
LLAMA = {"num_parameters": str(N), "hidden_size": 4096, "num_layers": 32, "num_attention_heads": 32}
SBH = 4096 * 4096  # of a sequence of 4096 and a micro-batch of 1


def asked(server, settings, count=2, base=LLAMA, instance="ml.p5.48xlarge"):
    got = fit(server, {**base, **settings}, instance, count)
    return got, [got["per_device_bytes"][name] for name in ("parameters", "gradients", "optimizer", "activations")]


ACCELERATE = {"compute_environment": "LOCAL_MACHINE", "debug": False, "distributed_type": "FSDP", "downcast_bf16": "no", "mixed_precision": "bf16", "num_machines": 2,
    "num_processes": 16, "rdzv_backend": "static", "same_network": True, "use_cpu": False,
    "fsdp_config": {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "fsdp_backward_prefetch": "BACKWARD_PRE", "fsdp_cpu_ram_efficient_loading": True,
        "fsdp_forward_prefetch": False, "fsdp_offload_params": False, "fsdp_sharding_strategy": "FULL_SHARD", "fsdp_state_dict_type": "SHARDED_STATE_DICT",
        "fsdp_sync_module_states": True, "fsdp_use_orig_params": True, "fsdp_activation_checkpointing": True}}
TRL = {"use_peft": False, "lora_r": 16, "lora_alpha": 32, "torch_dtype": "bfloat16", "load_in_8bit": False, "load_in_4bit": False,
    "attn_implementation": "flash_attention_2", "max_length": 4096, "per_device_train_batch_size": 4, "gradient_checkpointing": False, "packing": True}
DEEPSPEED = {"fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16}, "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto"}},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "none", "pin_memory": True}, "offload_param": {"device": "none", "pin_memory": True},
        "overlap_comm": True, "sub_group_size": 1e9, "stage3_param_persistence_threshold": "auto"},
    "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}
TRAINER = {"bf16": True, "per_device_train_batch_size": 1, "max_seq_length": 4096, "attn_implementation": "sdpa"}
AXOLOTL = {"base_model": "meta-llama/Llama-3.1-8B", "load_in_8bit": False, "load_in_4bit": False, "sequence_len": 8192, "sample_packing": True, "adapter": None,
    "lora_r": None, "gradient_accumulation_steps": 4, "micro_batch_size": 1, "optimizer": "adamw_torch_fused", "bf16": "auto", "gradient_checkpointing": True,
    "gradient_checkpointing_kwargs": {"use_reentrant": False}, "flash_attention": True, "fsdp_version": 2,
    "fsdp_config": {"offload_params": False, "cpu_ram_efficient_loading": True, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "reshard_after_forward": True}}
LIGHTNING = {"trainer": {"strategy": {"class_path": "lightning.pytorch.strategies.FSDPStrategy", "init_args": {"sharding_strategy": "HYBRID_SHARD",
    "device_mesh": [4, 4], "cpu_offload": False, "activation_checkpointing_policy": None}}, "precision": "bf16-true", "devices": 8, "num_nodes": 2}}
TORCHTUNE = {"model": {"_component_": "torchtune.models.llama3_1.llama3_1_8b"}, "optimizer": {"_component_": "torch.optim.AdamW", "fused": True}, "batch_size": 2,
    "dtype": "bf16", "enable_activation_checkpointing": True, "enable_activation_offloading": False, "fsdp_cpu_offload": False, "optimizer_in_bwd": False, "max_seq_len": 8192}
NANOTRON = {"parallelism": {"dp": 4, "tp": 2, "pp": 2, "pp_engine": "1f1b", "expert_parallel_size": 1}, "optimizer": {"zero_stage": 1, "accumulate_grad_in_fp32": True},
    "tokens": {"micro_batch_size": 2, "sequence_length": 4096}, "model": {"dtype": "bfloat16"}, "attn_implementation": "flash_attention_2"}
NEMO_2 = {"trainer": {"strategy": {"_target_": "nemo.lightning.MegatronStrategy", "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1,
    "sequence_parallel": True, "ddp": {"use_distributed_optimizer": True, "grad_reduce_in_fp32": True}}}, "data": {"micro_batch_size": 1, "seq_length": 4096},
    "precision": "bf16-mixed", "attention_backend": "flash"}
NEURON = {"distributed_strategy": {"tensor_model_parallel_size": 32, "pipeline_model_parallel_size": 1, "zero1": True, "sequence_parallel": True, "kv_replicator": 4},
    "model": {"encoder_seq_length": 8192, "activations_checkpoint_granularity": "selective", "fusions": {"flash_attention": True}}, "data": {"micro_batch_size": 1}, "bf16": True}
OLMO = {"precision": "amp_bf16", "fsdp": {"wrapping_strategy": "by_block", "precision": "mixed", "sharding_strategy": "FULL_SHARD"}, "max_seq_len": 4096,
    "activation_checkpointing": "whole_layer", "device_train_microbatch_size": 2, "optimizer": {"name": "adamw"}}


@pytest.mark.parametrize("settings, count, instance, taken", [
    # all sixteen bytes over 16; the inputs of layers alone, four of a micro-batch
    ({**ACCELERATE, **TRL}, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 2 * 4 * SBH)),
    ({**TRAINER, "deepspeed": DEEPSPEED}, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 34 * SBH)),
    ({**TRAINER, "deepspeed_stage": 3}, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 34 * SBH)),
    ({**TRAINER, "distributed_strategy": "fsdp"}, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 34 * SBH)),
    ({**TRAINER, "deepspeed": json.dumps(DEEPSPEED)}, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 34 * SBH)),
    # gradients added up in 32 bits
    ({**TRAINER, "deepspeed": {**DEEPSPEED, "zero_optimization": {"stage": 1}, "data_types": {"grad_accum_dtype": "fp32"}}}, 2, "ml.p5.48xlarge",
        (2 * N, 4 * N, 12 * N / 16, 32 * 34 * SBH)),
    ({**TRAINER, "fsdp": "full_shard auto_wrap", "optim": "adamw_torch", "gradient_checkpointing": False,
        "fsdp_config": {"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "activation_checkpointing": True, "min_num_params": 0}}, 2, "ml.p5.48xlarge",
        (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 2 * SBH)),
    (AXOLOTL, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 2 * 2 * SBH)),
    ({**AXOLOTL, "fsdp_version": None, "fsdp": ["full_shard", "auto_wrap"], "fsdp_config": {"fsdp_limit_all_gathers": True}}, 2, "ml.p5.48xlarge",
        (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 2 * 2 * SBH)),
    # four copies over four ranks each, and nothing in 32 bits
    ({**LIGHTNING, "max_seq_length": 4096, "micro_batch_size": 1, "attn_implementation": "sdpa"}, 2, "ml.p5.48xlarge", (2 * N / 4, 2 * N / 4, 4 * N / 4, 32 * 34 * SBH)),
    ({"strategy": "FSDPStrategy(sharding_strategy='SHARD_GRAD_OP', cpu_offload=False)", "precision": 16, "max_seq_length": 4096, "micro_batch_size": 1,
        "attn_implementation": "sdpa"}, 2, "ml.p5.48xlarge", (2 * N, 2 * N / 16, 12 * N / 16, 32 * 34 * SBH)),
    (TORCHTUNE, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 4 * N / 16, 32 * 2 * 2 * 2 * SBH)),
    # a quarter of N on each; 32 s b h (10 + 24 / 2), b = 2
    (NANOTRON, 2, "ml.p5.48xlarge", (2 * N / 4, 4 * N / 4, 12 * N / 4 / 4, 32 * 22 * 2 * SBH)),
    (NEMO_2, 2, "ml.p5.48xlarge", (2 * N / 2, 4 * N / 2, 12 * N / 2 / 8, 32 * 34 / 2 * SBH)),
    (OLMO, 2, "ml.p5.48xlarge", (2 * N / 16, 2 * N / 16, 12 * N / 16, 32 * 2 * 2 * SBH)),
    # 128 ranks of four trn1: 32 of tensor parallelism, 4 of data; 34 s b h / 32 with s = 8192
    (NEURON, 4, "ml.trn1.32xlarge", (2 * N / 32, 2 * N / 32, 12 * N / 32 / 4, 32 * 34 / 32 * 2 * SBH)),
], ids=["accelerate", "deepspeed", "stage", "strategy", "deepspeed-text", "grad_accum_dtype", "transformers", "axolotl", "axolotl-fsdp1", "lightning", "lightning-printed", "torchtune", "nanotron",
    "nemo-2", "olmo", "neuron"])
def test_what_each_takes(shared_server, settings, count, instance, taken):
    got, found = asked(shared_server, settings, count, instance=instance)
    assert found == pytest.approx(list(taken), rel=1e-12) and (got["not_understood"], got.get("not_covered"), got["unknown"]) == ([], None, [])


def test_mpt_of_llm_foundry(shared_server):
    """V h + 32 * 12 h^2 + 65 * 2 h of norms, no other biases; ALiBi has no positions, and MPT ties its embeddings: 6 649 290 752, published as 6.65B. h = 4096, s b h = 2048 * 8 * 4096."""
    got, found = asked(shared_server, {"max_seq_len": 2048, "model": {"name": "mpt_causal_lm", "init_device": "meta", "d_model": 4096, "n_heads": 32, "n_layers": 32,
        "expansion_ratio": 4, "max_seq_len": 2048, "vocab_size": 50368, "no_bias": True, "attn_config": {"attn_impl": "flash", "alibi": True}},
        "optimizer": {"name": "decoupled_adamw", "betas": [0.9, 0.95]}, "global_train_batch_size": 1024, "device_train_microbatch_size": 8, "precision": "amp_bf16",
        "fsdp_config": {"sharding_strategy": "FULL_SHARD", "mixed_precision": "PURE", "activation_checkpointing": True, "activation_cpu_offload": False}}, base={})
    n = 50368 * 4096 + 32 * 12 * 4096 ** 2 + 65 * 2 * 4096
    assert (n, got["inputs"]["parameters"]) == (6649290752, 6649290752)
    assert found == [2 * n / 16, 2 * n / 16, 12 * n / 16, 32 * 2 * 2048 * 8 * 4096] and got["fits"] is True


TITAN = {"model": {"name": "llama3", "flavor": "70B"}, "optimizer": {"name": "AdamW", "eps": 1e-8}, "training": {"local_batch_size": 8, "seq_len": 8192, "dataset": "c4"},
    "parallelism": {"data_parallel_replicate_degree": 1, "data_parallel_shard_degree": -1, "tensor_parallel_degree": 8, "pipeline_parallel_degree": 1, "context_parallel_degree": 1},
    "activation_checkpoint": {"mode": "full"}, "compile": {"enable": False}, "float8": {"enable_fsdp_float8_all_gather": False}}
LLAMA_70B = {"num_parameters": "70553706496", "hidden_size": 8192, "num_layers": 80, "num_attention_heads": 64}


@pytest.mark.parametrize("checkpoint, of_a_layer", [({"mode": "full"}, 2), ({"mode": "none"}, 10 + 24 / 8), ({"mode": "selective", "selective_ac_option": "1"}, 2),
    ({"mode": "selective", "selective_ac_option": "2"}, (2 + 13) / 2), ({"mode": "selective", "selective_ac_option": "3"}, (26 * 2 + 54 * 13) / 80)])
def test_torchtitan_s_llama_3_70b(shared_server, checkpoint, of_a_layer):
    """On 64 devices: N / 8 with 16 bytes over 8 ranks; s b h = 8192 * 8 * 8192, tensor parallelism of 8, attention by PyTorch's SDPA."""
    n = 70553706496 / 8
    got, found = asked(shared_server, {**TITAN, "activation_checkpoint": checkpoint}, 8, LLAMA_70B)
    assert found[:3] == [4 * n / 8, 4 * n / 8, 8 * n / 8] and found[3] == pytest.approx(80 * 8192 * 8 * 8192 * of_a_layer, rel=1e-12) and got["not_understood"] == []


MEGATRON = {**{key: str(value) for key, value in GPT3.items()}, "accumulate_allreduce_grads_in_fp32": "True", "use_distributed_optimizer": "True", "sequence_parallel": "True",
    "data_parallel_size": "1", "context_parallel_size": "1", "virtual_pipeline_model_parallel_size": "None", "num_layers_per_virtual_pipeline_stage": "None",
    "recompute_granularity": "selective", "recompute_method": "None", "recompute_num_layers": "None", "recompute_modules": "None", "distribute_saved_activations": "False",
    "cpu_offloading": "False", "optimizer": "adam", "optimizer_cpu_offload": "False", "use_precision_aware_optimizer": "False", "fp8": "None", "fp8_param_gather": "False",
    "num_experts": "None", "expert_model_parallel_size": "1", "use_megatron_fsdp": "False", "use_torch_fsdp2": "False", "data_parallel_sharding_strategy": "no_shard",
    "decoder_first_pipeline_num_layers": "None", "fine_grained_activation_offloading": "False", "swin_backbone_type": "tiny", "yaml_cfg": "None", "fp16": "False"}


@pytest.mark.parametrize("said, layers", [({}, 96 * 34 / 8),
    # section 4.2.3 of Korthikanti et al.: four stages a device keep 1 + 7 / (8 * 4) of the layers
    ({"virtual_pipeline_model_parallel_size": "4"}, 96 * (1 + 7 / 32) * 34 / 8), ({"num_layers_per_virtual_pipeline_stage": "3"}, 96 * (1 + 7 / 32) * 34 / 8),
    ({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": "1"}, 96 * 2),
    # six of the twelve layers of each stage; of the others attention's scores are kept: 5 a s / h = 80
    ({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": "6"}, 48 * 2 + 48 * (34 + 80) / 8),
    ({"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": "12"}, 96 * 2),
    ({"recompute_modules": "['core_attn']"}, 96 * 34 / 8)])
def test_arguments_that_megatron_prints(shared_server, said, layers):
    got, found = asked(shared_server, {**MEGATRON, **said}, 8, {}, "ml.p4de.24xlarge")
    each = 175e9 / 64
    assert found == [2 * each, 4 * each, 12 * each, pytest.approx(layers * 25165824, rel=1e-12)]
    assert (got["not_understood"], got.get("not_covered"), got["unknown"]) == ([], None, [])


STATES, ACTIVATIONS = ("parameters", "gradients", "optimizer"), ("activations",)


@pytest.mark.parametrize("settings, key, hidden", [
    ({"load_in_4bit": True}, "load_in_4bit", STATES), ({"fp8_param_gather": "True"}, "fp8_param_gather", STATES), ({"optimizer_in_bwd": True}, "optimizer_in_bwd", STATES),
    ({"use_precision_aware_optimizer": "True"}, "use_precision_aware_optimizer", STATES), ({"rl": "dpo"}, "rl", STATES), ({"use_vllm": True}, "use_vllm", STATES),
    ({"rollout": {"name": "vllm", "gpu_memory_utilization": 0.4}}, "rollout.gpu_memory_utilization", STATES), ({"decoder_first_pipeline_num_layers": "7"}, "decoder_first_pipeline_num_layers", STATES),
    ({"distributed": {"_target_": "nemo_automodel.components.distributed.fsdp2.FSDP2Manager", "tp_size": 1}}, "distributed._target_", STATES),
    ({"actor": {"megatron": {"tensor_model_parallel_size": 4}}}, "actor.megatron.tensor_model_parallel_size", STATES + ACTIVATIONS),
    ({"plugin": "gemini"}, "plugin", STATES), ({"parallel_strategy": "fsdp2"}, "parallel_strategy", STATES),
    # OLMo prints FSDP's part where it trains without; DeepSpeed a stage whose offloading is on other lines
    ({"distributed_strategy": "ddp", "fsdp": {"sharding_strategy": "<ShardingStrategy.FULL_SHARD: 1>", "precision": "pure"}}, "distributed_strategy", STATES),
    ({"zero_enabled": "True", "zero_optimization_stage": "3"}, "zero_optimization_stage", STATES), ({"fp8_params": True}, "fp8_params", STATES),
    ({"checkpoint_in_cpu": "True"}, "checkpoint_in_cpu", ACTIVATIONS), ({"activation_memory_budget": 0.5}, "activation_memory_budget", ACTIVATIONS), ({"my_offload_of_layers": True}, "my_offload_of_layers", STATES + ACTIVATIONS), ({"trainer": {"weights_offload_device": "cpu"}}, "trainer.weights_offload_device", STATES + ACTIVATIONS),
    ({"activation_offloading": True}, "activation_offloading", ACTIVATIONS), ({"cpu_offloading": "True"}, "cpu_offloading", ACTIVATIONS),
    ({"deepspeed": {"activation_checkpointing": {"cpu_checkpointing": True, "partition_activations": False}}}, "deepspeed.activation_checkpointing.cpu_checkpointing", ACTIVATIONS),
    ({"fsdp_config": {"activation_cpu_offload": True}}, "fsdp_config.activation_cpu_offload", ACTIVATIONS), ({"sm_activation_offloading": "true"}, "sm_activation_offloading", ACTIVATIONS),
    ({"gradient_checkpointing": "offload"}, "gradient_checkpointing", ACTIVATIONS), ({"gradient_checkpointing": "unsloth"}, "gradient_checkpointing", ACTIVATIONS),
    ({"activation_checkpointing": "one_in_two"}, "activation_checkpointing", ACTIVATIONS), ({"sequence_parallel_size": 4}, "sequence_parallel_size", ACTIVATIONS),
    ({"ulysses_sequence_parallel_size": 2}, "ulysses_sequence_parallel_size", ACTIVATIONS), ({"fp8": "hybrid"}, "fp8", ACTIVATIONS),
    ({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": "4"}, "recompute_num_layers", ACTIVATIONS),
    ({"recompute_granularity": "selective", "recompute_modules": ["core_attn", "mlp"]}, "recompute_modules", ACTIVATIONS),
    ({"recompute_granularity": "full", "distribute_saved_activations": "True"}, "distribute_saved_activations", ACTIVATIONS),
    ({"activation_checkpoint": {"mode": "selective", "selective_ac_option": "op"}}, "activation_checkpoint.selective_ac_option", ACTIVATIONS)])
def test_what_is_not_followed_is_named(shared_server, settings, key, hidden):
    got, _ = asked(shared_server, {**TRAINER, **settings})
    assert got["not_understood"] == [key]
    assert {name for name, value in got["per_device_bytes"].items() if value is None} == {*hidden, "total"}


def test_a_launcher_s_environment_is_named(shared_server):
    got = fit(shared_server, {**LLAMA, **TRAINER}, "ml.p5.48xlarge", 2, Environment={"ACCELERATE_USE_FSDP": "true", "FSDP_SHARDING_STRATEGY": "HYBRID_SHARD"})
    assert got["not_understood"] == ["env.ACCELERATE_USE_FSDP"] and got["per_device_bytes"]["optimizer"] is None
    got = fit(shared_server, {**LLAMA, **TRAINER, "zero_stage": "3"}, "ml.p5.48xlarge", 2, Environment={"ACCELERATE_USE_DEEPSPEED": "true"})
    assert got["not_understood"] == [] and got["per_device_bytes"]["optimizer"] == 12 * N / 16


@pytest.mark.parametrize("settings", [{"cpu_offload_use_pin_memory": True}, {"optimizer_offload_fraction": 1.0}, {"cpu_offloading_activations": True},
    {"offload_optimizer": {"device": "none", "pin_memory": True}}, {"offload_folder": "/tmp/cpu"}, {"activation_offloading": "False"}, {"activation_memory_budget": "1.0"}, {"min_offloaded_tensor_size": 1048576}])
def test_what_is_printed_of_offloading_that_is_off(shared_server, settings):
    got, found = asked(shared_server, {**TRAINER, **settings})
    assert got["not_understood"] == [] and found == [2 * N, 2 * N, 12 * N, 32 * 34 * SBH]


@pytest.mark.parametrize("settings, sequence", [({"max_length": 2048}, 2048), ({"generation": {"max_length": 256}}, None), ({"model_max_length": 1e30}, None),
    ({"cutoff_len": 1024, "max_length": 2048}, 1024), ({"model": {"max_sequence_length": 4096}}, 4096)])
def test_how_long_a_sequence_is(shared_server, settings, sequence):
    assert asked(shared_server, {"bf16": True, **settings})[0]["inputs"]["sequence_length"] == sequence


@pytest.mark.parametrize("settings", [{"offload_params": True}, {"fsdp": ["full_shard", "offload"]}, {"optimizer_cpu_offload": "True"}, {"fsdp_cpu_offload": True},
    {"adam_offload": True, "zero_stage": 2}, {"fsdp_config": {"param_offload": True}}, {"strategy": "FSDPStrategy(cpu_offload=True)"},
    {"adapter": "qlora", "lora_r": 32}, {"finetuning_type": "lora"}, {"peft": {"peft_scheme": "lora"}}, {"lora_r": 8},
    {"peft_config": {"r": 16, "lora_alpha": 32}}, {"peft_config": "LoraConfig(task_type='CAUSAL_LM', peft_type=<PeftType.LORA: 'LORA'>, r=16)"}, {"lora": True}, {"lora_alpha": 16},
    {"model": {"_component_": "torchtune.models.llama3.lora_llama3_8b"}}, {"peft": {"peft_scheme": "ptuning"}}, {"use_dora": True}])
def test_what_is_not_covered(shared_server, settings):
    got, _ = asked(shared_server, {**TRAINER, **settings})
    assert got["not_covered"] and got["fits"] is None


@pytest.mark.parametrize("name", ["adamw_bnb_8bit", "galore_adamw", "apollo_adamw", "adamw_anyprecision", "grokadamw", "adam_mini", "OneBitAdam", "paged_adamw_32bit", "sgd"])
def test_an_optimizer_that_keeps_something_else_than_adam(shared_server, name):
    for said in ({"optim": name}, {"optimizer": {"type": name}}, {"optimizer": {"_component_": f"some.{name}"}}):
        assert asked(shared_server, {**TRAINER, **said})[0]["per_device_bytes"]["optimizer"] is None, said
    for usual in ("adamw_torch_fused", "OptimizerNames.ADAMW_TORCH", "FusedAdam", "decoupled_adamw", "adam"):
        assert asked(shared_server, {**TRAINER, "optim": usual})[1][2] == 12 * N


@pytest.mark.parametrize("settings, bytes_each", [({"mixed_precision": "no"}, (4, 4, 8)), ({"mixed_precision": "no", "torch_dtype": "bfloat16"}, (2, 2, 4)), ({"precision": 32}, (4, 4, 8)),
    ({"precision": 16}, (2, 2, 12)), ({"mixed_precision": "PURE", "precision": "amp_bf16"}, (2, 2, 12)), ({"mixed_precision": "fp8"}, (None, None, None)),
    ({"mixed_precision": "bf16", "torch_dtype": "float32"}, (2, 2, 12)), ({"fp16": {"enabled": "auto"}}, (None, None, None)),
    ({"mixed_precision": "None"}, (None, None, None)), ({"bfloat16_enabled": "True", "fp16_enabled": "False"}, (2, 2, 12))])
def test_how_wide_each_is(shared_server, settings, bytes_each):
    got, _ = asked(shared_server, settings)
    assert tuple(got["inputs"][name] for name in ("bytes_of_a_parameter", "bytes_of_a_gradient", "bytes_of_optimizer")) == bytes_each


DEEPSPEED_LOG = """[2024-09-08 23:02:58,990] [INFO] [config.py:1003:print]   bfloat16_enabled ............. True
[2024-09-08 23:02:58,990] [INFO] [config.py:1003:print]   zero_config .................. stage=3 contiguous_gradients=True offload_param=None offload_optimizer=None zero_hpz_partition_size=1 mics_shard_size=8
[2024-09-08 23:02:58,990] [INFO] [config.py:1003:print]   zero_enabled ................. True
[2024-09-08 23:02:58,990] [INFO] [config.py:1003:print]   zero_optimization_stage ...... 3
[2024-09-08 23:02:58,990] [INFO] [config.py:989:print_user_config]   json = {
    "train_batch_size": 32, 
    "train_micro_batch_size_per_gpu": 2, 
    "gradient_accumulation_steps": 1, 
    "zero_optimization": {
        "stage": 3, 
        "mics_shard_size": 8, 
        "offload_optimizer": {
            "device": "none"
        }
    }, 
    "bf16": {
        "enabled": true
    }
}
"""
TRANSFORMERS_LOG = """2025-01-01 10:00:00 - INFO - __main__ - Training/evaluation parameters TrainingArguments(
_n_gpu=1,
bf16=True,
deepspeed=None,
fp16=False,
fsdp=[<FSDPOption.HYBRID_SHARD: 'hybrid_shard'>, <FSDPOption.AUTO_WRAP: 'auto_wrap'>],
fsdp_config={'transformer_layer_cls_to_wrap': ['LlamaDecoderLayer'], 'activation_checkpointing': True, 'min_num_params': 0, 'xla': False},
gradient_accumulation_steps=8,
gradient_checkpointing=False,
optim=OptimizerNames.ADAMW_TORCH,
per_device_train_batch_size=2,
)
"""


@pytest.mark.parametrize("log, of_a_layer", [(DEEPSPEED_LOG, 34), (TRANSFORMERS_LOG, 2)], ids=["deepspeed", "transformers"])
def test_what_a_log_prints(emptied_server, log, of_a_layer):
    """Groups of eight, and two of a micro-batch."""
    server, settings = emptied_server, {**LLAMA, "max_seq_length": 4096, "attn_implementation": "sdpa"}
    server.post("/api/v1/jobs", json={"TrainingJobName": "printed", "HyperParameters": {key: str(value) for key, value in settings.items()},
                                      "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2}})
    server.post("/api/v1/logs?job=printed&stream=algo-1", body=log)
    got = wait_until(lambda: (one := server.get("/api/v1/jobs/printed/fit").body)["per_device_bytes"]["total"] and one)
    assert got["per_device_bytes"] == {"parameters": 2 * N / 8, "gradients": 2 * N / 8, "optimizer": 12 * N / 8, "activations": 32 * of_a_layer * 2 * SBH,
                                       "total": 16 * N / 8 + 32 * of_a_layer * 2 * SBH}
    assert got["not_understood"] == []
