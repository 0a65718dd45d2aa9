#include "extract/generic/guess.h"

#include "model/metrics/consumed.h"

#include <string.h>

enum { KNOWN_WITH_STEP = 1, KNOWN_WITHOUT_STEP = 2, UNKNOWN_WITH_STEP = 3, SCALE_WITHOUT_STEP = 3 };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* The next run of letters of the key; "valLoss" is two words. */
static bool next_word(struct span *rest, struct span *word)
{
	size_t start = 0, end;

	while (start < rest->len && !is_letter(rest->ptr[start]))
		start++;
	for (end = start; end < rest->len && is_letter(rest->ptr[end]); end++)
		if (end > start && lower(rest->ptr[end]) != rest->ptr[end] &&
			lower(rest->ptr[end - 1]) == rest->ptr[end - 1])
			break;
	*word = span_of(rest->ptr + start, end - start);
	*rest = span_skip(*rest, end);
	return word->len > 0;
}

/* What a word of a name says about its value. */
enum {
	KNOWN = 1, /* a metric */
	COUNTED = 2, /* a metric when something is said of it: per second */
	COUNTER = 4, /* "step" counts, "step_time" and "tokens_per_sec_per_gpu" measure */
	MEASURE = 8,
	NEVER = 16, /* settings, places, sizes */
	PER = 64,
	NORM = 32, /* also of a total */
	OUTCOME = 128 | KNOWN, /* also the best and the worst of it */
};

/* Sorted; asked for each word of each match. */
static const struct {
	char text[13];
	unsigned char classes;
} words[] = {
	{"acc", KNOWN},
	{"accuracy", KNOWN},
	{"addr", NEVER},
	{"address", NEVER},
	{"ap", KNOWN},
	{"auc", KNOWN},
	{"batch", COUNTER},
	{"beta", NEVER},
	{"betas", NEVER},
	{"bleu", KNOWN},
	{"bpb", KNOWN},
	{"bpc", KNOWN},
	{"bucket", NEVER},
	{"bytes", NEVER},
	{"cc", NEVER},
	{"cer", KNOWN},
	{"channel", NEVER},
	{"channels", NEVER},
	{"code", NEVER},
	{"config", NEVER},
	{"cost", MEASURE},
	{"count", NEVER},
	{"cpp", NEVER},
	{"cpu", NEVER},
	{"cpus", NEVER},
	{"date", NEVER},
	{"decay", NEVER},
	{"device", COUNTER},
	{"devices", COUNTER},
	{"dice", KNOWN},
	{"dim", NEVER},
	{"dims", NEVER},
	{"dropout", NEVER},
	{"duration", MEASURE},
	{"elapsed", NEVER},
	{"entropy", KNOWN},
	{"epoch", COUNTER},
	{"epochs", COUNTER},
	{"eps", NEVER},
	{"err", KNOWN},
	{"error", KNOWN},
	{"eta", NEVER},
	{"exit", NEVER},
	{"f", KNOWN},
	{"fid", KNOWN},
	{"fps", KNOWN | MEASURE},
	{"gnorm", KNOWN},
	{"gpu", COUNTER},
	{"gpus", COUNTER},
	{"grad", KNOWN},
	{"heads", NEVER},
	{"height", NEVER},
	{"hidden", NEVER},
	{"host", NEVER},
	{"hour", NEVER},
	{"id", NEVER},
	{"idx", NEVER},
	{"images", COUNTED},
	{"img", COUNTED},
	{"index", NEVER},
	{"interval", NEVER},
	{"iou", KNOWN},
	{"ips", KNOWN | MEASURE},
	{"it", COUNTER},
	{"iter", COUNTER},
	{"iteration", COUNTER},
	{"iterations", COUNTER},
	{"iters", COUNTER},
	{"key", NEVER},
	{"kl", KNOWN},
	{"layers", NEVER},
	{"level", NEVER},
	{"line", NEVER},
	{"lineno", NEVER},
	{"local", NEVER},
	{"logloss", KNOWN},
	{"loss", KNOWN},
	{"losses", KNOWN},
	{"lr", KNOWN},
	{"mae", KNOWN},
	{"map", KNOWN},
	{"max", NEVER},
	{"mfu", KNOWN | MEASURE},
	{"min", NEVER},
	{"minute", NEVER},
	{"mlogloss", KNOWN},
	{"ms", MEASURE},
	{"mse", KNOWN},
	{"nbytes", NEVER},
	{"nll", KNOWN},
	{"node", COUNTER},
	{"nodes", COUNTER},
	{"none", NEVER},
	{"norm", KNOWN | NORM},
	{"num", NEVER},
	{"number", NEVER},
	{"offset", NEVER},
	{"padding", NEVER},
	{"per", MEASURE | PER},
	{"perplexity", KNOWN},
	{"pid", NEVER},
	{"port", NEVER},
	{"ppl", KNOWN},
	{"precision", KNOWN},
	{"psnr", KNOWN},
	{"py", NEVER},
	{"rank", NEVER},
	{"ranks", NEVER},
	{"recall", KNOWN},
	{"remaining", NEVER},
	{"return", OUTCOME},
	{"returns", OUTCOME},
	{"reward", OUTCOME},
	{"rewards", OUTCOME},
	{"rmse", KNOWN},
	{"rouge", KNOWN},
	{"s", MEASURE},
	{"sample", COUNTED},
	{"samples", COUNTED},
	{"scale", NEVER},
	{"score", KNOWN},
	{"sec", COUNTED | MEASURE},
	{"second", MEASURE},
	{"seed", NEVER},
	{"seq", COUNTED},
	{"shape", NEVER},
	{"signal", NEVER},
	{"size", NEVER},
	{"speed", KNOWN},
	{"sps", KNOWN | MEASURE},
	{"ssim", KNOWN},
	{"status", NEVER},
	{"step", COUNTER},
	{"steps", COUNTER},
	{"stride", NEVER},
	{"tflop", KNOWN},
	{"tflops", KNOWN | MEASURE},
	{"tgs", KNOWN | MEASURE},
	{"thread", NEVER},
	{"threads", NEVER},
	{"throughput", KNOWN | MEASURE},
	{"time", MEASURE},
	{"timeout", NEVER},
	{"timestamp", NEVER},
	{"tok", COUNTED},
	{"token", COUNTED},
	{"tokens", COUNTED},
	{"toks", COUNTED},
	{"top", KNOWN},
	{"total", NEVER},
	{"tps", KNOWN | MEASURE},
	{"ups", KNOWN | MEASURE},
	{"value", NEVER},
	{"version", NEVER},
	{"vocab", NEVER},
	{"warmup", NEVER},
	{"wer", KNOWN},
	{"width", NEVER},
	{"worker", NEVER},
	{"workers", NEVER},
	{"world", NEVER},
	{"wps", KNOWN},
};

static unsigned classes_of(struct span word)
{
	char folded[sizeof words[0].text] = "";
	size_t low = 0, high = sizeof words / sizeof *words;

	if (word.len >= sizeof folded)
		return 0;
	for (size_t i = 0; i < word.len; i++)
		folded[i] = lower(word.ptr[i]);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(folded, words[middle].text);
		if (order == 0)
			return words[middle].classes;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return 0;
}

static bool is_word_of_loss(struct span word)
{
	return span_equal_fold(word, SPAN("loss")) || span_equal_fold(word, SPAN("losses"));
}

/* "loss_scale" is what the loss is multiplied by; any other scale is a setting, a size, a place. */
static bool is_scale_of_loss(struct span word, struct span before)
{
	return span_equal_fold(word, SPAN("scale")) && is_word_of_loss(before);
}

/* "max_lr" is a setting, "MaxReturn" is none. */
static bool is_extreme(struct span word)
{
	return span_equal_fold(word, SPAN("max")) || span_equal_fold(word, SPAN("min"));
}

/* A word by which nothing is a metric, whatever stands beside it. */
static bool is_never(unsigned classes, struct span word, bool is_scale)
{
	return (classes & NEVER) && !span_equal_fold(word, SPAN("total")) && !is_extreme(word) && !is_scale;
}

/* What a job's tokens are counted by, though "num" and "total" are sizes elsewhere: without a step it is a setting, or a sum at the end. */
static bool is_count_of_data(struct span key)
{
	enum consumed what = consumed_of(key);

	return what == CONSUMED_TOKENS || what == CONSUMED_SAMPLES;
}

unsigned guess_points_needed(struct span key, bool has_step)
{
	struct span rest = key, word, before = SPAN("");
	unsigned all = 0;
	bool never = false, is_loss = false, is_total = false, has_loss = false, was_packet = false;
	bool has_extreme = false, has_scale = false;

	if (key.len == 0 || key.len > GUESS_NAME_MAX_BYTES)
		return GUESS_NEVER;
	if (has_step && is_count_of_data(key))
		return KNOWN_WITH_STEP;
	while (next_word(&rest, &word)) {
		unsigned classes = classes_of(word);
		is_loss = is_word_of_loss(word);
		if (is_loss && was_packet)
			return GUESS_NEVER;
		was_packet = span_equal_fold(word, SPAN("packet")) || span_equal_fold(word, SPAN("data"));
		has_loss |= is_loss;
		bool is_scale = is_scale_of_loss(word, before);
		has_scale |= is_scale;
		never |= is_never(classes, word, is_scale);
		has_extreme |= (classes & NEVER) && is_extreme(word);
		is_total |= span_equal_fold(word, SPAN("total"));
		bool is_genitive = word.len == 1 && word.ptr > key.ptr && word.ptr[-1] == '\'';
		classes |= is_genitive ? KNOWN : 0; /* "training's l2", "valid_0's map@5" */
		if ((classes & COUNTED) && word.len < key.len)
			classes |= KNOWN;
		all |= classes;
		before = word;
	}
	never |= is_total && !has_loss && !(all & NORM);
	never |= has_extreme && (all & OUTCOME) != OUTCOME;
	bool is_rate = (all & PER) && (all & MEASURE) && (all & KNOWN); /* "interval_tokens_per_second" */
	if (never && !is_loss && !is_rate) /* "value loss" is one all the same */
		return GUESS_NEVER;
	if ((all & COUNTER) && !(all & MEASURE) && !is_loss)
		return GUESS_NEVER;
	if (has_scale && !has_step) /* settings are printed twice: what was asked for, and what it became */
		return SCALE_WITHOUT_STEP;
	if (all & KNOWN)
		return has_step ? KNOWN_WITH_STEP : KNOWN_WITHOUT_STEP;
	return has_step ? UNKNOWN_WITH_STEP : GUESS_NEVER;
}
