/*
 * Job: a small file as a whole: of settings, or a secret that nobody else may read.
 * Ownership: the text goes into the caller's buffer, whose maximum is the file's. Threads: any.
 */
#pragma once

#include "base/buf.h"

/* ERR_IO with the path; option: which one named it. */
enum status text_file_read(const char *path, const char *option, struct buf *out, struct error *err) MUST_CHECK;
/* ERR_FORBIDDEN where others than its owner may read it, too. */
enum status text_file_read_secret(const char *path, const char *option, struct buf *out, struct error *err) MUST_CHECK;
