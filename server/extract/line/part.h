/*
 * Job: the parts of a prefix (prefix.h), one reader a kind. Internal to extract/line/.
 * Ownership: spans into the input. Threads: any.
 *
 * Each reader passes over its part, with one separator behind it, and says what it was; PART_NONE leaves *text as it is.
 */
#pragma once

#include "extract/line/cursor.h"
#include "extract/line/kinds.h"

enum part {
	PART_NONE,
	PART_GUESS, /* it may be the trainer's own word */
	PART_WORD, /* a logger's: no word of the trainer's, though its expressions may begin with it */
	PART_TAG /* of a launcher or collector: nobody looks in front of what is behind it */
};

struct prefix_memory;

/* What is known of the line when a part is read. */
struct peeling {
	int32_t rank; /* RANK_NONE: no tag so far */
	bool is_bare; /* see struct prefix */
	bool is_first; /* nothing was peeled yet */
	bool has_time;
	bool has_level;
	uint8_t column; /* spaces that pad a level to a column, as rich prints it: the line may end with file:line */
	bool is_padded; /* they were passed over */
	bool is_separator; /* the part just read: as sure as the one before it */
	struct span name; /* of a guess of the kind GUESS_NAME */
	bool is_table; /* the line ends with a '|': it may begin with one */
	uint8_t guess; /* the kind of the part just read, when it is one; 0: of none that may be trusted */
};

/* launcher.c */
enum part launcher_take(struct span *text, struct peeling *peeling);
/* learned.c: the bytes of the stream's own form at the front; 0: none. */
size_t learned_length(const struct prefix_memory *memory, struct span text);
/* collector.c */
enum part collector_take(struct span *text, struct peeling *peeling);
/* "<13>" and "<14>1 " of syslog; the version begins a header of RFC 5424. False: none, and *is_5424 is as it was. */
bool syslog_take_priority(struct span *text, bool *is_5424);
/* "<13>", and a header of RFC 5424 as a whole. */
bool syslog_take_header(struct span *text);
/* "journal: ", "rag-bot[3]: ", "docker/rsyslog[1]: ": whatever program a syslog names behind the host. *name: without its number. */
bool syslog_take_program(struct span *text, struct span *name);
/* stamp.c: with a date, a time of day alone, seconds since 1970 or since the start. */
enum part stamp_take(struct span *text);
/* "[06/25/24 12:34:56", "12:34:56,789": one at the front, without what is behind it. */
bool stamp_take_bare(struct span *text);
/* A day and a time of day, not in brackets. */
bool stamp_has_date(struct span text);
/* logger.c */
enum part logger_take(struct span *text, struct peeling *peeling);
/* INFO, Warning: the length of a level's name at the front; 0: none. */
size_t logger_level_length(struct span text);
/* step, epoch, train, loss: what trainers begin a line with. */
bool logger_is_trainer_word(struct span word);
/* "rank 3", "Rank:3", "rank3" as a whole. */
bool logger_is_rank(struct span text, int32_t *rank);

/* The number at the front of *text as a rank, which is passed over. */
bool launcher_take_number(struct span *text, int32_t *number);
