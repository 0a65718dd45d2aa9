/* Job: "host", and where several sent the stream "hosts" and "shared". Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "state/streams/job_view.h"

struct stream_host_row;
struct host_by_hand;
struct api_hosts {
	struct stream_host_row *rows;
	size_t count;
	struct host_by_hand *set;
	size_t set_count;
};
enum status api_read_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id, struct api_hosts *out,
	struct error *err) MUST_CHECK;
/* From which line on all are its present host's; UINT64_MAX: several send it. */
uint64_t api_write_hosts(struct json_writer *w, const struct api_hosts *hosts, const struct stream_view *stream);
