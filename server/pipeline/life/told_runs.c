#include "pipeline/life/told_runs.h"

#include "state/jobs/history.h"

enum { ENDS_MAX = 100 }; /* of a run: each row is read with each change of the job's life */

static bool is_same_status(const struct told_row *a, const struct told_row *b)
{
	return a->source == b->source && a->is_undated == b->is_undated && span_equal(a->status, b->status);
}

static size_t run_length(const struct told_row *rows, size_t count)
{
	size_t length = 1;

	while (length < count && is_same_status(&rows[0], &rows[length]))
		length++;
	return length;
}

static struct span words_of(struct span words, struct span before)
{
	return words.len ? words : before;
}

/* The newest has the words of those that go, if it has none. */
static enum status fold_run(struct store_tx *tx, int64_t job_id, const struct told_row *run, size_t length,
	struct told_row *newest, struct error *err)
{
	*newest = run[length - 1];
	for (size_t i = length - 1; i-- > 1;) {
		newest->message = words_of(newest->message, run[i].message);
		newest->reason = words_of(newest->reason, run[i].reason);
		TRY(store_delete_told(tx, job_id, &run[i], err));
	}
	bool has_words =
		newest->message.len != run[length - 1].message.len || newest->reason.len != run[length - 1].reason.len;
	return has_words ? store_put_told(tx, job_id, newest, err) : OK;
}

enum status told_fold_runs(struct store_tx *tx, int64_t job_id, enum told_fold fold, struct told_row *rows,
	size_t *count, struct error *err)
{
	size_t used = 0, length;

	for (size_t i = 0; i < *count; i += length) {
		length = run_length(&rows[i], *count - i);
		bool is_folded =
			length > 2 && (fold == TOLD_FOLD_ALL || (length > ENDS_MAX && phase_is_final(rows[i].status)));
		if (is_folded) {
			struct told_row newest;
			TRY(fold_run(tx, job_id, &rows[i], length, &newest, err));
			rows[used++] = rows[i];
			rows[used++] = newest;
			continue;
		}
		for (size_t k = 0; k < length; k++)
			rows[used++] = rows[i + k];
	}
	*count = used;
	return OK;
}
