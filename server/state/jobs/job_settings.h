/*
 * Job: what is known of one job's settings: those found in the lines of its streams, the first of each key, until they are
 *      in the store and beyond; and what follows from them, and from its document, for derived metrics.
 * Ownership: new/free; its job's. Spans live as long.
 * Threads: any; a lock of its own, taken last and held shortly.
 */
#pragma once

#include "extract/settings/settings.h"
#include "state/jobs/devices.h"
#include "store/job_facts.h"
#include "store/store.h"

struct job_settings;

struct job_settings *job_settings_new(void) __attribute__((warn_unused_result));
void job_settings_free(struct job_settings *settings);

/* What the store knows of the job already. */
enum status job_settings_load(
	struct job_settings *settings, struct store_reader *reader, int64_t job_id, struct error *err) MUST_CHECK;
/* What a stream's lines said; known secret shapes are masked. *has_news: something of it was new. */
enum status job_settings_take(struct job_settings *settings, uint32_t stream_id, const struct settings *found,
	bool *has_news, struct error *err) MUST_CHECK;

/* Those that may not be in the store yet, in the arena; `end` is for job_settings_settle, once they are. */
enum status job_settings_unwritten(struct job_settings *settings, struct arena *arena, struct setting_row **out,
	size_t *count, size_t *end, struct error *err) MUST_CHECK;
void job_settings_settle(struct job_settings *settings, size_t end);

/* The document, as it is now. */
enum status job_settings_state(struct job_settings *settings, const struct devices *devices, struct span document,
	struct error *err) MUST_CHECK;
/* What they all say of the run; lives as long as the job. Lines that come later, of any stream, may say more. */
const struct inputs *job_settings_inputs(struct job_settings *settings);

/* What a document states of what inputs_resolve wants; spans are in the arena. */
struct stated {
	struct input_setting *items;
	size_t count;
	struct input_machines machines;
};
enum status job_settings_read_stated(struct stated *out, const struct devices *devices, struct span document,
	struct arena *arena, struct error *err) MUST_CHECK;

AUTO_TYPE(job_settings)
