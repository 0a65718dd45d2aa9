#include "state/streams/stream_ends.h"

#include "state/streams/directory.h"

static void read_ends(void *context, int64_t job_id, uint32_t stream_id, int64_t *first_ms, int64_t *last_ms)
{
	struct job_state *job = directory_find_id(context, job_id);
	struct stream_state *stream = job ? job_find_stream_id(job, stream_id) : NULL;

	*first_ms = *last_ms = 0;
	if (stream) {
		pthread_mutex_lock(&stream->mutex);
		*first_ms = stream->first_ms;
		*last_ms = stream->last_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
}

struct stream_ends stream_ends_of(struct directory *directory, int64_t silent_ms)
{
	return (struct stream_ends){.read = read_ends, .context = directory, .silent_ms = silent_ms};
}
