#include "model/metrics/metric.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int higher;
} table[ROLE_COUNT] = {
	[ROLE_OTHER] = {"other", 0},
	[ROLE_LOSS] = {"loss", -1},
	[ROLE_EVAL_LOSS] = {"eval_loss", -1},
	[ROLE_THROUGHPUT] = {"throughput", 1},
	[ROLE_STEP_TIME] = {"step_time", -1},
	[ROLE_LEARNING_RATE] = {"learning_rate", 0},
	[ROLE_GRAD_NORM] = {"grad_norm", 0},
	[ROLE_MFU] = {"mfu", 1},
	[ROLE_REWARD] = {"reward", 1},
	[ROLE_KL] = {"kl", 0},
	[ROLE_ENTROPY] = {"entropy", 0},
	[ROLE_RESPONSE_LENGTH] = {"response_length", 0},
	[ROLE_CLIP_FRACTION] = {"clip_fraction", 0},
	[ROLE_ROLLOUT_TIME] = {"rollout_time", -1},
	[ROLE_BENCHMARK] = {"benchmark", 0},
};

const char *role_name(enum role role)
{
	return table[(unsigned)role < ROLE_COUNT ? role : ROLE_OTHER].name;
}

int role_higher(enum role role)
{
	return table[(unsigned)role < ROLE_COUNT ? role : ROLE_OTHER].higher;
}

const char *role_list(char text[ROLE_LIST_BYTES])
{
	size_t len = 0;

	for (unsigned i = ROLE_OTHER + 1; i < ROLE_COUNT; i++)
		len += (size_t)snprintf(text + len, ROLE_LIST_BYTES - len, "%s, ", table[i].name);
	snprintf(text + len, ROLE_LIST_BYTES - len, "%s", table[ROLE_OTHER].name);
	return text;
}

bool role_parse(struct span name, enum role *out)
{
	for (unsigned i = 0; i < ROLE_COUNT; i++)
		if (span_equal(name, span_from(table[i].name))) {
			*out = (enum role)i;
			return true;
		}
	return false;
}

static bool says_evaluation(struct span name)
{
	return metric_words_have(
		name, "_val_ _valid_ _validation_ _eval_ _evaluation_ _test_ _dev_ _heldout_ _held_out_");
}

/* `name` holds "loss_" at its end or inside: is it the loss itself? "loss_scale" and "glossary" are not. */
static enum role role_of_loss(struct span name)
{
	if (metric_words_have(
		    name, "loss_scal loss_weight loss_fn_ loss_func loss_coef loss_count loss_mask loss_type gloss_"))
		return ROLE_OTHER;
	bool is_evaluation = says_evaluation(name) ||
			     metric_words_have(name, "_valloss_ _validloss_ _evalloss_ _testloss_ _devloss_");
	return is_evaluation ? ROLE_EVAL_LOSS : ROLE_LOSS;
}

/*
 * Of post-training, as verl, slime, TRL, OpenRLHF, NeMo-RL, prime-rl, Stable-Baselines3 and rsl_rl call them. Such a name says
 * nothing else: one of several rewards, an extreme, a deviation, a coefficient and what an evaluation got are other things.
 */
static const struct {
	enum role role;
	const char *means; /* one of these is in the name */
	const char *beside; /* each of its words is one of these or of those below */
} rollouts[] = {
	{ROLE_REWARD, "_reward_ _rewards_ _rew_ _episodic_return_ _episode_return_",
		"reward rewards rew raw env environment episode episodic ep return total rlhf score scores"},
	{ROLE_KL, "_kl_ _kld_ _approxkl_",
		"kl kld approx approxkl divergence div ref reference old mismatch generation gen error token seq sequence"},
	{ROLE_ENTROPY, "_entropy_", "entropy loss action token"},
	{ROLE_RESPONSE_LENGTH,
		"_response_length_ _response_lengths_ _response_len_ _response_tokens_ _completion_length_ "
		"_completions_mean_length_ _generation_length_ _gen_length_ _gen_len_ _gen_tokens_per_sample_ _output_length_",
		"response completion completions generation gen output length lengths len tokens per sample"},
	{ROLE_CLIP_FRACTION, "_clip_fraction_ _clip_frac_ _clipfrac_ _clip_ratio_",
		"clip clipfrac frac fraction ratio region pg"},
	{ROLE_ROLLOUT_TIME,
		"_rollout_time_ _timing_s_gen_ _generation_time_ _generate_time_ _gen_time_ _collection_time_ "
		"_time_generation_ _timing_generation_ _time_generate_completions_",
		"time timing s sec seconds perf gen generate generation completions collection"},
};
static const char rollout_words[] = "train training trainer rollout rollouts metrics metric stats all mean avg average "
				    "global actor critic policy objective agent batch ppo grpo";

static enum role role_of_rollout(struct span name)
{
	for (size_t i = 0; i < sizeof rollouts / sizeof *rollouts; i++) {
		struct span rest = span_skip(name, 1), word;
		bool is_all = metric_words_have(name, rollouts[i].means);
		while (is_all && span_next(&rest, '_', &word))
			is_all = !word.len || metric_word_is_of(word, rollouts[i].beside) ||
				 metric_word_is_of(word, rollout_words);
		if (is_all)
			return rollouts[i].role;
	}
	return ROLE_OTHER;
}

enum role role_guess(struct span metric)
{
	char text[METRIC_WORDS_MAX_BYTES];
	struct span name = metric_words(metric, text);

	if (span_ends_with(name, SPAN("_count_")) || span_ends_with(name, SPAN("_bucket_")))
		return ROLE_OTHER; /* how many were observed */
	if (metric_words_have(name, "_lr_ learning_rate learningrate"))
		return ROLE_LEARNING_RATE;
	if (metric_words_have(name, "grad_norm gradnorm gradient_norm gradientnorm"))
		return ROLE_GRAD_NORM;
	enum role of_rollout = role_of_rollout(name);
	if (of_rollout != ROLE_OTHER)
		return of_rollout;
	if (metric_words_have(name, "loss_"))
		return role_of_loss(name);
	if (metric_words_have(name, "_mfu_"))
		return ROLE_MFU;
	if (metric_words_have(name,
		    "step_time steptime iter_time iteration_time batch_time time_per_iter time_per_step time_per_batch "
		    "_per_step_ _per_iter_ _per_iteration_ _per_it_ _s_it_ _s_step_ _s_iter_ _ms_step_"))
		return ROLE_STEP_TIME;
	if (metric_words_have(name, "throughput_total_")) /* OLMo's: what has been done since the start */
		return ROLE_OTHER;
	if (metric_words_have(name,
		    "throughput _per_s_ _per_sec persec _tps_ flops _tokens_s_ _tok_s_ _toks_s_ _samples_s_ _sample_s_ "
		    "_images_s_ _img_s_ _it_s_ _its_s_ _iter_s_ _steps_s_ _tokens_sec _samples_sec _images_sec _it_sec"))
		return ROLE_THROUGHPUT;
	return ROLE_OTHER;
}

bool metric_is_score(struct span metric)
{
	char text[METRIC_WORDS_MAX_BYTES];
	struct span name = metric_words(metric, text);

	return metric_words_have(name, "acc_ accuracy _auc_") && !metric_words_have(name, "loss");
}

bool metric_is_evaluation(struct span metric)
{
	char text[METRIC_WORDS_MAX_BYTES];
	struct span name = metric_words(metric, text);

	if (!says_evaluation(name) && !metric_words_have(name, "_valacc_ _validacc_ _evalacc_ _testacc_ _devacc_"))
		return false;
	/* of the training's own steps; a value, a deviation, a device; how much of a batch is valid; how often it is done */
	return !metric_words_have(name,
		"_train_ _training_ _max_val_ _min_val_ _mean_val_ _avg_val_ _abs_val_ _std_dev_ _dev_mem _dev_util "
		"_dev_temp _dev_id_ _valid_tok _valid_samp _valid_seq _valid_frac _valid_ratio _valid_count_ "
		"_num_valid_ _n_valid_ _eval_interval_ _eval_iters_ _eval_every_ _eval_steps_ _eval_freq");
}

struct span metric_bare_name(struct span metric)
{
	ptrdiff_t labels = span_find_char(metric, '{');

	return labels < 0 ? metric : span_of(metric.ptr, (size_t)labels);
}

bool metric_matches(struct span metric, struct span asked)
{
	if (metric.len <= asked.len)
		return span_equal(metric, asked);
	return asked.len && metric.ptr[asked.len] == '{' && memcmp(metric.ptr, asked.ptr, asked.len) == 0;
}
