/*
 * Job: where each definition of a stream stands on its step axis: unrolls per-epoch counters, tells restarts from late
 *      chunks and from counters that start over in each epoch. Internal to extract/.
 * Ownership: init/done. Threads: one at a time.
 *
 * A break that others than the lines told (a status that was stated, a process that ended) stands for a start-up line before the first
 * step behind it.
 *
 * A step that falls below the definition's maximum while log time does not is one of these (the maximum again is the first of them
 * when a start-up or checkpoint-load line and an unusually long silence stand before it):
 *   a restart        opened on trial; decided when five points, each further on, stayed at or below the old maximum,
 *                    or fewer when a start-up or checkpoint-load line stands before it: then only a leap of more than two
 *                    printed intervals to the step behind the old maximum takes it back (a caught exception, another
 *                    model's checkpoint, and one line that says a step of its own). Fewer are enough, too, behind a silence
 *                    that is unusually long, when they lead up to the old maximum and on without leaving a step out: a rank
 *                    that is late is late by less, and then the first one goes on from where it was;
 *   a late chunk     log time went back too: nothing happens. Or it passes the old maximum before the five: taken back. What bears
 *                    a time of before the attempt, though it comes behind its beginning, is of the attempt of its time, and decides
 *                    nothing: where it stands before all that the definition had said then, or is a step that it had not said yet.
 *                    If neither, it is of the newest attempt: later lines of its beginning came first, which is moved back, or a clock was
 *                    set right. So is a step that goes on from one behind all of the attempt before, or that is further than what others
 *                    made in it: another clock. Nothing from that time on is late any more;
 *   the next epoch   of a per-epoch counter. With an epoch group this is told at once and unrolled. Without one it looks
 *                    like a restart from the very first step, so such a trial stays open until the counter passes its old
 *                    maximum (a restart), or starts over at the same first value from the same maximum (twice in a
 *                    row: per-epoch; taken back and unrolled from then on), or TRIAL_POINTS_MAX points went by (a
 *                    restart). When another definition's step just goes on, it is no restart either. A counter that had come to
 *                    the total that the line says begins the next epoch at once.
 */
#pragma once

#include "base/error.h"
#include "base/codec/pack.h"
#include "extract/extract.h"

enum { TRIAL_PROGRESS = 5, TRIAL_POINTS_MAX = 1024 };

/* A step as captured. */
struct raw_step {
	int64_t value;
	int64_t epoch;
	bool has_epoch;
	int64_t total; /* that it runs to, as the line says; 0: it does not */
	int64_t ts_ms;
	uint64_t line;
	bool is_aside; /* said by a format beside the one that leads: alone it opens no attempt */
	bool waits_for_points; /* whoever sends the stream's points has not said yet whether theirs go on: so nothing is decided */
};

struct position {
	uint32_t attempt; /* 0: no step yet */
	bool is_per_epoch; /* starts over without an epoch group */
	bool has_epoch;
	int64_t first; /* raw: of the epoch, or of the attempt */
	int64_t last; /* raw */
	int64_t stride; /* between the first two; 0: not known */
	int64_t epoch;
	int64_t epoch_length;
	int64_t base; /* unrolled = base + raw */
	int64_t max_step; /* unrolled */
	int64_t max_ts_ms;
	int64_t max_since_ms; /* when max_step was reached */
	int64_t gap_ms; /* the longest time from one max_step to the next, of late; 0: not known */
	uint64_t last_line;
};

/* One definition in one stream. */
struct track {
	struct definition_health health;
	uint32_t overrun; /* of its expression, see match.c; packed */
	bool is_left_out; /* it has overrun too much */
	uint32_t progress; /* points of the trial that advanced */
	uint64_t count; /* points: the step of a definition that has none */
	uint64_t seen_at; /* which segment it matched last; not packed, as extractor.segments */
	bool is_on_trial;
	struct position now;
	struct position
		before; /* where it stood before the trial, or, once that is decided, before the attempt; attempt 0: not known */
};

struct attempts {
	struct track *tracks;
	size_t track_count;
	size_t track_cap;
	int64_t *starts; /* one an attempt */
	int64_t *
		opened_ms; /* the same: the log time of what opened it, or the last that was earlier; INT64_MIN: nobody can come late for it */
	int64_t *
		sent_ms; /* the same, of those that points which were sent have begun: since then; INT64_MIN: lines alone have */
	size_t start_count;
	size_t start_cap, opened_cap, sent_cap;
	bool has_moved; /* the newest start: its first lines came behind later ones */
	bool was_late; /* the last step was */
	bool is_reached_known; /* how far the attempt before the newest came, late steps included; not packed */
	int64_t reached;
	uint64_t
		late_line; /* 1 + the last line whose step was made before the newest attempt, and in which one that was */
	uint32_t late_attempt;
	bool has_step; /* any yet */
	bool has_hint; /* a start-up line, not yet followed by a step */
	uint64_t hint_line;
	struct {
		bool is_open;
		bool waits_for_epoch;
		bool is_behind_pause;
		uint64_t line;
		uint32_t points;
	} trial;
	/* When its processes broke off and began, as others than its lines say; by time. Not packed: whoever knows says it again. */
	int64_t *breaks;
	size_t break_count;
	unsigned break_changes; /* whoever says them: of how many changes these are */
	struct {
		bool is_pending;
		uint64_t line;
		uint32_t from;
		uint32_t to;
	} revision;
};

bool attempts_init(struct attempts *attempts) __attribute__((warn_unused_result));
void attempts_done(struct attempts *attempts);
/* ms: as opened_ms. False: there is no memory. */
bool attempts_add_start(struct attempts *attempts, int64_t step, int64_t ms) __attribute__((warn_unused_result));
/* Fresh ones behind those that are there, up to `count`. */
bool attempts_add_tracks(struct attempts *attempts, size_t count) __attribute__((warn_unused_result));
bool attempts_set_breaks(struct attempts *attempts, const int64_t *at_ms, size_t count, unsigned changes)
	__attribute__((warn_unused_result));
/* Where the step lies on the axis; may open, confirm or take back an attempt. */
enum status attempts_place(struct attempts *attempts, struct track *track, const struct raw_step *raw, int64_t *step,
	struct error *err) MUST_CHECK;
/*
 * The steps of what is sent, and not found in lines, just went on: what a counter in lines opened on trial, without a start-up line, is
 * taken back. False: there is no such trial.
 */
bool attempts_refute(struct attempts *attempts);
/* Where a value of this line belongs. */
uint32_t attempts_of_line(const struct attempts *attempts, uint64_t line);
/* And where a line without one does, among those that came last. */
uint32_t attempts_among(const struct attempts *attempts, int64_t ts_ms);
/* One that nobody has to confirm. sent_ms: as above. */
enum status attempts_open_decided(
	struct attempts *attempts, int64_t step, int64_t sent_ms, struct error *err) MUST_CHECK;
/* Where a point that was sent with this time belongs. */
uint32_t attempts_of_sent(const struct attempts *attempts, int64_t ts_ms);
void attempts_pack(const struct attempts *attempts, struct buf *out);
/* What was added to that later. */
void attempts_pack_times(const struct attempts *attempts, struct buf *out);
void attempts_unpack_times(struct attempts *attempts, struct unpacker *in);
void attempts_pack_sent(const struct attempts *attempts, struct buf *out);
void attempts_unpack_sent(struct attempts *attempts, struct unpacker *in);
/* What a state lacks that was written before. */
enum attempts_form { ATTEMPTS_FIRST, ATTEMPTS_WITH_PLACES, ATTEMPTS_WITH_GAPS };
enum status attempts_unpack(
	struct attempts *attempts, enum attempts_form form, struct unpacker *in, struct error *err) MUST_CHECK;
