/* The head of a job's page. The page itself is the same for all jobs, and writes its title once its script has run. */
#include "api/jobs/job_page.h"

#include "api/core/request.h"
#include "base/json/json_write.h"
#include "base/text/markup.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/job_facts.h"
#include "store/jobs.h"

#include <inttypes.h>

enum { REASON_BYTES = 300, PICTURE_WIDTH = 1200, PICTURE_HEIGHT = 630 };

struct head {
	struct job_row job;
	bool has_loss;
	double loss;
	int64_t step;
	struct incident_row *incidents; /* the newest one */
	size_t incident_count;
};

static enum status read_facts(struct store_reader *reader, struct arena *arena, struct head *head, struct error *err)
{
	const struct incident_filter filter = {
		.job_id = head->job.job_id, .state = -1, .kind = -1, .cursor = SPAN(""), .limit = 1};
	struct summary_row loss = {.summary.count = 0};
	struct span next_cursor;

	TRY(store_read_main_summary(reader, arena, head->job.job_id, ROLE_LOSS, &loss, &head->has_loss, err));
	head->has_loss = head->has_loss && loss.summary.count;
	head->loss = loss.summary.last;
	head->step = loss.summary.last_step;
	return store_read_incidents(reader, arena, &filter, &head->incidents, &head->incident_count, &next_cursor, err);
}

/* What is longer is cut at a character. */
static struct span shorten(struct span text, size_t most)
{
	if (text.len <= most)
		return text;
	while (most && ((unsigned char)text.ptr[most] & 0xc0) == 0x80)
		most--;
	return span_of(text.ptr, most);
}

static void put_words(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_append_char(out, *name == '_' ? ' ' : *name);
}

static void put_reason(struct span reason, struct buf *out)
{
	struct span line;

	for (const char *before = ": "; span_next(&reason, '\n', &line); before = " ") {
		buf_append_text(out, before);
		markup_put_text(out, line);
	}
}

/* "Failed: CUDA out of memory · loss 2.31 at step 12000 · critical loss spike (open)" */
static void put_description(const struct head *head, struct buf *out)
{
	char loss[33];

	markup_put_text(out, head->job.status);
	if (head->job.secondary.len && !span_equal(head->job.secondary, head->job.status)) {
		buf_append_text(out, " (");
		markup_put_text(out, head->job.secondary);
		buf_append_char(out, ')');
	}
	if (head->job.failure_reason.len)
		put_reason(shorten(head->job.failure_reason, REASON_BYTES), out);
	if (head->has_loss) {
		json_format_double(head->loss, loss);
		buf_printf(out, " · loss %s at step %" PRId64, loss, head->step);
	}
	if (head->incident_count) {
		const struct incident *incident = &head->incidents[0].incident;
		buf_printf(out, " · %s ", severity_name(incident->severity));
		put_words(out, incident_kind_name(incident->kind));
		buf_printf(out, " (%s)", incident_state_name(incident->state));
	}
}

static void open_property(const char *name, struct buf *out)
{
	buf_printf(out, "\n    <meta property=\"og:%s\" content=\"", name);
}

static void close_property(struct buf *out)
{
	buf_append_text(out, "\" />");
}

static void put_address(struct span public_url, const char *before, struct span job, struct buf *out)
{
	markup_put_text(out, public_url);
	buf_append_text(out, before);
	buf_append_percent_encoded(out, job);
}

/* Few who show links draw an SVG; those who don't show the text alone. */
static void put_picture(struct span public_url, const struct head *head, struct buf *out)
{
	open_property("image", out);
	put_address(public_url, "/api/v1/jobs/", head->job.name, out);
	buf_printf(out, "/chart.svg?metric=loss&amp;theme=light&amp;width=%d&amp;height=%d", PICTURE_WIDTH,
		PICTURE_HEIGHT);
	close_property(out);
	open_property("image:type", out);
	buf_append_text(out, "image/svg+xml");
	close_property(out);
}

static void write_head(struct span public_url, const struct head *head, bool is_open, struct buf *out)
{
	buf_append_text(out, "<title>");
	markup_put_text(out, head->job.name);
	buf_append_text(out, " · smfleet</title>");
	open_property("type", out);
	buf_append_text(out, "website");
	close_property(out);
	open_property("site_name", out);
	buf_append_text(out, "smfleet");
	close_property(out);
	open_property("title", out);
	markup_put_text(out, head->job.name);
	close_property(out);
	open_property("description", out);
	put_description(head, out);
	close_property(out);
	open_property("url", out);
	put_address(public_url, "/jobs/", head->job.name, out);
	close_property(out);
	if (is_open && head->has_loss)
		put_picture(public_url, head, out);
}

enum status job_page_write_head(
	struct api_worker *worker, struct span job, bool is_open, struct buf *out, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct head head = {0};

	TRY(api_arena(&arena, err));
	TRY(store_reader_begin(worker->reader, err));
	enum status status = store_read_job(worker->reader, arena, job, &head.job, err);
	if (status == OK)
		status = read_facts(worker->reader, arena, &head, err);
	store_reader_end(worker->reader);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	write_head(worker->api->options.public_url, &head, is_open, out);
	return buf_status(out, err);
}
