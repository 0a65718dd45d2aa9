/*
 * Lists of names, as by= has them, and of figures, as of= has them:
 *	by = name { "," name }
 *	of = figure { "," figure }
 *	figure = "count" | fold ":" name
 * A plain word that no query knows ("month", "node_hours") is the store's to know or to refuse.
 */
#include "query/names.h"
#include "query/query.h"

static const char *const folds[FOLD_NUMBER] = {
	[FOLD_COUNT] = "count",
	[FOLD_SUM] = "sum",
	[FOLD_MEAN] = "mean",
	[FOLD_MIN] = "min",
	[FOLD_MAX] = "max",
	[FOLD_MEDIAN] = "median",
	[FOLD_P50] = "p50",
	[FOLD_P90] = "p90",
	[FOLD_P95] = "p95",
	[FOLD_P99] = "p99",
};

static enum status take_name(struct lexer *lexer, struct aggregate_name *out)
{
	size_t start = lexer->at;
	struct name name;

	TRY(name_take(lexer, &name));
	*out = (struct aggregate_name){.term = {.column = start + 1}};
	bool is_word = !name.quoted.ptr && span_find_char(name.bare, '.') < 0;
	struct error unknown = {0};
	struct lexer quiet = *lexer;
	quiet.err = &unknown;
	enum status status = name_resolve_any(is_word ? &quiet : lexer, &name, &out->term);
	if (status == ERR_SEMANTIC && is_word) {
		out->term.family = QUERY_PROPERTY;
		out->term.key = name.bare;
		status = OK;
	}
	out->text = span_of(lexer->text.ptr + start, lexer->at - start);
	return status;
}

static enum status take_figure(struct lexer *lexer, struct aggregate_figure *out)
{
	size_t start = lexer->at;
	struct span word = lexer_take_bare(lexer);
	unsigned fold = 0;

	while (fold < FOLD_NUMBER && !span_equal(word, span_from(folds[fold])))
		fold++;
	if (fold == FOLD_NUMBER)
		return lexer_expected(
			lexer, start, "count, or sum, mean, min, max, median, p50, p90, p95, p99 and ':'");
	*out = (struct aggregate_figure){.fold = (enum fold)fold};
	if (lexer_take(lexer, ':'))
		TRY(take_name(lexer, &out->quantity));
	else if (out->fold == FOLD_COUNT)
		out->counts_jobs = true;
	else
		return lexer_expected(lexer, lexer->at, "':' and what to take of each job, as in sum:node_hours");
	out->text = span_of(lexer->text.ptr + start, lexer->at - start);
	return OK;
}

/* *has_more: a comma was there. */
static enum status end_item(struct lexer *lexer, bool *has_more)
{
	lexer_skip_blanks(lexer);
	*has_more = lexer_take(lexer, ',');
	lexer_skip_blanks(lexer);
	return *has_more || lexer->at == lexer->text.len ? OK : lexer_expected(lexer, lexer->at, "',' or the end");
}

static enum status check_text(struct span text, struct error *err)
{
	if (text.len > QUERY_MAX_BYTES)
		return error_set(err, ERR_TOO_LARGE, "the list has %zu bytes, more than %d", text.len, QUERY_MAX_BYTES);
	if (!span_is_utf8(text) || span_find_char(text, 0) >= 0)
		return error_set(err, ERR_INVALID, "the list is not UTF-8 without NUL");
	return OK;
}

enum status query_parse_names(struct aggregate_name out[QUERY_MAX_NAMES], size_t *count, struct span text,
	struct arena *arena, struct error *err)
{
	struct lexer lexer = {text, 0, arena, err};
	bool has_more = true;

	TRY(check_text(text, err));
	*count = 0;
	lexer_skip_blanks(&lexer);
	while (lexer.at < text.len && has_more) {
		if (*count == QUERY_MAX_NAMES)
			return lexer_expected(&lexer, lexer.at, "at most 8 names");
		TRY(take_name(&lexer, &out[(*count)++]));
		TRY(end_item(&lexer, &has_more));
	}
	return *count && has_more ? lexer_expected(&lexer, lexer.at, "a name") : OK;
}

enum status query_parse_figures(struct aggregate_figure out[QUERY_MAX_FIGURES], size_t *count, struct span text,
	struct arena *arena, struct error *err)
{
	struct lexer lexer = {text, 0, arena, err};
	bool has_more = true;

	TRY(check_text(text, err));
	*count = 0;
	lexer_skip_blanks(&lexer);
	while (lexer.at < text.len && has_more) {
		if (*count == QUERY_MAX_FIGURES)
			return lexer_expected(&lexer, lexer.at, "at most 32 figures");
		TRY(take_figure(&lexer, &out[(*count)++]));
		TRY(end_item(&lexer, &has_more));
	}
	return *count && has_more ? lexer_expected(&lexer, lexer.at, "a figure") : OK;
}
