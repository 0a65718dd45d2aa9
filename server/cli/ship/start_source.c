#include "cli/ship/start_source.h"

#include "base/crypto.h"
#include "base/text_file.h"
#include "cli/http/url.h"
#include "cli/sender/job_calls.h"

#include <stdio.h>

enum { RANDOM_BYTES = 8, HEX_BYTES = 2 * RANDOM_BYTES + 1, KEY_BYTES = 16 << 10 };

static void put_name(const unsigned char bytes[RANDOM_BYTES], char out[REST_NOTE_SOURCE_BYTES])
{
	char hex[HEX_BYTES];

	crypto_hex(bytes, RANDOM_BYTES, hex);
	snprintf(out, REST_NOTE_SOURCE_BYTES, JOB_START_SOURCE "%s", hex);
}

void start_source_random(char out[REST_NOTE_SOURCE_BYTES])
{
	unsigned char random[RANDOM_BYTES];

	crypto_random(random, sizeof random);
	put_name(random, out);
}

/* Folders of two machines that are made alike have the same seed: this tells their kernels apart. */
static enum status put_machine(struct buf *key, struct error *err)
{
	AUTO_DONE(buf) boot = BUF_INIT(256);

	TRY(text_file_read("/proc/sys/kernel/random/boot_id", "proc", &boot, err));
	buf_append_span(key, buf_span(&boot));
	return boot.len ? OK : ERR_NOT_FOUND;
}

void start_source_share(const struct rest_note *note, const char *seed, char out[REST_NOTE_SOURCE_BYTES])
{
	AUTO_DONE(buf) key = BUF_INIT(KEY_BYTES);
	const char *parts[] = {seed, note->identity->host, note->identity->job, note->identity->stream};
	unsigned char hash[SHA256_BYTES];
	struct error err = {0};

	if (!seed[0] || !rest_note_is_alone(note) || put_machine(&key, &err) != OK)
		return;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		buf_append_span(&key, span_of(parts[i], strlen(parts[i]) + 1));
	url_put_canonical(note->server, &key);
	if (buf_status(&key, &err) != OK)
		return;
	crypto_sha256(buf_span(&key), hash);
	put_name(hash, out);
}
