#include "base/file_place.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(a_file_is_put_in_the_place_of_another)
{
	char folder[] = "/tmp/file-place-XXXXXX", partial[64], path[64], text[8] = "";
	struct error err = {0};

	CHECK(mkdtemp(folder));
	snprintf(partial, sizeof partial, "%s/a.partial", folder);
	snprintf(path, sizeof path, "%s/a", folder);
	write_text(path, "old");
	write_text(partial, "new");
	CHECK(file_put_in_place(partial, path, &err) == OK);
	FILE *file = fopen(path, "re");
	CHECK(file && fgets(text, sizeof text, file) && strcmp(text, "new") == 0);
	fclose(file);
	CHECK(access(partial, F_OK) != 0);
	CHECK(file_put_in_place(partial, path, &err) == ERR_IO && strstr(err.text, partial) && access(path, F_OK) == 0);
	unlink(path);
	rmdir(folder);
	CHECK(file_sync_folder(path, &err) == ERR_IO && strstr(err.text, "No such file"));
}

TEST(a_full_disk_is_no_broken_one)
{
	struct error err = {0};

	errno = ENOSPC;
	CHECK(file_problem("write", "/x", &err) == ERR_UNAVAILABLE && strstr(err.text, "cannot write '/x': No space"));
	errno = EIO;
	CHECK(file_problem("write", "/x", &err) == ERR_IO);
}
