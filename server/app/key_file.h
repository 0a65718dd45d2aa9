/* Job: the key that seals secrets, from its file; made at the first start with mode 0600. Threads: main. */
#pragma once

#include "base/crypto.h"

/* ERR_NOT_FOUND: there is none; ERR_IO with the path; ERR_FORBIDDEN when others may read the file. */
enum status key_file_read(const char *path, unsigned char key[SEAL_KEY_BYTES], struct error *err) MUST_CHECK;
/* Where there is none. */
enum status key_file_make(const char *path, unsigned char key[SEAL_KEY_BYTES], struct error *err) MUST_CHECK;
/* One that is known, where there is none. */
enum status key_file_put(const char *path, const unsigned char key[SEAL_KEY_BYTES], struct error *err) MUST_CHECK;
/* The one that is there, or a new one. */
enum status key_file_load(const char *path, unsigned char key[SEAL_KEY_BYTES], struct error *err) MUST_CHECK;
