#include "read/logs/log_sieve.h"

#include "base/text/regex_literals.h"

enum { TEXTS_MAX = 4, TEXT_MIN_BYTES = 3 }; /* what is shorter is in most lines, or PCRE2 looks for it itself */

struct log_sieve {
	struct arena *arena;
	struct span texts[TEXTS_MAX]; /* the longest ones, the longest first */
	size_t count;
	struct regex_run run; /* at_least 0: none */
};

static bool has_letter(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (span_fold(text.ptr[i]) >= 'a' && span_fold(text.ptr[i]) <= 'z')
			return true;
	return false;
}

static void add_text(struct log_sieve *sieve, struct span text)
{
	size_t at = sieve->count;

	while (at && sieve->texts[at - 1].len < text.len)
		at--;
	if (text.len < TEXT_MIN_BYTES || at == TEXTS_MAX)
		return;
	sieve->count += sieve->count < TEXTS_MAX;
	memmove(sieve->texts + at + 1, sieve->texts + at, (sieve->count - 1 - at) * sizeof *sieve->texts);
	sieve->texts[at] = text;
}

static void fold_run(struct regex_run *run)
{
	for (int c = 'a'; c <= 'z'; c++)
		run->has[c] = run->has[c - 0x20] = run->has[c] || run->has[c - 0x20];
}

static enum status fill(struct log_sieve *sieve, struct span pattern, bool is_folded, struct error *err)
{
	struct regex_clause *clauses;
	size_t count;

	TRY(regex_literals(pattern, sieve->arena, &clauses, &count, err));
	TRY(regex_run_of(pattern, &sieve->run, err));
	for (size_t i = 0; i < count; i++)
		if (clauses[i].count == 1 && !(is_folded && has_letter(clauses[i].any[0].text)))
			add_text(sieve, clauses[i].any[0].text);
	if (is_folded)
		fold_run(&sieve->run);
	return OK;
}

enum status log_sieve_new(struct log_sieve **out, struct span pattern, bool ignore_case, struct error *err)
{
	AUTO(log_sieve) sieve = mem_zeroed(sizeof *sieve);

	*out = NULL;
	if (!sieve || !(sieve->arena = arena_new()))
		return error_no_memory(err);
	TRY(fill(sieve, pattern, ignore_case || span_find(pattern, SPAN("(?i")) >= 0, err));
	if (sieve->count || sieve->run.at_least)
		*out = TAKE(sieve);
	return OK;
}

void log_sieve_free(struct log_sieve *sieve)
{
	if (!sieve)
		return;
	arena_free(sieve->arena);
	mem_free(sieve);
}

/* A run that begins at `from` or later holds one of the bytes at_least apart from there on: the others are hardly looked at. */
static size_t next_run(const struct regex_run *run, struct span text, size_t from)
{
	size_t least = run->at_least;

	for (size_t at = from + least - 1; at < text.len;) {
		if (!run->has[(unsigned char)text.ptr[at]]) {
			at += least;
			continue;
		}
		size_t first = at, end = at + 1;
		while (first > at + 1 - least && run->has[(unsigned char)text.ptr[first - 1]])
			first--;
		while (end < first + least && end < text.len && run->has[(unsigned char)text.ptr[end]])
			end++;
		if (end - first >= least)
			return first;
		at = end + least;
	}
	return text.len;
}

size_t log_sieve_next(const struct log_sieve *sieve, struct span text, size_t from)
{
	size_t last = from;

	for (size_t i = 0; i < sieve->count; i++) {
		ptrdiff_t at = span_find(span_skip(text, from), sieve->texts[i]);
		if (at < 0)
			return text.len;
		last = from + (size_t)at > last ? from + (size_t)at : last;
	}
	size_t run = sieve->run.at_least ? next_run(&sieve->run, text, from) : from;
	return run > last ? run : last;
}
