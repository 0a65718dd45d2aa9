/*
 * Job: which preset a stream gets, and why. Internal to extract/.
 * Ownership: a value. Threads: one at a time. Deterministic: the same lines give the same choice; all of it is packed.
 *
 * Each line is shown to the `detect` expression of every preset until one is chosen, and then on for 1000 lines and until
 * it knew 64. The first line that a preset knows decides, presets of one trainer before generic ones; a `detect` knows every
 * line that the preset's definitions match, so nothing was missed before. The choice is revised once at most, within those
 * lines: a generic preset gives way to a specific one, a specific one to one that has it included, or that knew at least 8
 * more than 4 times as many lines; before that a generic one (bars) may give way to a generic one that has it included. The
 * points given until then stay. What `detect` knows must not depend on which digits, or how many: past the 1000 lines, a
 * line is tried once for each shape.
 */
#pragma once

#include "base/buf.h"
#include "base/codec/pack.h"
#include "extract/definition.h"
#include "extract/line/prefix.h"

enum { CHOICE_LINES = 1000, CHOICE_SURE = 64, CHOICE_SAMPLE_BYTES = 80, CHOICE_MEMO = 256 };

struct choice {
	int preset; /* -1: none yet */
	bool is_revised;
	uint32_t lines; /* shown, up to the last that could change anything */
	uint32_t chosen_at; /* of these lines */
	uint16_t hits[PRESETS_MAX];
	char sample[CHOICE_SAMPLE_BYTES]; /* the line that decided */
	uint8_t sample_len;
	uint64_t *memo; /* shapes of lines that no preset knew; not packed, it only saves time */
};

void choice_init(struct choice *choice);
void choice_done(struct choice *choice);
/* True when the line changed the choice; *start is then where the preset knew it. */
bool choice_see(struct choice *choice, const struct definition_set *set, struct regex_scratch *scratch,
	const struct prefix *prefix, size_t *start);
void choice_reason(const struct choice *choice, struct buf *out);
void choice_pack(const struct choice *choice, struct buf *out);
void choice_unpack(struct choice *choice, struct unpacker *in);
