#include "api/machines/fit_sharding.h"

#include "api/machines/fit_trainers.h"

#include <math.h>

/* ---- as one setting says it ---- */

enum {
	SHARDS_UNSAID = -1,
	SHARDS_VAGUELY = -2, /* that something is, and not what; another setting may say that */
	SHARDS_OTHERWISE = -3, /* in a way that is not followed */
	SHARDS_NOT = -4, /* it is switched off: more than a default that is printed */
	SHARDS_BY_DEFAULT = -5 /* all of it, where something says that FSDP is on and nothing says how */
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
	if (fit_says(setting, "hybrid"))
		return fit_says(setting, "zero2") ? 2 : 3;
	return stage_of_switch(setting);
}

/* The same, or its number in PyTorch's ShardingStrategy, which accelerate's files have. */
static int stage_of_sharding_strategy(const struct advice_setting *setting)
{
	static const int stages[] = {SHARDS_UNSAID, 3, 2, 0, 3, 2};
	double number = fit_number_of(setting);

	if (isnan(number))
		return stage_of_fsdp(setting);
	return number >= 0 && number <= 5 && fit_is_whole(number + 1) ? stages[(int)number] : SHARDS_OTHERWISE;
}

/* HYBRID_SHARD and _HYBRID_SHARD_ZERO2, 4 and 5: as the others, but within a node alone. */
static bool is_hybrid(const struct advice_setting *setting)
{
	double number = fit_number_of(setting);

	return fit_says(setting, "hybrid") || number == 4 || number == 5;
}

/* FSDP2's, which accelerate takes for FULL_SHARD and SHARD_GRAD_OP; a number is of ranks that share what they gathered. */
static int stage_of_reshard(const struct advice_setting *setting)
{
	double ranks = fit_number_of(setting);

	if (fit_is_on(setting) || ranks > 1)
		return 3;
	if (span_equal_fold(span_trim(setting->text), SPAN("false")) || ranks == 0)
		return 2;
	return stage_of_fsdp(setting);
}

/* FSDP2 shards everything unless another one says otherwise. */
static int stage_of_version(const struct advice_setting *setting)
{
	return fit_number_of(setting) == 2 ? SHARDS_BY_DEFAULT : SHARDS_UNSAID;
}

/* SageMaker's library: over so many ranks, sharded data parallelism being MiCS (Zhang et al., 2022), and hybrid_shard_degree FSDP's. */
static int stage_of_degree(const struct advice_setting *setting)
{
	double ranks = fit_number_of(setting);

	return ranks > 1 ? 3 : ranks == 1 ? 0 : SHARDS_UNSAID;
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
	if (fit_says(setting, "fsdp") && fit_says(setting, "_shard"))
		return fit_says(setting, "hybrid") ? SHARDS_OTHERWISE
						   : stage_of_fsdp(setting); /* printed with its arguments */
	if (fit_says(setting, "fsdp") && fit_says(setting, "shard_grad_op"))
		return 2;
	bool is_other = fit_says(setting, "deepspeed") || fit_says(setting, "fsdp") || fit_says(setting, "sharded") ||
			fit_says(setting, "model_parallel") || fit_says(setting, "modelparallel");
	if (is_other)
		return SHARDS_VAGUELY;
	return fit_says(setting, "ddp") ? SHARDS_NOT : SHARDS_UNSAID;
}

/* Colossal-AI's: what shards is in its arguments. */
static int stage_of_plugin(const struct advice_setting *setting)
{
	static const char *const words[] = {"zero", "gemini", "3d", "fsdp"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (fit_says(setting, words[i]))
			return SHARDS_VAGUELY;
	return SHARDS_UNSAID;
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

static const char *const reshard_names[FIT_NAMES_MAX] = {"fsdp_reshard_after_forward", "reshard_after_forward"};
static const char *const group_names[FIT_NAMES_MAX] = {
	"sharded_data_parallel_degree", "hybrid_shard_degree", "fsdp_size"};

static const struct way {
	const char *const *names;
	int (*stage)(const struct advice_setting *setting);
	enum sharder sharder;
} ways[] = {
	{(const char *const[FIT_NAMES_MAX]){"zero_stage", "zero_optimization.stage", "zero.stage",
		 "strategy.init_args.stage", "strategy.stage", "deepspeed_stage"},
		stage_of_number, SHARDER_DEEPSPEED},
	{(const char *const[FIT_NAMES_MAX]){"zero_optimization", "zero_optimization_stage"}, stage_of_switch,
		SHARDER_DEEPSPEED},
	{reshard_names, stage_of_reshard, SHARDER_FSDP},
	{(const char *const[FIT_NAMES_MAX]){"fsdp_version", "fsdp_config.version"}, stage_of_version, SHARDER_FSDP},
	{(const char *const[FIT_NAMES_MAX]){"use_fsdp", "enable_fsdp"}, stage_of_switch, SHARDER_FSDP},
	{(const char *const[FIT_NAMES_MAX]){"fsdp"}, stage_of_fsdp, SHARDER_FSDP},
	{(const char *const[FIT_NAMES_MAX]){"sharding_strategy", "fsdp_sharding_strategy"}, stage_of_sharding_strategy,
		SHARDER_FSDP},
	{group_names, stage_of_degree, SHARDER_FSDP},
	{fit_strategy_names, stage_of_strategy, SHARDER_ANY},
	{(const char *const[FIT_NAMES_MAX]){"plugin"}, stage_of_plugin, SHARDER_ANY},
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
	const struct advice_setting *hybrid; /* what is within a node; NULL */
	bool has_default;
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
	if (stage == SHARDS_BY_DEFAULT)
		s->has_default = true;
	bool is_strategy = way->stage == stage_of_fsdp || way->stage == stage_of_sharding_strategy;
	if (stage > 1 && is_strategy && is_hybrid(setting))
		s->hybrid = setting;
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
	if (s->hybrid && s->stage[SHARDER_DEEPSPEED] > 0)
		return s->hybrid;
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

/* ZeRO stage 1 of those that know no other stages: Megatron-LM, SageMaker's library, Neuron's. */
static bool has_first_stage(const struct advice_facts *facts)
{
	static const char *const names[FIT_NAMES_MAX] = {"use_distributed_optimizer", "shard_optimizer_state", "zero1",
		"zero_1", "use_zero1", "use_zero_1", "zero_one_enabled", "use_zero1_optimizer",
		"use_zero_redundancy_optimizer"};
	const struct advice_setting *setting;

	for (size_t at = 0; (setting = fit_find_next(facts, names, &at));)
		if (fit_is_on(setting))
			return true;
	return false;
}

/* ---- groups within which shards stay ---- */

/* Over mics_shard_size ranks alone (MiCS: Zhang et al., 2022, section 3.1); with zero_hpz_partition_size a second copy of the parameters over so
 * many (hpZ of ZeRO++: Wang et al., 2023, section 3.2). DeepSpeed has both at stage 3 only. */
static void read_zero_groups(const struct advice_facts *facts, struct fit_setup *f, struct fit_unread *unread)
{
	static const char *const alone[FIT_NAMES_MAX] = {"mics_shard_size"};
	static const char *const second[FIT_NAMES_MAX] = {"zero_hpz_partition_size", "zpg"};
	const struct advice_setting *copy = fit_find(facts, second);
	double ranks = fit_number_of(fit_find(facts, alone)), copy_ranks = fit_number_of(copy);

	if (ranks > 0)
		f->group = ranks;
	if (!(copy_ranks > 1))
		return;
	f->second_group = copy_ranks;
	f->second_bytes = f->parameter_bytes;
	if (ranks > 0)
		fit_unread_add(unread, copy->key, FIT_HIDES_STATES);
}

/* "[2, 8]", "(2, 8)": two copies of eight ranks each. NaN: it is no such text. */
static double ranks_of_mesh(struct span text)
{
	struct span copies, ranks;
	double value, each;

	text = span_trim(text);
	if (text.len < 2 || (text.ptr[0] != '[' && text.ptr[0] != '('))
		return NAN;
	text = span_of(text.ptr + 1, text.len - 2);
	bool is_pair = span_next(&text, ',', &copies) && span_next(&text, ',', &ranks) && !span_trim(text).len;
	if (!is_pair || !span_parse_double(span_trim(copies), &value) || !span_parse_double(span_trim(ranks), &each))
		return NAN;
	return each;
}

/* PyTorch's HYBRID_SHARD: what a group is said to be, else a node. */
static void read_hybrid(const struct advice_facts *facts, const struct advice_setting *hybrid, double ranks_per_node,
	struct fit_setup *f, struct fit_sharding *out, struct fit_unread *unread)
{
	static const char *const sizes[FIT_NAMES_MAX] = {
		"sharding_group_size", "hsdp_shard_size", "dp_shard_size", "data_parallel_shard_degree"};
	static const char *const meshes[FIT_NAMES_MAX] = {"device_mesh", "process_group"};
	const struct advice_setting *mesh = fit_find(facts, meshes);
	double ranks = fit_number_of(fit_find(facts, sizes));

	if (!(ranks > 0) && mesh && !fit_is_off(mesh)) {
		ranks = ranks_of_mesh(mesh->text);
		if (!(ranks > 0))
			fit_unread_add(unread, mesh->key, FIT_HIDES_STATES);
	}
	out->is_within_node = !(ranks > 0);
	f->group = out->is_within_node ? ranks_per_node : ranks;
	if (out->is_within_node && (f->tensor != 1 || f->pipeline != 1 || f->context != 1))
		fit_unread_add(unread, hybrid->key, FIT_HIDES_STATES);
}

/* *hybrid: NULL: nothing says so. */
static void read_fsdp_groups(const struct advice_facts *facts, const struct advice_setting *hybrid,
	double ranks_per_node, struct fit_setup *f, struct fit_sharding *out, struct fit_unread *unread)
{
	static const char *const copies[FIT_NAMES_MAX] = {
		"parallelism_config_dp_replicate_size", "dp_replicate_size", "data_parallel_replicate_degree"};
	double ranks = fit_number_of(fit_find(facts, group_names));
	double gathered = fit_number_of(fit_find(facts, reshard_names));
	double replicas = fit_number_of(fit_find(facts, copies));

	if (gathered > 1) { /* what backward finds: fully_shard(reshard_after_forward) in PyTorch's documentation */
		f->second_group = gathered;
		f->second_bytes = f->parameter_bytes;
	}
	if (ranks > 1)
		f->group = ranks;
	else if (replicas > 1)
		f->replicas = replicas;
	else if (hybrid)
		read_hybrid(facts, hybrid, ranks_per_node, f, out, unread);
}

/* ---- all that DeepSpeed and FSDP say ---- */

static void read_shards(const struct advice_facts *facts, double ranks_per_node, struct fit_setup *f,
	struct fit_sharding *out, struct fit_unread *unread)
{
	struct shards s = {.stage = {SHARDS_UNSAID, SHARDS_UNSAID, SHARDS_UNSAID}};
	const struct advice_setting *setting;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		for (size_t at = 0; (setting = fit_find_next(facts, ways[i].names, &at));)
			note_shards(&s, &ways[i], setting);
	int *fsdp = &s.stage[SHARDER_FSDP], zero = s.stage[SHARDER_DEEPSPEED];
	if (*fsdp < 0 && s.has_default && s.vague[SHARDER_FSDP])
		*fsdp = 3;
	setting = find_unread(&s);
	if (setting)
		fit_unread_add(unread, setting->key, FIT_HIDES_STATES);
	if (setting || (*fsdp <= 0 && zero <= 0)) {
		f->zero_stage = has_first_stage(facts);
		return;
	}
	bool is_zero = *fsdp <= 0 || (zero > 0 && zero < *fsdp);
	f->zero_stage = is_zero ? zero : *fsdp; /* of two the one that needs more */
	if (is_zero && zero == 3)
		read_zero_groups(facts, f, unread);
	if (!is_zero)
		read_fsdp_groups(facts, s.hybrid, ranks_per_node, f, out, unread);
}

void fit_sharding_read(const struct advice_facts *facts, double ranks_per_node, struct fit_setup *f,
	struct fit_sharding *out, struct fit_unread *unread)
{
	if (fit_torchtitan_read(facts, f, &out->is_spread, unread) || fit_torchtune_read(facts, f) ||
		fit_megatron_read(facts, f, unread))
		return;
	read_shards(facts, ranks_per_node, f, out, unread);
	if (f->zero_stage == 1)
		fit_copies_read(facts, f, unread);
}
