#include "cli/http/resolve.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <nss.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { WAIT_SLICE_MS = 200 };

struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t done;
	char host[256], port[6];
	struct addrinfo *addresses;
	int code;
	bool is_done;
	bool is_left_behind; /* nobody waits any more: the thread frees it */
};

static int ask_system(const char *host, const char *port, int flags, struct addrinfo **addresses)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};

	*addresses = NULL;
	return getaddrinfo(host, port, &hints, addresses);
}

/*
 * The static programs must not load what /etc/nsswitch.conf names: those libraries belong to this machine's C library,
 * which is another one than ours. Files and DNS are built in.
 */
static void use_built_in_services(void)
{
#ifdef SM_STATIC
	__nss_configure_lookup("hosts", "files dns");
#endif
}

static enum status fail_lookup(const char *host, int code, struct error *err)
{
	bool has_dns = access("/etc/resolv.conf", R_OK) == 0;

	return error_set(err, ERR_UNAVAILABLE, "cannot find host '%s': %s%s", host, gai_strerror(code),
		has_dns ? "" : "; there is no /etc/resolv.conf here: give its IP address, or a line in /etc/hosts");
}

static void lookup_free(struct lookup *lookup)
{
	if (lookup->addresses)
		freeaddrinfo(lookup->addresses);
	pthread_cond_destroy(&lookup->done);
	pthread_mutex_destroy(&lookup->lock);
	mem_free(lookup);
}

static struct lookup *lookup_new(const char *host, const char *port)
{
	struct lookup *lookup = mem_zeroed(sizeof *lookup);
	pthread_condattr_t attributes;

	if (!lookup)
		return NULL;
	pthread_mutex_init(&lookup->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&lookup->done, &attributes);
	pthread_condattr_destroy(&attributes);
	snprintf(lookup->host, sizeof lookup->host, "%s", host);
	snprintf(lookup->port, sizeof lookup->port, "%s", port);
	return lookup;
}

static void *lookup_run(void *argument)
{
	struct lookup *lookup = argument;
	struct addrinfo *addresses;
	int code = ask_system(lookup->host, lookup->port, AI_ADDRCONFIG, &addresses);

	if (code == EAI_NONAME ||
		code == EAI_ADDRFAMILY) /* a machine with loopback alone has no "configured" address */
		code = ask_system(lookup->host, lookup->port, 0, &addresses);
	pthread_mutex_lock(&lookup->lock);
	lookup->addresses = addresses;
	lookup->code = code;
	lookup->is_done = true;
	bool is_left_behind = lookup->is_left_behind;
	pthread_cond_signal(&lookup->done);
	pthread_mutex_unlock(&lookup->lock);
	if (is_left_behind)
		lookup_free(lookup);
	return NULL;
}

static bool start_thread(struct lookup *lookup)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals belong to its main thread */
	int failure = pthread_create(&thread, &attributes, lookup_run, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failure == 0;
}

/* True: done; false: the time is over. */
static bool wait_for(struct lookup *lookup, int64_t deadline_ms, const _Atomic int64_t *give_up_ms)
{
	pthread_mutex_lock(&lookup->lock);
	for (;;) {
		int64_t now_ms = clock_mono_ms(), give_up = atomic_load(give_up_ms);
		if (lookup->is_done || now_ms >= deadline_ms || (give_up && now_ms >= give_up))
			break;
		struct timespec until = clock_deadline(WAIT_SLICE_MS);
		pthread_cond_timedwait(&lookup->done, &lookup->lock, &until);
	}
	bool is_done = lookup->is_done;
	lookup->is_left_behind = !is_done;
	pthread_mutex_unlock(&lookup->lock);
	return is_done;
}

enum status resolve_host(struct addrinfo **out, const char *host, const char *port, int64_t deadline_ms,
	const _Atomic int64_t *give_up_ms, struct error *err)
{
	use_built_in_services();
	if (ask_system(host, port, AI_NUMERICHOST, out) == 0)
		return OK;
	struct lookup *lookup = lookup_new(host, port);
	if (!lookup)
		return error_no_memory(err);
	if (!start_thread(lookup))
		lookup_run(lookup);
	if (!wait_for(lookup, deadline_ms, give_up_ms))
		return error_set(err, ERR_UNAVAILABLE, "cannot find host '%s': the name service does not answer", host);
	*out = TAKE(lookup->addresses);
	int code = lookup->code;
	lookup_free(lookup);
	if (code != 0)
		return fail_lookup(host, code, err);
	return OK;
}
