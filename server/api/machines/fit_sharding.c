#include "api/machines/fit_sharding.h"

#include "api/machines/fit_names.h"

#include <math.h>

/* ---- as one setting says it ---- */

enum {
	SHARDS_UNSAID = -1,
	SHARDS_VAGUELY = -2, /* that something is, and not what; another setting may say that */
	SHARDS_OTHERWISE = -3, /* in a way that is not followed */
	SHARDS_NOT = -4 /* it is switched off: more than a default that is printed */
};

enum sharder { SHARDER_FSDP, SHARDER_DEEPSPEED, SHARDER_ANY, SHARDERS };

static int stage_of_number(const struct advice_setting *setting)
{
	double stage = fit_number_of(setting);

	if (stage >= 0 && stage <= 3 && fit_is_whole(stage + 1))
		return (int)stage;
	return fit_is_off(setting) ? SHARDS_UNSAID : SHARDS_VAGUELY;
}

/* A switch, or a name that means one. "None" and nothing are what is printed of one that nobody touched. */
static int stage_of_switch(const struct advice_setting *setting)
{
	struct span text = span_trim(setting->text);

	if (span_equal_fold(text, SPAN("false")) || span_equal_fold(text, SPAN("no")) || fit_number_of(setting) == 0)
		return SHARDS_NOT;
	return fit_is_off(setting) ? SHARDS_UNSAID : SHARDS_VAGUELY;
}

/* FSDP's words, of PyTorch and of transformers. */
static int stage_of_fsdp(const struct advice_setting *setting)
{
	if (fit_says(setting, "full_shard"))
		return 3;
	if (fit_says(setting, "shard_grad_op"))
		return 2;
	if (fit_says(setting, "no_shard"))
		return 0;
	return fit_says(setting, "hybrid") ? SHARDS_OTHERWISE : stage_of_switch(setting);
}

/* The same, or its number in PyTorch's ShardingStrategy, which accelerate's files have. */
static int stage_of_sharding_strategy(const struct advice_setting *setting)
{
	static const int stages[] = {SHARDS_UNSAID, 3, 2, 0};
	double number = fit_number_of(setting);

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
		if (fit_says(setting, stages[i]))
			return (int)i + 1;
	if (span_equal_fold(text, SPAN("fsdp")) || span_equal_fold(text, SPAN("fsdp_cpu_offload")))
		return 3;
	bool is_other = fit_says(setting, "deepspeed") || fit_says(setting, "fsdp") || fit_says(setting, "sharded") ||
			fit_says(setting, "model_parallel") || fit_says(setting, "modelparallel");
	if (is_other)
		return SHARDS_VAGUELY;
	return fit_says(setting, "ddp") ? SHARDS_NOT : SHARDS_UNSAID;
}

/* Accelerate's. */
static int stage_of_distributed_type(const struct advice_setting *setting)
{
	struct span text = span_trim(setting->text), part, last = SPAN("");

	while (span_next(&text, '.', &part)) /* DistributedType.NO */
		last = part;
	if (fit_says(setting, "multi_") || span_equal_fold(last, SPAN("no")))
		return SHARDS_NOT;
	return fit_is_off(setting) ? SHARDS_UNSAID : SHARDS_VAGUELY;
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

	return is_version && !fit_is_on(setting) ? SHARDS_UNSAID : stage_of_switch(setting);
}

/* NeMo's optimizer of that name keeps a part of its state on each rank, and which gradients depends on its own settings. */
static int stage_of_optimizer(const struct advice_setting *setting)
{
	return fit_says(setting, "distributed_fused_adam") ? SHARDS_VAGUELY : SHARDS_UNSAID;
}

static const struct way {
	const char *const *names;
	int (*stage)(const struct advice_setting *setting);
	enum sharder sharder;
} ways[] = {
	{(const char *const[FIT_NAMES_MAX]){
		 "zero_stage", "zero_optimization.stage", "zero.stage", "strategy.init_args.stage", "strategy.stage"},
		stage_of_number, SHARDER_DEEPSPEED},
	{(const char *const[FIT_NAMES_MAX]){"zero_optimization"}, stage_of_switch, SHARDER_DEEPSPEED},
	{(const char *const[FIT_NAMES_MAX]){"use_fsdp", "enable_fsdp"}, stage_of_switch, SHARDER_FSDP},
	{(const char *const[FIT_NAMES_MAX]){"fsdp"}, stage_of_fsdp, SHARDER_FSDP},
	{(const char *const[FIT_NAMES_MAX]){"sharding_strategy", "fsdp_sharding_strategy"}, stage_of_sharding_strategy,
		SHARDER_FSDP},
	{fit_strategy_names, stage_of_strategy, SHARDER_ANY},
	{(const char *const[FIT_NAMES_MAX]){"distributed_type"}, stage_of_distributed_type, SHARDER_ANY},
	{(const char *const[FIT_NAMES_MAX]){"deepspeed", "use_deepspeed", "deepspeed_config", "deepspeed_config_file"},
		stage_of_deepspeed, SHARDER_DEEPSPEED},
	{(const char *const[FIT_NAMES_MAX]){"accelerate_config", "accelerate_config_file", "config_file"},
		stage_of_file, SHARDER_ANY},
	{(const char *const[FIT_NAMES_MAX]){"optim.name", "optimizer.name", "optimizer", "optim"}, stage_of_optimizer,
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
	if (fit_says(setting, "deepspeed"))
		return SHARDER_DEEPSPEED;
	return fit_says(setting, "fsdp") ? SHARDER_FSDP : SHARDER_ANY;
}

/* The first stage that is not 0 counts: 0 is a default that is printed beside what is on. FSDP's 0 is said, and a strategy the default. */
static void note_shards(struct shards *s, const struct way *way, const struct advice_setting *setting)
{
	int stage = way->stage(setting);
	enum sharder sharder = sharder_of(way, setting);
	bool is_whole = stage == 0 && sharder == SHARDER_FSDP;
	bool is_default = way->names == fit_strategy_names && sharder == SHARDER_FSDP && s->stage[sharder] == 0;

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
	static const char *const first[FIT_NAMES_MAX] = {"use_distributed_optimizer", "shard_optimizer_state"};
	struct shards shards = {.stage = {SHARDS_UNSAID, SHARDS_UNSAID, SHARDS_UNSAID}};
	const struct advice_setting *setting;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		for (size_t at = 0; (setting = fit_find_next(facts, ways[i].names, &at));)
			note_shards(&shards, &ways[i], setting);
	*unread = find_unread(&shards);
	int fsdp = shards.stage[SHARDER_FSDP], zero = shards.stage[SHARDER_DEEPSPEED];
	if (*unread || (fsdp <= 0 && zero <= 0))
		return fit_is_on(fit_find(facts, first));
	return fsdp <= 0 || (zero > 0 && zero < fsdp) ? zero : fsdp; /* of two the one that needs more */
}

static void set_unread(struct fit_sharding *out, struct span key)
{
	out->unread = key;
	span_take(&out->unread, SPAN("hp."));
}

/* Whole copies of what Megatron's distributed optimizer and its FSDP shard within a group. */
static void read_copies(const struct advice_facts *facts, struct fit_setup *f, struct fit_sharding *out)
{
	static const char *const copies[FIT_NAMES_MAX] = {"num_distributed_optimizer_instances"};
	static const char *const outer[FIT_NAMES_MAX] = {"outer_dp_sharding_strategy"};
	const struct advice_setting *across = fit_find(facts, outer);
	double count = fit_number_of(fit_find(facts, copies));

	if (!(count > 1))
		return;
	f->replicas = count;
	if (across && !fit_is_off(across))
		set_unread(out, across->key);
}

/* Megatron's two FSDPs; false: neither is on. What its own one shards without a word has changed with its versions. */
static bool read_megatron(const struct advice_facts *facts, struct fit_setup *f, struct fit_sharding *out)
{
	static const char *const torch[FIT_NAMES_MAX] = {"use_torch_fsdp2"},
				 *const own[FIT_NAMES_MAX] = {"use_megatron_fsdp"},
				 *const custom[FIT_NAMES_MAX] = {"use_custom_fsdp"},
				 *const strategy[FIT_NAMES_MAX] = {"data_parallel_sharding_strategy"},
				 *const frees[FIT_NAMES_MAX] = {"torch_fsdp2_reshard_after_forward"};
	static const char *const stages[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
	const struct advice_setting *said = fit_find(facts, strategy), *freed = fit_find(facts, frees);
	const struct advice_setting *flag =
		fit_is_on(fit_find(facts, own)) ? fit_find(facts, own) : fit_find(facts, custom);

	if (fit_is_on(fit_find(facts, torch))) {
		f->zero_stage = 3;
		if (freed && fit_is_off(freed))
			set_unread(out, freed->key);
		return true;
	}
	if (!fit_is_on(flag))
		return false;
	read_copies(facts, f, out);
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
	const char *const names[FIT_NAMES_MAX] = {name};
	double value = fit_number_of(fit_find(facts, names));

	return isnan(value) ? usual : value;
}

static bool is_torchtitan(const struct advice_facts *facts)
{
	static const char *const names[FIT_NAMES_MAX] = {"parallelism.data_parallel_shard_degree",
		"parallelism.data_parallel_replicate_degree", "parallelism.tensor_parallel_degree",
		"parallelism.pipeline_parallel_degree", "parallelism.context_parallel_degree"};

	return fit_find(facts, names) != NULL;
}

/* It keeps what it trains in 32 bits, and computes in 16 where FSDP does that or nothing but data is parallel. */
static void read_titan_precision(const struct advice_facts *facts, struct fit_setup *f)
{
	static const char *const kept[FIT_NAMES_MAX] = {"training.dtype"}, *const computed[FIT_NAMES_MAX] = {
										   "training.mixed_precision_param"};
	const struct advice_setting *mixed = fit_find(facts, computed);
	bool is_kept_in_16 = fit_says(fit_find(facts, kept), "16"), is_alone = f->tensor == 1 && f->pipeline == 1;
	bool is_mixed = (!mixed || fit_says(mixed, "16")) && (is_alone || (f->zero_stage == 3 && fit_shards(f) != 1));

	f->parameter_bytes = f->gradient_bytes = is_kept_in_16 ? 2 : 4;
	f->optimizer_bytes = fit_is_adam(facts) ? 2 * f->parameter_bytes : NAN;
	f->is_16_bit = is_kept_in_16 || is_mixed;
}

/* FSDP over the ranks that the other degrees leave, without a word. Where parameters stay gathered between forward and backward, as
 * in its pipelines, it takes what no formula here counts. */
static void read_torchtitan(const struct advice_facts *facts, struct fit_setup *f, struct fit_sharding *out)
{
	static const char *const reshards[FIT_NAMES_MAX] = {"parallelism.fsdp_reshard_after_forward"};
	const struct advice_setting *said = fit_find(facts, reshards);
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
	if (f->zero_stage && (fit_says(said, "never") || (f->pipeline > 1 && !fit_says(said, "always"))))
		set_unread(out, said ? said->key : span_from(*reshards));
}

void fit_sharding_read(const struct advice_facts *facts, struct fit_setup *f, struct fit_sharding *out)
{
	const struct advice_setting *unread = NULL;

	if (is_torchtitan(facts)) {
		read_torchtitan(facts, f, out);
		return;
	}
	if (read_megatron(facts, f, out))
		return;
	f->zero_stage = read_stage(facts, &unread);
	if (f->zero_stage == 1)
		read_copies(facts, f, out);
	if (unread)
		set_unread(out, unread->key);
}
