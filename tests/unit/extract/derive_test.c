#include "extract/derive.h"
#include "test.h"

#include <stdio.h>

/* ---- inputs ---- */

static struct inputs resolve(const char *const *pairs, const struct input_machines *machines)
{
	struct input_setting settings[40];
	struct inputs inputs;
	size_t count = 0;

	for (; pairs[2 * count]; count++) {
		bool is_stated = pairs[2 * count][0] == '!';
		settings[count] =
			(struct input_setting){span_from(pairs[2 * count] + is_stated), span_from(pairs[2 * count + 1]),
				is_stated ? SPAN("HyperParameters") : SPAN("algo-1 line 12"), is_stated};
		CHECK(input_is_wanted(settings[count].key));
	}
	inputs_resolve(settings, count, machines, &inputs);
	return inputs;
}

#define VALUE(inputs, which) ((inputs).items[INPUT_##which].value)

TEST(counts_are_written_in_many_ways)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {{"512", 512}, {"491,520", 491520}, {"1,176,764,416", 1176764416}, {"124.44M", 124440000},
		{"6.7 B", 6.7e9}, {"7e9", 7e9}, {"0.5", 0.5}, {"20_000_000_000", 20e9}, {"20Bn", 20e9},
		{"300B tokens", 300e9}};
	static const char *const bad[] = {
		"", "auto", "M", "1,5", "nan", "inf", "12 apples", "1e10-2e10", "_1", "1_", "tokens", "12_tokens"};
	double value;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		CHECK(input_parse_count(span_from(good[i].text), &value));
		CHECK_DOUBLE(value, good[i].value);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!input_parse_count(span_from(bad[i]), &value));
}

TEST(the_global_batch_is_said_or_multiplied_and_never_guessed)
{
	static const char *const said[] = {
		"global_batch_size", "512", "micro_batch_size", "4", "seq_length", "2048", "world_size", "64", NULL};
	static const char *const each[] = {
		"per_device_train_batch_size", "4", "gradient_accumulation_steps", "2", NULL};
	static const char *const megatron[] = {"micro_batch_size", "4", "world_size", "64",
		"tensor_model_parallel_size", "4", "pipeline_model_parallel_size", "8", NULL};
	static const char *const deepspeed[] = {"train_batch_size", "256", "train_micro_batch_size_per_gpu", "4", NULL};
	static const char *const bare[] = {"train_batch_size", "256", NULL};
	static const char *const automatic[] = {
		"per_device_train_batch_size", "4", "gradient_accumulation_steps", "auto", "world_size", "8", NULL};
	static const char *const ramp[] = {"global_batch_size", "512", "rampup_batch_size", "32 32 1000", NULL};
	static const char *const no_ramp[] = {"global_batch_size", "512", "rampup_batch_size", "None", NULL};
	struct input_machines none = {.from = SPAN("")};
	struct input_machines two = {2, 8, 312, 1, 1, 0, SPAN("2 x ml.p4d.24xlarge")};
	struct input_machines trainium = {2, 16, 190, 2, 2, 0, SPAN("2 x ml.trn1.32xlarge")};
	struct inputs inputs = resolve(said, &none);

	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 512);
	CHECK_TEXT(inputs.items[INPUT_GLOBAL_BATCH].from, "global_batch_size, algo-1 line 12");
	CHECK_DOUBLE(VALUE(inputs, TOKENS_PER_STEP), 512 * 2048);
	CHECK_DOUBLE(VALUE(inputs, DEVICES), 64);
	inputs = resolve(each, &two);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 4 * 2 * 16);
	CHECK_TEXT(inputs.items[INPUT_GLOBAL_BATCH].from,
		"per_device_train_batch_size 4 (algo-1 line 12) x 2 passes x 16 data-parallel ranks");
	CHECK_TEXT(inputs.items[INPUT_DEVICES].from, "2 x ml.p4d.24xlarge");
	inputs = resolve(each, &trainium);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 4 * 2 * 64); /* a rank is a core */
	CHECK_DOUBLE(VALUE(inputs, DEVICES), 32);
	inputs = resolve(each, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 0); /* how many devices there are nobody says */
	inputs = resolve(megatron, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 4 * 64 / (4 * 8));
	inputs = resolve(deepspeed, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 256);
	inputs = resolve(bare, &two);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 0); /* of a device, or of all: nobody says */
	inputs = resolve(automatic, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 0);
	inputs = resolve(ramp, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 0);
	inputs = resolve(no_ramp, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 512);
}

TEST(who_is_believed_when_two_say_it)
{
	static const char *const stated[] = {"global_batch_size", "512", "!global_batch_size", "256", NULL};
	static const char *const deeper[] = {"data.sub.seq_len", "7", "training.seq_len", "2048", NULL};
	static const char *const torn[] = {"data.seq_len", "1024", "training.seq_len", "2048", NULL};
	static const char *const packed[] = {"packing", "true", "max_seq_length", "4096", NULL};
	static const char *const padded[] = {"packing", "false", "max_seq_length", "4096", NULL};
	static const char *const steps[] = {"max_steps", "-1", "num_train_epochs", "3", NULL};
	struct input_machines none = {.from = SPAN("")};

	struct inputs inputs = resolve(stated, &none);
	CHECK_DOUBLE(VALUE(inputs, GLOBAL_BATCH), 256);
	inputs = resolve(deeper, &none);
	CHECK_DOUBLE(VALUE(inputs, SEQUENCE_LENGTH), 2048);
	inputs = resolve(torn, &none);
	CHECK_DOUBLE(VALUE(inputs, SEQUENCE_LENGTH), 0);
	inputs = resolve(packed, &none);
	CHECK_DOUBLE(VALUE(inputs, SEQUENCE_LENGTH), 4096);
	inputs = resolve(padded, &none);
	CHECK_DOUBLE(VALUE(inputs, SEQUENCE_LENGTH), 0);
	inputs = resolve(steps, &none);
	CHECK_DOUBLE(VALUE(inputs, TOTAL_STEPS), 0);
	CHECK_DOUBLE(VALUE(inputs, EPOCHS), 3);
	CHECK(!input_is_wanted(SPAN("eval.seq_len")));
	CHECK(!input_is_wanted(SPAN("max_seq_len_cached")));
}

TEST(parameters_are_said_or_counted_from_the_sizes)
{
	static const char *const said[] = {"num_parameters", "124.44M", "hidden_size", "768", NULL};
	/* GPT-3 175B: 96 layers of 12288, feed-forward 49152, vocabulary 51200: 12 L h^2 + 13 L h + 2 h + V h = 174.6e9 */
	static const char *const gpt3[] = {"hidden_size", "12288", "num_layers", "96", "ffn_hidden_size", "49152",
		"num_attention_heads", "96", "padded_vocab_size", "51200", NULL};
	/* LLaMA-2 70B: gated, 8 of 64 heads for keys; its embedding once instead of twice */
	static const char *const llama[] = {"hidden_size", "8192", "num_layers", "80", "ffn_hidden_size", "28672",
		"num_attention_heads", "64", "num_query_groups", "8", "swiglu", "true", "padded_vocab_size", "32000",
		NULL};
	static const char *const lora[] = {"num_parameters", "7e9", "lora_r", "8", NULL};
	static const char *const gnmt[] = {"hidden_size", "1024", "num_layers", "4", NULL};
	struct input_machines none = {.from = SPAN("")};

	struct inputs inputs = resolve(said, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 124440000);
	inputs = resolve(gpt3, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 12.0 * 96 * 12288 * 12288 + (13.0 * 96 + 2) * 12288 + 51200.0 * 12288);
	inputs = resolve(llama, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS),
		80.0 * (2.25 * 8192 * 8192 + 3.0 * 8192 * 28672 + 2 * 8192) + 8192 + 32000.0 * 8192);
	inputs = resolve(lora, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 0);
	inputs = resolve(gnmt, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 0);
}

/* As published, but for an output layer of its own: the embedding counts once. */
TEST(parameters_are_counted_as_fit_counts_them)
{
	static const char *const llama2[] = {"model_type", "llama", "hidden_size", "4096", "intermediate_size", "11008",
		"num_hidden_layers", "32", "num_attention_heads", "32", "vocab_size", "32000", "hidden_act", "silu",
		NULL};
	static const char *const llama3[] = {"model_type", "llama", "hidden_size", "4096", "intermediate_size", "14336",
		"num_hidden_layers", "32", "num_attention_heads", "32", "num_key_value_heads", "8", "vocab_size",
		"128256", NULL};
	/* Megatron's width is 4 h, and its positions are learned */
	static const char *const gpt[] = {"num_layers", "48", "hidden_size", "7168", "num_attention_heads", "56",
		"vocab_size", "50304", "max_position_embeddings", "4096", "ffn_hidden_size", "None", NULL};
	static const char *const no_width[] = {"model_type", "llama", "hidden_size", "4096", "num_hidden_layers", "32",
		"num_attention_heads", "32", "vocab_size", "32000", NULL};
	static const char *const torn[] = {"num_layers", "48", "hidden_size", "7168", "num_attention_heads", "56",
		"ffn_hidden_size", "1024", "ffn_hidden_size", "2048", "vocab_size", "50304", NULL};
	static const char *const t5[] = {"d_model", "512", "num_layers", "6", "num_decoder_layers", "6", "num_heads",
		"8", "d_ff", "2048", "vocab_size", "32128", NULL};
	struct input_machines none = {.from = SPAN("")};

	struct inputs inputs = resolve(llama2, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 6738415616.0 - 32000.0 * 4096);
	inputs = resolve(llama3, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 8030261248.0 - 128256.0 * 4096);
	inputs = resolve(gpt, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 29989435392.0);
	inputs = resolve(no_width, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 0);
	inputs = resolve(torn, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 0);
	inputs = resolve(t5, &none);
	CHECK_DOUBLE(VALUE(inputs, PARAMETERS), 0);
}

/* ---- derived metrics ---- */

struct rig {
	struct derive *derive;
	struct inputs inputs;
	struct derived_point out[DERIVED_POINTS_MAX];
	size_t count;
	bool is_untimed;
	int64_t ts_ms;
	uint32_t attempt;
};

/* Past the first two steps, in an attempt before. */
static struct rig rig_new(void)
{
	struct rig rig = {.derive = derive_new(), .attempt = 1};
	struct point point = {.value = 1};

	CHECK(rig.derive);
	for (int i = 0; i < 2; i++, point.step++) {
		derive_see(rig.derive, MEASURE_LOSS, 1, MEASURE_LOSS, &point);
		CHECK_INT(derive_line(rig.derive, &rig.inputs, INT64_MIN, rig.out), 0);
	}
	return rig;
}

static void see(struct rig *rig, enum measure measure, int64_t step, int64_t ts_ms, double value)
{
	struct point point = {step, ts_ms, value, (uint64_t)step, rig->attempt, 0};

	rig->ts_ms = ts_ms;
	derive_see(rig->derive, measure, 1, (uint32_t)measure, &point);
}

static void end_line(struct rig *rig)
{
	CHECK(derive_has_step(rig->derive));
	rig->count = derive_line(rig->derive, &rig->inputs, rig->is_untimed ? rig->ts_ms : INT64_MIN, rig->out);
}

static void loss(struct rig *rig, int64_t step, int64_t ts_ms)
{
	see(rig, MEASURE_LOSS, step, ts_ms, 2.5);
	end_line(rig);
}

/* NaN: it was not derived. */
static double got(const struct rig *rig, enum derived derived)
{
	for (size_t i = 0; i < rig->count; i++)
		if (rig->out[i].derived == derived)
			return rig->out[i].point.value;
	return NAN;
}

TEST(everything_follows_from_a_step_time_and_the_settings)
{
	struct rig rig = rig_new();

	VALUE(rig.inputs, TOKENS_PER_STEP) = 512 * 2048.0;
	VALUE(rig.inputs, SEQUENCE_LENGTH) = 2048;
	VALUE(rig.inputs, DEVICES) = 64;
	VALUE(rig.inputs, PARAMETERS) = 6.7e9;
	VALUE(rig.inputs, PEAK_TFLOPS) = 312;
	see(&rig, MEASURE_STEP_TIME, 100, 5000, 4);
	loss(&rig, 100, 5000);
	CHECK_INT(rig.count, 6);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 0.25);
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS), 100 * 512 * 2048.0);
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS_PER_SECOND), 262144);
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS_PER_SECOND_PER_DEVICE), 4096);
	CHECK(fabs(got(&rig, DERIVED_TFLOPS_PER_DEVICE) - 164.66) < 0.01);
	CHECK(fabs(got(&rig, DERIVED_MFU) - 52.775) < 0.01);
	CHECK_INT(rig.out[0].point.step, 100);
	CHECK_INT(rig.out[0].point.line, 100);
	CHECK_INT(rig.out[0].point.ts_ms, 5000);
	see(&rig, MEASURE_LOSS, 100, 5000, 2.5); /* the same step again: nothing */
	CHECK(!derive_has_step(rig.derive));
	derive_free(rig.derive);
}

TEST(what_the_log_prints_is_not_derived_but_used)
{
	struct rig rig = rig_new();

	VALUE(rig.inputs, TOKENS_PER_STEP) = 1000;
	VALUE(rig.inputs, DEVICES) = 2;
	VALUE(rig.inputs, PARAMETERS) = 1e9;
	VALUE(rig.inputs, PEAK_TFLOPS) = 100;
	see(&rig, MEASURE_TOKENS_PER_SECOND, 1, 0, 4000);
	see(&rig, MEASURE_TOKENS, 1, 0, 77);
	see(&rig, MEASURE_STEP_TIME, 1, 0, 0.5);
	loss(&rig, 1, 0);
	CHECK(isnan(got(&rig, DERIVED_TOKENS_PER_SECOND)));
	CHECK(isnan(got(&rig, DERIVED_TOKENS)));
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS_PER_SECOND_PER_DEVICE), 2000);
	CHECK_DOUBLE(got(&rig, DERIVED_TFLOPS_PER_DEVICE), 12);
	CHECK_DOUBLE(got(&rig, DERIVED_MFU), 12);
	see(&rig, MEASURE_TFLOPS, 2, 0, 50);
	loss(&rig, 2, 0);
	CHECK(isnan(got(&rig, DERIVED_TFLOPS_PER_DEVICE)));
	CHECK_DOUBLE(got(&rig, DERIVED_MFU), 50);
	see(&rig, MEASURE_MFU, 3, 0, 50);
	see(&rig, MEASURE_TFLOPS, 3, 0, 50);
	loss(&rig, 3, 0);
	CHECK(isnan(got(&rig, DERIVED_MFU)));
	derive_free(rig.derive);
}

TEST(consumed_samples_count_tokens_while_the_batch_grows)
{
	struct rig rig = rig_new();

	VALUE(rig.inputs, SEQUENCE_LENGTH) = 10;
	see(&rig, MEASURE_CONSUMED_SAMPLES, 10, 0, 100);
	see(&rig, MEASURE_STEP_TIME, 10, 0, 2);
	loss(&rig, 10, 0);
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS), 1000);
	CHECK(isnan(got(&rig, DERIVED_TOKENS_PER_SECOND)));
	see(&rig, MEASURE_CONSUMED_SAMPLES, 20, 0, 300);
	see(&rig, MEASURE_STEP_TIME, 20, 0, 2);
	loss(&rig, 20, 0);
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS), 3000);
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS_PER_SECOND), 100); /* 20 samples of 10 tokens in 2 s */
	derive_free(rig.derive);
}

static void check_tokens(const struct rig *rig, size_t at, int64_t step, double tokens)
{
	CHECK(at < rig->count && rig->out[at].derived == DERIVED_TOKENS);
	CHECK_INT(rig->out[at].point.step, step);
	CHECK_INT(rig->out[at].point.line, step);
	CHECK_DOUBLE(rig->out[at].point.value, tokens);
}

TEST(the_first_two_steps_have_their_tokens_with_the_third)
{
	struct rig rig = {.derive = derive_new(), .attempt = 1};

	VALUE(rig.inputs, TOKENS_PER_STEP) = 4096;
	loss(&rig, 5, 0);
	CHECK_INT(rig.count, 0);
	loss(&rig, 6, 0);
	CHECK_INT(rig.count, 0);
	loss(&rig, 7, 0);
	CHECK_INT(rig.count, 3);
	for (size_t i = 0; i < 3; i++)
		check_tokens(&rig, i, 5 + (int64_t)i, (5 + (double)i) * 4096);
	loss(&rig, 8, 0);
	CHECK_INT(rig.count, 1);
	check_tokens(&rig, 0, 8, 8 * 4096);
	derive_free(rig.derive);
}

TEST(their_printed_samples_are_known_in_a_state_that_was_packed)
{
	struct rig rig = {.derive = derive_new(), .attempt = 1};
	AUTO_DONE(buf) state = BUF_INIT(1 << 16);

	VALUE(rig.inputs, SEQUENCE_LENGTH) = 10;
	for (int64_t step = 1; step <= 2; step++) {
		see(&rig, MEASURE_CONSUMED_SAMPLES, step, 0, (double)step * 100 + 7);
		loss(&rig, step, 0);
	}
	derive_pack(rig.derive, &state);
	derive_free(rig.derive);
	struct unpacker in = unpacker_on(buf_span(&state));
	CHECK_OK(derive_unpack(&rig.derive, &in, &err));
	see(&rig, MEASURE_CONSUMED_SAMPLES, 3, 0, 307);
	loss(&rig, 3, 0);
	for (size_t i = 0; i < 3; i++)
		check_tokens(&rig, i, 1 + (int64_t)i, (double)(i + 1) * 1000 + 70);
	derive_free(rig.derive);
}

TEST(a_restart_and_a_printed_sum_leave_the_first_steps_without)
{
	struct rig rig = {.derive = derive_new(), .attempt = 1};

	VALUE(rig.inputs, TOKENS_PER_STEP) = 10;
	loss(&rig, 1, 0);
	loss(&rig, 2, 0);
	rig.attempt = 2;
	loss(&rig, 1, 0);
	CHECK_INT(rig.count, 1);
	check_tokens(&rig, 0, 1, 10);
	derive_free(rig.derive);
	rig = (struct rig){.derive = derive_new(), .attempt = 1};
	VALUE(rig.inputs, TOKENS_PER_STEP) = 10;
	for (int64_t step = 1; step <= 4; step++) {
		loss(&rig, step, 0);
		CHECK(isnan(got(&rig, DERIVED_TOKENS)));
		see(&rig, MEASURE_TOKENS, step, 0, (double)step * 11);
	}
	derive_free(rig.derive);
}

TEST(a_printed_global_batch_tells_the_tokens_of_a_step_while_it_is_one)
{
	struct rig rig = rig_new();

	VALUE(rig.inputs, SEQUENCE_LENGTH) = 2048;
	for (int64_t step = 10; step <= 12; step++) {
		see(&rig, MEASURE_GLOBAL_BATCH, step, 0, step < 12 ? 512 : 1024);
		loss(&rig, step, 0);
		double tokens = got(&rig, DERIVED_TOKENS);
		CHECK(step < 12 ? tokens == (double)step * 512 * 2048
				: isnan(tokens)); /* a ramp: nobody knows since when */
	}
	derive_free(rig.derive);
}

TEST(a_state_of_before_steps_were_held_is_taken_over)
{
	struct rig rig = rig_new();
	AUTO_DONE(buf) state = BUF_INIT(1 << 16);

	loss(&rig, 1, 0); /* of another attempt: none is held */
	derive_pack(rig.derive, &state);
	derive_free(rig.derive);
	state.ptr[0] = 1;
	state.len -= 8 + 1 + 1; /* printed_batch, has_batches, held_count */
	struct unpacker in = unpacker_on(buf_span(&state));
	CHECK_OK(derive_unpack(&rig.derive, &in, &err));
	CHECK_INT(in.rest.len, 0);
	VALUE(rig.inputs, TOKENS_PER_STEP) = 10;
	loss(&rig, 2, 0);
	CHECK_INT(rig.count, 1);
	check_tokens(&rig, 0, 2, 20);
	derive_free(rig.derive);
}

TEST(consumed_tokens_tell_what_a_step_takes)
{
	struct rig rig = rig_new();

	for (int64_t i = 1; i <= 3; i++) {
		see(&rig, MEASURE_STEP_TIME, i, 0, 2);
		loss(&rig, i, 0);
		see(&rig, MEASURE_TOKENS, i, 0, 500.0 * (double)i); /* behind the loss, in a line of its own */
	}
	CHECK_DOUBLE(got(&rig, DERIVED_TOKENS_PER_SECOND), 250);
	CHECK(isnan(got(&rig, DERIVED_TOKENS)));
	derive_free(rig.derive);
}

TEST(steps_by_log_time_over_at_least_a_second)
{
	struct rig rig = rig_new();

	loss(&rig, 0, 1);
	CHECK_INT(rig.count, 0);
	loss(&rig, 1, 500);
	CHECK_INT(rig.count, 0);
	loss(&rig, 2, 1001);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 2);
	loss(&rig, 10, 3001);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 4);
	derive_free(rig.derive);
}

TEST(times_without_milliseconds_need_a_longer_window)
{
	struct rig rig = rig_new();

	loss(&rig, 0, 1000);
	loss(&rig, 3, 10000);
	CHECK_INT(rig.count, 0);
	loss(&rig, 5, 11000);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 0.5);
	derive_free(rig.derive);
}

TEST(arrival_times_give_no_rate)
{
	struct rig rig = rig_new();

	rig.is_untimed = true;
	for (int64_t i = 0; i < 10; i++) {
		loss(&rig, i, i * 2001);
		CHECK_INT(rig.count, 0);
	}
	derive_free(rig.derive);
}

static void run_at_half_a_step_a_second(struct rig *rig)
{
	for (int64_t i = 0; i < 5; i++)
		loss(rig, i, 1 + i * 2000);
}

TEST(a_pause_gives_no_rate_but_a_new_pace_does)
{
	struct rig rig = rig_new();

	run_at_half_a_step_a_second(&rig);
	loss(&rig, 5, 8001 + 60000); /* an evaluation */
	CHECK_INT(rig.count, 0);
	loss(&rig, 6, 8001 + 62000);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 0.5);
	loss(&rig, 7, 100000);
	CHECK_INT(rig.count, 0);
	loss(&rig, 8, 130000);
	CHECK_INT(rig.count, 0);
	loss(&rig, 9, 160000); /* it stays so */
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 1.0 / 30);
	derive_free(rig.derive);
}

TEST(lines_that_came_in_a_heap_give_no_rate)
{
	struct rig rig = rig_new();

	run_at_half_a_step_a_second(&rig);
	for (int64_t i = 5; i < 100; i++) {
		loss(&rig, i, 400001);
		CHECK_INT(rig.count, 0);
	}
	loss(&rig, 100, 402001); /* 95 steps in 2 s */
	CHECK_INT(rig.count, 0);
	loss(&rig, 101, 404001);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 0.5);
	derive_free(rig.derive);
}

TEST(a_restart_begins_anew)
{
	struct rig rig = rig_new();

	run_at_half_a_step_a_second(&rig);
	rig.attempt = 2;
	loss(&rig, 2, 500001);
	CHECK_INT(rig.count, 0);
	CHECK(derive_progress(rig.derive).steps_per_second == 0);
	loss(&rig, 3, 501001);
	CHECK_DOUBLE(got(&rig, DERIVED_STEPS_PER_SECOND), 1);
	derive_free(rig.derive);
}

TEST(the_first_loss_leads_and_others_follow)
{
	struct rig rig = rig_new();
	struct point point = {.step = 1, .attempt = 1};

	derive_see(rig.derive, MEASURE_LOSS, 1, MEASURE_LOSS + 1, &point);
	CHECK(!derive_has_step(rig.derive));
	derive_see(rig.derive, MEASURE_LOSS, 1, MEASURE_LOSS, &point);
	CHECK(derive_has_step(rig.derive));
	derive_free(rig.derive);
}

TEST(the_share_that_sifting_kept)
{
	struct rig rig = rig_new();

	see(&rig, MEASURE_KEPT, 5, 0, 30);
	see(&rig, MEASURE_DROPPED, 5, 0, 10);
	end_line(&rig);
	CHECK_DOUBLE(got(&rig, DERIVED_KEPT_SHARE), 75);
	see(&rig, MEASURE_KEPT, 6, 0, 30); /* of another step */
	end_line(&rig);
	CHECK_INT(rig.count, 0);
	see(&rig, MEASURE_DROPPED, 6, 0, 0);
	end_line(&rig);
	CHECK_DOUBLE(got(&rig, DERIVED_KEPT_SHARE), 100);
	derive_free(rig.derive);
}

TEST(nonsense_gives_nothing)
{
	struct rig rig = rig_new();
	static const double values[] = {0, -1, NAN, INFINITY};

	VALUE(rig.inputs, TOKENS_PER_STEP) = 1000;
	VALUE(rig.inputs, DEVICES) = 2;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		see(&rig, MEASURE_STEP_TIME, -10 + (int64_t)i, 0, values[i]);
		see(&rig, MEASURE_TFLOPS, -10 + (int64_t)i, 0, values[i]);
		loss(&rig, -10 + (int64_t)i, 0);
		CHECK_INT(rig.count, 0);
	}
	derive_free(rig.derive);
}

TEST(the_state_is_packed_to_the_bit)
{
	struct rig whole = rig_new(), cut = rig_new();

	VALUE(whole.inputs, SEQUENCE_LENGTH) = VALUE(cut.inputs, SEQUENCE_LENGTH) = 8;
	for (int64_t i = 0; i < 40; i++) {
		AUTO_DONE(buf) state = BUF_INIT(1 << 16);
		struct rig *rigs[] = {&whole, &cut};
		for (size_t j = 0; j < 2; j++) {
			rigs[j]->attempt = i < 30 ? 1 : 2;
			see(rigs[j], MEASURE_CONSUMED_SAMPLES, i % 30, 0, (double)(i * i + 1));
			see(rigs[j], MEASURE_EPOCH, i % 30, 0, 0.5);
			loss(rigs[j], i % 30, i * 700 + (i % 7 == 0) * 60000);
		}
		CHECK_INT(cut.count, whole.count);
		for (size_t j = 0; j < whole.count; j++)
			CHECK_DOUBLE(cut.out[j].point.value, whole.out[j].point.value);
		derive_pack(cut.derive, &state);
		derive_free(cut.derive);
		struct unpacker in = unpacker_on(buf_span(&state));
		CHECK_OK(derive_unpack(&cut.derive, &in, &err));
		CHECK_OK(unpacker_end(&in, "state", &err));
		for (size_t len = 0; len < state.len; len++) {
			AUTO(derive) damaged = NULL;
			struct unpacker part = unpacker_on(span_of(state.ptr, len));
			CHECK_FAILS(derive_unpack(&damaged, &part, &err), ERR_INVALID, "damaged");
		}
	}
	CHECK_DOUBLE(derive_progress(cut.derive).epoch, 0.5);
	derive_free(whole.derive);
	derive_free(cut.derive);
}

TEST(printed_metrics_are_known_by_role_and_unit)
{
	static const struct {
		const char *metric;
		enum role role;
		const char *unit;
		enum measure measure;
		double factor;
	} cases[] = {{"train:loss", ROLE_LOSS, "", MEASURE_LOSS, 1},
		{"train:step_time", ROLE_STEP_TIME, "ms", MEASURE_STEP_TIME, 1e-3},
		{"train:step_time", ROLE_STEP_TIME, "", MEASURE_NONE, 1},
		{"train:tflops", ROLE_THROUGHPUT, "TFLOP/s", MEASURE_TFLOPS, 1},
		{"train:tflops", ROLE_OTHER, "TFLOP/s", MEASURE_TFLOPS, 1},
		{"train:throughput", ROLE_THROUGHPUT, "tokens/s", MEASURE_TOKENS_PER_SECOND, 1},
		{"train:throughput", ROLE_THROUGHPUT, "tokens/s/device", MEASURE_TOKENS_PER_SECOND_PER_DEVICE, 1},
		{"throughput/device/tokens_per_second", ROLE_THROUGHPUT, "", MEASURE_TOKENS_PER_SECOND_PER_DEVICE, 1},
		{"train:throughput", ROLE_THROUGHPUT, "samples/s", MEASURE_NONE, 1},
		{"train:steps_per_second", ROLE_THROUGHPUT, "steps/s", MEASURE_STEPS_PER_SECOND, 1},
		{"throughput/total_tokens", ROLE_THROUGHPUT, "", MEASURE_TOKENS, 1},
		{"throughput/total_training_Gflops", ROLE_THROUGHPUT, "", MEASURE_NONE, 1},
		{"train:consumed_tokens", ROLE_OTHER, "", MEASURE_TOKENS, 1},
		{"train:loss{rank=\"3\"}", ROLE_OTHER, "", MEASURE_NONE, 1},
		{"derived:tokens", ROLE_OTHER, "tokens", MEASURE_NONE, 1},
		{"sift/dropped_samples", ROLE_OTHER, "", MEASURE_DROPPED, 1}};
	double factor;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK_INT(measure_of(span_from(cases[i].metric), cases[i].role, span_from(cases[i].unit), &factor),
			cases[i].measure);
		CHECK_DOUBLE(factor, cases[i].factor);
	}
	for (unsigned i = 0; i < DERIVED_COUNT; i++) {
		enum derived found;
		CHECK(derived_by_name(derived_definition((enum derived)i).name, &found) && found == i);
	}
}
