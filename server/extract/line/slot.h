/*
 * Job: which series of the stream a point belongs to. A definition has one series for itself; one with a name group has one
 *      a name; ranks that print into one stream have one each once they disagree. Internal to extract/.
 * Ownership: init/done; slots and their names live as long as the table. Threads: one at a time.
 *
 * Ranks. The tag of a line ("[rank3]:") or a group `rank` says who speaks. While all ranks say the same, they are one
 * series: at each step the first to print gives the point, and the others, that say the same, are folded into it (not
 * kept: the line is). Once one says something else at the same step they are apart for ever: the rank that gave the point of
 * that step keeps the series as it is (what came before was of all), every other rank has its own, with the label rank="N".
 * So they are where a rank begins with a step that others have passed, and none has ever said the same as another: ranks whose
 * output came in blocks.
 */
#pragma once

#include "base/buf.h"
#include "base/codec/pack.h"
#include "extract/line/prefix.h"
#include "model/metrics/point.h"

/* What names and ranks may take; definitions find room all the same, or a log of many names would shut out its preset. */
enum { SLOTS_NAMED_MAX = 4096, SLOTS_MAX = SLOTS_NAMED_MAX + 1000, SAID_MAX = 4 };
enum { SLOT_NONE = UINT32_MAX, SLOT_FOLDED = UINT32_MAX - 1 };

/* What was said at a step, and by whom. */
struct said {
	int64_t step;
	double value;
	int32_t rank;
};

struct slot {
	int32_t preset; /* whose list it was made for; -1: the user's */
	uint32_t definition; /* in that list */
	uint32_t first; /* of its definition: the slot without name and rank */
	uint32_t next; /* of the same definition; SLOT_NONE: the last */
	uint32_t tail; /* of a `first`: the last of its chain. Not packed */
	uint32_t hash;
	char *name; /* of a definition with a name group; NULL: none */
	int32_t rank; /* its label; RANK_NONE */
	int32_t lead; /* whose the series is: who gave the first point; RANK_NONE: nobody with a tag yet */
	bool is_apart; /* the ranks are */
	bool has_folded; /* one has said the same as another */
	uint32_t said_count;
	struct said said[SAID_MAX]; /* the latest, in a ring */
	/* Guessed metrics (guess.h): not shown before there is enough reason. */
	uint32_t guessed;
	bool is_shown;
	bool has_changed;
	double guessed_first;
	/* Metrics of one name in several formats (owner.c). */
	bool is_settled; /* it was looked whether there is another */
	bool is_beside; /* with the label preset="NAME": the name is another's */
	bool is_given_up; /* it was this one's */
	uint32_t heir; /* whose it is; when given up */
	uint32_t twin; /* where points go since then; SLOT_NONE: not made yet */
	uint32_t shown_hash; /* of the name; 0: not known. Not packed */
	/* As printed last. Of a running mean (definition.h): in this epoch, over so many. Of a bar: at this step, of this attempt. */
	int64_t last_at;
	int64_t last_count; /* 0: nothing yet */
	double last_value;
};

struct slots {
	struct slot *items;
	size_t count;
	size_t cap;
	uint32_t *index; /* of those in a chain, by what tells them apart: a number + 1, 0 is free. Not packed */
	size_t index_count;
	size_t index_cap; /* a power of two */
};

void slots_done(struct slots *slots);
/* `count` slots for the definitions of a preset's list (-1: the user's); false: no memory, or too many. */
bool slots_add_definitions(struct slots *slots, int32_t preset, size_t count);
/* The rank never said what others did, each by its number, and now comes at a later step than they said it at first. */
bool slots_is_new_rank(const struct slots *slots, uint32_t first, struct span name, const struct said *said);
/* Of a number that may count the batches of an epoch: it is lower than one that the epoch has had, as no counter is. */
bool slots_falls(const struct slots *slots, uint32_t first, struct span name, const struct said *said);
void slot_note(struct slot *slot, const struct said *said);
/*
 * The slot of a value that `rank` said at `step`; makes it when it is new. SLOT_FOLDED: another rank said the same.
 * SLOT_NONE: the stream has SLOTS_NAMED_MAX, or no memory. is_sure: it is a rank, and its step one, and nothing has begun anew.
 */
uint32_t slots_find(struct slots *slots, uint32_t first, struct span name, const struct said *said, bool is_sure);
/* The series of the slot under another label. SLOT_NONE as above. */
uint32_t slots_add_twin(struct slots *slots, uint32_t of);
/* The slots of `count` definitions of a preset that stand together; SLOT_NONE: there are none. */
uint32_t slots_find_definitions(const struct slots *slots, int32_t preset, size_t count);

void slots_pack(const struct slots *slots, struct buf *out);
/* has_owners: false for a state of one format alone. */
enum status slots_unpack(struct slots *slots, bool has_owners, struct unpacker *in, struct error *err) MUST_CHECK;
