#include "fleet/lr_schedule.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 0.01

/* What trainers call it, the best first. */
static const char PEAK[] = "learning_rate max_lr peak_lr lr", LEAST[] = "min_lr lr_min eta_min min_learning_rate",
		  LEAST_FACTOR[] = "min_lr_factor min_lr_rate min_lr_ratio",
		  WARMUP[] =
			  "warmup_steps lr_warmup_iters lr_warmup_steps num_warmup_steps warmup_iters warmup_num_steps",
		  WARMUP_SHARE[] = "warmup_ratio lr_warmup_fraction warmup_fraction",
		  TOTAL[] = "lr_decay_iters lr_decay_steps max_steps train_iters max_iters num_train_steps total_steps",
		  SHAPE[] = "lr_scheduler_type lr_decay_style lr_schedule scheduler_type lr_scheduler decay_type",
		  DECAY[] = "lr_wsd_decay_iters num_decay_steps wsd_decay_steps", DECAY_SHARE[] = "decay_ratio",
		  DECAY_FORM[] = "lr_wsd_decay_style decay_type",
		  CLIP[] = "clip_grad max_grad_norm gradient_clipping grad_clip gradient_clip_val max_norm";

/* The first of them that is said. */
static bool find(const struct lr_settings *settings, const char *names, struct span *key, struct span *value)
{
	struct span rest = span_from(names), name;

	while (span_next(&rest, ' ', &name))
		if (settings->find(settings->context, name, key, value))
			return true;
	return false;
}

/* The first of them that is said as a number of at least that much; NaN: none is. "None" and -1 say that another one counts. */
static double number_from(const struct lr_settings *settings, const char *names, double least, struct span *from)
{
	struct span rest = span_from(names), name, key, value;
	double out;

	while (span_next(&rest, ' ', &name)) {
		if (!settings->find(settings->context, name, &key, &value) ||
			!span_parse_double(span_trim(value), &out) || !isfinite(out) || out < least)
			continue;
		if (from)
			*from = key;
		return out;
	}
	return NAN;
}

/* NaN: nobody says it, or it is no number. */
static double number(const struct lr_settings *settings, const char *names, struct span *from)
{
	return number_from(settings, names, -INFINITY, from);
}

static bool is_yes(struct span value)
{
	return span_equal_fold(value, SPAN("true")) || span_equal(value, SPAN("1"));
}

/* ---- what is declared ---- */

static const struct {
	const char *name;
	enum lr_shape shape;
} shapes[] = {
	{"constant", LR_CONSTANT},
	{"constant_with_warmup", LR_CONSTANT},
	{"linear", LR_LINEAR},
	{"cosine", LR_COSINE},
	{"cosine_with_min_lr", LR_COSINE},
	{"inverse_sqrt", LR_INVERSE_SQRT},
	{"inverse-square-root", LR_INVERSE_SQRT},
	{"wsd", LR_WSD},
	{"warmup_stable_decay", LR_WSD},
};

/* "SchedulerType.COSINE" is what Python prints of it. Others (cosine with restarts, polynomial, …) are not followed. */
static enum lr_shape shape_named(struct span text)
{
	struct span last = text;

	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '.')
			last = span_skip(text, i + 1);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (span_equal_fold(last, span_from(shapes[i].name)))
			return shapes[i].shape;
	return LR_NONE;
}

/* nanoGPT has no name for it: a switch, and a cosine. torchtitan names the form of WSD's decay alone, and has a share of None where
 * all of it is decay. */
static enum lr_shape find_shape(const struct lr_settings *settings, struct span *from)
{
	struct span key, value;

	if (!isnan(number(settings, DECAY_SHARE, NULL)) && !find(settings, "lr_scheduler_type", &key, &value)) {
		*from = SPAN("decay_ratio");
		return LR_WSD;
	}
	if (find(settings, SHAPE, &key, &value)) {
		*from = key;
		return shape_named(span_trim(value));
	}
	if (!find(settings, "decay_lr", &key, &value))
		return LR_NONE;
	*from = key;
	return is_yes(span_trim(value)) ? LR_COSINE : LR_CONSTANT;
}

/* Others than a line (Megatron's default is exponential) are not followed. */
static bool is_decay_followed(const struct lr_settings *settings)
{
	struct span key, value;

	return !find(settings, DECAY_FORM, &key, &value) || span_equal_fold(span_trim(value), SPAN("linear"));
}

/* As transformers and Megatron do: steps first, then a share of all. */
static double find_warmup(const struct lr_settings *settings, double total, struct span *from)
{
	double steps = number(settings, WARMUP, from), share;

	if (steps > 0)
		return steps;
	share = number(settings, WARMUP_SHARE, from);
	return share > 0 && total > 0 ? ceil(share * total) : 0;
}

static double find_decay(const struct lr_settings *settings, double total)
{
	double steps = number(settings, DECAY, NULL), share = number(settings, DECAY_SHARE, NULL);

	if (steps > 0)
		return steps;
	return share > 0 ? round(share * total) : NAN;
}

static double find_least(const struct lr_settings *settings, double peak)
{
	double least = number(settings, LEAST, NULL), factor = number(settings, LEAST_FACTOR, NULL);

	if (least >= 0)
		return least;
	return factor >= 0 ? factor * peak : 0;
}

void lr_schedule_declare(const struct lr_settings *settings, double total_steps, struct lr_schedule *out)
{
	*out = (struct lr_schedule){
		.shape_from = SPAN(""), .peak_from = SPAN(""), .warmup_from = SPAN(""), .total_from = SPAN("")};
	enum lr_shape shape = find_shape(settings, &out->shape_from);
	out->peak = number(settings, PEAK, &out->peak_from);
	out->total = number_from(settings, TOTAL, 1, &out->total_from);
	if (isnan(out->total))
		out->total = total_steps;
	out->warmup = find_warmup(settings, out->total, &out->warmup_from);
	out->least = find_least(settings, out->peak);
	out->decay = shape == LR_WSD ? find_decay(settings, out->total) : 0;
	bool has_end = out->total > out->warmup;
	bool needs_end = shape == LR_LINEAR || shape == LR_COSINE || shape == LR_WSD;
	if (out->peak > 0 && (has_end || !needs_end) && !isnan(out->decay) &&
		(shape != LR_INVERSE_SQRT || out->warmup > 0) && (shape != LR_WSD || is_decay_followed(settings)))
		out->shape = shape;
}

double lr_find_clip(const struct lr_settings *settings, struct span *from)
{
	double clip = number(settings, CLIP, from);

	return clip > 0 ? clip : NAN;
}

/* ---- the rate ---- */

/* 1 at the beginning of the decay, 0 at its end. */
static double part(const struct lr_schedule *s, double step)
{
	double from = s->shape == LR_WSD ? s->total - s->decay : s->warmup;
	double left = (s->total - step) / (s->total - from);

	return fmin(1, fmax(0, left));
}

double lr_schedule_at(const struct lr_schedule *s, double step)
{
	if (step < s->warmup)
		return s->peak * fmax(0, step) / s->warmup;
	switch (s->shape) {
	case LR_LINEAR:
	case LR_WSD:
		return s->least + (s->peak - s->least) * part(s, step);
	case LR_COSINE:
		return s->least + (s->peak - s->least) * 0.5 * (1 + cos(M_PI * (1 - part(s, step))));
	case LR_INVERSE_SQRT:
		return fmax(s->least, s->peak * sqrt(s->warmup / step));
	default:
		return s->peak;
	}
}

bool lr_schedule_is_kept(const struct lr_schedule *schedule, double step, double printed)
{
	double low = INFINITY, high = -INFINITY;

	for (int i = -1; i <= 1; i++) {
		double rate = lr_schedule_at(schedule, step + i);
		low = fmin(low, rate);
		high = fmax(high, rate);
	}
	return printed >= low * (1 - TOLERANCE) && printed <= high * (1 + TOLERANCE);
}

const char *lr_shape_name(enum lr_shape shape)
{
	static const char *const names[LR_SHAPE_COUNT] = {[LR_NONE] = "",
		[LR_CONSTANT] = "constant",
		[LR_LINEAR] = "linear",
		[LR_COSINE] = "cosine",
		[LR_INVERSE_SQRT] = "inverse square root",
		[LR_WSD] = "warm-up, stable, decay"};

	return names[shape];
}
