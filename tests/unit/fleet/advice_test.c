#include "fleet/advice.h"
#include "fleet/advice_condition.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SETTINGS_MAX = 40 };

static struct span read_rules(struct buf *out)
{
	FILE *file = fopen("../../../server/data/advice.json", "r");
	char part[4096];
	size_t len;

	CHECK(file != NULL);
	while ((len = fread(part, 1, sizeof part, file)) > 0)
		buf_append_span(out, span_of(part, len));
	fclose(file);
	return buf_span(out);
}

/* "hp.tp=3 nodes=2" */
static size_t parse_settings(const char *text, struct advice_setting settings[SETTINGS_MAX])
{
	struct span rest = span_from(text), part, key;
	size_t count = 0;

	while (span_next(&rest, ' ', &part)) {
		CHECK(count < SETTINGS_MAX && span_next(&part, '=', &key));
		settings[count++] = (struct advice_setting){key, part, NAN};
	}
	return count;
}

static bool fires(const struct advice *advice, const char *rule, const char *text, char *said, size_t room)
{
	AUTO(arena) arena = arena_new();
	struct advice_setting settings[SETTINGS_MAX];
	struct advice_finding *found;
	size_t count;

	CHECK_OK(advice_run(advice, arena, settings, parse_settings(text, settings), &found, &count, &err));
	for (size_t i = 0; i < count; i++) {
		if (!span_equal(found[i].rule, span_from(rule)))
			continue;
		snprintf(said, room, "%.*s|%.*s", SPAN_ARGS(found[i].field), SPAN_ARGS(found[i].text));
		return true;
	}
	return false;
}

/* Of each rule: a job of which it speaks, what it says and of which field, and one of which it does not. */
static const struct rule_case {
	const char *rule, *bad, *says, *good;
} cases[] = {
	{"tensor_parallel_power_of_two", "hp.tensor_parallel_degree=6",
		"hp.tensor_parallel_degree|the tensor parallel degree 6 is no power of two",
		"hp.tensor_parallel_degree=8"},
	{"tensor_parallel_power_of_two", "hp.tensor-model-parallel-size=3",
		"hp.tensor-model-parallel-size|the tensor parallel degree 3 is no power of two", "hp.tp=1"},
	{"tensor_parallel_across_nodes", "hp.model.tensor_model_parallel_size=16 ranks_per_node=8 nodes=4",
		"hp.model.tensor_model_parallel_size|the tensor parallel degree 16 is larger than the 8 GPUs or NeuronCores of a node",
		"hp.tp=16 nodes=4"},
	{"pipeline_across_nodes", "hp.tp=2 hp.pp=2 nodes=4 ranks_per_node=8",
		"hp.pp|pipeline (2) and tensor parallelism (2) both stay within a node of 8 GPUs or NeuronCores",
		"hp.tp=8 hp.pp=2 nodes=4 ranks_per_node=8"},
	{"offload_needs_microbatches", "hp.offload_activations=true hp.pipeline_parallel_degree=2",
		"hp.microbatches|activations are offloaded, with 1 microbatch",
		"hp.offload_activations=true hp.pipeline_parallel_degree=2 hp.microbatches=4"},
	{"offload_needs_checkpointing", "hp.offload_activations=true hp.microbatches=4",
		"hp.activation_checkpointing|activations are offloaded, and nothing says that they are checkpointed",
		"hp.offload_activations=true hp.microbatches=4 hp.activation_checkpointing=true"},
	{"offload_needs_checkpointing", "hp.sm_activation_offloading=True hp.gradient_checkpointing=False",
		"hp.gradient_checkpointing|activations are offloaded, and nothing says that they are checkpointed",
		"hp.sm_activation_offloading=False hp.gradient_checkpointing=False"},
	{"offload_needs_checkpointing", "hp.offload_activations=1 hp.recompute_granularity=null",
		"hp.recompute_granularity|activations are offloaded, and nothing says that they are checkpointed",
		"hp.offload_activations=1 hp.recompute_granularity=selective"},
	{"sharding_on_fewer_nodes", "hp.shard_optimizer_state=True nodes=2 nodes_before=4",
		"hp.shard_optimizer_state|2 nodes where the job before had 4, and optimizer state is sharded",
		"hp.shard_optimizer_state=True nodes=4 nodes_before=4"},
	{"sharding_on_fewer_nodes", "hp.zero_optimization.stage=2 nodes=2 nodes_before=4",
		"hp.zero_optimization.stage|2 nodes where the job before had 4, and optimizer state is sharded",
		"hp.zero_optimization.stage=0 nodes=2 nodes_before=4"},
	{"checkpoint_configured", "has_checkpoint_config=0 nodes=4 StoppingCondition.MaxRuntimeInSeconds=432000",
		"has_checkpoint_config|may run 120 hours without CheckpointConfig.S3Uri",
		"has_checkpoint_config=1 nodes=4 StoppingCondition.MaxRuntimeInSeconds=432000"},
	{"checkpoint_too_rare", "checkpoint_hours=7", "checkpoint_hours|checkpoints are 7 hours apart",
		"checkpoint_hours=2"},
	{"checkpoint_too_often", "checkpoint_hours=0.25 nodes=2", "checkpoint_hours|checkpoints are 0.25 hours apart",
		"checkpoint_hours=1 nodes=2"},
	{"degrees_and_devices", "hp.tp=8 hp.pp=2 hp.data_parallel_size=3 ranks=32",
		"hp.data_parallel_size|tensor 8 x pipeline 2 x data 3 = 48, not the 32 GPUs or NeuronCores of the job",
		"hp.tp=8 hp.pp=2 hp.dp=2 ranks=32"},
	{"degrees_with_context", "hp.tp=8 hp.cp=2 hp.dp=4 ranks=32",
		"hp.dp|tensor 8 x pipeline 1 x context 2 x data 4 = 64, not the 32 GPUs or NeuronCores of the job",
		"hp.tp=8 hp.cp=2 hp.dp=2 ranks=32"},
	{"degrees_divide", "hp.tp=8 hp.pp=3 ranks=32",
		"hp.tp|tensor 8 x pipeline 3 x context 1 = 24 does not divide the 32 GPUs or NeuronCores of the job",
		"hp.tp=8 hp.pp=4 ranks=32"},
	{"degrees_divide", "hp.tensor_parallel_degree=8 hp.pp=8 ranks=32", /* no room for one */
		"hp.tensor_parallel_degree|tensor 8 x pipeline 8 x context 1 = 64 does not divide the 32 GPUs or NeuronCores of the job",
		"hp.tp=8 hp.pp=2 hp.cp=2 ranks=32"},
	{"global_batch",
		"hp.train_micro_batch_size_per_gpu=2 hp.dp=8 hp.gradient_accumulation_steps=4 hp.train_batch_size=32",
		"hp.train_batch_size|micro batch 2 x data parallel 8 x accumulation 4 = 64, not the global batch 32",
		"hp.micro_batch_size=2 hp.dp=8 hp.gradient_accumulation_steps=4 hp.global_batch_size=64"},
	{"global_batch", /* 16 / 2 are data parallel */
		"hp.micro_batch_size=2 hp.tp=2 ranks=16 hp.gradient_accumulation_steps=4 hp.global_batch_size=128",
		"hp.global_batch_size|micro batch 2 x data parallel 8 x accumulation 4 = 64, not the global batch 128",
		"hp.micro_batch_size=2 hp.tp=2 ranks=16 hp.gradient_accumulation_steps=8 hp.global_batch_size=128"},
	{"global_batch_divides", "hp.micro_batch_size=4 hp.global_batch_size=8 ranks=16 hp.tp=2",
		"hp.global_batch_size|the global batch 8 is no multiple of micro batch 4 x 8 data parallel ranks = 32",
		"hp.micro_batch_size=4 hp.global_batch_size=32 ranks=16 hp.tp=2"},
	{"global_batch_divides", "hp.micro_batch_size=2 hp.global_batch_size=1000 hp.dp=512",
		"hp.global_batch_size|the global batch 1000 is no multiple of micro batch 2 x 512 data parallel ranks = 1024",
		"hp.micro_batch_size=2 hp.global_batch_size=2048 hp.dp=512"},
	{"microbatches_divide", "hp.microbatches=4 hp.pipeline_parallel_degree=2 hp.train_batch_size=6",
		"hp.microbatches|the batch 6 of a rank is no multiple of 4 microbatches",
		"hp.microbatches=4 hp.pipeline_parallel_degree=2 hp.train_batch_size=8"},
	{"prescaled_batch", "hp.tensor_parallel_degree=8 hp.pipeline_parallel_degree=2",
		"hp.prescaled_batch|tensor parallelism with a pipeline, without prescaled_batch",
		"hp.tensor_parallel_degree=8 hp.pipeline_parallel_degree=2 hp.prescaled_batch=true"},
	{"prescaled_batch", "hp.tensor_parallel_degree=8 hp.partitions=4 hp.prescaled_batch=False",
		"hp.prescaled_batch|tensor parallelism with a pipeline, without prescaled_batch", /* of SageMaker's library, which is for GPUs */
		"hp.tensor_parallel_degree=8 hp.pipeline_parallel_degree=4 ResourceConfig.InstanceType=ml.trn1.32xlarge"},
	{"active_microbatches", "hp.pp=4 utilisation_percent=35 hp.active_microbatches=2 hp.microbatches=8",
		"hp.active_microbatches|devices are used at 35 %, with 2 of 8 microbatches active",
		"hp.pp=4 utilisation_percent=85 hp.active_microbatches=2 hp.microbatches=8"},
	{"retries", "nodes=16", "RetryStrategy.MaximumRetryAttempts|16 instances and no RetryStrategy",
		"nodes=16 RetryStrategy.MaximumRetryAttempts=30"},
	{"retries", "nodes=9", "RetryStrategy.MaximumRetryAttempts|9 instances and no RetryStrategy", "nodes=8"},
	{"collective_timeout", "nodes=2", "hp.ddp_timeout|no timeout of collective operations is set",
		"nodes=2 hp.distributed_timeout_minutes=10"},
	{"collective_timeout_long", "nodes=2 hp.distributed-timeout-minutes=90",
		"hp.ddp_timeout|collective operations time out after an hour or more", "nodes=2 hp.ddp_timeout=1800"},
	{"one_subnet", "ResourceConfig.InstanceType=ml.p4d.24xlarge nodes=4 subnets=3",
		"subnets|3 subnets for 4 instances that speak EFA",
		"ResourceConfig.InstanceType=ml.p4d.24xlarge nodes=4 subnets=1"},
	{"one_subnet", "ResourceConfig.InstanceType=ml.p5.48xlarge nodes=2 subnets=2",
		"subnets|2 subnets for 2 instances that speak EFA",
		"ResourceConfig.InstanceType=ml.m5.large nodes=4 subnets=3"},
	{"one_family", "nodes=4 families=2", "families|2 instance families in one job", "nodes=4 families=1"},
	{"efa_not_chosen", "ResourceConfig.InstanceType=ml.p4d.24xlarge nodes=4 socket_nodes=1 efa_nodes=3",
		"socket_nodes|NCCL chose sockets on 1 nodes",
		"ResourceConfig.InstanceType=ml.p4d.24xlarge nodes=4 socket_nodes=0 efa_nodes=4"},
	{"efa_unknown", "ResourceConfig.InstanceType=ml.p4d.24xlarge nodes=4 socket_nodes=0 efa_nodes=0 log_streams=4",
		"log_streams|the log does not say whether EFA was chosen",
		"ResourceConfig.InstanceType=ml.p4d.24xlarge nodes=4 socket_nodes=0 efa_nodes=2 log_streams=4"},
	{"s3_slow_down", "slow_downs=12", "slow_downs|S3 answered SlowDown 12 times", "slow_downs=0"},
	{"keep_alive", "keep_alive_seconds=0 recent_jobs=3",
		"keep_alive_seconds|3 jobs for this cluster in the last three hours, and no keep-alive",
		"keep_alive_seconds=600 recent_jobs=3"},
	{"bf16", "hp.precision=16-mixed loss_spikes=4", "hp.precision|4 loss spikes in fp16",
		"hp.precision=bf16-mixed loss_spikes=4"},
	{"bf16", "hp.fp16=true loss_spikes=1", "hp.fp16|1 loss spikes in fp16", "hp.fp16=true loss_spikes=0"},
};

TEST(each_rule_speaks_of_what_it_is_about_and_of_nothing_else)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(advice) advice = NULL;
	AUTO(json) document = NULL;
	char said[256];

	CHECK_OK(advice_new(&advice, read_rules(&text), &err));
	CHECK_OK(json_parse(&document, buf_span(&text), &err));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK(advice_has_rule(advice, span_from(cases[i].rule)));
		if (!fires(advice, cases[i].rule, cases[i].bad, said, sizeof said))
			test_fail(__FILE__, __LINE__, "%s is silent on %s", cases[i].rule, cases[i].bad);
		CHECK_SPAN(span_from(said), span_from(cases[i].says));
		if (fires(advice, cases[i].rule, cases[i].good, said, sizeof said))
			test_fail(__FILE__, __LINE__, "%s speaks of %s: %s", cases[i].rule, cases[i].good, said);
		CHECK(!fires(advice, cases[i].rule, "hp.x=1", said, sizeof said)); /* nothing is known */
	}
	/* a rule that is not in the table is not tested */
	for (const struct json *rule = json_first(json_get(document, "rules")); rule; rule = json_next(rule)) {
		bool is_there = false;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
			is_there |= span_equal(json_string_of(json_get(rule, "name")), span_from(cases[i].rule));
		if (!is_there)
			test_fail(__FILE__, __LINE__, "no case of %.*s",
				SPAN_ARGS(json_string_of(json_get(rule, "name"))));
	}
}

TEST(the_nearest_reference)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(advice) advice = NULL;

	CHECK_OK(advice_new(&advice, read_rules(&text), &err));
	CHECK_SPAN(json_string_of(json_get(advice_reference(advice, 13e9), "name")), SPAN("10B"));
	CHECK_SPAN(json_string_of(json_get(advice_reference(advice, 65e9), "name")), SPAN("60B"));
	CHECK(!advice_reference(advice, 1e9) && !advice_reference(advice, 1e12) && !advice_reference(advice, NAN));
}

/* ---- conditions ---- */

static bool three_names(void *context, struct span name, double *value)
{
	(void)context;
	*value = span_equal(name, SPAN("four")) ? 4 : span_equal(name, SPAN("zero")) ? 0 : NAN;
	return span_equal(name, SPAN("four")) || span_equal(name, SPAN("zero")) || span_equal(name, SPAN("what"));
}

TEST(conditions)
{
	static const struct {
		const char *text;
		double value; /* NaN: not known */
	} good[] = {{"1 + 2 * 3 = 7", 1}, {"(1 + 2) * 3 = 9", 1}, {"four / zero", NAN}, {"four - 1 - 1", 2},
		{"what > 1", NAN}, {"not (what > 1)", NAN}, {"what > 1 and zero", 0}, {"zero and what", 0},
		{"what or four", 1}, {"what or zero", NAN}, {"known(what)", 0}, {"known(four)", 1},
		{"pow2(four) and not pow2(four + 2)", 1}, {"whole(four / 2) and not whole(four / 3)", 1},
		{"whole(what)", NAN}, {"whole(four / zero)", NAN}, {"pow2(what)", NAN}, {"pow2(zero)", 0},
		{"four != 4", 0}, {"four >= 4 and four <= 4 and not four < 4", 1}, {"1.5 < 2", 1},
		{"not zero or zero", 1}};
	static const char *const bad[] = {"", "1 +", "(1", "four four", "nobody > 1", "known four", "sin(four)",
		"1 && 2", "four = = 4", ")", "pow2(", "1..2",
		"((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))",
		("not not not not not not not not not not not not not not not not not not not not not not not not not not not"
		 " not not not not not not 1")};
	double value;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		CHECK_OK(condition_evaluate(span_from(good[i].text), three_names, NULL, &value, &err));
		if (!(isnan(good[i].value) ? isnan(value) : value == good[i].value))
			test_fail(__FILE__, __LINE__, "'%s' is %g", good[i].text, value);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (condition_evaluate(span_from(bad[i]), three_names, NULL, &value, NULL) != ERR_INVALID)
			test_fail(__FILE__, __LINE__, "'%s' is taken", bad[i]);
}

TEST(a_data_file_that_cannot_be_used_says_why)
{
	struct advice *advice = NULL;

	CHECK_FAILS(advice_new(&advice,
			    SPAN("{\"rules\":[{\"name\":\"a\",\"severity\":\"info\",\"field\":\"f\",\"when\":\"x > 1\","
				 "\"text\":\"t\",\"reason\":\"r\",\"source\":\"s\"}]}"),
			    &err),
		ERR_INVALID, "rule 'a': 'x' is no quantity");
	CHECK_FAILS(advice_new(&advice, SPAN("{\"rules\":[{\"name\":\"a\"}]}"), &err), ERR_INVALID, "no severity");
	CHECK_FAILS(advice_new(&advice, SPAN("{"), &err), ERR_INVALID, "");
}
