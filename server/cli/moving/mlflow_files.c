/* MLflow's file store: EXPERIMENT/RUN/{meta.yaml,metrics,params,tags,artifacts}; a metric is a file of lines "TIME VALUE STEP". */
#include "cli/moving/flat_yaml.h"
#include "cli/moving/mlflow_source.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 32, FILE_MAX_BYTES = 16 << 20 };

struct run_place {
	char *path, *experiment;
	bool is_deleted;
	int64_t start_ms; /* 0: it cannot be read, or is not said */
};
struct files {
	struct run_place *runs;
	size_t count, cap, at;
};

/* ---- the folder tree ---- */

typedef enum status visitor(void *context, const char *path, const char *name, struct error *err);

static bool is_folder(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

struct names {
	char **items;
	size_t count, cap;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		mem_free(names->items[i]);
	mem_free(names->items);
}
AUTO_DONE_TYPE(names)

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted; hidden ones are none of MLflow's. A folder that is not there is empty. */
static enum status read_names(struct names *names, const char *folder, struct error *err)
{
	DIR *entries = opendir(folder);
	enum status status = OK;

	if (!entries)
		return errno == ENOENT || errno == ENOTDIR
			       ? OK
			       : error_set(err, ERR_INVALID, "cannot read folder '%s': %s", folder, strerror(errno));
	for (struct dirent *entry; status == OK && (entry = readdir(entries));) {
		if (entry->d_name[0] == '.')
			continue;
		char *name = mem_copy_string(entry->d_name);
		if (name && mem_grow((void **)&names->items, names->count, &names->cap, sizeof *names->items)) {
			names->items[names->count++] = name;
		} else {
			mem_free(name);
			status = error_no_memory(err);
		}
	}
	closedir(entries);
	if (names->count)
		qsort(names->items, names->count, sizeof *names->items, compare_names);
	return status;
}

static enum status visit_folder(const char *folder, visitor *visit, void *context, struct error *err)
{
	AUTO_DONE(names) names = {0};

	TRY(read_names(&names, folder, err));
	for (size_t i = 0; i < names.count; i++) {
		char path[PATH_MAX];
		if (snprintf(path, sizeof path, "%s/%s", folder, names.items[i]) >= (int)sizeof path)
			return error_set(err, ERR_INVALID, "'%.300s' has too long a path", folder);
		TRY(visit(context, path, names.items[i], err));
	}
	return OK;
}

static enum status read_file(const char *path, struct buf *out, struct error *err)
{
	FILE *file = fopen(path, "rbe");
	size_t len = 1;

	if (!file)
		return error_set(err, ERR_INVALID, "cannot read '%s': %s", path, strerror(errno));
	while (len && out->failure == OK) {
		char *room = buf_reserve(out, 1 << 16);
		len = room ? fread(room, 1, 1 << 16, file) : 0;
		buf_advance(out, len);
	}
	bool is_broken = ferror(file);
	fclose(file);
	if (is_broken)
		return error_set(err, ERR_INVALID, "cannot read '%s'", path);
	if (out->failure == ERR_TOO_LARGE)
		return error_set(err, ERR_INVALID, "'%s' is larger than %d bytes", path, FILE_MAX_BYTES);
	return buf_status(out, err);
}

/* ---- runs ---- */

struct finding {
	struct mlflow_source *source;
	struct files *files;
	char *experiment; /* whose folder is looked at */
	bool is_deleted;
};

static enum status count_entry(void *count, const char *path, const char *name, struct error *err)
{
	(void)path, (void)name, (void)err;
	++*(size_t *)count;
	return OK;
}

/* What is there and cannot be looked at is no run that is not there. */
static enum status look_for(const char *path, bool *is_there, struct error *err)
{
	struct stat info;

	*is_there = stat(path, &info) == 0;
	return *is_there || errno == ENOENT || errno == ENOTDIR
		       ? OK
		       : error_set(err, ERR_IO, "cannot read '%s': %s", path, strerror(errno));
}

static enum status read_meta(const char *folder, struct buf *text, struct error *err)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/meta.yaml", folder);
	return read_file(path, text, err);
}

static enum status read_time(struct span text, const char *key, struct arena *arena, int64_t *out, struct error *err)
{
	struct span value = SPAN("");

	TRY(flat_yaml_read(text, key, arena, &value, err));
	if (value.len && !span_parse_i64(value, out))
		return error_set(err, ERR_INVALID, "'%s' is no time: '%.*s'", key, SPAN_ARGS(span_cut(value, 60)));
	return OK;
}

/* What is wrong with it is said when the run is read. */
static int64_t start_of(const char *folder)
{
	AUTO_DONE(buf) text = BUF_INIT(FILE_MAX_BYTES);
	AUTO(arena) arena = arena_new();
	struct error ignored = {0};
	int64_t start_ms = 0;

	if (!arena || read_meta(folder, &text, &ignored) != OK ||
		read_time(buf_span(&text), "start_time", arena, &start_ms, &ignored) != OK)
		return 0;
	return start_ms;
}

/* Of one name the first one gets it. */
static int compare_runs(const void *a, const void *b)
{
	const struct run_place *one = a, *other = b;

	return one->start_ms != other->start_ms ? (one->start_ms < other->start_ms ? -1 : 1)
						: strcmp(one->path, other->path);
}

static enum status find_run(void *context, const char *path, const char *name, struct error *err)
{
	struct finding *finding = context;
	struct files *files = finding->files;
	char meta[PATH_MAX + 16];

	if (strcmp(name, "traces") == 0)
		return visit_folder(path, count_entry, &finding->source->left.traces, err);
	if (strcmp(name, "models") == 0)
		return visit_folder(path, count_entry, &finding->source->left.models, err);
	snprintf(meta, sizeof meta, "%s/meta.yaml", path);
	bool is_there = false;
	if (strcmp(name, "tags") == 0 || strcmp(name, "datasets") == 0)
		return OK;
	TRY(look_for(meta, &is_there, err));
	if (!is_there)
		return OK;
	if (!mem_grow((void **)&files->runs, files->count, &files->cap, sizeof *files->runs))
		return error_no_memory(err);
	struct run_place *run = &files->runs[files->count];
	*run = (struct run_place){.path = mem_copy_string(path),
		.experiment = mem_copy_string(finding->experiment),
		.is_deleted = finding->is_deleted,
		.start_ms = start_of(path)};
	files->count++;
	return run->path && run->experiment ? OK : error_no_memory(err);
}

static enum status find_experiment(void *context, const char *path, const char *name, struct error *err)
{
	struct finding *finding = context;
	AUTO_DONE(buf) text = BUF_INIT(FILE_MAX_BYTES);
	AUTO(arena) arena = arena_new();
	struct span experiment = span_from(name), stage = SPAN("");

	if (!arena)
		return error_no_memory(err);
	if (strcmp(name, "models") == 0) /* the registry */
		return visit_folder(path, count_entry, &finding->source->left.models, err);
	char meta[PATH_MAX + 16];
	bool is_there = false;
	snprintf(meta, sizeof meta, "%s/meta.yaml", path);
	TRY(look_for(meta, &is_there, err));
	if (!is_there)
		return OK;
	TRY(read_meta(path, &text, err));
	TRY(flat_yaml_read(buf_span(&text), "name", arena, &experiment, err));
	TRY(flat_yaml_read(buf_span(&text), "lifecycle_stage", arena, &stage, err));
	AUTO_MEM char *owned = mem_copy_bytes(experiment.ptr, experiment.len);
	if (!owned)
		return error_no_memory(err);
	bool was_deleted = finding->is_deleted;
	finding->experiment = owned;
	finding->is_deleted |= span_equal(stage, SPAN("deleted"));
	enum status status = visit_folder(path, find_run, finding, err);
	finding->experiment = NULL;
	finding->is_deleted = was_deleted;
	return status;
}

/* ---- one run ---- */

struct reading {
	struct mlflow_past_run *run;
	struct mlflow_pairs *pairs;
	const char *folder; /* whose files are read: keys are paths below it */
	bool is_value; /* the file's text, else its path */
	int depth;
};

static enum status read_pair(void *context, const char *path, const char *name, struct error *err)
{
	struct reading *reading = context;
	AUTO_DONE(buf) text = BUF_INIT(FILE_MAX_BYTES);

	(void)name;
	if (is_folder(path)) {
		if (reading->depth == MAX_DEPTH)
			return error_set(err, ERR_INVALID, "'%s' is too deep", path);
		reading->depth++;
		TRY(visit_folder(path, read_pair, reading, err));
		reading->depth--;
		return OK;
	}
	struct span value = span_of(path, strlen(path) + 1); /* with its NUL: it is opened */
	if (reading->is_value) {
		TRY(read_file(path, &text, err));
		value = text.len ? buf_span(&text) : SPAN("");
	}
	struct span key = span_from(path + strlen(reading->folder) + 1);
	return mlflow_pairs_add(reading->run->arena, reading->pairs, key, value) ? OK : error_no_memory(err);
}

static enum status read_pairs(struct mlflow_past_run *run, const struct run_place *place, const char *what,
	struct mlflow_pairs *pairs, struct error *err)
{
	char folder[PATH_MAX];
	struct reading reading = {.run = run, .pairs = pairs, .folder = folder, .is_value = pairs != &run->metrics};

	snprintf(folder, sizeof folder, "%s/%s", place->path, what);
	return visit_folder(folder, read_pair, &reading, err);
}

static enum status count_files(void *context, const char *path, const char *name, struct error *err)
{
	struct reading *reading = context;

	(void)name;
	if (!is_folder(path)) {
		reading->run->left.artifacts++;
		return OK;
	}
	if (reading->depth == MAX_DEPTH)
		return OK;
	reading->depth++;
	enum status status = visit_folder(path, count_files, reading, err);
	reading->depth--;
	return status;
}

static enum status count_left(struct mlflow_past_run *run, const struct run_place *place, struct error *err)
{
	char folder[PATH_MAX];
	struct reading reading = {.run = run};

	snprintf(folder, sizeof folder, "%s/artifacts", place->path);
	TRY(visit_folder(folder, count_files, &reading, err));
	snprintf(folder, sizeof folder, "%s/inputs", place->path);
	return visit_folder(folder, count_entry, &run->left.datasets, err);
}

/* RunStatus of MLflow's protocol. */
static struct span status_of(struct span number)
{
	static const char *const names[] = {"", "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};
	int64_t at = 0;

	if (!span_parse_i64(number, &at))
		return number;
	return at > 0 && at < (int64_t)(sizeof names / sizeof *names) ? span_from(names[at]) : SPAN("");
}

static enum status read_info(struct mlflow_past_run *run, struct span text, struct error *err)
{
	struct span stage = SPAN(""), status = SPAN("");

	run->id = run->name = run->user = run->artifacts = SPAN("");
	TRY(flat_yaml_read(text, "run_uuid", run->arena, &run->id, err));
	TRY(flat_yaml_read(text, "run_id", run->arena, &run->id, err));
	TRY(flat_yaml_read(text, "run_name", run->arena, &run->name, err));
	TRY(flat_yaml_read(text, "user_id", run->arena, &run->user, err));
	TRY(flat_yaml_read(text, "artifact_uri", run->arena, &run->artifacts, err));
	TRY(flat_yaml_read(text, "lifecycle_stage", run->arena, &stage, err));
	TRY(flat_yaml_read(text, "status", run->arena, &status, err));
	TRY(read_time(text, "start_time", run->arena, &run->start_ms, err));
	TRY(read_time(text, "end_time", run->arena, &run->end_ms, err));
	run->is_deleted |= span_equal(stage, SPAN("deleted"));
	run->status = status_of(status);
	return run->id.len ? OK : error_set(err, ERR_INVALID, "it says no 'run_id'");
}

static enum status read_run(struct mlflow_past_run *run, const struct run_place *place, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FILE_MAX_BYTES);

	if (!(run->arena = arena_new()))
		return error_no_memory(err);
	run->is_deleted = place->is_deleted;
	run->experiment = span_from(place->experiment);
	TRY(read_meta(place->path, &text, err));
	enum status status = read_info(run, buf_span(&text), err);
	if (status == ERR_INVALID)
		error_prefix(err, "'%s/meta.yaml'", place->path);
	TRY(status);
	TRY(read_pairs(run, place, "params", &run->params, err));
	TRY(read_pairs(run, place, "tags", &run->tags, err));
	TRY(read_pairs(run, place, "metrics", &run->metrics, err));
	return count_left(run, place, err);
}

static enum status files_next(void *state, struct mlflow_past_run *out, bool *is_end, struct error *err)
{
	struct files *files = state;

	*is_end = files->at == files->count;
	return *is_end ? OK : read_run(out, &files->runs[files->at++], err);
}

/* ---- points ---- */

bool mlflow_files_point(struct span line, struct mlflow_point *out)
{
	struct span time, value, step;

	*out = (struct mlflow_point){0};
	return span_next(&line, ' ', &time) && span_next(&line, ' ', &value) && span_parse_i64(time, &out->ts_ms) &&
	       span_parse_double(value, &out->value) &&
	       (!span_next(&line, ' ', &step) || span_parse_i64(step, &out->step));
}

static enum status files_points(void *state, const struct mlflow_past_run *run, const struct mlflow_pair *metric,
	mlflow_take_point *take, void *context, struct error *err)
{
	FILE *file = fopen(metric->value.ptr, "rbe");
	char line[1024];
	enum status status = OK;
	size_t number = 0;

	(void)state, (void)run;
	if (!file)
		return error_set(err, ERR_INVALID, "cannot read '%.*s': %s", SPAN_ARGS(metric->value), strerror(errno));
	while (status == OK && fgets(line, sizeof line, file)) {
		struct mlflow_point point;
		struct span text = span_trim(span_from(line));
		number++;
		if (!text.len)
			continue;
		if (!mlflow_files_point(text, &point))
			status = error_set(err, ERR_INVALID, "'%.*s', line %zu, is no point: '%.*s'",
				SPAN_ARGS(metric->value), number, SPAN_ARGS(span_cut(text, 60)));
		else
			status = take(context, &point, err);
	}
	if (status == OK && ferror(file))
		status = error_set(err, ERR_INVALID, "cannot read '%.*s'", SPAN_ARGS(metric->value));
	fclose(file);
	return status;
}

static void files_free(void *state)
{
	struct files *files = state;

	for (size_t i = 0; files && i < files->count; i++) {
		mem_free(files->runs[i].path);
		mem_free(files->runs[i].experiment);
	}
	if (files)
		mem_free(files->runs);
	mem_free(files);
}

enum status mlflow_files_open(struct mlflow_source *out, const char *folder, struct error *err)
{
	static const struct mlflow_source_kind kind = {files_next, files_points, files_free};
	struct finding finding = {.source = out, .files = mem_zeroed(sizeof *finding.files)};
	char trash[PATH_MAX];

	if (!finding.files)
		return error_no_memory(err);
	*out = (struct mlflow_source){.kind = &kind, .state = finding.files};
	TRY(visit_folder(folder, find_experiment, &finding, err));
	finding.is_deleted = true;
	snprintf(trash, sizeof trash, "%s/.trash", folder);
	TRY(visit_folder(trash, find_experiment, &finding, err));
	out->count = finding.files->count;
	if (!out->count)
		return error_set(err, ERR_INVALID,
			"'%s' has no runs of MLflow: no EXPERIMENT/RUN/meta.yaml is below it", folder);
	qsort(finding.files->runs, out->count, sizeof *finding.files->runs, compare_runs);
	return OK;
}
