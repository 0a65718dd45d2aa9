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
	struct rest_piece pieces[] = {{0, {.start = 3, .end = 10, .ts_ms = 1000}},
		{0, {.lost_lines = 7, .lost_bytes = 9, .lost_to = SPOOL_LOST_TO_DISK}},
		{0, {.start = 10, .end = UINT32_MAX + 7ULL, .ts_ms = 1795000000001, .has_open_end = true}}};
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
		.pieces = {pieces, 3, 3}};
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
	CHECK(got.end.signal == 9 && got.is_saved && got.pieces.count == 3);
	CHECK(got.pieces.items[0].piece.start == 3 && !got.pieces.items[0].piece.has_open_end);
	CHECK(got.pieces.items[1].piece.lost_lines == 7 && got.pieces.items[1].piece.lost_bytes == 9 &&
		got.pieces.items[1].piece.lost_to == SPOOL_LOST_TO_DISK);
	CHECK(got.pieces.items[2].piece.end == pieces[2].piece.end && got.pieces.items[2].piece.has_open_end);
	CHECK_INT(got.pieces.items[2].piece.ts_ms, pieces[2].piece.ts_ms);
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
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"times\":[\"a\",1]}", "times"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"texts\":[\"a\"],\"pieces\":[[1,0,1]]}", "pieces"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"texts\":[\"a\"],\"pieces\":[[0,2,1]]}", "pieces"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"texts\":[\"a\"],\"pieces\":[[0,-1,1]]}", "pieces"},
		{"{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"pieces\":[[]]}", "pieces"}};
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

/* Sent as they were left before the notes told where lines stand. */
TEST(rest_note_of_an_older_version_has_one_text)
{
	struct folder folder = make_folder();
	AUTO_DONE(rest_note) note = {.server = ""};
	FILE *file;

	CHECK(file = fopen(folder.text, "w"));
	CHECK(fputs("{\"asked\":\"j\",\"stream\":\"s\",\"host\":\"\",\"texts\":[\"a\"],\"times\":[5,1000,9,9000]}",
		      file) >= 0 &&
		fclose(file) == 0);
	CHECK_OK(rest_note_read(&note, folder.text, &err));
	CHECK(note.is_saved && note.pieces.count == 2 && note.pieces.items[0].piece.end == 5);
	CHECK(note.pieces.items[1].piece.start == 5 && note.pieces.items[1].piece.end == 9);
	CHECK_INT(note.pieces.items[1].piece.ts_ms, 9000);
	CHECK(unlink(folder.text) == 0 && rmdir(folder.path) == 0);
}

TEST(pieces_of_a_second_are_one)
{
	struct rest_pieces pieces = {0};

	for (uint64_t i = 1; i <= 3000; i++)
		CHECK_OK(rest_pieces_add(
			&pieces, 0, &(struct spool_piece){.start = i - 1, .end = i, .ts_ms = (int64_t)i}, &err));
	CHECK_OK(rest_pieces_add(&pieces, 0, &(struct spool_piece){.start = 3000, .end = 3001, .ts_ms = 5},
		&err)); /* a clock that was set back */
	CHECK(pieces.count == 4 && pieces.items[0].piece.end == 1000 && pieces.items[0].piece.ts_ms == 1 &&
		pieces.items[2].piece.end == 3000);
	CHECK(pieces.items[3].piece.ts_ms == 5);
	CHECK_OK(rest_pieces_add(&pieces, 1, &(struct spool_piece){.start = 3001, .end = 3002, .ts_ms = 5}, &err));
	CHECK_OK(rest_pieces_add(&pieces, 1, &(struct spool_piece){.lost_lines = 1, .ts_ms = 5}, &err));
	CHECK_OK(rest_pieces_add(&pieces, 1, &(struct spool_piece){.start = 3003, .end = 3004, .ts_ms = 5}, &err));
	CHECK_INT(pieces.count, 7); /* other files, losses, and what stands elsewhere */
	rest_pieces_done(&pieces);
}
