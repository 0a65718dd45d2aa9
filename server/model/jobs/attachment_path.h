/* Job: where a small file stands in its job, and what kind of file it is. Pure. Ownership: the caller's. Threads: values. */
#pragma once

#include "base/error.h"
#include "base/span.h"

enum { ATTACHMENT_PATH_MAX_BYTES = 1000, ATTACHMENT_TYPE_MAX_BYTES = 200 };

/* ERR_SEMANTIC with field "path": not 1 to 1000 bytes, or with a part that is empty, '.' or '..', a backslash or a control character. */
enum status attachment_check_path(struct span path, struct error *err) MUST_CHECK;
/* What it was sent as; where that says nothing, by the path's ending. Static, or `said`. */
struct span attachment_type(struct span path, struct span said);
/* What it may be handed out as, so that no browser executes it: a raster image, text or JSON, else bytes. Static. */
const char *attachment_safe_type(struct span content_type);
