#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static enum status read_all(const char *path, const char *option, bool is_secret, struct buf *out, struct error *err)
{
	struct stat stat;
	FILE *file = fopen(path, "re");
	char part[4096];
	size_t got;

	if (!file)
		return error_set_field(err, ERR_IO, option, "%s: %s", path, strerror(errno));
	bool is_open = is_secret && fstat(fileno(file), &stat) == 0 && (stat.st_mode & (S_IRWXG | S_IRWXO));
	while ((got = fread(part, 1, sizeof part, file)) > 0)
		buf_append(out, part, got);
	bool is_bad = ferror(file);
	fclose(file);
	if (is_open)
		return error_set_field(err, ERR_FORBIDDEN, option, "%s can be read by others: chmod 600 it", path);
	if (is_bad)
		return error_set_field(err, ERR_IO, option, "%s cannot be read", path);
	return buf_status(out, err);
}

enum status text_file_read(const char *path, const char *option, struct buf *out, struct error *err)
{
	return read_all(path, option, false, out, err);
}

enum status text_file_read_secret(const char *path, const char *option, struct buf *out, struct error *err)
{
	return read_all(path, option, true, out, err);
}
