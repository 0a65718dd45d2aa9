#include "store/columns/case_fold.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/run.h"

#include <string.h>

struct walk {
	struct store_reader *reader;
	struct arena *arena;
	struct run_link *links;
	size_t count, cap;
};

static enum status read_link(struct walk *walk, struct span job, struct run_link *out, bool *has_row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct run_link, job_id), FIELD(struct run_link, job),
		FIELD(struct run_link, status), FIELD(struct run_link, created_ms), FIELD(struct run_link, continues),
		FIELD(struct run_link, fork_from), FIELD(struct run_link, team), FIELD(struct run_link, has_series)};

	TRY(statement_open(&s, walk->reader,
		"SELECT job_id, name, status, created_ms, coalesce((SELECT text FROM attributes AS a WHERE a.job_id = j.job_id"
		" AND a.key = 'tag.continues' ORDER BY a.position LIMIT 1), ''),"
		" coalesce((SELECT text FROM attributes AS a WHERE a.job_id = j.job_id AND a.key = 'tag.wandb.fork_from'"
		" ORDER BY a.position LIMIT 1), ''), j.team,"
		" CASE WHEN EXISTS (SELECT 1 FROM series AS s WHERE s.job_id = j.job_id) THEN 1 ELSE 0 END"
		" FROM jobs AS j WHERE name = ?",
		err));
	bind_text(&s, job);
	return row_read(&s, walk->arena, ROWS(fields, struct run_link), out, has_row, err);
}

static bool is_known(const struct walk *walk, int64_t job_id)
{
	for (size_t i = 0; i < walk->count; i++)
		if (walk->links[i].job_id == job_id)
			return true;
	return false;
}

static enum status add(struct walk *walk, const struct run_link *link, struct error *err)
{
	struct run_link *grown = rows_grow(walk->arena, walk->links, walk->count, &walk->cap, sizeof *walk->links);

	if (!grown)
		return error_no_memory(err);
	walk->links = grown;
	walk->links[walk->count++] = *link;
	return OK;
}

static enum status walk_back(struct walk *walk, struct error *err)
{
	struct run_link link;
	bool has_row = true;

	while (walk->count < RUN_JOBS_MAX && walk->links[walk->count - 1].continues.len) {
		TRY(read_link(walk, walk->links[walk->count - 1].continues, &link, &has_row, err));
		if (!has_row || is_known(walk, link.job_id))
			break;
		TRY(add(walk, &link, err));
	}
	for (size_t i = 0; i < walk->count / 2; i++) {
		link = walk->links[i];
		walk->links[i] = walk->links[walk->count - 1 - i];
		walk->links[walk->count - 1 - i] = link;
	}
	return OK;
}

static enum status add_successors(struct walk *walk, struct span job, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) folded = BUF_INIT(4096);
	bool has_row, is_there;

	fold_append(&folded, job);
	TRY(buf_status(&folded, err));
	TRY(statement_open(&s, walk->reader,
		"SELECT j.name FROM attributes AS a JOIN jobs AS j ON j.job_id = a.job_id WHERE a.key = 'tag.continues' AND"
		" a.folded = ? AND a.text = ? ORDER BY a.job_id",
		err));
	bind_text(&s, buf_span(&folded));
	bind_text(&s, job);
	TRY(statement_step(&s, &has_row, err));
	while (has_row && walk->count < RUN_JOBS_MAX) {
		struct run_link link;
		struct span name = column_span(&s, walk->arena);
		TRY(statement_check(&s, err));
		TRY(read_link(walk, name, &link, &is_there, err));
		if (is_there && !is_known(walk, link.job_id))
			TRY(add(walk, &link, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status store_read_run(struct store_reader *reader, struct arena *arena, struct span job, struct run_link **out,
	size_t *count, size_t *at, struct error *err)
{
	struct walk walk = {.reader = reader, .arena = arena};
	struct run_link link;
	bool has_row;

	TRY(read_link(&walk, job, &link, &has_row, err));
	if (!has_row)
		return error_set(err, ERR_NOT_FOUND, "there is no job '%.*s'", SPAN_ARGS(job));
	TRY(add(&walk, &link, err));
	TRY(walk_back(&walk, err));
	*at = walk.count - 1;
	for (size_t i = *at; i < walk.count; i++)
		TRY(add_successors(&walk, walk.links[i].job, err));
	*out = walk.links;
	*count = walk.count;
	return OK;
}

enum status store_read_continued(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct span *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = SPAN("");
	TRY(statement_open(&s, reader,
		"SELECT text FROM attributes WHERE job_id = ? AND key = 'tag.continues' ORDER BY position LIMIT 1",
		err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		*out = column_span(&s, arena);
	return statement_check(&s, err);
}

enum status store_check_run(struct store_reader *reader, struct arena *arena, struct span job, struct error *err)
{
	struct walk walk = {.reader = reader, .arena = arena};
	struct run_link link;
	bool has_row;

	TRY(read_link(&walk, job, &link, &has_row, err));
	while (has_row && !is_known(&walk, link.job_id) && walk.count < RUN_JOBS_MAX) {
		TRY(add(&walk, &link, err));
		if (!link.continues.len)
			return OK;
		TRY(read_link(&walk, walk.links[walk.count - 1].continues, &link, &has_row, err));
	}
	if (walk.count < 2 || !has_row || link.job_id != walk.links[0].job_id)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "continues",
		"'%.*s' cannot go on with '%.*s', which goes on with it: tag continues would be a circle",
		SPAN_ARGS(job), SPAN_ARGS(walk.links[0].continues));
}

/* ---- what looks so ---- */

struct proposing {
	struct walk walk;
	const struct run_link *job;
	struct run_proposal *out;
	size_t count;
};

/* By both jobs' ids; what a job that nobody ended did last is its end. Of two that follow each other the older one may be heard a
 * little longer: its last lines were on their way. */
static const char is_beside[] =
	"SELECT CASE WHEN coalesce(nullif(o.ended_ms, 0), (SELECT CASE WHEN c.work_to_ms > 0 THEN c.work_to_ms ELSE c.last_heard_ms END"
	" FROM job_counts AS c WHERE c.job_id = o.job_id), 0) > coalesce(nullif(n.started_ms, 0), n.created_ms) + 60000 THEN 1 ELSE 0 END"
	" FROM jobs AS o, jobs AS n WHERE o.job_id = ? AND n.job_id = ?";

/* A setting that both state, and not alike: but what says where to go on, or what it is called, differs with every restart. */
static const char is_set_otherwise[] =
	"SELECT CASE WHEN EXISTS (SELECT 1 FROM attributes AS o JOIN attributes AS n ON n.key = o.key AND n.position = o.position"
	" WHERE o.job_id = ? AND n.job_id = ? AND substr(o.key, 1, 3) = 'hp.' AND o.text <> n.text AND o.text NOT LIKE '%/%'"
	" AND n.text NOT LIKE '%/%' AND lower(o.key) NOT LIKE '%resume%' AND lower(o.key) NOT LIKE '%checkpoint%'"
	" AND lower(o.key) NOT LIKE '%ckpt%' AND lower(o.key) NOT LIKE '%name%') THEN 1 ELSE 0 END";

static enum status ask(const struct proposing *p, const char *sql, int64_t older_id, bool *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, p->walk.reader, sql, err));
	bind_i64(&s, older_id);
	bind_i64(&s, p->job->job_id);
	TRY(statement_step(&s, &has_row, err));
	*out = has_row && column_i64(&s) != 0;
	return statement_check(&s, err);
}

static enum status propose(
	struct proposing *p, struct span continues, int64_t older_id, struct span reason, struct error *err)
{
	struct span kept = arena_copy(p->walk.arena, reason);
	bool is_sibling;

	for (size_t i = 0; i < p->count; i++)
		if (span_equal(p->out[i].continues, continues))
			return OK;
	TRY(ask(p, is_beside, older_id, &is_sibling, err));
	if (is_sibling || p->count == RUN_PROPOSALS_MAX)
		return OK;
	if (!kept.ptr)
		return error_no_memory(err);
	p->out[p->count++] = (struct run_proposal){continues, kept};
	return OK;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Of the names that may stand before a number at a name's end the place-th: sa009 and sa9 before sa10, and J before J-2. false: no more. */
static bool name_before(struct span job, int place, struct buf *out)
{
	size_t stem = job.len;
	uint64_t number;

	while (stem > 0 && is_digit(job.ptr[stem - 1]))
		stem--;
	struct span digits = span_skip(job, stem);
	if (!span_parse_u64(digits, &number) || number < 1 || number > 100000)
		return false;
	bool is_parted = stem > 1 && strchr("-_.", job.ptr[stem - 1]);
	buf_reset(out);
	buf_append(out, job.ptr, stem - (place == 2));
	if (place < 2)
		buf_printf(out, "%0*llu", place ? 1 : (int)digits.len, (unsigned long long)(number - 1));
	return place < 2 || (place == 2 && number == 2 && is_parted);
}

/* The next number: if their settings are alike, as the runs of a sweep have numbers, too. */
static enum status propose_by_name(struct proposing *p, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(512);
	struct run_link link;
	bool has_row = false, is_other = false;

	for (int place = 0; !has_row && name_before(p->job->job, place, &name); place++) {
		TRY(buf_status(&name, err));
		TRY(read_link(&p->walk, buf_span(&name), &link, &has_row, err));
	}
	if (!has_row || link.created_ms > p->job->created_ms)
		return OK;
	TRY(ask(p, is_set_otherwise, link.job_id, &is_other, err));
	return is_other ? OK : propose(p, link.job, link.job_id, SPAN("its name has the next number"), err);
}

static const struct {
	const char *own, *older, *reason;
} paths[] = {
	{"CheckpointConfig.S3Uri", "CheckpointConfig.S3Uri", "it has the same CheckpointConfig.S3Uri"},
	{"InputDataConfig.DataSource.S3DataSource.S3Uri", "CheckpointConfig.S3Uri",
		"it reads what the other's CheckpointConfig.S3Uri says"},
	{"InputDataConfig.DataSource.S3DataSource.S3Uri", "ModelArtifacts.S3ModelArtifacts",
		"it reads the other's model"},
	{"hp.resume_from_checkpoint", "CheckpointConfig.S3Uri", "it resumes from the other's CheckpointConfig.S3Uri"},
	{"hp.load", "hp.save", "it loads what the other saves"}, /* Megatron-LM */
};

/* The newest of the older jobs that says the same under `key`. */
static enum status propose_older(
	struct proposing *p, size_t index, struct span text, struct span folded, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, p->walk.reader,
		"SELECT j.name, j.job_id FROM attributes AS a JOIN jobs AS j ON j.job_id = a.job_id WHERE a.key = ? AND a.folded = ? AND"
		" a.text = ? AND a.job_id < ? ORDER BY a.job_id DESC LIMIT 1",
		err));
	bind_text(&s, span_from(paths[index].older));
	bind_text(&s, folded);
	bind_text(&s, text);
	bind_i64(&s, p->job->job_id);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK;
	struct span name = column_span(&s, p->walk.arena);
	int64_t older_id = column_i64(&s);
	TRY(statement_check(&s, err));
	return propose(p, name, older_id, span_from(paths[index].reason), err);
}

static enum status propose_by_path(struct proposing *p, size_t index, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, p->walk.reader,
		"SELECT text, folded FROM attributes WHERE job_id = ? AND key = ? ORDER BY position LIMIT 8", err));
	bind_i64(&s, p->job->job_id);
	bind_text(&s, span_from(paths[index].own));
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		struct span text = column_span(&s, p->walk.arena), folded = column_span(&s, p->walk.arena);
		TRY(statement_check(&s, err));
		TRY(propose_older(p, index, text, folded, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status store_propose_run(struct store_reader *reader, struct arena *arena, const struct run_link *job,
	struct run_proposal out[RUN_PROPOSALS_MAX], size_t *count, struct error *err)
{
	struct proposing p = {.walk = {.reader = reader, .arena = arena}, .job = job, .out = out};

	if (!job->continues.len) {
		TRY(propose_by_name(&p, err));
		for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
			TRY(propose_by_path(&p, i, err));
	}
	*count = p.count;
	return OK;
}
