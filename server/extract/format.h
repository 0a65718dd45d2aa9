/*
 * Job: the formats that a stream speaks: the presets that have captured values on its lines, in the order in which they are
 *      asked. Internal to extract/.
 * Ownership: init/done; a format stays where it is until it is removed. Threads: one at a time. Deterministic; all but the
 *      memo is packed.
 *
 * A stream may have several: a trainer, what it runs under, its evaluation, and a stray line of something else. None ends
 * another. Specific ones are asked before generic ones; one that takes far more lines moves ahead of one that takes fewer, but
 * not of a near relative that has taken its lines over.
 */
#pragma once

#include "base/buf.h"
#include "base/codec/pack.h"
#include "extract/definition.h"
#include "extract/line/prefix.h"

enum {
	FORMATS_MAX = 8,
	FORMATS_SPECIFIC_MAX = 6, /* the others are for generic ones */
	FORMAT_SAMPLE_BYTES = 80,
	FORMAT_FIRM_LINES = 8, /* one that took fewer gives its place to another when there is none */
	FORMAT_STRAY_LINES =
		8, /* that its `detect` knows without a value, before generic ones read them as their own */
	RIVALS_MAX = 2,
	SILENT_LINES = 10000 /* one that has taken none among so many is forgotten */
};

/* A near relative: of the lines that the format took, those where it captures more values, and fewer. */
struct rival {
	int preset; /* -1: none */
	uint32_t more;
	uint32_t fewer;
};

struct step_seen {
	bool is_there;
	int64_t step;
	int64_t raw;
	uint64_t line; /* where */
	int64_t ts_ms; /* the time stated or shown there, or NO_TIME */
};

struct format {
	int preset; /* -1: the user's definitions */
	bool is_generic;
	int taken_over; /* the preset whose lines it has taken over; -1: none's */
	uint32_t first_slot; /* of its definitions; behind them, in a guided set, that of lines with a step alone */
	size_t definition_count;
	uint64_t pending_tried; /* segments not yet in the `tried` of those definitions that are not given up */
	uint64_t since; /* the lines of the stream that were shown when it joined */
	uint64_t taken; /* segments; 0: its `detect` has known one, the head of a table, and it waits for a value */
	uint32_t without_value; /* lines that its `detect` knew, and nobody took */
	uint64_t last_line; /* the last one it took */
	uint64_t gap_lines; /* the longest way from one to the next, of late */
	struct rival rivals[RIVALS_MAX];
	char sample[FORMAT_SAMPLE_BYTES]; /* the first line it took */
	uint8_t sample_len;
	struct buf name; /* of the series in a match without a name: the last one, "" none */
	struct step_seen step; /* the last one that it said */
	int64_t said_total; /* of the run's steps; 0: not said */
};

struct formats {
	struct format *items[FORMATS_MAX];
	size_t count;
	uint64_t lines; /* shown */
	uint64_t shape; /* of the line that is asked about */
	bool is_sieved; /* may_know is about it: the presets whose `detect` is worth a search */
	uint64_t may_know[SIEVE_WORDS];
	uint64_t *memo; /* shapes of lines that nobody knew, or the reader; not packed, it only saves time */
};

void formats_init(struct formats *formats);
void formats_done(struct formats *formats);
struct format *formats_find(const struct formats *formats, int preset);
/* The one with the fewest lines, when there is no place for another of its kind; else NULL. */
struct format *formats_least(const struct formats *formats, bool is_generic);
/* Behind the others of its kind; there must be a place. NULL: no memory. */
struct format *formats_add(struct formats *formats, int preset, bool is_generic);
void formats_remove(struct formats *formats, int preset);
/* It took this line. */
void formats_note(struct formats *formats, struct format *format, struct span text, uint64_t line);
/* `format` is asked before `other` from now on. */
void formats_put_before(struct formats *formats, const struct format *format, const struct format *other);
/* It has taken a line, or was asked for by name. */
bool formats_speaks(const struct formats *formats, const struct format *format);
/* So long that another may go on with its curves. */
bool format_has_ended(const struct format *format, uint64_t line);
/* So many more lines that the other's may be strays. */
bool format_outweighs(const struct format *format, const struct format *other);
/*
 * What stands for the stream: of those that still speak the one that took most lines, a specific one before a generic one
 * unless that outweighs it. NULL: none.
 */
struct format *formats_leader(const struct formats *formats);
void formats_reason(const struct formats *formats, const struct format *format, struct buf *out);

/*
 * A line is asked about from now on. What a preset's `detect` knows must not depend on which digits there are, or how many: a
 * line is tried once for each shape. True: of this one nobody captures anything, as formats_note_dull says.
 */
bool formats_see(struct formats *formats, struct span text);
/* Which specific or generic presets' `detect` knows the line, whose view this is; false: none. */
bool formats_find_known(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, bool is_generic, uint64_t known[SIEVE_WORDS]);
/* Of lines of this shape that the preset takes: nobody else knows them who could be compared with it. */
bool formats_is_alone(const struct formats *formats, int preset);
void formats_note_alone(struct formats *formats, int preset);
void formats_note_dull(struct formats *formats, struct span text);
/* Lines are read otherwise from now on. */
void formats_forget_dull(struct formats *formats);

void step_seen_pack(const struct step_seen *seen, struct buf *out);
void step_seen_unpack(struct step_seen *seen, struct unpacker *in);
void formats_pack(const struct formats *formats, struct buf *out);
enum status formats_unpack(struct formats *formats, struct unpacker *in, struct error *err) MUST_CHECK;
void formats_pack_totals(const struct formats *formats, struct buf *out); /* of the formats above, in their order */
void formats_unpack_totals(struct formats *formats, struct unpacker *in);
/* Of a state that has one preset at most: *out is NULL when it has none. */
enum status formats_unpack_choice(
	struct formats *formats, struct unpacker *in, struct format **out, struct error *err) MUST_CHECK;
