"""Will it fit: formulas by hand."""

import json
import pathlib
import re
import subprocess

import pytest

from smserver import PATIENCE_S, ROOT

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
    ({"fsdp": "full_shard auto_wrap"}, 1.9e9), ({"use_distributed_optimizer": "true"}, 31.4e9)])
def test_model_states_of_the_paper(shared_server, settings, total):
    """Rajbhandari et al., figure 1: 7.5B parameters on 64 devices."""
    got = fit(shared_server, {"num_parameters": "7500000000", "bf16": "true", **settings}, "ml.p5.48xlarge", 8)
    states = got["per_device_bytes"]
    assert abs(states["parameters"] + states["gradients"] + states["optimizer"] - total) < 0.05e9
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
    for other in ({"num_experts": "8"}, {"lora_r": "16"}, {"offload_optimizer.device": "cpu"}, {"offload_optimizer": "cpu"}):
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


@pytest.mark.parametrize("key, value", [("fsdp", "hybrid_shard"), ("fsdp", "true"), ("zero_stage", "three")])
def test_sharding_that_is_not_followed_is_named(shared_server, key, value):
    """It is not stage 0, which would not fit."""
    got = fit(shared_server, {"num_parameters": "7500000000", "bf16": "true", key: value}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [key] and got["fits"] is None and got["per_device_bytes"]["optimizer"] is None


@pytest.mark.parametrize("key, value", [("fsdp", ""), ("fsdp", "[]"), ("fsdp", "NO_SHARD"), ("zero_stage", "0")])
def test_sharding_that_is_off(shared_server, key, value):
    got = fit(shared_server, {"num_parameters": "7500000000", "bf16": "true", key: value}, "ml.p5.48xlarge", 8)
    assert got["not_understood"] == [] and got["fits"] is False


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
