/* The one table of sm-server's options: parsing, environment, config file, --help and the docs come from it. */
#include "app/app.h"

#define KIB 1024LL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static const struct option_spec options[] = {
	{.name = "listen", .kind = OPTION_TEXT, .value_name = "ADDRESS:PORT", .fallback = "127.0.0.1:8080", .heading = "Server",
		.help = "Where to listen. Any address but loopback needs a token to exist, or --insecure."},
	{.name = "db", .kind = OPTION_TEXT, .value_name = "FILE", .fallback = "smfleet.db",
		.help = "The database; FILE.lock, FILE.sock and FILE.key lie beside it."},
	{.name = "insecure", .kind = OPTION_FLAG, .help = "Nobody needs a token, on any address."},
	{.name = "tls-cert", .kind = OPTION_TEXT, .value_name = "FILE", .help = "Certificate chain (PEM); needs --tls-key."},
	{.name = "tls-key", .kind = OPTION_TEXT, .value_name = "FILE", .help = "Private key (PEM)."},
	{.name = "public-url", .kind = OPTION_TEXT, .value_name = "URL", .help = "What browsers and webhook receivers call this server, behind a proxy."},
	{.name = "allowed-host", .kind = OPTION_TEXT, .value_name = "NAME,NAME", .help = "Host names that requests may carry, beside localhost and literal addresses."},
	{.name = "secret-key-file", .kind = OPTION_TEXT, .value_name = "FILE", .help = "Key that seals webhook secrets; made at the first start. Default: the database's name and .key."},
	{.name = "web-root", .kind = OPTION_TEXT, .value_name = "DIR", .help = "Serve the page from this folder, for its developers."},
	{.name = "demo", .kind = OPTION_FLAG, .help = "The page says that the jobs are simulated (see deploy/run --demo)."},
	{.name = "stop-timeout", .kind = OPTION_DURATION, .value_name = "TIME", .fallback = "4s", .min = 100, .max = 600000, .help = "How long a stop may take."},

	{.name = "io-threads", .kind = OPTION_I64, .value_name = "N", .fallback = "2", .min = 1, .max = 64, .heading = "Threads and limits", .help = "Threads that speak HTTP."},
	{.name = "workers", .kind = OPTION_I64, .value_name = "N", .fallback = "4", .min = 1, .max = 256, .help = "Threads that answer reads, each with a database connection."},
	{.name = "extract-threads", .kind = OPTION_I64, .value_name = "N", .fallback = "1", .min = 1, .max = 64, .help = "Threads that run metric definitions and detectors."},
	{.name = "max-connections", .kind = OPTION_I64, .value_name = "N", .fallback = "4096", .min = 1, .max = 1000000, .help = "Open connections."},
	{.name = "max-pending", .kind = OPTION_I64, .value_name = "N", .fallback = "1024", .min = 1, .max = 1000000, .help = "Requests that may wait for a worker; more get 429."},
	{.name = "idle-timeout", .kind = OPTION_DURATION, .value_name = "TIME", .fallback = "5m", .min = 1000, .max = 86400000, .help = "A connection that is silent so long is closed."},
	{.name = "rate-requests", .kind = OPTION_I64, .value_name = "N", .fallback = "0", .help = "Requests a second for one token; 0: no limit."},
	{.name = "rate-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "0", .help = "Body bytes a second for one token; 0: no limit."},
	{.name = "max-upload-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "0", .help = "One upload of lines, decompressed; 0: no limit, endless uploads are normal."},
	{.name = "max-line-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "64KiB", .min = 256, .max = 16 * MIB, .help = "Longer lines are cut there, marked and counted."},
	{.name = "max-streams", .kind = OPTION_I64, .value_name = "N", .fallback = "4096", .min = 1, .max = 1000000, .help = "Log streams of one job."},
	{.name = "max-series", .kind = OPTION_I64, .value_name = "N", .fallback = "1000", .min = 1, .max = 4096, .help = "Series of one stream."},
	{.name = "match-steps", .kind = OPTION_I64, .value_name = "N", .fallback = "100000", .min = 100, .max = 1000000000, .help = "Steps of a regular expression on one line before it is given up and counted."},
	{.name = "max-subscribers", .kind = OPTION_I64, .value_name = "N", .fallback = "256", .min = 1, .max = 100000, .help = "Open event streams."},
	{.name = "live-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "8MiB", .min = 64 * KIB, .max = GIB, .help = "Events kept for replay."},

	{.name = "slice-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "1MiB", .min = 4 * KIB, .max = 64 * MIB, .heading = "Storage", .help = "An upload is committed in slices of at most this much text."},
	{.name = "queue-items", .kind = OPTION_I64, .value_name = "N", .fallback = "8192", .min = 1, .max = 1000000, .help = "Slices that may wait for the writer; more get 429."},
	{.name = "queue-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "64MiB", .min = MIB, .max = 64 * GIB, .help = "Their memory, and how far extraction may fall behind."},
	{.name = "group-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "4MiB", .min = 64 * KIB, .max = GIB, .help = "Text in one commit."},
	{.name = "group-time", .kind = OPTION_DURATION, .value_name = "TIME", .fallback = "10ms", .min = 1, .max = 1000, .help = "Work in one commit."},
	{.name = "journal-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "256MiB", .min = MIB, .max = 1024 * GIB, .help = "Compressed lines that are not sealed yet; more get 429."},
	{.name = "seal-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "16MiB", .min = 64 * KIB, .max = 1024 * GIB, .help = "From this journal size on every stream is sealed."},
	{.name = "seal-age", .kind = OPTION_DURATION, .value_name = "TIME", .fallback = "5m", .min = 100, .max = 86400000, .help = "And from this age of its oldest row on."},
	{.name = "wal-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "64MiB", .min = MIB, .max = 16 * GIB, .help = "Write-ahead log, before a full checkpoint."},
	{.name = "webhook-private", .kind = OPTION_FLAG, .fallback = "yes", .help = "Webhooks may go to private and loopback addresses (link-local and metadata addresses never)."},
	{.name = "log-level", .kind = OPTION_TEXT, .value_name = "LEVEL", .fallback = "info", .help = "debug, info, warning or error, on standard error."},

	{.name = "scope", .kind = OPTION_TEXT, .value_name = "SCOPE", .fallback = "read", .heading = "token create", .help = "read, write (ingest) or admin."},
	{.name = "team", .kind = OPTION_TEXT, .value_name = "TEAM", .help = "The token writes this team's jobs only."},
	{0},
};

const struct option_program app_program = {
	.name = "sm-server",
	.version = SM_VERSION,
	.about = "The self-hosted metrics server and dashboard for training fleets.",
	.usage = "[OPTIONS]\ntoken create NAME [--scope read|write|admin] [--team TEAM] [--db FILE]",
	.notes = "Exit status: 0 stopped in order or done, 1 failed, 2 usage, 4 refused by the running server.",
	.options = options,
	.takes_words = true,
};
