/*
 * Job: the compiled form of metric definitions, shared by the files of extract/.
 * Ownership: the set owns its arena, with all spans and arrays, and its expressions. Threads: immutable once built.
 */
#pragma once

#include "base/arena.h"
#include "extract/extract.h"
#include "extract/line/number.h"
#include "extract/line/sieve.h"

enum { NO_GROUP = -1 };

/*
 * Definitions with the same Regex are a chain: the first of them, the leader, owns the expression, and one search serves
 * all (a line with six metrics in six named groups costs one match).
 */
struct definition {
	struct metric_definition shown;
	struct regex *regex; /* the leader's */
	struct regex *step_regex; /* NULL: none */
	struct regex
		*place_regex; /* of a user's: what stands where its value should (value_place.h); NULL: no such place */
	int place_group, place_step_group, place_epoch_group, place_total_group; /* in it */
	uint32_t leader; /* itself, or an earlier one */
	uint32_t next; /* with the same Regex; UINT32_MAX: the last */
	int value_group;
	uint32_t value_others; /* bits: groups that are the value where that one is in another branch */
	int step_group; /* in regex; NO_GROUP when it has none */
	int epoch_group;
	int unit_group; /* beside the value: "ms", "K" */
	int name_group; /* a series by that name */
	int rank_group;
	int total_group; /* of the step: "12/500"; of the epoch's steps where there is an epoch */
	int line_step_group; /* in step_regex */
	int line_epoch_group;
	int line_total_group;
	double unit_s; /* seconds in the unit; 0: it does not measure time */
	bool shares_regex; /* a group `unit` is of the value that it stands beside */
	bool repeats; /* each match on a line is another point, not the first only */
	bool is_step_only; /* gives the stream its step, no points */
	bool has_start; /* a '^' in the Regex: it may mean the start of the line or that of the text behind its prefix */
	bool is_bar; /* of the bars, only those with the most steps are the training's */
	bool is_csv; /* match_csv.c reads the line */
	bool step_follows; /* the record ends with its step: values wait for it */
	bool is_guess; /* of what generic/ reads: shown only with good reason (guess.h) */
	bool is_mean; /* printed as the mean since the start of the epoch */
	int64_t mean_first; /* the step of the first in an epoch: 0 or 1 */
};

struct definition_list {
	struct definition *items;
	size_t count;
	struct sieve *sieve; /* which leaders may match a line, and START_BIT; NULL: the list is empty */
	struct sieve
		*step_sieve; /* the same of those alone that may say the step of a line without a value; NULL: none */
	bool is_reader; /* generic/ reads the line, by no expression */
};

enum { START_BIT = SIEVE_MAX - 1 }; /* the line may be a start (line_hint.h) */
_Static_assert((int)START_BIT >= (int)DEFINITIONS_MAX, "no definition's");

enum { PRESETS_MAX = SIEVE_MAX, PRESET_INCLUDES_MAX = 4 };

struct preset {
	char *name;
	struct regex *detect;
	struct regex *detect_front; /* the same, of what the text begins with; NULL: has no start, or is generic */
	struct span detect_text;
	bool has_start; /* a '^' in it, as in a definition */
	bool is_generic; /* gives way to any that is not */
	bool is_renamed; /* an older name of another one: streams and jobs may refer to it, new ones never take it */
	bool has_step_lines; /* the step may stand on a line without a value */
	size_t include_count; /* presets whose definitions are in it too: it takes over from them */
	int includes[PRESET_INCLUDES_MAX];
	struct definition_list list;
};

struct definition_set {
	struct arena *arena;
	struct definition_list list; /* the explicit form */
	const struct definition_set
		*presets; /* borrowed; what the preset form chooses from, and what says where steps stand */
	struct preset *items; /* a set made by definition_presets_new */
	size_t preset_count;
	struct sieve *sieve; /* which of these may know a line */
	uint64_t generic[SIEVE_WORDS]; /* which of these are */
	bool is_preset_form;
	bool is_guided; /* has definitions without a step of their own */
	int fixed_preset; /* asked for by name; -1: chosen by the lines */
};

/* What the arrays of a list hold: MetricDefinitions of a job, or of presets.json, which may say more. */
struct definition_source {
	const struct json *node; /* the array */
	const char *field; /* its path, for errors */
	bool is_preset;
};

/* definition_read_value of what is no number by itself, or may have a unit beside it. */
bool definition_read_said(const struct definition *definition, const struct span *groups, struct span text,
	double *value, struct span *unit);
/* What a match has captured as its value; ptr NULL: it has none. */
static inline struct span definition_value_text(const struct definition *definition, const struct span *groups)
{
	struct span text = groups[definition->value_group];

	for (uint32_t others = definition->value_others; !text.ptr && others; others &= others - 1)
		text = groups[__builtin_ctz(others)];
	return text;
}

/*
 * The value that `text` says in a match, by `groups`. False: it is no number. *unit: that of the value, where the definition states none and the
 * text does; a unit of time is "s", "ms" or "us". Each value comes here, and most are numbers alone.
 */
static inline bool definition_read_value(const struct definition *definition, const struct span *groups,
	struct span text, double *value, struct span *unit)
{
	*unit = SPAN("");
	return (definition->unit_group <= 0 && number_parse(text, value)) ||
	       definition_read_said(definition, groups, text, value, unit);
}
/* Compiles the arrays into *list, one behind the other. */
enum status definition_list_build(struct definition_list *list, struct arena *arena,
	const struct definition_source *sources, size_t source_count, struct error *err) MUST_CHECK;
/* What generic/ reads, as definitions without expressions. */
enum status definition_list_build_reader(
	struct definition_list *list, struct arena *arena, struct error *err) MUST_CHECK;
/* What is no number in the form of one, behind its sign; in front of digits, which are the beginning of "1.#QNAN". */
#define PATTERN_NON_FINITE "1\\.#[a-zA-Z0+-]+|(?i:nan(?:\\(\\w+\\))?|inf)"
/* A pattern of presets.json with {N} written out. */
void definition_expand(struct span pattern, struct buf *out);
void definition_list_done(struct definition_list *list);
struct definition_set *definition_set_alloc(void) __attribute__((warn_unused_result));

/* The definitions that run under a preset number; an empty list when there is no such preset. */
const struct definition_list *definition_set_list(const struct definition_set *set, int preset);
/* The presets that a stream may choose from; NULL: none. */
const struct preset *definition_set_presets(const struct definition_set *set, size_t *count);
bool definition_has_step(const struct definition *definition); /* it says itself where the step is */
/* Which of them may know a line, by their numbers; only when there are any. */
const struct sieve *definition_set_sieve(const struct definition_set *set);
/* Which of them are generic, a bit each; only when there are any. */
const uint64_t *definition_set_generic(const struct definition_set *set);
