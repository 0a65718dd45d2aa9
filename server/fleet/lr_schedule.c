#include "fleet/lr_schedule.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 0.01
#define HALF_A_COSINE 0.5 /* num_cycles of a cosine that ends at its least */
#define TITAN_WARMUP 200 /* steps, where torchtitan's settings say none */
/* Steps that a loss scale may leave out: on its way down from 2^32, and two each time that it has doubled again, each 1000 steps. */
#define SKIPPED_FIRST 32
#define STEPS_A_SKIP 500

/* What trainers call it, the best first. */
static const char PEAK
	[] = "learning_rate max_lr peak_lr lr warmup_max_lr",
    LEAST[] = "min_lr lr_min eta_min min_learning_rate warmup_min_lr",
    LEAST_FACTOR[] = "min_lr_factor min_lr_rate min_lr_ratio",
    COSINE_LEAST_FACTOR[] = "cosine_min_lr_ratio min_lr_factor min_lr_rate min_lr_ratio",
    WARMUP[] = "warmup_steps lr_warmup_iters lr_warmup_steps num_warmup_steps warmup_iters warmup_num_steps",
    WARMUP_OTHER[] = "lr_warmup_samples lr_warmup_tokens warmup_samples warmup_tokens warmup_epochs t_warmup",
    DECAY_OTHER[] = "lr_decay_samples lr_decay_tokens lr_wsd_decay_samples lr_wsd_decay_tokens",
    INITIAL[] = "lr_warmup_init warmup_min_lr", WARMUP_SHARE[] = "warmup_ratio lr_warmup_fraction warmup_fraction",
    TOTAL[] =
	    ("sched.max_steps lr_decay_iters lr_decay_steps max_steps train_iters max_iters num_train_steps total_steps "
	     "total_num_steps training.steps"),
    SHAPE[] = ("lr_scheduler_type lr_decay_style lr_schedule scheduler_type lr_scheduler decay_type "
	       "scheduler.type scheduler_name sched.name lr_scheduler._target_"),
    DECAY[] = "lr_wsd_decay_iters num_decay_steps wsd_decay_steps", DECAY_SHARE[] = "decay_ratio",
    DECAY_FORM[] = "lr_wsd_decay_style decay_type", KEYWORDS[] = "lr_scheduler_kwargs",
    KEYWORDS_KNOWN[] = ("min_lr min_lr_rate min_lr_ratio num_decay_steps decay_type warmup_type "
			"num_cycles num_warmup_steps"),
    SECOND_SHAPE[] = "scheduler.type scheduler_name", HALF[] = "fp16 fp16_enabled fp16.enabled",
    TITAN[] = ("lr_scheduler.warmup_steps lr_scheduler.decay_ratio lr_scheduler.decay_type "
	       "lr_scheduler.min_lr_factor lr_scheduler.lr_min"),
    TITAN_KNOWN[] = "warmup_steps decay_ratio decay_type min_lr_factor lr_min total_steps",
    TITAN_LEAST[] = "lr_scheduler.min_lr_factor lr_scheduler.lr_min",
    UNNAMED[] = ("sched.warmup_steps sched.warmup_ratio sched.constant_steps sched.min_lr "
		 "lr_scheduler.warmup_steps lr_scheduler.decay_ratio lr_scheduler.min_lr_factor"),
    CLIP[] = "clip_grad max_grad_norm gradient_clipping grad_clip gradient_clip_val max_norm";

static struct span without_quotes(struct span text)
{
	text = span_trim(text);
	if (text.len >= 2 && strchr("'\"", text.ptr[0]) && text.ptr[text.len - 1] == text.ptr[0])
		return span_of(text.ptr + 1, text.len - 2);
	return text;
}

/* The next of "{'min_lr_rate': 0.1, …}", as Python or JSON prints it. */
static bool next_keyword(struct span *rest, struct span *name, struct span *value)
{
	struct span pair;

	while (span_next(rest, ',', &pair)) {
		ptrdiff_t colon = span_find_char(pair, ':');
		*name = without_quotes(colon < 0 ? pair : span_of(pair.ptr, (size_t)colon));
		*value = without_quotes(colon < 0 ? SPAN("") : span_skip(pair, (size_t)colon + 1));
		if (name->len)
			return true;
	}
	return false;
}

/* What is between the braces; false: there are none. "None" and "" have nothing between them. */
static bool find_keywords(const struct lr_settings *settings, struct span *key, struct span *inside)
{
	struct span value;

	*inside = SPAN("");
	if (!settings->find(settings->context, span_from(KEYWORDS), key, &value))
		return true;
	value = span_trim(value);
	if (!value.len || span_equal_fold(value, SPAN("none")) || span_equal_fold(value, SPAN("null")))
		return true;
	if (value.len < 2 || value.ptr[0] != '{' || value.ptr[value.len - 1] != '}')
		return false;
	*inside = span_of(value.ptr + 1, value.len - 2);
	return true;
}

/* By its own name, else among the scheduler's keywords. */
static bool find_one(const struct lr_settings *settings, struct span name, struct span *key, struct span *value)
{
	struct span inside, word;

	if (settings->find(settings->context, name, key, value))
		return true;
	if (!find_keywords(settings, key, &inside))
		return false;
	while (next_keyword(&inside, &word, value))
		if (span_equal(word, name))
			return true;
	return false;
}

/* The first of them that is said. */
static bool find(const struct lr_settings *settings, const char *names, struct span *key, struct span *value)
{
	struct span rest = span_from(names), name;

	while (span_next(&rest, ' ', &name))
		if (find_one(settings, name, key, value))
			return true;
	return false;
}

/* The first of them that is said as a number of at least that much; NaN: none is. "None" and -1 say that another one counts. */
static double number_from(const struct lr_settings *settings, const char *names, double least, struct span *from)
{
	struct span rest = span_from(names), name, key, value;
	double out;

	while (span_next(&rest, ' ', &name)) {
		if (!find_one(settings, name, &key, &value) || !span_parse_double(span_trim(value), &out) ||
			!isfinite(out) || out < least)
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

/* "None", -1 and 0 say that another one counts. */
static bool is_said(struct span value)
{
	static const char *const unsaid[] = {"", "none", "null", "false", "auto", "nan"};
	double number;

	value = span_trim(value);
	for (size_t i = 0; i < sizeof unsaid / sizeof *unsaid; i++)
		if (span_equal_fold(value, span_from(unsaid[i])))
			return false;
	return !span_parse_double(value, &number) || number > 0;
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
	{"WarmupDecayLR", LR_LINEAR},
	{"WarmupLR", LR_CONSTANT},
	{"cosine", LR_COSINE},
	{"cosine_with_min_lr", LR_COSINE},
	{"inverse_sqrt", LR_INVERSE_SQRT},
	{"inverse-square-root", LR_INVERSE_SQRT},
	{"wsd", LR_WSD},
	{"warmup_stable_decay", LR_WSD_COSINE},
};

/* NeMo's policies, by "optim.sched.name". Its others (NoamAnnealing, …) are not followed. */
static const struct {
	const char *name;
	enum lr_shape shape;
} policies[] = {{"CosineAnnealing", LR_COSINE}, {"WarmupPolicy", LR_CONSTANT}, {"WarmupAnnealing", LR_LINEAR}};

static bool has_stable_part(enum lr_shape shape)
{
	return shape == LR_WSD || shape == LR_WSD_COSINE;
}

static bool is_nemo(const struct lr_schedule *schedule)
{
	return span_ends_with(schedule->shape_from, SPAN("sched.name"));
}

static enum lr_shape policy_named(struct span text)
{
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
		if (span_equal_fold(text, span_from(policies[i].name)))
			return policies[i].shape;
	return LR_NONE;
}

/* torchtitan has one scheduler and no name for it. *from: the first of its settings that is said. */
static bool is_like_torchtitan(const struct lr_settings *settings, struct span *from)
{
	struct span key, value;

	return find(settings, "optimizer.lr", &key, &value) &&
	       find(settings, "training.steps training.max_steps", &key, &value) && find(settings, TITAN, from, &value);
}

/* A setting of the scheduler that torchtitan's has none of: whatever it says, it is another one's. */
static bool find_foreign(const struct lr_settings *settings, struct span *key)
{
	return settings->find_other(settings->context, SPAN("lr_scheduler"), span_from(TITAN_KNOWN), key);
}

static bool is_torchtitan(const struct lr_settings *settings, struct span *from)
{
	struct span foreign;

	return !find_foreign(settings, &foreign) && is_like_torchtitan(settings, from);
}

/* "SchedulerType.COSINE" is what Python prints of it. */
static struct span last_word(struct span text)
{
	struct span last = text;

	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '.')
			last = span_skip(text, i + 1);
	return last;
}

/* Others (cosine with restarts, polynomial, …) are not followed. */
static enum lr_shape shape_named(struct span text)
{
	struct span last = last_word(text);

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (span_equal_fold(last, span_from(shapes[i].name)))
			return shapes[i].shape;
	return LR_NONE;
}

/* nanoGPT has no name for it: a switch, and a cosine. torchtitan names the form of WSD's decay alone, a line where it does not, and has
 * a share of None where all of it is decay. */
static enum lr_shape find_named_shape(const struct lr_settings *settings, struct lr_schedule *out)
{
	struct span key, value, titan, *from = &out->shape_from;

	if (!isnan(number(settings, DECAY_SHARE, NULL)) && !find(settings, "lr_scheduler_type", &key, &value)) {
		*from = SPAN("decay_ratio");
		bool is_cosine = is_torchtitan(settings, &titan) && find(settings, "decay_type", &key, &value) &&
				 span_equal_fold(span_trim(value), SPAN("cosine"));
		return is_cosine ? LR_WSD_COSINE : LR_WSD;
	}
	if (find(settings, SHAPE, &key, &value)) {
		*from = key;
		return is_nemo(out) ? policy_named(span_trim(value)) : shape_named(span_trim(value));
	}
	if (!find(settings, "decay_lr", &key, &value))
		return is_torchtitan(settings, from) ? LR_LINEAR : LR_NONE;
	*from = key;
	return is_yes(span_trim(value)) ? LR_COSINE : LR_CONSTANT;
}

/* transformers decays by a cosine where its keywords do not say another form. */
static enum lr_shape find_shape(const struct lr_settings *settings, struct lr_schedule *out)
{
	enum lr_shape shape = find_named_shape(settings, out);
	struct span key, value;

	if (shape == LR_WSD_COSINE && find(settings, DECAY_FORM, &key, &value) &&
		!span_equal_fold(span_trim(value), SPAN("cosine")))
		return LR_WSD; /* others than a line are noted below */
	return shape;
}

/* Its warm-up begins at the least rate. (Before it could do without num_stable_steps, it began at 0: those are not followed.) */
static bool is_transformers_wsd(
	const struct lr_settings *settings, enum lr_shape shape, const struct lr_schedule *schedule)
{
	struct span key, value;

	return has_stable_part(shape) && schedule->least_from.len && find(settings, SHAPE, &key, &value) &&
	       span_equal_fold(last_word(span_trim(value)), SPAN("warmup_stable_decay"));
}

/* By the setting of that name, however it is spelt. */
static bool is_named_by(const struct lr_settings *settings, const struct lr_schedule *schedule, const char *name)
{
	struct span key, value;

	return settings->find(settings->context, span_from(name), &key, &value) &&
	       span_equal(key, schedule->shape_from);
}

/* nanoGPT without a decay has the one rate, and transformers' "constant" is not its "constant_with_warmup": their steps of warm-up are
 * printed all the same. Megatron's constant has a warm-up. */
static bool is_flat(const struct lr_settings *settings, enum lr_shape shape, const struct lr_schedule *schedule)
{
	struct span key, value;

	if (shape != LR_CONSTANT)
		return false;
	if (is_named_by(settings, schedule, "decay_lr"))
		return true;
	return (is_named_by(settings, schedule, "lr_scheduler_type") ||
		       is_named_by(settings, schedule, "lr_scheduler")) &&
	       find(settings, SHAPE, &key, &value) && span_equal_fold(last_word(span_trim(value)), SPAN("constant"));
}

/* As transformers and Megatron do: steps first, then a share of all. transformers 5 takes steps below one for a share. NaN: a share
 * of what is not known. */
static double find_warmup(const struct lr_settings *settings, double total, struct span *from)
{
	double steps = number(settings, WARMUP, from), share = steps;
	struct span titan;

	if (isnan(steps) && is_torchtitan(settings, &titan))
		return TITAN_WARMUP;
	if (steps >= 1)
		return steps;
	if (!(steps > 0))
		share = number(settings, WARMUP_SHARE, from);
	if (!(share > 0))
		return 0;
	return total > 0 ? ceil(share * total) : NAN;
}

/* torchtitan warns and shortens a decay for which its warm-up leaves no room, and has none of a share of 0. It rounds as Python does. */
static double find_decay(const struct lr_settings *settings, double total, double warmup, struct span *from)
{
	double steps = number(settings, DECAY, from), share;
	struct span titan;

	if (steps > 0)
		return steps;
	share = number(settings, DECAY_SHARE, from);
	if (is_torchtitan(settings, &titan))
		return share >= 0 ? fmin(rint(share * total), total - warmup) : NAN;
	return share > 0 ? round(share * total) : NAN;
}

static double find_least(const struct lr_settings *settings, enum lr_shape shape, double peak, struct span *from)
{
	const char *factors = shape == LR_COSINE ? COSINE_LEAST_FACTOR : LEAST_FACTOR;
	struct span titan;
	bool is_titan = is_torchtitan(settings, &titan); /* its lr_min was a share, too */
	double least = is_titan ? NAN : number(settings, LEAST, from), factor;

	if (least >= 0)
		return least;
	factor = number(settings, is_titan ? TITAN_LEAST : factors, from);
	return factor >= 0 ? factor * peak : 0;
}

/* The end of the decay. NeMo says how many steps at the least rate follow it. */
static double find_end(const struct lr_settings *settings, struct lr_schedule *out)
{
	double held, share;

	if (!is_nemo(out))
		return out->total;
	held = number(settings, "sched.constant_steps", NULL);
	share = number(settings, "sched.constant_ratio", NULL);
	if (held > 0)
		return out->total - held;
	return share > 0 ? out->total - floor(share * out->total) : out->total;
}

/* ---- what is not followed ---- */

static void note(struct lr_schedule *out, struct span key)
{
	for (size_t i = 0; i < out->not_understood_count; i++)
		if (span_equal(out->not_understood[i], key))
			return;
	if (out->not_understood_count < LR_NOT_UNDERSTOOD_MAX)
		out->not_understood[out->not_understood_count++] = key;
}

static void note_said(const struct lr_settings *settings, const char *names, struct lr_schedule *out)
{
	struct span rest = span_from(names), name, key, value;

	while (span_next(&rest, ' ', &name))
		if (find_one(settings, name, &key, &value) && is_said(value))
			note(out, key);
}

/* Those before the number that counts. */
static void note_unread(const struct lr_settings *settings, const char *names, struct lr_schedule *out)
{
	struct span rest = span_from(names), name, key, value;
	double number;

	while (span_next(&rest, ' ', &name)) {
		if (!find_one(settings, name, &key, &value) || !is_said(value))
			continue;
		if (span_parse_double(span_trim(value), &number))
			return;
		note(out, key);
	}
}

/* One that is said as anything else than this. */
static void note_unless(
	const struct lr_settings *settings, const char *names, const char *followed, struct lr_schedule *out)
{
	struct span key, value;

	if (find(settings, names, &key, &value) && is_said(value) &&
		!span_equal_fold(span_trim(value), span_from(followed)))
		note(out, key);
}

static void note_keywords(const struct lr_settings *settings, struct lr_schedule *out)
{
	struct span key = SPAN(""), inside, word, value;

	if (!find_keywords(settings, &key, &inside))
		note(out, key);
	while (next_keyword(&inside, &word, &value)) {
		struct span rest = span_from(KEYWORDS_KNOWN), name;
		bool is_known = false;
		while (span_next(&rest, ' ', &name))
			is_known |= span_equal(word, name);
		if (!is_known)
			note(out, key);
	}
}

/* Others than a line are not followed, and Megatron's default is exponential. */
static void note_decay(const struct lr_settings *settings, struct lr_schedule *out)
{
	struct span key, value;

	note_unless(settings, DECAY_FORM, "linear", out);
	if (is_named_by(settings, out, "lr_decay_style") && !find(settings, DECAY_FORM, &key, &value))
		note(out, out->shape_from);
}

/* Where DeepSpeed has a scheduler, that is the one which counts, whatever transformers calls its own. Its default is logarithmic. */
static void note_second(const struct lr_settings *settings, enum lr_shape shape, struct lr_schedule *out)
{
	struct span key, value, type, form;

	if (is_nemo(out) || !find(settings, SECOND_SHAPE, &key, &value) || !is_said(value))
		return;
	bool is_warmup = span_starts_with(span_trim(value), SPAN("Warmup"));
	bool is_another = !span_equal(key, out->shape_from) && shape_named(span_trim(value)) != shape;
	if (is_another || (is_warmup && !find(settings, "warmup_type", &type, &form)))
		note(out, key);
}

/* Megatron counts samples; where the batch grows, that is not by steps. */
static void note_ramp(const struct lr_settings *settings, struct lr_schedule *out)
{
	if (number(settings, "train_samples", NULL) > 0)
		note_said(settings, "rampup_batch_size", out);
}

/* The same keys of a scheduler that has more of them need not mean the same. */
static void note_foreign(const struct lr_settings *settings, struct lr_schedule *out)
{
	struct span like, key;
	bool is_named = out->shape_from.len && !span_equal(out->shape_from, SPAN("decay_ratio")) &&
			!is_named_by(settings, out, "lr_scheduler.decay_type");

	if (!is_named && is_like_torchtitan(settings, &like) && find_foreign(settings, &key))
		note(out, key);
}

static void note_others(const struct lr_settings *settings, enum lr_shape shape, struct lr_schedule *out)
{
	static const char *const numbers[] = {PEAK, INITIAL, LEAST, LEAST_FACTOR, WARMUP, WARMUP_SHARE, TOTAL};
	struct span key, value;
	double cycles = number(settings, "num_cycles", NULL);

	bool lacks_least = find(settings, SHAPE, &key, &value) && span_find(value, SPAN("with_min_lr")) >= 0 &&
			   !out->least_from.len;

	if (!shape || lacks_least)
		note(out, out->shape_from);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		note_unread(settings, numbers[i], out);
	note_said(settings, WARMUP_OTHER, out);
	note_said(settings, DECAY_OTHER, out);
	note_said(settings, "timescale num_stable_steps cosine_constant_lr_ratio lr_quadratic_warmup", out);
	note_unless(settings, "warmup_type", "linear", out);
	note_second(settings, shape, out);
	note_ramp(settings, out);
	note_keywords(settings, out);
	if (shape == LR_WSD)
		note_decay(settings, out);
	if ((shape == LR_COSINE || shape == LR_WSD_COSINE) && !isnan(cycles) && cycles != HALF_A_COSINE &&
		find(settings, "num_cycles", &key, &value))
		note(out, key);
}

static bool find_half(const struct lr_settings *settings, struct span *from)
{
	struct span rest = span_from(HALF), name, key, value;

	while (span_next(&rest, ' ', &name))
		if (find_one(settings, name, &key, &value) && is_yes(span_trim(value))) {
			*from = key;
			return true;
		}
	return false;
}

void lr_schedule_declare(const struct lr_settings *settings, double total_steps, struct lr_schedule *out)
{
	*out = (struct lr_schedule){.shape_from = SPAN(""),
		.initial_from = SPAN(""),
		.peak_from = SPAN(""),
		.least_from = SPAN(""),
		.warmup_from = SPAN(""),
		.decay_from = SPAN(""),
		.total_from = SPAN(""),
		.skips_from = SPAN("")};
	enum lr_shape shape = find_shape(settings, out);
	out->peak = number(settings, PEAK, &out->peak_from);
	out->total = number_from(settings, TOTAL, 1, &out->total_from);
	if (isnan(out->total))
		out->total = total_steps;
	out->warmup = is_flat(settings, shape, out) ? 0 : find_warmup(settings, out->total, &out->warmup_from);
	out->initial = fmax(0, number(settings, INITIAL, &out->initial_from));
	out->least = find_least(settings, shape, out->peak, &out->least_from);
	if (is_transformers_wsd(settings, shape, out)) {
		out->initial = out->least;
		out->initial_from = out->least_from;
	}
	out->decay = has_stable_part(shape) ? find_decay(settings, out->total, out->warmup, &out->decay_from) : 0;
	out->total = find_end(settings, out);
	out->may_skip = find_half(settings, &out->skips_from);
	if (out->shape_from.len)
		note_others(settings, shape, out);
	else
		note_said(settings, UNNAMED, out);
	note_foreign(settings, out);
	bool has_end = out->total > out->warmup;
	bool needs_end = shape == LR_LINEAR || shape == LR_COSINE || has_stable_part(shape);
	if (out->peak > 0 && (has_end || !needs_end) && !isnan(out->decay) && !isnan(out->warmup) &&
		(shape != LR_INVERSE_SQRT || out->warmup > 0) && !out->not_understood_count)
		out->shape = has_stable_part(shape) && out->decay <= 0 ? LR_CONSTANT : shape;
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
	double from = has_stable_part(s->shape) ? s->total - s->decay : s->warmup;
	double left = (s->total - step) / (s->total - from);

	return fmin(1, fmax(0, left));
}

double lr_schedule_at(const struct lr_schedule *s, double step)
{
	if (step < s->warmup)
		return s->initial + (s->peak - s->initial) * fmax(0, step) / s->warmup;
	switch (s->shape) {
	case LR_LINEAR:
	case LR_WSD:
		return s->least + (s->peak - s->least) * part(s, step);
	case LR_COSINE:
	case LR_WSD_COSINE:
		return s->least + (s->peak - s->least) * 0.5 * (1 + cos(M_PI * (1 - part(s, step))));
	case LR_INVERSE_SQRT: /* Megatron's ends; transformers' never gets there */
		return s->total > 0 && step > s->total ? s->least : fmax(s->least, s->peak * sqrt(s->warmup / step));
	default:
		return s->peak;
	}
}

static void widen(struct lr_range *range, double rate)
{
	range->low = fmin(range->low, rate);
	range->high = fmax(range->high, rate);
}

/* Between its corners a rate only rises or only falls. */
struct lr_range lr_schedule_between(const struct lr_schedule *s, double from_step, double to_step)
{
	double corners[] = {s->warmup, s->total - s->decay, s->total};
	double from = from_step - 1, to = to_step + 1, first = lr_schedule_at(s, from);
	struct lr_range range = {first, first};

	widen(&range, lr_schedule_at(s, to));
	for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
		if (corners[i] > from && corners[i] < to)
			widen(&range, lr_schedule_at(s, corners[i]));
	return range;
}

int64_t lr_schedule_skips(const struct lr_schedule *schedule, int64_t step)
{
	if (!schedule->may_skip || step <= 0)
		return 0;
	return step < SKIPPED_FIRST ? step : SKIPPED_FIRST + step / STEPS_A_SKIP;
}

bool lr_range_holds(const struct lr_range *range, double printed, double slack)
{
	return printed + slack >= range->low * (1 - TOLERANCE) && printed - slack <= range->high * (1 + TOLERANCE);
}

const char *lr_shape_name(enum lr_shape shape)
{
	static const char *const names[LR_SHAPE_COUNT] = {[LR_NONE] = "",
		[LR_CONSTANT] = "constant",
		[LR_LINEAR] = "linear",
		[LR_COSINE] = "cosine",
		[LR_INVERSE_SQRT] = "inverse square root",
		[LR_WSD] = "warm-up, stable, decay",
		[LR_WSD_COSINE] = "warm-up, stable, cosine decay"};

	return names[shape];
}
