/*
 * Job: a small file as a whole: of settings, a secret that nobody else may read, or one of a folder where others write, too.
 * Ownership: the text goes into the caller's buffer, whose maximum is the file's. Threads: any.
 */
#pragma once

#include "base/buf.h"

/* ERR_IO with the path; option: which one named it. */
enum status text_file_read(const char *path, const char *option, struct buf *out, struct error *err) MUST_CHECK;
/* ERR_FORBIDDEN where others than its owner may read it, too. */
enum status text_file_read_secret(const char *path, const char *option, struct buf *out, struct error *err) MUST_CHECK;
/* ERR_FORBIDDEN where it is another user's, a link, or no regular file: /tmp is shared. */
enum status text_file_read_own(const char *path, const char *option, struct buf *out, struct error *err) MUST_CHECK;
bool text_file_is_own(int fd);
