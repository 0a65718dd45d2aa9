/* Settings out of a stream's first lines, to its job: replayed lines find what is known already, and that says nothing. */
#include "pipeline/consume/consume.h"
#include "state/streams/directory.h"

enum status consume_settings(struct stream_state *stream, struct span text, uint64_t number, struct error *err)
{
	bool has_news;

	TRY(settings_feed(stream->settings, text, number, err));
	if (settings_count(stream->settings)) {
		TRY(job_settings_take(stream->job->settings, stream->stream_id, stream->settings, &has_news, err));
		settings_forget(stream->settings);
		if (has_news)
			atomic_store(&stream->job->is_summary_dirty, true);
	}
	if (settings_has_ended(stream->settings)) {
		settings_free(stream->settings);
		stream->settings = NULL;
	}
	return OK;
}
