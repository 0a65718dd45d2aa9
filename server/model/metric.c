#include "model/metric.h"

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

enum { WORDS_MAX_BYTES = 2 * METRIC_NAME_MAX_BYTES + 2 };

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* "_val_loss_" of "val:Loss", "val_loss", "val/loss" and "valLoss": words can be looked for as a whole. */
static struct span words_of(struct span metric, char out[WORDS_MAX_BYTES])
{
	size_t len = 0;
	bool was_small = false;

	out[len++] = '_';
	for (size_t i = 0; i < metric.len && i < METRIC_NAME_MAX_BYTES; i++) {
		char c = metric.ptr[i];
		if (is_upper(c) && was_small)
			out[len++] = '_';
		was_small = is_plain(c);
		if (is_upper(c) || was_small)
			out[len++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
		else if (out[len - 1] != '_')
			out[len++] = '_';
	}
	if (out[len - 1] != '_')
		out[len++] = '_';
	return span_of(out, len);
}

/* words: several of "_word_" or parts of words, separated by blanks. */
static bool has_any(struct span s, const char *words)
{
	struct span rest = span_from(words), word;

	while (span_next(&rest, ' ', &word))
		if (span_find(s, word) >= 0)
			return true;
	return false;
}

/* `name` holds "loss_" at its end or inside: is it the loss itself? "loss_scale" and "glossary" are not. */
static enum role role_of_loss(struct span name)
{
	if (has_any(name, "loss_scal loss_weight loss_fn_ loss_func loss_coef loss_count loss_mask loss_type gloss_"))
		return ROLE_OTHER;
	bool is_evaluation =
		has_any(name, "_val_ _valid_ _validation_ _eval_ _evaluation_ _test_ _dev_ _heldout_ _held_out_ "
			      "_valloss_ _validloss_ _evalloss_ _testloss_ _devloss_");
	return is_evaluation ? ROLE_EVAL_LOSS : ROLE_LOSS;
}

enum role role_guess(struct span metric)
{
	char text[WORDS_MAX_BYTES];
	struct span name = words_of(metric, text);

	if (has_any(name, "_lr_ learning_rate learningrate"))
		return ROLE_LEARNING_RATE;
	if (has_any(name, "grad_norm gradnorm gradient_norm gradientnorm"))
		return ROLE_GRAD_NORM;
	if (has_any(name, "loss_"))
		return role_of_loss(name);
	if (has_any(name, "_mfu_"))
		return ROLE_MFU;
	if (has_any(name,
		    "step_time steptime iter_time iteration_time batch_time time_per_iter time_per_step time_per_batch "
		    "_per_step_ _per_iter_ _per_iteration_ _per_it_ _s_it_ _s_step_ _s_iter_ _ms_step_"))
		return ROLE_STEP_TIME;
	if (has_any(name, "throughput_total_")) /* OLMo's: what has been done since the start */
		return ROLE_OTHER;
	if (has_any(name,
		    "throughput _per_s_ _per_sec persec _tps_ flops _tokens_s_ _tok_s_ _toks_s_ _samples_s_ _sample_s_ "
		    "_images_s_ _img_s_ _it_s_ _its_s_ _iter_s_ _steps_s_ _tokens_sec _samples_sec _images_sec _it_sec"))
		return ROLE_THROUGHPUT;
	return ROLE_OTHER;
}

bool metric_is_score(struct span metric)
{
	char text[WORDS_MAX_BYTES];
	struct span name = words_of(metric, text);

	return has_any(name, "acc_ accuracy _auc_") && !has_any(name, "loss");
}

bool metric_matches(struct span metric, struct span asked)
{
	if (metric.len <= asked.len)
		return span_equal(metric, asked);
	return asked.len && metric.ptr[asked.len] == '{' && memcmp(metric.ptr, asked.ptr, asked.len) == 0;
}
