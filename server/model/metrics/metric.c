#include "model/metrics/metric.h"

#include <string.h>

static const char *const names[ROLE_COUNT] = {
	[ROLE_OTHER] = "other",
	[ROLE_LOSS] = "loss",
	[ROLE_EVAL_LOSS] = "eval_loss",
	[ROLE_THROUGHPUT] = "throughput",
	[ROLE_STEP_TIME] = "step_time",
	[ROLE_LEARNING_RATE] = "learning_rate",
	[ROLE_GRAD_NORM] = "grad_norm",
	[ROLE_MFU] = "mfu",
};

const char *role_name(enum role role)
{
	return (unsigned)role < ROLE_COUNT ? names[role] : names[ROLE_OTHER];
}

bool role_parse(struct span name, enum role *out)
{
	for (unsigned i = 0; i < ROLE_COUNT; i++)
		if (span_equal(name, span_from(names[i]))) {
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

bool metric_matches(struct span metric, struct span asked)
{
	if (metric.len <= asked.len)
		return span_equal(metric, asked);
	return asked.len && metric.ptr[asked.len] == '{' && memcmp(metric.ptr, asked.ptr, asked.len) == 0;
}
