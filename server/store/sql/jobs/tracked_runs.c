#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/tracked_runs.h"

/* ---- projects ---- */

#define PROJECT_COLUMNS "project_id, team, name, tags, artifacts, created_ms, modified_ms"

static const struct row_field project_fields[] = {FIELD(struct tracked_project_row, project_id),
	FIELD(struct tracked_project_row, team), FIELD(struct tracked_project_row, name),
	FIELD(struct tracked_project_row, tags), FIELD(struct tracked_project_row, artifacts),
	FIELD(struct tracked_project_row, created_ms), FIELD(struct tracked_project_row, modified_ms)};

enum status store_add_tracked_project(struct store_tx *tx, struct tracked_project_row *row, struct error *err)
{
	struct tracked_project_row put = *row;

	TRY(next_id(tx, "project", &put.project_id, err));
	TRY(row_put(tx, "INSERT INTO tracked_projects (" PROJECT_COLUMNS ") VALUES (?,?,?,?,?,?,?)",
		ROWS(project_fields, struct tracked_project_row), &put, err));
	row->project_id = put.project_id;
	return OK;
}

enum status store_put_tracked_project(struct store_tx *tx, const struct tracked_project_row *row, struct error *err)
{
	return row_put(tx,
		"UPDATE tracked_projects SET team = ?2, name = ?3, tags = ?4, artifacts = ?5, created_ms = ?6, modified_ms = ?7"
		" WHERE project_id = ?1",
		ROWS(project_fields, struct tracked_project_row), row, err);
}

static enum status read_project(
	struct statement *s, struct arena *arena, struct tracked_project_row *out, struct error *err)
{
	bool is_there;

	TRY(row_read(s, arena, ROWS(project_fields, struct tracked_project_row), out, &is_there, err));
	return is_there ? OK : ERR_NOT_FOUND;
}

enum status store_read_tracked_project(struct store_reader *reader, struct arena *arena, int64_t project_id,
	struct tracked_project_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT " PROJECT_COLUMNS " FROM tracked_projects WHERE project_id = ?", err));
	bind_i64(&s, project_id);
	enum status status = read_project(&s, arena, out, err);
	return status == ERR_NOT_FOUND
		       ? error_set(err, status, "there is no experiment with the id %lld", (long long)project_id)
		       : status;
}

enum status store_find_tracked_project(struct store_reader *reader, struct arena *arena, struct span team,
	struct span name, struct tracked_project_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, reader, "SELECT " PROJECT_COLUMNS " FROM tracked_projects WHERE team = ? AND name = ?", err));
	bind_text(&s, team);
	bind_text(&s, name);
	enum status status = read_project(&s, arena, out, err);
	return status == ERR_NOT_FOUND
		       ? error_set(err, status, "there is no experiment named '%.*s'", SPAN_ARGS(span_cut(name, 300)))
		       : status;
}

enum status store_read_tracked_projects(struct store_reader *reader, struct arena *arena, struct span team,
	int64_t below, size_t limit, struct tracked_project_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT " PROJECT_COLUMNS " FROM tracked_projects WHERE team = ? AND project_id < ?"
		" ORDER BY project_id DESC LIMIT ?",
		err));
	bind_text(&s, team);
	bind_i64(&s, below);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(project_fields, struct tracked_project_row), out, count, err);
}

/* ---- runs ---- */

#define RUN_COLUMNS                                                                                                    \
	"job_id, run_id, project_id, name, user_name, status, start_ms, end_ms, artifacts, inputs,"                    \
	" log_alone_ms, log_alone_until_ms, log_is_shared, log_lent_ms, log_lent_until_ms,"                            \
	" log_lent_runs"

static const struct row_field run_fields[] = {FIELD(struct tracked_run_row, job_id),
	FIELD(struct tracked_run_row, run_id), FIELD(struct tracked_run_row, project_id),
	FIELD(struct tracked_run_row, name), FIELD(struct tracked_run_row, user_name),
	FIELD(struct tracked_run_row, status), FIELD(struct tracked_run_row, start_ms),
	FIELD(struct tracked_run_row, end_ms), FIELD(struct tracked_run_row, artifacts),
	FIELD(struct tracked_run_row, inputs), FIELD(struct tracked_run_row, log_alone_ms),
	FIELD(struct tracked_run_row, log_alone_until_ms), FIELD(struct tracked_run_row, log_is_shared),
	FIELD(struct tracked_run_row, log_lent_ms), FIELD(struct tracked_run_row, log_lent_until_ms),
	FIELD(struct tracked_run_row, log_lent_runs)};

enum status store_put_tracked_run(struct store_tx *tx, const struct tracked_run_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO tracked_runs (" RUN_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (job_id) DO UPDATE SET run_id = excluded.run_id, project_id = excluded.project_id,"
		" name = excluded.name, user_name = excluded.user_name, status = excluded.status,"
		" start_ms = excluded.start_ms, end_ms = excluded.end_ms,"
		" artifacts = excluded.artifacts, inputs = excluded.inputs,"
		" log_alone_ms = excluded.log_alone_ms, log_alone_until_ms = excluded.log_alone_until_ms,"
		" log_is_shared = excluded.log_is_shared, log_lent_ms = excluded.log_lent_ms,"
		" log_lent_until_ms = excluded.log_lent_until_ms, log_lent_runs = excluded.log_lent_runs",
		ROWS(run_fields, struct tracked_run_row), row, err);
}

enum status store_read_tracked_run(struct store_reader *reader, struct arena *arena, struct span run_id,
	struct tracked_run_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	TRY(statement_open(&s, reader, "SELECT " RUN_COLUMNS " FROM tracked_runs WHERE run_id = ?", err));
	bind_text(&s, run_id);
	TRY(row_read(&s, arena, ROWS(run_fields, struct tracked_run_row), out, &is_there, err));
	return is_there ? OK
			: error_set(err, ERR_NOT_FOUND, "there is no run with the id '%.*s'",
				  SPAN_ARGS(span_cut(run_id, 100)));
}

enum status store_read_run_of_job(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct tracked_run_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	TRY(statement_open(&s, reader, "SELECT " RUN_COLUMNS " FROM tracked_runs WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(row_read(&s, arena, ROWS(run_fields, struct tracked_run_row), out, &is_there, err));
	return is_there ? OK : ERR_NOT_FOUND;
}

enum status store_read_tracked_runs(struct store_reader *reader, struct arena *arena, int64_t project_id,
	enum tracked_runs which, const struct tracked_run_place *behind, size_t limit, struct tracked_run_row **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id, run_id, project_id, name, user_name, status, start_ms, end_ms, '', '', 0, 0, 0"
		" FROM tracked_runs WHERE project_id = ?1 AND (start_ms, job_id) < (?2, ?3)"
		" AND CASE WHEN job_id IN (SELECT job_id FROM trashed_jobs) THEN ?4 <> 0 ELSE ?4 <> 1 END"
		" ORDER BY start_ms DESC, job_id DESC LIMIT ?5",
		err));
	bind_numbers(&s, project_id, behind->start_ms, behind->job_id, which, (int64_t)limit);
	return rows_read(&s, arena, ROWS(run_fields, struct tracked_run_row), out, count, err);
}

enum status store_read_tracked_runs_upward(struct store_reader *reader, struct arena *arena, int64_t project_id,
	const struct tracked_run_place *behind, size_t limit, struct tracked_run_row **out, size_t *count,
	struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT job_id, run_id, project_id, name, user_name, status, start_ms, end_ms, '', '', 0, 0, 0"
		" FROM tracked_runs AS r WHERE project_id = ?1 AND (start_ms, job_id) > (?2, ?3)"
		" AND EXISTS (SELECT 1 FROM jobs AS j WHERE j.job_id = r.job_id)"
		" ORDER BY start_ms, job_id LIMIT ?4",
		err));
	bind_numbers(&s, project_id, behind->start_ms, behind->job_id);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(run_fields, struct tracked_run_row), out, count, err);
}

/* ---- nested runs ---- */

/* A tag is a client's own word: it makes no family of jobs of two teams. */
static const struct row_field child_fields[] = {FIELD(struct run_child, job)};

static enum status read_parent(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct run_family *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct run_child parent = {SPAN("")};
	bool is_there;

	TRY(statement_open(&s, reader,
		"SELECT j.name FROM attributes AS a JOIN tracked_runs AS r ON r.run_id = a.text"
		" JOIN jobs AS j ON j.job_id = r.job_id JOIN jobs AS own ON own.job_id = a.job_id AND own.team = j.team"
		" WHERE a.job_id = ?1 AND a.key = 'tag.mlflow.parentRunId'"
		" AND r.job_id <> a.job_id ORDER BY a.position LIMIT 1",
		err));
	bind_i64(&s, job_id);
	TRY(row_read(&s, arena, ROWS(child_fields, struct run_child), &parent, &is_there, err));
	out->parent = is_there ? parent.job : SPAN("");
	return OK;
}

enum status store_read_run_family(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct run_family *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(read_parent(reader, arena, job_id, out, err));
	TRY(statement_open(&s, reader,
		"SELECT j.name FROM tracked_runs AS r JOIN attributes AS a ON a.key = 'tag.mlflow.parentRunId'"
		" AND a.folded = r.run_id AND a.text = r.run_id JOIN jobs AS j ON j.job_id = a.job_id"
		" JOIN jobs AS own ON own.job_id = r.job_id AND own.team = j.team"
		" WHERE r.job_id = ?1 AND a.job_id <> r.job_id ORDER BY a.job_id LIMIT ?2",
		err));
	bind_i64(&s, job_id);
	bind_u64(&s, RUN_CHILDREN_MAX + 1);
	TRY(rows_read(&s, arena, ROWS(child_fields, struct run_child), &out->children, &out->child_count, err));
	out->has_more = out->child_count > RUN_CHILDREN_MAX;
	out->child_count = out->has_more ? RUN_CHILDREN_MAX : out->child_count;
	return OK;
}

/* ---- files ---- */

static const struct row_field file_fields[] = {FIELD(struct tracked_file_row, job_id),
	FIELD(struct tracked_file_row, name), FIELD(struct tracked_file_row, origin),
	FIELD(struct tracked_file_row, next_line), FIELD(struct tracked_file_row, content)};

enum status store_put_tracked_file(struct store_tx *tx, const struct tracked_file_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO tracked_files (job_id, name, origin, next_line, content) VALUES (?,?,?,?,?)"
		" ON CONFLICT (job_id, name) DO UPDATE SET origin = excluded.origin, next_line = excluded.next_line,"
		" content = excluded.content",
		ROWS(file_fields, struct tracked_file_row), row, err);
}

enum status store_read_tracked_file(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span name,
	struct tracked_file_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct tracked_file_row){.job_id = job_id, .name = name, .content = SPAN("")};
	TRY(statement_open(&s, reader,
		"SELECT job_id, name, origin, next_line, content FROM tracked_files WHERE job_id = ? AND name = ?",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, name);
	return row_read(&s, arena, ROWS(file_fields, struct tracked_file_row), out, &is_there, err);
}

enum status store_is_tracked_run(struct store_reader *reader, int64_t job_id, bool *is, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT 1 FROM tracked_runs WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	return statement_step(&s, is, err);
}

enum status store_count_tracked_files(
	struct store_reader *reader, int64_t job_id, struct span name, uint64_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t found = 0;
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT COUNT(*) FROM tracked_files WHERE job_id = ?1 AND name >= ?2 || ' ' AND name < ?2 || '!'",
		err));
	bind_i64(&s, job_id);
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		found = column_i64(&s);
	*count = (uint64_t)found;
	return OK;
}
