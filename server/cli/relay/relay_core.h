/*
 * Job: what the files of the relay share, in its process: what it was told at its start, how it asks and waits. And what a dialect is: the
 *      protocol of one tracker, as its clients speak it with the relay. To add one: a file that fills a struct relay_dialect, and its name
 *      in relay_dialects (relay.c).
 * Ownership: as relay.h. Threads: one a connection, one that sends; as each function says.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "cli/http/client.h"
#include "cli/relay/relay_journal.h"
#include "cli/relay/relay_request.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RELAY_TOKEN_DIGITS = 40, RELAY_URL_BYTES = 64, RELAY_REPLY_MAX_BYTES = 64 << 20 };

/* Memory of sm-ship's process and the relay's. */
struct relay_shared {
	_Atomic int child_pid; /* 0: not started yet */
	_Atomic int relay_pid; /* 0: none runs */
	_Atomic int64_t give_up_ms; /* on the monotonic clock; 0: no such limit */
	_Atomic bool has_no_job; /* the server took nothing of sm-ship, and will not */
	_Atomic bool has_put; /* the training has told its tracker something */
	_Atomic bool has_run; /* the server has its run */
	_Atomic unsigned begun_runs,
		made_runs; /* so often the training has begun one, gone on with one, or ended it, and so often the server knows */
	_Atomic bool has_job; /* the server has it by this name: */
	char job[RELAY_JOB_BYTES];
};

struct relay_dialect;
enum relay_dialect_id { RELAY_WANDB, RELAY_MLFLOW, RELAY_DIALECT_COUNT };

struct relay_core {
	const char *program; /* for messages */
	const char *server; /* its address, for browsers and messages */
	const char *folder; /* of the spool */
	struct relay_shared *shared;
	bool speaks[RELAY_DIALECT_COUNT]; /* else the training has such a tracker of its own */
	void *known[RELAY_DIALECT_COUNT]; /* the dialects' */
	bool has_system; /* sm-ship measures the machine */
	bool is_quiet; /* errors are said, and nothing else */
	char url[RELAY_URL_BYTES]; /* of the relay */
	char token[RELAY_TOKEN_DIGITS + 1];
	size_t max_body_bytes;
	struct relay_journal *own;
	struct http_client *sender; /* of the thread that sends */
	pthread_mutex_t read_mutex;
	struct http_client *reader; /* under it */
	_Atomic int64_t away_until_ms; /* the server is not asked before: whoever is waited for must not wait for it */
	pthread_mutex_t mutex; /* of what follows, and of what a dialect knows */
	pthread_cond_t changed;
	_Atomic bool is_ending; /* the training is over, or told to be: what waits is sent, and then it is the end */
	_Atomic bool is_alone; /* sm-ship was killed: it says no more what its job is called, nor how it ended */
	unsigned hurried; /* so many wait until all is sent */
	uint64_t lost_records;
	bool has_told_loss;
};

struct relay_reply {
	int status;
	struct buf body; /* JSON */
	const char *location; /* of a redirection; NULL: none */
};

/* What is sent to the server in one. */
struct relay_sending {
	size_t bytes; /* of the records that it takes */
	const char *method;
	struct buf path; /* on the server; with is_keyed_by_path, a parameter of the key is added to its query */
	struct buf headers; /* more of them, each with its \r\n */
	struct buf body; /* else up to its end: a member of the key is added, and the brace */
	bool is_keyed_by_path;
	bool is_file; /* bytes of whatever type; what becomes of it is told by what came before it */
	bool needs_job; /* it can only be sent when the job's name is known */
	bool is_run; /* lines that are printed behind it wait for it */
};

/* What of a request is said when it is sent. */
struct relay_terms {
	const char *job; /* that sm-ship sends the output to */
	bool is_shipped; /* sm-ship is there, and says how that ends */
	bool has_system; /* and measures its machine */
	bool has_log; /* it was killed, and the spool keeps what the training printed */
};

struct relay_dialect {
	enum relay_dialect_id id;
	const char *name; /* also the first word of its records */
	/* Variables by which a training says that it has a tracker of its own, or how to reach it: then nothing is changed. NULL at the end. */
	const char *const *own;
	const char *const *own_files; /* the same of files in the folder that it runs in */
	/* The same by what the files hold that its client reads; NULL: none does. */
	bool (*has_own)(char *const *environment);
	void (*set_environment)(const struct relay_core *core, char *const *environment);
	/* Whether it is this tracker's request. */
	bool (*is_its)(const struct relay_core *core, const struct relay_request *request);
	/* Whether the request bears the token. */
	bool (*is_admitted)(const struct relay_core *core, const struct relay_request *request);
	void *(*known_new)(void); /* NULL: out of memory */
	/* Any thread of a connection; an error becomes a reply by `refuse`. */
	enum status (*answer)(struct relay_core *core, const struct relay_request *request, struct relay_reply *reply,
		struct error *err);
	void (*refuse)(const struct error *err, struct relay_reply *reply);
	/* The first of the records (whole lines) as one request; the same for the same records. ERR_INVALID: they are damaged; bytes says
	 * how much of them is to be passed over. */
	enum status (*compose)(
		struct span records, const struct relay_terms *terms, struct relay_sending *out, struct error *err);
};

/* ---- relay.c ---- */
extern const struct relay_dialect *const relay_dialects[RELAY_DIALECT_COUNT];

/* ---- relay_core.c ---- */
/* Puts a record; what there is no room for is counted and said, and the training goes on. is_run: as what it is composed to. */
void relay_put(struct relay_core *core, enum relay_dialect_id dialect, const char *call, bool is_run, struct span body);
/* Something could not be put. */
void relay_lose(struct relay_core *core, const struct error *err);
/* Asks the server, if it is there and answers at once. ERR_UNAVAILABLE: not; the reply is initialised either way. */
enum status relay_ask(struct relay_core *core, const char *method, struct span path, struct span body,
	struct http_reply *reply, struct error *err) MUST_CHECK;
/* Until all that was put is with the server; false: not in time. */
bool relay_await_sent(struct relay_core *core);

/* ---- relay_deliver.c ---- */
/* The thread that sends; its argument is the core. It returns when it is told to end and nothing is left, or at the time to give up. */
void *relay_deliver(void *core);

/* ---- relay_serve.c ---- */
/* Takes connections until the pipe from sm-ship ends and, if it was killed, the training has ended too. */
void relay_serve(struct relay_core *core, int listener, int parent);
/* What is said from now on is for nobody. */
void relay_leave_terminal(void);

/* ---- relay_mlflow.c ---- */
extern const struct relay_dialect relay_mlflow;

/* ---- relay_wandb.c ---- */
extern const struct relay_dialect relay_wandb;
