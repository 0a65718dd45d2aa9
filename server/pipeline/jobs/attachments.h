/* Job: small files of a job are written, and deleted. Ownership: the caller's. Threads: workers; they wait for the writer. */
#pragma once

#include "store/attachments.h"

struct pipeline;

struct attachment_change {
	struct span job, team; /* team: of the token; "": any */
	struct attachment_row row; /* path, content_type, created_ms, author; put sets the rest */
	struct attachment_limits limits;
};

/* In place of what the path had. ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_TOO_LARGE; ERR_SEMANTIC: no such path may be. After an error the path has what it had. */
enum status pipeline_put_attachment(struct pipeline *pipeline, struct arena *arena, struct attachment_change *change,
	struct span content, struct error *err) MUST_CHECK;
enum status pipeline_delete_attachment(struct pipeline *pipeline, struct arena *arena,
	const struct attachment_change *change, struct error *err) MUST_CHECK;
