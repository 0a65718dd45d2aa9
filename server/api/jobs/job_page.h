/* Job: what stands in the head of a job's page for those who read no script: chats that show links. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"

enum { JOB_HEAD_BYTES = 32 << 10 };

/* <title> and Open Graph, in place of the page's title. is_open: whoever follows the link may see its picture, too. out stays empty
 * where there is no such job. */
enum status job_page_write_head(
	struct api_worker *worker, struct span job, bool is_open, struct buf *out, struct error *err) MUST_CHECK;
