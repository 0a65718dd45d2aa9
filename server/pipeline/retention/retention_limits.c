/* The limits themselves: changed by people, remembered, and told to readers whose lines they took. */
#include "pipeline/retention/retention_limits.h"

#include "base/log.h"
#include "pipeline/commit/resolve.h"
#include "pipeline/retention/retention.h"
#include "state/audit.h"
#include "state/execute.h"
#include "state/options.h"
#include "state/pipeline_state.h"
#include "store/admin.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/tokens.h"

#include <inttypes.h>
#include <stdio.h>

enum { PART_OF_DISK = 200 }; /* half of a change of less than one in a hundred */

struct limit_change {
	struct span job, team; /* job "": of the team itself */
	const struct retention *limits; /* NULL: only the pin changes */
	bool is_pinned;
};

static enum status write_job_limits(void *context, struct store_tx *tx, struct error *err)
{
	const struct limit_change *change = context;
	AUTO(arena) arena = arena_new();
	struct retention kept;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(store_tx_reader(tx), arena, change->job, &row, err));
	TRY(check_team(row.team, row.name, change->team, err));
	TRY(store_read_job_retention(store_tx_reader(tx), row.job_id, &kept, err));
	if (change->limits) {
		kept.max_age_ms = change->limits->max_age_ms;
		kept.max_bytes = change->limits->max_bytes;
	} else {
		kept.is_pinned = change->is_pinned;
	}
	return store_put_job_retention(tx, row.job_id, &kept, err);
}

static enum status write_team_limits(void *context, struct store_tx *tx, struct error *err)
{
	const struct limit_change *change = context;

	return store_put_team_retention(tx, change->team, change->limits, err);
}

static enum status change_limits(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *change, struct error *err)
{
	TRY(writer_execute(pipeline, work, change, err));
	atomic_store(&pipeline->retention_changed, true);
	return OK;
}

enum status pipeline_pin_job(
	struct pipeline *pipeline, struct span job, struct span team, bool is_pinned, struct error *err)
{
	struct limit_change change = {.job = job, .team = team, .is_pinned = is_pinned};

	return change_limits(pipeline, write_job_limits, &change, err);
}

enum status pipeline_limit_job(
	struct pipeline *pipeline, struct span job, struct span team, const struct retention *limits, struct error *err)
{
	struct limit_change change = {.job = job, .team = team, .limits = limits};

	return change_limits(pipeline, write_job_limits, &change, err);
}

enum status pipeline_limit_team(
	struct pipeline *pipeline, struct span team, const struct retention *limits, struct error *err)
{
	struct limit_change change = {.team = team, .limits = limits};

	return change_limits(pipeline, write_team_limits, &change, err);
}

static const char space_key[] = "log_bytes";
static const char chosen_key[] =
	"log_bytes_chosen"; /* by the size of the disk, or "stated"; older programs wrote neither */

/* The size of a database of PostgreSQL's is not less for what is deleted there: over the limit everything would go. */
static enum status check_space(const struct pipeline *pipeline, uint64_t log_bytes, struct error *err)
{
	if (!log_bytes || store_can_shrink(pipeline->options.store))
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "log_bytes",
		"log_bytes does not work on PostgreSQL, whose size does not fall when text is deleted: set max_age_days or max_bytes, or log_bytes to 0");
}

struct space {
	uint64_t log_bytes;
	uint64_t disk_bytes; /* by which it was chosen; 0: it was stated */
};

static enum status write_space(void *context, struct store_tx *tx, struct error *err)
{
	const struct space *space = context;
	char limit[32], disk[32] = "stated";

	snprintf(limit, sizeof limit, "%" PRIu64, space->log_bytes);
	if (space->disk_bytes)
		snprintf(disk, sizeof disk, "%" PRIu64, space->disk_bytes);
	TRY(store_put_setting(tx, chosen_key, span_from(disk), err));
	return store_put_setting(tx, space_key, span_from(limit), err);
}

static enum status put_space(struct pipeline *pipeline, struct space space, struct error *err)
{
	TRY(change_limits(pipeline, write_space, &space, err));
	atomic_store(&pipeline->figures.is_log_bytes_chosen, space.disk_bytes != 0);
	atomic_store(&pipeline->figures.log_bytes_limit, space.log_bytes);
	atomic_store(&pipeline->figures.chosen_disk_bytes, space.disk_bytes);
	return OK;
}

enum status pipeline_limit_space(struct pipeline *pipeline, uint64_t log_bytes, struct error *err)
{
	TRY(check_space(pipeline, log_bytes, err));
	return put_space(pipeline, (struct space){.log_bytes = log_bytes}, err);
}

/*
 * A database that was restored or moved here has text already, which nobody limited: it counts as well, or it would be deleted for the
 * room that others have taken.
 */
static enum status choose_space(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	uint64_t free_bytes, size_bytes, used_bytes;

	TRY(store_disk_room(pipeline->options.store, &free_bytes, &size_bytes, err));
	if (free_bytes == STORE_FREE_UNKNOWN)
		return OK; /* then nothing is deleted that nobody limited */
	TRY(retention_used_bytes(reader, &used_bytes, err));
	return put_space(
		pipeline, (struct space){.log_bytes = used_bytes + free_bytes / 2, .disk_bytes = size_bytes}, err);
}

enum status retention_follow_disk(struct pipeline *pipeline, uint64_t used, struct error *err)
{
	uint64_t limit = atomic_load(&pipeline->figures.log_bytes_limit);
	uint64_t before = atomic_load(&pipeline->figures.chosen_disk_bytes), free_bytes, now;

	if (!before)
		return OK;
	TRY(store_disk_room(pipeline->options.store, &free_bytes, &now, err));
	if (free_bytes == STORE_FREE_UNKNOWN || now == before)
		return OK;
	uint64_t change = (now > before ? now - before : before - now) / 2;
	if (change < before / PART_OF_DISK) /* of a pool that others share the size moves with each write */
		return OK;
	uint64_t least = limit < used ? limit : used;
	uint64_t next = now > before ? limit + change : limit > least + change ? limit - change : least;
	log_line(LOG_INFO, "log_bytes_followed", "disk_bytes=%" PRIu64 " log_bytes=%" PRIu64 " before=%" PRIu64, now,
		next, limit);
	return put_space(pipeline, (struct space){.log_bytes = next, .disk_bytes = now}, err);
}

/* What it takes the place of was somebody's: the audit log says where that went, and the next change says what was before it. */
static enum status remember_stated(
	struct pipeline *pipeline, uint64_t log_bytes, struct span remembered, struct error *err)
{
	const struct actor start = {.token = SPAN(""),
		.team = SPAN(""),
		.address = SPAN(""),
		.verb = SPAN("start"),
		.kind = SPAN("retention"),
		.id = SPAN(""),
		.body = SPAN("")};
	uint64_t before;
	bool is_there = span_parse_u64(remembered, &before);

	if (is_there && before == log_bytes)
		return OK;
	audit_act_as(pipeline, is_there ? &start : NULL);
	enum status status = pipeline_limit_space(pipeline, log_bytes, err);
	audit_act_as(pipeline, NULL);
	return status;
}

static enum status remember_chosen(
	struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct error *err)
{
	struct span stored;
	uint64_t disk_bytes;

	TRY(store_read_setting(reader, arena, chosen_key, &stored, err));
	bool is_known = span_parse_u64(stored, &disk_bytes);
	atomic_store(&pipeline->figures.is_log_bytes_chosen, is_known || !stored.len); /* who says nothing is warned */
	atomic_store(&pipeline->figures.chosen_disk_bytes, is_known ? disk_bytes : 0);
	return OK;
}

/* The option when it was stated; else what is remembered; else what is chosen now, which is remembered then. */
enum status retention_start(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	AUTO(arena) arena = arena_new();
	uint64_t limit = pipeline->options.log_bytes;
	struct span stored;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(reader, arena, space_key, &stored, err));
	if (limit != LOG_BYTES_REMEMBERED) {
		TRY(check_space(pipeline, limit, err));
		atomic_store(&pipeline->figures.log_bytes_limit, limit); /* also on a disk that takes nothing */
		return remember_stated(pipeline, limit, stored, err);
	}
	if (span_parse_u64(stored, &limit)) {
		struct error why = {0};
		if (check_space(pipeline, limit, &why) != OK) {
			/* An older program took it, or it is of a file that was moved here. PUT of the limits mends it, which needs a server that runs. */
			log_line(
				LOG_WARNING, "log_bytes_ignored", "remembered=%" PRIu64 " why=\"%s\"", limit, why.text);
			limit = 0;
		}
		atomic_store(&pipeline->figures.log_bytes_limit, limit);
		return remember_chosen(pipeline, reader, arena, err);
	}
	return choose_space(pipeline, reader, err);
}
