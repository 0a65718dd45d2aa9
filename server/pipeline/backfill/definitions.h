/*
 * Job: metric definitions of jobs and of the server, and their change with or without a back-fill.
 * Ownership: views live in the arena. Threads: workers; changes wait for the writer.
 */
#pragma once

#include "base/json/json_read.h"
#include "state/streams/job_view.h"
#include "store/backfills.h"
#include "store/jobs.h"

struct pipeline;

/*
 * What the job's lines are extracted by from now on: an array as in MetricDefinitions, [{"Preset": name}], or [] for the preset
 * that fits its first lines. With backfill the whole stored log is extracted again in the background, and until that is done
 * readers see what was; the same as before without it: nothing is done. ERR_CONFLICT while one runs, or when text that it needs was deleted by a limit. It is also set, and the log
 * extracted again, where the ones before cannot be read: nothing was extracted by them.
 */
enum status pipeline_change_definitions(struct pipeline *pipeline, struct span job, struct span team,
	const struct json *definitions, bool *backfill, struct error *err) MUST_CHECK;
enum status pipeline_cancel_backfill(
	struct pipeline *pipeline, struct span job, struct span team, struct error *err) MUST_CHECK;

/* Those of jobs that are made from now on without any of their own; [] : presets. */
enum status pipeline_change_default_definitions(
	struct pipeline *pipeline, const struct json *definitions, struct error *err) MUST_CHECK;

enum definitions_source {
	DEFINITIONS_NONE, /* no line yet that a preset knows */
	DEFINITIONS_JOB, /* its own */
	DEFINITIONS_SERVER, /* the server's, as they were when the job was made, and still are */
	DEFINITIONS_PRESET /* of the name, asked for or chosen by lines */
};

struct definitions_view {
	enum definitions_source source;
	struct span preset; /* of the stream that has most lines; "": none */
	struct span reason;
	const struct format_view *formats; /* all that the streams speak, each once, with the reason of the first */
	size_t format_count;
	uint32_t generation;
	struct metric_definition *items;
	size_t count;
	struct backfill_row backfill; /* job_id 0: there was none */
	bool is_renamed; /* the preset's name is an older one of another */
	struct span damage; /* why they cannot be read, and what to do; "": they can */
};

/* The same of the job's definitions alone. */
enum status pipeline_read_damage(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct span *out, struct error *err) MUST_CHECK;

/* view: of the job, with its series. */
enum status pipeline_view_definitions(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct definitions_view *out, struct error *err) MUST_CHECK;
enum status pipeline_view_default_definitions(struct pipeline *pipeline, struct store_reader *reader,
	struct arena *arena, struct definitions_view *out, struct error *err) MUST_CHECK;

/* By number from 0; NULL: there are no more. Its definitions: what is in *out. */
const char *pipeline_preset(
	const struct pipeline *pipeline, struct arena *arena, size_t number, struct definitions_view *out);
