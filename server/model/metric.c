#include "model/metric.h"

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

/* Lower-case letters and digits only, so that "val:Loss", "val_loss" and "val/loss" read alike. */
static struct span folded(struct span metric, char out[METRIC_NAME_MAX_BYTES])
{
	size_t len = 0;

	for (size_t i = 0; i < metric.len && len < METRIC_NAME_MAX_BYTES; i++) {
		char c = metric.ptr[i];
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			out[len++] = c;
	}
	return span_of(out, len);
}

static bool has(struct span s, const char *word)
{
	return span_find(s, span_from(word)) >= 0;
}

static bool is_evaluation(struct span name)
{
	return has(name, "val") || has(name, "eval") || has(name, "test") || has(name, "dev");
}

enum role role_guess(struct span metric)
{
	char text[METRIC_NAME_MAX_BYTES];
	struct span name = folded(metric, text);

	if (span_equal(name, SPAN("lr")) || has(name, "learningrate"))
		return ROLE_LEARNING_RATE;
	if (has(name, "gradnorm") || has(name, "gradientnorm"))
		return ROLE_GRAD_NORM;
	if (has(name, "lossscale"))
		return ROLE_OTHER;
	if (has(name, "loss") || has(name, "perplexity"))
		return has(name, "perplexity") ? ROLE_OTHER : is_evaluation(name) ? ROLE_EVAL_LOSS : ROLE_LOSS;
	if (has(name, "mfu"))
		return ROLE_MFU;
	if (has(name, "throughput") || has(name, "persec") || has(name, "tflops") || span_ends_with(name, SPAN("tps")))
		return ROLE_THROUGHPUT;
	if (has(name, "steptime") || has(name, "itertime") || has(name, "timeperiteration") || has(name, "timeperstep"))
		return ROLE_STEP_TIME;
	return ROLE_OTHER;
}
