/* Will it fit? The memory of a device that a document's settings ask for: docs/fit.md. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/machines/advice_facts.h"
#include "fleet/fit.h"
#include "model/jobs/by_hand.h"
#include "read/charts/derivation.h"

#include <math.h>

enum { NAMES_MAX = 12 };

/* A setting under one of its names: the key behind "hp.", or what is behind its last dot. NULL: nothing says it. */
static const struct advice_setting *find(const struct advice_facts *facts, const char *const names[])
{
	for (size_t n = 0; n < NAMES_MAX && names[n]; n++)
		for (size_t i = 0; i < facts->count; i++) {
			struct span key = facts->settings[i].key, wanted = span_from(names[n]);
			if (span_take(&key, SPAN("hp.")) && span_ends_with(key, wanted) &&
				(key.len == wanted.len || key.ptr[key.len - wanted.len - 1] == '.'))
				return &facts->settings[i];
		}
	return NULL;
}

static double number_of(const struct advice_setting *setting)
{
	double value = NAN;

	if (setting && setting->text.len)
		return span_parse_double(span_trim(setting->text), &value) ? value : NAN;
	return setting ? setting->number : NAN;
}

static double find_number(const struct advice_facts *facts, const char *const names[])
{
	double value = number_of(find(facts, names));

	return value > 0 ? value : NAN;
}

static bool says(const struct advice_setting *setting, const char *word)
{
	struct span text = setting ? setting->text : SPAN(""), wanted = span_from(word);

	for (size_t at = 0; at + wanted.len <= text.len; at++)
		if (span_equal_fold(span_of(text.ptr + at, wanted.len), wanted))
			return true;
	return false;
}

static bool is_on(const struct advice_setting *setting)
{
	return setting && (setting->text.len ? span_equal_fold(setting->text, SPAN("true")) || number_of(setting) > 0
					     : setting->number > 0);
}

/* ---- what the settings say ---- */

static void read_model(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const hidden[NAMES_MAX] = {"hidden_size", "n_embd", "d_model", "hidden_width", "hidden_dim"};
	static const char *const layers[NAMES_MAX] = {"num_layers", "num_hidden_layers", "n_layer", "n_layers"};
	static const char *const heads[NAMES_MAX] = {"num_attention_heads", "num_heads", "n_head", "n_heads"};
	static const char *const sequence[NAMES_MAX] = {"seq_length", "sequence_length", "max_seq_length",
		"max_seq_len", "seq_len", "block_size", "max_context_width", "encoder_seq_length"};

	f->parameters = facts->parameters;
	f->hidden = find_number(facts, hidden);
	f->layers = find_number(facts, layers);
	f->heads = find_number(facts, heads);
	f->sequence = find_number(facts, sequence);
}

static void read_precision(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const flags[][NAMES_MAX] = {{"bf16"}, {"fp16"}, {"bf16.enabled"}, {"fp16.enabled"}};
	static const char *const names[NAMES_MAX] = {"mixed_precision", "precision", "torch_dtype", "dtype"};
	static const char *const optimizer[NAMES_MAX] = {
		"optimizer", "optim", "optimizer_name", "optimizer.type", "optim.name"};
	static const char *const wide[NAMES_MAX] = {"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32"};
	const struct advice_setting *named = find(facts, names), *update = find(facts, optimizer);
	bool is_flagged = false;
	bool is_adam = !update || (says(update, "adam") && !says(update, "bit") && !says(update, "bnb"));

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		is_flagged |= is_on(find(facts, flags[i]));
	f->is_16_bit = is_flagged || says(named, "16");
	bool is_known = f->is_16_bit || says(named, "32");
	f->parameter_bytes = is_known ? (f->is_16_bit ? 2 : 4) : NAN;
	f->gradient_bytes = f->is_16_bit && is_on(find(facts, wide)) ? 4 : f->parameter_bytes;
	f->optimizer_bytes = is_known && is_adam ? (f->is_16_bit ? 12 : 8) : NAN;
}

/* Says that nothing is sharded. */
static bool is_off(const struct advice_setting *setting)
{
	static const char *const words[] = {"false", "none", "null", "no", "[]", "no_shard"};

	if (!setting->text.len)
		return !(setting->number > 0);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(span_trim(setting->text), span_from(words[i])))
			return true;
	return number_of(setting) == 0;
}

/* *unread: a setting that shards in a way that is not followed. */
static int read_stage(const struct advice_facts *facts, const struct advice_setting **unread)
{
	static const char *const stages[NAMES_MAX] = {"zero_stage", "zero_optimization.stage", "zero.stage"};
	static const char *const fully[NAMES_MAX] = {"fsdp", "sharding_strategy", "fsdp_sharding_strategy"};
	static const char *const first[NAMES_MAX] = {"use_distributed_optimizer", "shard_optimizer_state"};
	const struct advice_setting *shards = find(facts, fully), *numbered = find(facts, stages);
	double stage = number_of(numbered);

	if (stage >= 0 && stage <= 3)
		return (int)stage;
	if (says(shards, "full_shard"))
		return 3;
	if (says(shards, "shard_grad_op"))
		return 2;
	*unread = numbered && !is_off(numbered) ? numbered : shards && !is_off(shards) ? shards : NULL;
	return is_on(find(facts, first)) ? 1 : 0;
}

static void read_memory_saving(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const granularity[NAMES_MAX] = {
		"recompute_granularity", "activations_checkpoint_granularity"};
	static const char *const full[NAMES_MAX] = {"gradient_checkpointing", "activation_checkpointing",
		"checkpoint_activations", "enable_activation_checkpointing", "use_activation_checkpointing"};
	static const char *const selective[NAMES_MAX] = {"recompute_activations"};
	static const char *const flash[NAMES_MAX] = {
		"use_flash_attn", "use_flash_attention", "flash_attention", "use_flash_attention_2"};
	static const char *const attention[NAMES_MAX] = {
		"attn_implementation", "_attn_implementation", "attn_impl", "attention_backend"};
	static const char *const sequence[NAMES_MAX] = {"sequence_parallel"};

	f->recompute = FIT_RECOMPUTE_NONE;
	if (says(find(facts, granularity), "selective") || is_on(find(facts, selective)))
		f->recompute = FIT_RECOMPUTE_SELECTIVE;
	if (says(find(facts, granularity), "full") || is_on(find(facts, full)))
		f->recompute = FIT_RECOMPUTE_FULL;
	f->has_flash_attention = is_on(find(facts, flash)) || says(find(facts, attention), "flash") ||
				 says(find(facts, attention), "sdpa");
	f->is_sequence_parallel = is_on(find(facts, sequence));
}

/* What the formulas are not of; NULL: nothing that is known. */
static const char *find_other(const struct advice_facts *facts)
{
	static const char *const experts[NAMES_MAX] = {
		"num_experts", "num_moe_experts", "num_local_experts", "n_routed_experts"};
	static const char *const adapters[NAMES_MAX] = {"lora_r", "lora_rank", "use_lora", "use_peft", "peft_method"};
	static const char *const offload[NAMES_MAX] = {"offload_optimizer.device", "offload_param.device",
		"offload_optimizer", "offload_param", "cpu_offload"};
	const struct advice_setting *away = find(facts, offload);

	if (find_number(facts, experts) > 1)
		return "a mixture of experts";
	if (is_on(find(facts, adapters)) || says(find(facts, adapters), "lora"))
		return "an adapter (LoRA), which trains few parameters";
	if (is_on(away) || says(away, "cpu") || says(away, "nvme"))
		return "what is kept in the host's memory";
	return NULL;
}

static const struct shown_input {
	const char *name;
	size_t offset;
} inputs[] = {{"parameters", offsetof(struct fit_setup, parameters)},
	{"hidden_size", offsetof(struct fit_setup, hidden)}, {"layers", offsetof(struct fit_setup, layers)},
	{"attention_heads", offsetof(struct fit_setup, heads)},
	{"sequence_length", offsetof(struct fit_setup, sequence)},
	{"micro_batch", offsetof(struct fit_setup, micro_batch)},
	{"tensor_parallel", offsetof(struct fit_setup, tensor)},
	{"pipeline_parallel", offsetof(struct fit_setup, pipeline)},
	{"context_parallel", offsetof(struct fit_setup, context)}, {"data_parallel", offsetof(struct fit_setup, data)},
	{"bytes_of_a_parameter", offsetof(struct fit_setup, parameter_bytes)},
	{"bytes_of_a_gradient", offsetof(struct fit_setup, gradient_bytes)},
	{"bytes_of_optimizer", offsetof(struct fit_setup, optimizer_bytes)}};

static double *input_of(struct fit_setup *f, size_t i)
{
	return (double *)((char *)f + inputs[i].offset);
}

/* A model is spread over whole devices, a whole number of times. */
static bool is_whole(double degree)
{
	return isnan(degree) || (degree >= 1 && degree == floor(degree));
}

/* false: the degrees are none of these devices. */
static bool read_setup(const struct api *api, const struct advice_facts *facts, struct fit_setup *f)
{
	*f = (struct fit_setup){0};
	read_model(facts, f);
	read_precision(facts, f);
	read_memory_saving(facts, f);
	f->micro_batch = advice_quantity(api->advice, SPAN("micro"), facts->settings, facts->count);
	f->tensor = advice_quantity(api->advice, SPAN("tp"), facts->settings, facts->count);
	f->pipeline = advice_quantity(api->advice, SPAN("pp"), facts->settings, facts->count);
	f->context = advice_quantity(api->advice, SPAN("cp"), facts->settings, facts->count);
	f->data = advice_quantity(api->advice, SPAN("data"), facts->settings, facts->count);
	bool is_spread = is_whole(f->data) && is_whole(f->tensor) && is_whole(f->pipeline) && is_whole(f->context);
	if (!is_spread)
		f->data = NAN;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (!isfinite(*input_of(f, i)) || *input_of(f, i) <= 0)
			*input_of(f, i) = NAN;
	return is_spread;
}

/* ---- the answer ---- */

static void write_inputs(struct json_writer *w, struct fit_setup *f)
{
	static const char *const recompute[] = {"none", "selective", "full"};

	json_key(w, "inputs");
	json_object(w);
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		api_put_known(w, inputs[i].name, *input_of(f, i));
	json_put_i64(w, "zero_stage", f->zero_stage);
	json_put_text(w, "recompute", recompute[f->recompute]);
	json_put_bool(w, "sequence_parallel", f->is_sequence_parallel);
	json_put_bool(w, "flash_attention", f->has_flash_attention);
	json_object_end(w);
	json_key(w, "unknown");
	json_array(w);
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (isnan(*input_of(f, i)))
			json_text(w, inputs[i].name);
	json_array_end(w);
}

/* What is known may be too much already. */
static double sum_known(const struct fit *fit)
{
	const double parts[] = {fit->parameters, fit->gradients, fit->optimizer, fit->activations};
	double sum = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		sum += isnan(parts[i]) ? 0 : parts[i];
	return sum;
}

static void write_fit(struct json_writer *w, const struct fit *fit, double limit, bool is_other)
{
	json_key(w, "per_device_bytes");
	json_object(w);
	api_put_known(w, "parameters", fit->parameters);
	api_put_known(w, "gradients", fit->gradients);
	api_put_known(w, "optimizer", fit->optimizer);
	api_put_known(w, "activations", fit->activations);
	api_put_known(w, "total", fit->total);
	json_object_end(w);
	json_key(w, "fits");
	if (isnan(limit) || is_other || (isnan(fit->total) && sum_known(fit) <= limit))
		json_null(w);
	else
		json_bool(w, fit->total <= limit);
	api_put_known(w, "limit_bytes", limit);
	api_put_known(w, "observed_factor", NAN); /* no peak is compared yet */
}

static void write_not_understood(struct json_writer *w, const struct advice_setting *unread)
{
	struct span key = unread ? unread->key : SPAN("");

	span_take(&key, SPAN("hp."));
	json_key(w, "not_understood");
	json_array(w);
	if (unread)
		json_span(w, key);
	json_array_end(w);
}

enum status api_fit(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO_DONE(buf) text = BUF_INIT(8 << 20);
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	struct fit_setup setup;
	struct fit fit;

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &document, err));
	const struct json *settings = json_get(document, "HyperParameters");
	if (!settings || json_kind(settings) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "HyperParameters",
			"HyperParameters is an object: the settings of the trainer");
	TRY(by_hand_settle_machines(document, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	struct job_row row = {.name = SPAN(""), .document = buf_span(&text)};
	struct advice_facts *facts = arena_alloc(arena, sizeof *facts);
	if (!facts)
		return error_no_memory(err);
	TRY(advice_facts_read(api, ((struct api_worker *)worker)->reader, arena, &row, document,
		http_request_arrival_ms(request), facts, err));
	const struct advice_setting *unread = NULL;
	bool is_spread = read_setup(api, facts, &setup);
	setup.zero_stage = read_stage(facts, &unread);
	const char *other = find_other(facts);
	if (other)
		setup.parameters = setup.layers = NAN;
	fit_work_out(&setup, &fit);
	if (unread)
		fit.parameters = fit.gradients = fit.optimizer = fit.total = NAN;
	struct json_writer w = api_reply(response);
	json_object(&w);
	write_fit(&w, &fit, derivation_rank_bytes(api->options.pipeline, document), other || !is_spread);
	write_inputs(&w, &setup);
	write_not_understood(&w, unread);
	if (other)
		json_put_text(&w, "not_covered", other);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
