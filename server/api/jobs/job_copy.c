/* "Copy as": what would run the job again on SageMaker. */
#include "api/jobs/job_copy.h"

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/training_job.h"
#include "store/jobs.h"

enum { REQUEST_MAX_BYTES = 8 << 20 };

static void put_shell_quoted(struct buf *out, struct span text)
{
	buf_append_char(out, '\'');
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\'')
			buf_append_text(out, "'\\''");
		else
			buf_append_char(out, text.ptr[i]);
	buf_append_char(out, '\'');
}

static enum status write_request(const struct job_row *row, struct buf *out, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) name = BUF_INIT(256);
	struct json_writer w = json_writer_on(out);

	TRY(json_parse(&document, row->document, err));
	TRY(by_hand_settle_settings(document, err));
	training_job_next_name(row->name, &name);
	TRY(buf_status(&name, err));
	TRY(training_job_write_request(document, buf_span(&name), &w, err));
	return buf_status(out, err);
}

enum status api_copy_job(const struct job_row *row, struct span as, struct http_response *response, struct error *err)
{
	AUTO_DONE(buf) request = BUF_INIT(REQUEST_MAX_BYTES);

	if (!span_equal(as, SPAN("json")) && !span_equal(as, SPAN("aws-cli")))
		return error_set_field(err, ERR_INVALID, "as", "as is json or aws-cli, not '%.*s'",
			(int)(as.len < 80 ? as.len : 80), as.ptr);
	TRY(write_request(row, &request, err));
	response->body.max_bytes = 2 * REQUEST_MAX_BYTES;
	if (span_equal(as, SPAN("json"))) {
		buf_append_span(&response->body, buf_span(&request));
		return buf_status(&response->body, err);
	}
	response->content_type = "text/plain; charset=utf-8";
	buf_append_text(&response->body, "aws sagemaker create-training-job --cli-input-json ");
	put_shell_quoted(&response->body, buf_span(&request));
	buf_append_char(&response->body, '\n');
	return buf_status(&response->body, err);
}
