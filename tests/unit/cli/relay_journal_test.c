#include "cli/relay/relay_journal.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[64];
};

static struct folder make_folder(void)
{
	struct folder folder = {"/tmp/relay_journal_XXXXXX"};
	CHECK(mkdtemp(folder.path));
	return folder;
}

static void put(struct relay_journal *journal, const char *record)
{
	CHECK_OK(relay_journal_put(journal, span_from(record), &err));
}

static void check_take(struct relay_journal *journal, size_t max, const char *records)
{
	AUTO_DONE(buf) taken = BUF_INIT(1 << 20);
	CHECK_OK(relay_journal_take(journal, max, &taken, &err));
	CHECK_SPAN(buf_span(&taken), span_from(records));
}

TEST(relay_journal_in_order_and_gone_when_empty)
{
	struct folder folder = make_folder();
	AUTO(relay_journal) journal = NULL;
	char key[RELAY_KEY_BYTES], other[RELAY_KEY_BYTES];

	CHECK_OK(relay_journal_new(&journal, folder.path, "http://a", "j", 1000, &err));
	check_take(journal, 100, "");
	CHECK_TEXT(relay_journal_path(journal), "");
	put(journal, "one");
	put(journal, "two");
	CHECK_INT(access(relay_journal_path(journal), F_OK), 0);
	check_take(journal, 5, "one\n"); /* whole ones */
	check_take(journal, 1, "one\n"); /* one at least */
	check_take(journal, 100, "one\ntwo\n");
	CHECK_OK(relay_journal_note(journal, 4, key, &err));
	put(journal, "three");
	check_take(journal, 100, "one\n"); /* the request that is on its way, as it was */
	CHECK_OK(relay_journal_note(journal, 4, other, &err));
	CHECK_TEXT(other, key);
	CHECK_OK(relay_journal_pass(journal, 4, &err));
	check_take(journal, 100, "two\nthree\n");
	CHECK_OK(relay_journal_note(journal, 4, other, &err));
	CHECK(strcmp(other, key) != 0);
	CHECK_OK(relay_journal_pass(journal, 10, &err));
	CHECK_INT(relay_journal_waiting(journal), 0);
	relay_journal_free(TAKE(journal));
	CHECK_INT(rmdir(folder.path), 0); /* nothing is left in it */
}

TEST(relay_journal_bound)
{
	struct folder folder = make_folder();
	AUTO(relay_journal) journal = NULL;

	CHECK_OK(relay_journal_new(&journal, folder.path, "http://a", "j", 8, &err));
	put(journal, "1234567");
	CHECK_INT(relay_journal_put(journal, SPAN(""), NULL), ERR_TOO_LARGE);
	CHECK_OK(relay_journal_pass(journal, 8, &err));
	CHECK_INT(relay_journal_put(journal, SPAN("12345678"), NULL), ERR_TOO_LARGE);
	put(journal, "");
	CHECK_OK(relay_journal_pass(journal, 1, &err));
	relay_journal_free(TAKE(journal));
	CHECK_INT(rmdir(folder.path), 0);
}

/* As a kill leaves it: by a process that frees nothing, in the middle of a record. */
static void leave(const char *folder, const char *server, char path[256], char key[RELAY_KEY_BYTES])
{
	struct relay_journal *journal = NULL;
	CHECK_OK(relay_journal_new(&journal, folder, server, "j", 1000, &err));
	put(journal, "gone");
	put(journal, "noted");
	put(journal, "waits");
	CHECK_OK(relay_journal_pass(journal, 5, &err));
	CHECK_OK(relay_journal_note(journal, 6, key, &err));
	relay_journal_set_job(journal, "j-2");
	snprintf(path, 256, "%s.kept", relay_journal_path(journal));
	CHECK_INT(link(relay_journal_path(journal), path), 0);
	int fd = open(path, O_WRONLY | O_APPEND);
	CHECK_INT(write(fd, "torn", 4), 4);
	close(fd);
	unlink(relay_journal_path(journal));
	relay_journal_free(journal);
	char *suffix = path + strlen(path) - strlen(".kept");
	AUTO_MEM char *kept = mem_copy_string(path);
	*suffix = 0;
	CHECK_INT(rename(kept, path), 0);
}

TEST(relay_journal_left_by_a_kill)
{
	struct folder folder = make_folder();
	AUTO(relay_journal) journal = NULL;
	AUTO(relay_journal) second = NULL;
	char path[256], key[RELAY_KEY_BYTES], again[RELAY_KEY_BYTES];

	leave(folder.path, "http://a", path, key);
	CHECK_OK(relay_journal_adopt(&journal, folder.path, "http://b", &err)); /* another server's */
	CHECK(!journal);
	CHECK_OK(relay_journal_adopt(&journal, folder.path, "http://a", &err));
	CHECK(journal);
	CHECK_OK(relay_journal_adopt(&second, folder.path, "http://a", &err)); /* somebody has it */
	CHECK(!second);
	CHECK_TEXT(relay_journal_job(journal), "j-2");
	check_take(journal, 100, "noted\n");
	CHECK_OK(relay_journal_note(journal, 6, again, &err));
	CHECK_TEXT(again, key); /* the server knows it, if it came */
	CHECK_OK(relay_journal_pass(journal, 6, &err));
	check_take(journal, 100, "waits\n"); /* the torn one was never answered */
	CHECK_OK(relay_journal_pass(journal, 6, &err));
	relay_journal_free(TAKE(journal));
	CHECK_INT(rmdir(folder.path), 0);
}

TEST(relay_journal_passes_over_what_is_none)
{
	struct folder folder = make_folder();
	AUTO(relay_journal) journal = NULL;
	char path[128];
	static const char bytes[5000] = "smrelay1 and nothing that can be";

	snprintf(path, sizeof path, "%s/sm-ship-1-x.calls", folder.path);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK_INT(write(fd, bytes, sizeof bytes), sizeof bytes);
	close(fd);
	CHECK_OK(relay_journal_adopt(&journal, folder.path, "http://a", &err));
	CHECK(!journal);
	unlink(path);
	CHECK_INT(rmdir(folder.path), 0);
}

TEST(relay_journal_in_memory)
{
	AUTO(relay_journal) journal = NULL;

	CHECK_OK(relay_journal_new(&journal, "/proc/none", "http://a", "j", 1000, &err));
	put(journal, "one");
	CHECK_TEXT(relay_journal_path(journal), "");
	check_take(journal, 100, "one\n");
}
