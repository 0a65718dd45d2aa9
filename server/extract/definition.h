/*
 * Job: the compiled form of metric definitions, shared by the files of extract/.
 * Ownership: the set owns its arena, with all spans and arrays, and its expressions. Threads: immutable once built.
 */
#pragma once

#include "base/arena.h"
#include "extract/extract.h"

enum { NO_GROUP = -1 };

struct definition {
	struct metric_definition shown;
	struct regex *regex;
	struct regex *step_regex; /* NULL: none */
	int value_group;
	int step_group; /* in regex; NO_GROUP when it has none */
	int epoch_group;
	int line_step_group; /* in step_regex */
	int line_epoch_group;
};

struct definition_list {
	struct definition *items;
	size_t count;
};

struct preset {
	char *name;
	struct regex *detect;
	struct definition_list list;
};

struct definition_set {
	struct arena *arena;
	struct definition_list list; /* the explicit form */
	const struct definition_set *presets; /* borrowed; the preset form */
	struct preset *items; /* a set made by definition_presets_new */
	size_t preset_count;
	bool is_preset_form;
};

/* Compiles the array `node` into *list; `field` is the path of the array for errors. */
enum status definition_list_build(struct definition_list *list, struct arena *arena, const struct json *node,
	const char *field, struct error *err) MUST_CHECK;
void definition_list_done(struct definition_list *list);
struct definition_set *definition_set_alloc(void) __attribute__((warn_unused_result));

/* The definitions that run under a preset number; an empty list when there is no such preset. */
const struct definition_list *definition_set_list(const struct definition_set *set, int preset);
/* The number of the first preset that recognises the text, or -1. */
int definition_set_detect(const struct definition_set *set, struct regex_scratch *scratch, struct span text);
