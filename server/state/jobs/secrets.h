/*
 * Job: masks the secrets in the settings and tags of a job's document before it is stored (docs/jobs.md).
 * Ownership: the document is the caller's, and changed. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"

/* Values that are masked already stay as they are. */
enum status secrets_mask(const struct json *document, struct error *err) MUST_CHECK;
/* The same of an object of texts, as tags are elsewhere. */
enum status secrets_mask_settings(const struct json *settings, struct error *err) MUST_CHECK;
