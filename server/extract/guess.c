#include "extract/guess.h"

enum { KNOWN_WITH_STEP = 1, KNOWN_WITHOUT_STEP = 2, UNKNOWN_WITH_STEP = 3 };

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

static bool is_one_of(struct span word, const char *words)
{
	struct span rest = span_from(words), one;

	while (span_next(&rest, ' ', &one))
		if (span_equal_fold(one, word))
			return true;
	return false;
}

unsigned guess_points_needed(struct span key, bool has_step)
{
	static const char *const known =
		"loss losses acc accuracy err error ppl perplexity bleu rouge f auc ap map iou dice mse mae rmse "
		"precision recall reward rewards kl entropy return score lr norm grad gnorm mfu tflops tflop tps wps "
		"throughput speed top cer wer psnr ssim fid nll bpb bpc";
	static const char *const counted = "tok toks token tokens sample samples img images seq sec"; /* per second */
	static const char *const counter = /* "step" counts, "step_time" and "tokens_per_sec_per_gpu" measure */
		"step steps epoch epochs iter iters iteration iterations it batch gpu gpus device devices node nodes";
	static const char *const measure = "time cost duration ms per tflops mfu throughput";
	static const char *const never =
		"rank ranks pid port version seed line lineno "
		"id size num number world max min total count config dim dims layers heads vocab hidden index idx "
		"cpu cpus worker workers thread threads date eta elapsed remaining timestamp hour "
		"minute level code status exit signal scale beta betas eps decay warmup bucket offset addr address host local "
		"py cc cpp length width height bytes nbytes channel channels key value shape stride padding dropout interval timeout";
	struct span rest = key, word;
	bool is_known = false, counts = false, measures = false;

	if (key.len == 0 || key.len > GUESS_NAME_MAX_BYTES)
		return GUESS_NEVER;
	while (next_word(&rest, &word)) {
		if (is_one_of(word, never))
			return GUESS_NEVER;
		counts |= is_one_of(word, counter);
		measures |= is_one_of(word, measure);
		is_known |= is_one_of(word, known) || (word.len < key.len && is_one_of(word, counted));
	}
	if (counts && !measures)
		return GUESS_NEVER;
	if (is_known)
		return has_step ? KNOWN_WITH_STEP : KNOWN_WITHOUT_STEP;
	return has_step ? UNKNOWN_WITH_STEP : GUESS_NEVER;
}
