/*
 * Job: jobs made by documents.
 * Ownership: the caller's. Threads: workers; they wait for the writer.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/store.h"

struct pipeline;

/* A CreateTrainingJob document; is_told: it begins now, and webhooks are told. ERR_CONFLICT: exists (unless it was only made by its
 * first line); ERR_SEMANTIC with field. */
enum status pipeline_create_job(struct pipeline *pipeline, const struct json *document, struct span team,
	int64_t now_ms, bool is_told, struct error *err) MUST_CHECK;

/* Would pipeline_create_job take it? Nothing is stored. */
enum status pipeline_check_job(struct pipeline *pipeline, struct store_reader *reader, const struct json *document,
	struct span team, struct error *err) MUST_CHECK;
