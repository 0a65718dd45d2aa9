#include "api/machines/fit_settings.h"

#include "model/jobs/setting_name.h"

#include <math.h>
#include <stddef.h>

enum { NAMES_MAX = 12 };

/* A setting under one of its names, the first that is there. NULL: nothing says it. */
static const struct advice_setting *find(const struct advice_facts *facts, const char *const names[])
{
	for (size_t n = 0; n < NAMES_MAX && names[n]; n++)
		for (size_t i = 0; i < facts->count; i++) {
			struct span key = facts->settings[i].key;
			if (span_take(&key, SPAN("hp.")) && setting_name_is(key, span_from(names[n])))
				return &facts->settings[i];
		}
	return NULL;
}

/* Each under any of them: *at is where the search goes on. NULL: there is no other. */
static const struct advice_setting *next_of(const struct advice_facts *facts, const char *const names[], size_t *at)
{
	while (*at < facts->count) {
		const struct advice_setting *setting = &facts->settings[(*at)++];
		struct span key = setting->key;
		if (!span_take(&key, SPAN("hp.")))
			continue;
		for (size_t n = 0; n < NAMES_MAX && names[n]; n++)
			if (setting_name_is(key, span_from(names[n])))
				return setting;
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

/* What one of its names says, and where; NaN: not known. */
static double take(const struct advice_facts *facts, const char *const names[], struct span *from)
{
	const struct advice_setting *setting = find(facts, names);
	double value = number_of(setting);

	if (!(value > 0))
		return NAN;
	*from = setting->key;
	span_take(from, SPAN("hp."));
	return value;
}

static const char *const hidden_names[NAMES_MAX] = {"hidden_size", "n_embd", "d_model", "hidden_width", "hidden_dim"};
static const char *const layer_names[NAMES_MAX] = {"num_layers", "num_hidden_layers", "n_layer", "n_layers"};

const struct advice_setting *fit_settings_family(const struct advice_facts *facts)
{
	static const char *const names[NAMES_MAX] = {"model_type", "model_name_or_path", "model_name", "model_id"};
	const struct advice_setting *named = find(facts, names);

	return named && named->text.len ? named : NULL;
}

void fit_settings_sizes(const struct advice_facts *facts, const struct advice_setting *out[2])
{
	out[0] = find(facts, hidden_names);
	out[1] = find(facts, layer_names);
}

static void read_sizes(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const heads[NAMES_MAX] = {"num_attention_heads", "num_heads", "n_head", "n_heads"};
	static const char *const sequence[NAMES_MAX] = {"seq_length", "sequence_length", "max_seq_length",
		"max_seq_len", "seq_len", "block_size", "max_context_width", "encoder_seq_length"};
	struct fit_setup *f = &out->setup;

	f->hidden = take(facts, hidden_names, &out->from[FIT_HIDDEN]);
	f->layers = take(facts, layer_names, &out->from[FIT_LAYERS]);
	f->heads = take(facts, heads, &out->from[FIT_HEADS]);
	f->sequence = take(facts, sequence, &out->from[FIT_SEQUENCE]);
}

/* A gated feed-forward layer is said as such, by its activation, or by the family that is known for it. */
static bool is_gated(const struct advice_facts *facts)
{
	static const char *const flags[NAMES_MAX] = {"swiglu", "gated_linear_unit"};
	static const char *const activations[NAMES_MAX] = {
		"hidden_act", "hidden_activation", "activation", "activation_function", "activation_func"};
	static const char *const families[NAMES_MAX] = {"model_type"};
	static const char *const gates[] = {"glu", "silu"}, *const gated[] = {"llama", "mistral", "qwen", "gemma"};
	const struct advice_setting *activation = find(facts, activations), *family = find(facts, families);
	bool is_said = is_on(find(facts, flags));

	for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
		is_said |= says(activation, gates[i]);
	for (size_t i = 0; i < sizeof gated / sizeof *gated; i++)
		is_said |= says(family, gated[i]);
	return is_said;
}

/* What is said as such, else what such a model has: Llama's kind where it is gated, GPT's else. */
static bool or_usual(const struct advice_setting *setting, bool is_said_so, bool usual)
{
	return setting ? is_on(setting) == is_said_so : usual;
}

static void read_kind(const struct advice_facts *facts, struct model_size *m)
{
	static const char *const ties[NAMES_MAX] = {"tie_word_embeddings", "share_embeddings_and_output_weights"};
	static const char *const unties[NAMES_MAX] = {"untie_embeddings_and_output_weights"};
	static const char *const biases[NAMES_MAX] = {"add_bias_linear", "bias"};
	static const char *const no_biases[NAMES_MAX] = {"disable_bias_linear"};
	static const char *const norms[NAMES_MAX] = {"normalization", "norm_type"};
	const struct advice_setting *norm = find(facts, norms);

	m->is_gated = is_gated(facts);
	m->has_own_output = or_usual(find(facts, unties), true, or_usual(find(facts, ties), false, m->is_gated));
	m->has_biases = or_usual(find(facts, no_biases), false, or_usual(find(facts, biases), true, !m->is_gated));
	m->has_rms_norm = norm ? says(norm, "rms") : m->is_gated;
}

/* Learned ones alone are parameters. */
static double count_positions(const struct advice_facts *facts, const struct model_size *m, double sequence)
{
	static const char *const kinds[NAMES_MAX] = {"position_embedding_type", "pos_emb_type"};
	static const char *const rotary[NAMES_MAX] = {"use_rotary_position_embeddings", "rope_theta", "rotary_base"};
	static const char *const most[NAMES_MAX] = {"max_position_embeddings", "n_positions"};
	const struct advice_setting *kind = find(facts, kinds);
	double said = number_of(find(facts, most));
	bool is_learned = kind ? says(kind, "learn") || says(kind, "absolute") : !m->is_gated && !find(facts, rotary);

	if (!is_learned)
		return 0;
	return said > 0 ? said : sequence;
}

static void count_parameters(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const vocabulary[NAMES_MAX] = {"padded_vocab_size", "vocab_size", "n_vocab"};
	static const char *const key_heads[NAMES_MAX] = {
		"num_query_groups", "num_key_value_heads", "n_kv_heads", "num_kv_heads"};
	static const char *const head_size[NAMES_MAX] = {"kv_channels", "head_dim"};
	static const char *const within[NAMES_MAX] = {
		"ffn_hidden_size", "intermediate_size", "n_inner", "d_ff", "ffn_dim"};
	const struct fit_setup *f = &out->setup;
	struct span ignored;
	struct model_size *m = &out->model;

	*m = (struct model_size){.layers = f->layers, .hidden = f->hidden, .heads = f->heads};
	read_kind(facts, m);
	m->vocabulary = take(facts, vocabulary, &ignored);
	m->key_heads = take(facts, key_heads, &ignored);
	m->head_size = take(facts, head_size, &ignored);
	m->feed_forward = take(facts, within, &ignored);
	if (isnan(m->key_heads))
		m->key_heads = m->heads;
	if (isnan(m->head_size))
		m->head_size = m->hidden / m->heads;
	if (isnan(m->feed_forward) && !m->is_gated)
		m->feed_forward = 4 * m->hidden; /* as all of GPT have it; of gated ones no width is usual */
	m->positions = count_positions(facts, m, f->sequence);
	out->setup.parameters = model_size_count(m);
}

static void read_model(const struct advice_facts *facts, struct fit_settings *out)
{
	read_sizes(facts, out);
	out->setup.parameters = facts->parameters.value;
	out->counts_parameters = facts->parameters.is_counted || isnan(facts->parameters.value);
	if (out->counts_parameters)
		count_parameters(facts, out);
	else
		out->from[FIT_PARAMETERS] = facts->parameters.from;
}

static bool is_adam(const struct advice_facts *facts)
{
	static const char *const names[NAMES_MAX] = {
		"optimizer", "optim", "optimizer_name", "optimizer.type", "optim.name", "optimizer.name"};
	const struct advice_setting *update = find(facts, names);

	return !update || (says(update, "adam") && !says(update, "bit") && !says(update, "bnb"));
}

static void read_precision(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const flags[][NAMES_MAX] = {{"bf16"}, {"fp16"}, {"bf16.enabled"}, {"fp16.enabled"}};
	static const char *const names[NAMES_MAX] = {"mixed_precision", "precision", "torch_dtype", "dtype"};
	static const char *const wide[NAMES_MAX] = {"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_fp32"};
	const struct advice_setting *named = find(facts, names);
	bool is_flagged = false, is_whole = says(named, "16-true"); /* Lightning's: nothing is in 32 bits */

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		is_flagged |= is_on(find(facts, flags[i]));
	f->is_16_bit = is_flagged || says(named, "16");
	bool is_known = f->is_16_bit || says(named, "32");
	f->parameter_bytes = is_known ? (f->is_16_bit ? 2 : 4) : NAN;
	f->gradient_bytes = f->is_16_bit && is_on(find(facts, wide)) ? 4 : f->parameter_bytes;
	f->optimizer_bytes = is_known && is_adam(facts) ? (is_whole ? 4 : f->is_16_bit ? 12 : 8) : NAN;
}

/* Says that nothing is sharded. */
static bool is_off(const struct advice_setting *setting)
{
	static const char *const words[] = {"false", "none", "null", "no", "[]", "{}", "no_shard"};

	if (!setting->text.len)
		return !(setting->number > 0);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(span_trim(setting->text), span_from(words[i])))
			return true;
	return number_of(setting) == 0;
}

/* ---- what is spread over the ranks, as one setting says it ---- */

enum {
	SHARDS_UNSAID = -1,
	SHARDS_VAGUELY = -2, /* that something is, and not what; another setting may say that */
	SHARDS_OTHERWISE = -3, /* in a way that is not followed */
	SHARDS_NOT = -4 /* it is switched off: more than a default that is printed */
};

enum sharder { SHARDER_FSDP, SHARDER_DEEPSPEED, SHARDER_ANY, SHARDERS };

static int stage_of_number(const struct advice_setting *setting)
{
	double stage = number_of(setting);

	if (stage >= 0 && stage <= 3 && fit_is_whole(stage + 1))
		return (int)stage;
	return is_off(setting) ? SHARDS_UNSAID : SHARDS_VAGUELY;
}

/* A switch, or a name that means one. "None" and nothing are what is printed of one that nobody touched. */
static int stage_of_switch(const struct advice_setting *setting)
{
	struct span text = span_trim(setting->text);

	if (span_equal_fold(text, SPAN("false")) || span_equal_fold(text, SPAN("no")) || number_of(setting) == 0)
		return SHARDS_NOT;
	return is_off(setting) ? SHARDS_UNSAID : SHARDS_VAGUELY;
}

/* FSDP's words, of PyTorch and of transformers. */
static int stage_of_fsdp(const struct advice_setting *setting)
{
	if (says(setting, "full_shard"))
		return 3;
	if (says(setting, "shard_grad_op"))
		return 2;
	if (says(setting, "no_shard"))
		return 0;
	return says(setting, "hybrid") ? SHARDS_OTHERWISE : stage_of_switch(setting);
}

/* The same, or its number in PyTorch's ShardingStrategy, which accelerate's files have. */
static int stage_of_sharding_strategy(const struct advice_setting *setting)
{
	static const int stages[] = {SHARDS_UNSAID, 3, 2, 0};
	double number = number_of(setting);

	if (isnan(number))
		return stage_of_fsdp(setting);
	return number >= 0 && number <= 3 && fit_is_whole(number + 1) ? stages[(int)number] : SHARDS_OTHERWISE;
}

/* Lightning's: "fsdp" shards all of it unless told otherwise; "deepspeed" alone may have a file behind it. */
static int stage_of_strategy(const struct advice_setting *setting)
{
	static const char *const stages[] = {"deepspeed_stage_1", "deepspeed_stage_2", "deepspeed_stage_3"};
	struct span text = span_trim(setting->text);

	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
		if (says(setting, stages[i]))
			return (int)i + 1;
	if (span_equal_fold(text, SPAN("fsdp")) || span_equal_fold(text, SPAN("fsdp_cpu_offload")))
		return 3;
	bool is_other = says(setting, "deepspeed") || says(setting, "fsdp") || says(setting, "sharded") ||
			says(setting, "model_parallel") || says(setting, "modelparallel");
	if (is_other)
		return SHARDS_VAGUELY;
	return says(setting, "ddp") ? SHARDS_NOT : SHARDS_UNSAID;
}

/* Accelerate's. */
static int stage_of_distributed_type(const struct advice_setting *setting)
{
	struct span text = span_trim(setting->text), part, last = SPAN("");

	while (span_next(&text, '.', &part)) /* DistributedType.NO */
		last = part;
	if (says(setting, "multi_") || span_equal_fold(last, SPAN("no")))
		return SHARDS_NOT;
	return is_off(setting) ? SHARDS_UNSAID : SHARDS_VAGUELY;
}

static bool is_file(const struct advice_setting *setting)
{
	static const char *const ends[] = {".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml"};
	struct span text = span_trim(setting->text);

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (span_ends_with(text, span_from(ends[i])))
			return true;
	return false;
}

/* A launcher's, whose contents are not known; not of one of its parts. */
static int stage_of_file(const struct advice_setting *setting)
{
	struct span key = setting->key;

	span_take(&key, SPAN("hp."));
	return is_file(setting) && span_find_char(key, '.') < 0 ? SHARDS_VAGUELY : SHARDS_UNSAID;
}

/* DeepSpeed is on, or its configuration is a file, or no document that can be read. Its version may be called so, too. */
static int stage_of_deepspeed(const struct advice_setting *setting)
{
	struct span text = span_trim(setting->text);
	bool is_version = text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9' && !is_file(setting);

	return is_version && !is_on(setting) ? SHARDS_UNSAID : stage_of_switch(setting);
}

/* NeMo's optimizer of that name keeps a part of its state on each rank, and which gradients depends on its own settings. */
static int stage_of_optimizer(const struct advice_setting *setting)
{
	return says(setting, "distributed_fused_adam") ? SHARDS_VAGUELY : SHARDS_UNSAID;
}

static const char *const strategy_names[NAMES_MAX] = {
	"strategy", "strategy.class_path", "strategy.name", "strategy._target_"};

static const struct way {
	const char *const *names;
	int (*stage)(const struct advice_setting *setting);
	enum sharder sharder;
} ways[] = {
	{(const char *const[NAMES_MAX]){
		 "zero_stage", "zero_optimization.stage", "zero.stage", "strategy.init_args.stage", "strategy.stage"},
		stage_of_number, SHARDER_DEEPSPEED},
	{(const char *const[NAMES_MAX]){"zero_optimization"}, stage_of_switch, SHARDER_DEEPSPEED},
	{(const char *const[NAMES_MAX]){"use_fsdp", "enable_fsdp"}, stage_of_switch, SHARDER_FSDP},
	{(const char *const[NAMES_MAX]){"fsdp"}, stage_of_fsdp, SHARDER_FSDP},
	{(const char *const[NAMES_MAX]){"sharding_strategy", "fsdp_sharding_strategy"}, stage_of_sharding_strategy,
		SHARDER_FSDP},
	{strategy_names, stage_of_strategy, SHARDER_ANY},
	{(const char *const[NAMES_MAX]){"distributed_type"}, stage_of_distributed_type, SHARDER_ANY},
	{(const char *const[NAMES_MAX]){"deepspeed", "use_deepspeed", "deepspeed_config", "deepspeed_config_file"},
		stage_of_deepspeed, SHARDER_DEEPSPEED},
	{(const char *const[NAMES_MAX]){"accelerate_config", "accelerate_config_file", "config_file"}, stage_of_file,
		SHARDER_ANY},
	{(const char *const[NAMES_MAX]){"optim.name", "optimizer.name", "optimizer", "optim"}, stage_of_optimizer,
		SHARDER_ANY},
};

/* What all of them say. */
struct shards {
	int stage[SHARDERS]; /* nobody says one of any */
	const struct advice_setting *off[SHARDERS], *vague[SHARDERS], *otherwise; /* the first that says so; NULL */
};

/* Strategies and types of all are of the one that they name. */
static enum sharder sharder_of(const struct way *way, const struct advice_setting *setting)
{
	if (way->sharder != SHARDER_ANY)
		return way->sharder;
	if (says(setting, "deepspeed"))
		return SHARDER_DEEPSPEED;
	return says(setting, "fsdp") ? SHARDER_FSDP : SHARDER_ANY;
}

/* The first stage that is not 0 counts: 0 is a default that is printed beside what is on. FSDP's 0 is said, and a strategy the default. */
static void note_shards(struct shards *s, const struct way *way, const struct advice_setting *setting)
{
	int stage = way->stage(setting);
	enum sharder sharder = sharder_of(way, setting);
	bool is_whole = stage == 0 && sharder == SHARDER_FSDP;
	bool is_default = way->names == strategy_names && sharder == SHARDER_FSDP && s->stage[sharder] == 0;

	if (stage == SHARDS_OTHERWISE && !s->otherwise)
		s->otherwise = setting;
	if (stage == SHARDS_VAGUELY && !s->vague[sharder])
		s->vague[sharder] = setting;
	if ((stage == SHARDS_NOT || is_whole) && !s->off[sharder])
		s->off[sharder] = setting;
	if (stage > s->stage[sharder] && s->stage[sharder] <= 0 && !is_default)
		s->stage[sharder] = stage;
}

/* One that shards otherwise, that is off beside a stage, or that nothing says the stage of; NULL: there is none. */
static const struct advice_setting *find_unread(const struct shards *s)
{
	const struct advice_setting *vague = NULL;
	bool is_said = false, is_sharded = false;

	if (s->otherwise)
		return s->otherwise;
	for (int i = 0; i < SHARDER_ANY; i++) {
		if (s->stage[i] > 0 && (s->off[i] || s->off[SHARDER_ANY]))
			return s->off[i] ? s->off[i] : s->off[SHARDER_ANY];
		is_sharded |= s->stage[i] > 0;
		is_said |= s->stage[i] >= 0;
		if (s->stage[i] < 0 && !vague)
			vague = s->vague[i];
	}
	if (!is_said && !vague)
		vague = s->vague[SHARDER_ANY];
	return is_sharded ? NULL : vague;
}

/* *unread: a setting that shards in a way that is not followed, or does not say how. */
static int read_stage(const struct advice_facts *facts, const struct advice_setting **unread)
{
	static const char *const first[NAMES_MAX] = {"use_distributed_optimizer", "shard_optimizer_state"};
	struct shards shards = {.stage = {SHARDS_UNSAID, SHARDS_UNSAID, SHARDS_UNSAID}};
	const struct advice_setting *setting;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		for (size_t at = 0; (setting = next_of(facts, ways[i].names, &at));)
			note_shards(&shards, &ways[i], setting);
	*unread = find_unread(&shards);
	int fsdp = shards.stage[SHARDER_FSDP], zero = shards.stage[SHARDER_DEEPSPEED];
	if (*unread || (fsdp <= 0 && zero <= 0))
		return is_on(find(facts, first));
	return fsdp <= 0 || (zero > 0 && zero < fsdp) ? zero : fsdp; /* of two the one that needs more */
}

static void set_unread(struct fit_settings *out, struct span key)
{
	out->unread = key;
	span_take(&out->unread, SPAN("hp."));
}

/* Whole copies of what Megatron's distributed optimizer and its FSDP shard within a group. */
static void read_copies(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const copies[NAMES_MAX] = {"num_distributed_optimizer_instances"};
	static const char *const outer[NAMES_MAX] = {"outer_dp_sharding_strategy"};
	const struct advice_setting *across = find(facts, outer);
	double count = number_of(find(facts, copies));

	if (!(count > 1))
		return;
	out->setup.replicas = count;
	if (across && !is_off(across))
		set_unread(out, across->key);
}

/* Megatron's two FSDPs; false: neither is on. What its own one shards without a word has changed with its versions. */
static bool read_megatron(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const torch[NAMES_MAX] = {"use_torch_fsdp2"}, *const own[NAMES_MAX] = {"use_megatron_fsdp"},
				 *const custom[NAMES_MAX] = {"use_custom_fsdp"},
				 *const strategy[NAMES_MAX] = {"data_parallel_sharding_strategy"},
				 *const frees[NAMES_MAX] = {"torch_fsdp2_reshard_after_forward"};
	static const char *const stages[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
	const struct advice_setting *said = find(facts, strategy), *freed = find(facts, frees);
	const struct advice_setting *flag = is_on(find(facts, own)) ? find(facts, own) : find(facts, custom);
	struct fit_setup *f = &out->setup;

	if (is_on(find(facts, torch))) {
		f->zero_stage = 3;
		if (freed && is_off(freed))
			set_unread(out, freed->key);
		return true;
	}
	if (!is_on(flag))
		return false;
	read_copies(facts, out);
	for (size_t i = 0; said && i < sizeof stages / sizeof *stages; i++)
		if (span_equal_fold(span_trim(said->text), span_from(stages[i]))) {
			f->zero_stage = (int)i;
			return true;
		}
	set_unread(out, said ? said->key : flag->key);
	return true;
}

static double degree_or(const struct advice_facts *facts, const char *name, double usual)
{
	const char *const names[NAMES_MAX] = {name};
	double value = number_of(find(facts, names));

	return isnan(value) ? usual : value;
}

static bool is_torchtitan(const struct advice_facts *facts)
{
	static const char *const names[NAMES_MAX] = {"parallelism.data_parallel_shard_degree",
		"parallelism.data_parallel_replicate_degree", "parallelism.tensor_parallel_degree",
		"parallelism.pipeline_parallel_degree", "parallelism.context_parallel_degree"};

	return find(facts, names) != NULL;
}

/* It keeps what it trains in 32 bits, and computes in 16 where FSDP does that or nothing but data is parallel. */
static void read_titan_precision(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const kept[NAMES_MAX] = {"training.dtype"}, *const computed[NAMES_MAX] = {
									       "training.mixed_precision_param"};
	const struct advice_setting *mixed = find(facts, computed);
	bool is_kept_in_16 = says(find(facts, kept), "16"), is_alone = f->tensor == 1 && f->pipeline == 1;
	bool is_mixed = (!mixed || says(mixed, "16")) && (is_alone || (f->zero_stage == 3 && fit_shards(f) != 1));

	f->parameter_bytes = f->gradient_bytes = is_kept_in_16 ? 2 : 4;
	f->optimizer_bytes = is_adam(facts) ? 2 * f->parameter_bytes : NAN;
	f->is_16_bit = is_kept_in_16 || is_mixed;
}

/* FSDP over the ranks that the other degrees leave, without a word. Where parameters stay gathered between forward and backward, as
 * in its pipelines, it takes what no formula here counts. */
static void read_torchtitan(const struct advice_facts *facts, struct fit_settings *out)
{
	static const char *const reshards[NAMES_MAX] = {"parallelism.fsdp_reshard_after_forward"};
	const struct advice_setting *said = find(facts, reshards);
	struct fit_setup *f = &out->setup;
	double shards = degree_or(facts, "parallelism.data_parallel_shard_degree", -1);
	double replicas = degree_or(facts, "parallelism.data_parallel_replicate_degree", 1);

	if (isnan(f->data) && shards > 0)
		f->data = shards * replicas;
	out->is_spread &= shards == -1 || !(f->data != shards * replicas);
	if (f->pipeline > 1)
		f->micro_batch = degree_or(facts, "parallelism.pipeline_parallel_microbatch_size", 1);
	f->zero_stage = shards == 1 && f->context == 1 ? 0 : 3;
	f->replicas = f->zero_stage ? replicas : 1;
	f->has_groups_of_data = true;
	read_titan_precision(facts, f);
	if (f->zero_stage && (says(said, "never") || (f->pipeline > 1 && !says(said, "always"))))
		set_unread(out, said ? said->key : span_from(*reshards));
}

static void read_sharding(const struct advice_facts *facts, struct fit_settings *out)
{
	const struct advice_setting *unread = NULL;

	if (is_torchtitan(facts)) {
		read_torchtitan(facts, out);
		return;
	}
	if (read_megatron(facts, out))
		return;
	out->setup.zero_stage = read_stage(facts, &unread);
	if (out->setup.zero_stage == 1)
		read_copies(facts, out);
	if (unread)
		set_unread(out, unread->key);
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

static bool is_offloaded(const struct advice_facts *facts)
{
	static const char *const offload[NAMES_MAX] = {"offload_optimizer.device", "offload_param.device",
		"offload_optimizer", "offload_param", "offload_optimizer_device", "offload_param_device", "cpu_offload",
		"enable_cpu_offload", "fsdp_offload_params", "offload_parameters", "offload_params_device"};
	static const char *const fully[NAMES_MAX] = {"fsdp"};
	const struct advice_setting *away;

	for (size_t at = 0; (away = next_of(facts, offload, &at));)
		if (is_on(away) || says(away, "cpu") || says(away, "nvme"))
			return true;
	for (size_t at = 0; (away = next_of(facts, strategy_names, &at));)
		if (says(away, "offload"))
			return true;
	return says(find(facts, fully), "offload");
}

/* What the formulas are not of; NULL: nothing that is known. */
static const char *find_other(const struct advice_facts *facts)
{
	static const char *const experts[NAMES_MAX] = {
		"num_experts", "num_moe_experts", "num_local_experts", "n_routed_experts"};
	static const char *const adapters[NAMES_MAX] = {"lora_r", "lora_rank", "use_lora", "use_peft", "peft_method"};
	static const char *const spread[NAMES_MAX] = {
		"expert_model_parallel_size", "parallelism.expert_parallel_degree", "expert_parallel_size"};

	if (number_of(find(facts, experts)) > 1 || number_of(find(facts, spread)) > 1)
		return "a mixture of experts";
	if (is_on(find(facts, adapters)) || says(find(facts, adapters), "lora"))
		return "an adapter (LoRA), which trains few parameters";
	return is_offloaded(facts) ? "what is kept in the host's memory" : NULL;
}

/* ---- all of it ---- */

static const struct shown_input {
	const char *name;
	size_t offset;
} inputs[FIT_INPUTS] = {[FIT_PARAMETERS] = {"parameters", offsetof(struct fit_setup, parameters)},
	[FIT_HIDDEN] = {"hidden_size", offsetof(struct fit_setup, hidden)},
	[FIT_LAYERS] = {"layers", offsetof(struct fit_setup, layers)},
	[FIT_HEADS] = {"attention_heads", offsetof(struct fit_setup, heads)},
	[FIT_SEQUENCE] = {"sequence_length", offsetof(struct fit_setup, sequence)},
	[FIT_MICRO_BATCH] = {"micro_batch", offsetof(struct fit_setup, micro_batch)},
	[FIT_TENSOR] = {"tensor_parallel", offsetof(struct fit_setup, tensor)},
	[FIT_PIPELINE] = {"pipeline_parallel", offsetof(struct fit_setup, pipeline)},
	[FIT_CONTEXT] = {"context_parallel", offsetof(struct fit_setup, context)},
	[FIT_DATA] = {"data_parallel", offsetof(struct fit_setup, data)},
	[FIT_PARAMETER_BYTES] = {"bytes_of_a_parameter", offsetof(struct fit_setup, parameter_bytes)},
	[FIT_GRADIENT_BYTES] = {"bytes_of_a_gradient", offsetof(struct fit_setup, gradient_bytes)},
	[FIT_OPTIMIZER_BYTES] = {"bytes_of_optimizer", offsetof(struct fit_setup, optimizer_bytes)}};

const char *fit_input_name(enum fit_input input)
{
	return inputs[input].name;
}

double *fit_input_of(struct fit_setup *setup, enum fit_input input)
{
	void *at = (char *)setup + inputs[input].offset;

	return at;
}

/* A model is spread over whole devices, a whole number of times. */
static void check_degrees(struct fit_settings *out)
{
	struct fit_setup *f = &out->setup;

	out->is_spread &= fit_is_whole(f->tensor) && fit_is_whole(f->pipeline) && fit_is_whole(f->context) &&
			  fit_is_whole(f->replicas) && fit_has_whole_copies(f);
	if (!out->is_spread)
		f->data = NAN;
	for (int i = 0; i < FIT_INPUTS; i++) {
		double *value = fit_input_of(f, (enum fit_input)i);
		if (!isfinite(*value) || *value <= 0)
			*value = NAN;
	}
}

static double quantity(const struct api *api, const struct advice_facts *facts, const char *name)
{
	return advice_quantity(api->advice, span_from(name), facts->settings, facts->count);
}

void fit_settings_read(const struct api *api, const struct advice_facts *facts, struct fit_settings *out)
{
	struct fit_setup *f = &out->setup;

	*out = (struct fit_settings){.unread = SPAN(""), .is_spread = true, .setup.replicas = 1};
	read_model(facts, out);
	read_precision(facts, f);
	read_memory_saving(facts, f);
	f->micro_batch = quantity(api, facts, "micro");
	f->tensor = quantity(api, facts, "tp");
	f->pipeline = quantity(api, facts, "pp");
	f->context = quantity(api, facts, "cp");
	f->data = quantity(api, facts, "data");
	read_sharding(facts, out);
	check_degrees(out);
	out->other = find_other(facts);
	if (out->other)
		f->parameters = f->layers = NAN;
}

void fit_settings_place(struct fit_settings *settings, double ranks)
{
	struct fit_setup *f = &settings->setup;

	f->data = ranks / (f->tensor * f->pipeline * f->context);
	settings->is_spread = true;
	check_degrees(settings);
}
