#include "cli/ship/rest_note.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct setting settings[] = {{"lr", "1e-3 \"x\""}};
static const struct identity identity = {.job = "j",
	.stream = "algo-2",
	.host = "h",
	.run_key = "start-1",
	.rank = 1,
	.has_rank = true,
	.process_count = 4,
	.attempt = -1,
	.hyper_parameters = {settings, 1, 1}};
static const struct settings none;

struct folder {
	char path[64], text[96];
};

static struct folder make_folder(void)
{
	struct folder folder = {.path = "/tmp/rest_note_XXXXXX"};
	CHECK(mkdtemp(folder.path));
	snprintf(folder.text, sizeof folder.text, "%s/sm-ship-1-ab.left", folder.path);
	return folder;
}

TEST(rest_note_is_read_as_it_was_written)
{
	struct folder folder = make_folder();
	struct spool_run times[] = {{10, 1000}, {UINT32_MAX + 7ULL, 1795000000001}};
	struct rest_note note = {.server = "http://a,http://b",
		.identity = &identity,
		.metrics = &none,
		.job = "j-2",
		.base = 1ULL << 40,
		.started_ms = 5,
		.has_exit = true,
		.ended_ms = 1795000000002,
		.end = {.exit_code = 137, .signal = 9, .secondary_status = "Failed", .reason = "killed"},
		.is_saved = true,
		.times = {times, 2, 2}};
	AUTO_DONE(rest_note) got = {.server = ""};
	char path[REST_NOTE_PATH_BYTES];

	rest_note_add_text(&note, folder.text);
	rest_note_name(&note, folder.text);
	CHECK(!rest_note_has(folder.text));
	CHECK_OK(rest_note_write(&note, &err));
	CHECK(rest_note_has(folder.text) && !rest_note_has("/tmp/sm-ship.left") && !rest_note_has("train.log"));
	CHECK_OK(rest_note_read(&got, note.path, &err));
	CHECK_TEXT(got.job, "j-2");
	CHECK_TEXT(got.identity->job, "j");
	CHECK_TEXT(got.identity->stream, "algo-2");
	CHECK_TEXT(got.identity->run_key, "start-1");
	CHECK(!got.identity->owner && got.identity->rank == 1 && got.identity->has_rank && got.identity->attempt == -1);
	CHECK_INT(got.identity->hyper_parameters.count, 1);
	CHECK_TEXT(got.identity->hyper_parameters.items[0].value, settings[0].value);
	CHECK(got.base == note.base && got.started_ms == 5 && got.has_exit && got.ended_ms == note.ended_ms);
	CHECK_TEXT(got.end.secondary_status, "Failed");
	CHECK(got.end.signal == 9 && got.is_saved && got.times.count == 2 && got.times.items[1].end == times[1].end);
	CHECK_INT(got.times.items[1].ts_ms, times[1].ts_ms);
	CHECK_OK(rest_note_text_path(&got, 0, path, &err));
	CHECK_TEXT(path, folder.text);
	CHECK(rest_note_is_for(&got, "http://A,http://b/") && !rest_note_is_for(&got, "http://b"));
	rest_note_remove(&got);
	CHECK(!rest_note_has(folder.text) && rmdir(folder.path) == 0);
}

/* In /tmp anybody may leave one, to have other files sent and deleted, or to hold up all who look. */
TEST(rest_note_of_another_is_not_read)
{
	struct folder folder = make_folder();
	char note_path[128], other[96];
	FILE *file;

	snprintf(note_path, sizeof note_path, "%s/sm-ship-1-ab.rest", folder.path);
	snprintf(other, sizeof other, "%s/note", folder.path);
	CHECK(file = fopen(other, "w"));
	CHECK(fputs("{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"texts\":[\"sm-ship-1-ab.left\"]}", file) >= 0 &&
		fclose(file) == 0);
	CHECK(symlink(other, note_path) == 0);
	CHECK(!rest_note_has(folder.text));
	CHECK(unlink(note_path) == 0 && mkfifo(note_path, 0600) == 0);
	CHECK(!rest_note_has(folder.text));
	CHECK(unlink(note_path) == 0 && rename(other, note_path) == 0);
	CHECK(rest_note_has(folder.text));
	if (geteuid() == 0) {
		CHECK(chown(note_path, 1, 1) == 0);
		CHECK(!rest_note_has(folder.text));
	}
	CHECK(unlink(note_path) == 0 && rmdir(folder.path) == 0);
}

TEST(rest_note_names_what_is_wrong_in_it)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {{"{", "line"}, {"{\"server\": \"a\"}", "names no job"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"texts\":[\"../x\"]}", "texts"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"end\":{\"at_ms\":1,\"status\":\"?\"}}", "status"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"times\":[\"a\",1]}", "times"}};
	struct folder folder = make_folder();
	FILE *file;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		AUTO_DONE(rest_note) note = {.server = ""};
		CHECK(file = fopen(folder.text, "w"));
		CHECK(fputs(wrong[i].text, file) >= 0 && fclose(file) == 0);
		struct error why = {0};
		CHECK(rest_note_read(&note, folder.text, &why) != OK);
		if (!strstr(why.text, wrong[i].why))
			test_fail(__FILE__, __LINE__, "'%s': %s", wrong[i].text, why.text);
	}
	CHECK(unlink(folder.text) == 0 && rmdir(folder.path) == 0);
}

TEST(times_of_a_second_are_one)
{
	struct spool_times times = {0};

	for (size_t i = 1; i <= 3000; i++)
		CHECK_OK(spool_times_add(&times, i, (int64_t)i, &err));
	CHECK_OK(spool_times_add(&times, 3001, 5, &err)); /* a clock that was set back */
	CHECK(times.count == 4 && times.items[0].end == 1000 && times.items[0].ts_ms == 1 &&
		times.items[2].end == 3000);
	CHECK(times.items[3].ts_ms == 5);
	spool_times_done(&times);
}
