/*
 * Job: browsers of people whom an OpenID provider has signed in. The cookie is 256 random bits, of which the hash is kept: in RAM, where
 *      each request looks, and in the store, so that a session outlives a restart and the change to a standby. What a person may do is
 *      worked out from the rules when a session begins, and for all of them anew at each start.
 * Ownership: new/free; people outlive it. Threads: any; begin, end and sweep wait for the writer.
 */
#pragma once

#include "http/http.h"
#include "people/people.h"
#include "store/store.h"

struct pipeline;
struct person_sessions;

struct person_sessions_options {
	const struct people *people;
	int64_t longest_ms; /* a session ends after so long, whatever is done in it */
	size_t most; /* the oldest of more is ended */
};

enum status person_sessions_new(struct person_sessions **out, const struct person_sessions_options *options,
	struct store *store, struct error *err) MUST_CHECK;
void person_sessions_free(struct person_sessions *sessions);
/* Takes out of the store what is over, or not allowed by the rules any more. */
enum status person_sessions_sweep(
	struct person_sessions *sessions, struct pipeline *pipeline, struct error *err) MUST_CHECK;

/* How often sessions were ended, for a sign-in that begins now. */
uint64_t person_sessions_endings(struct person_sessions *sessions);
struct person_sessions_beginning {
	const struct provider_settings *provider;
	struct span person, groups; /* a JSON array */
	struct span address; /* where from, for the audit log */
	uint64_t endings; /* when the sign-in began */
};
/* Appends the cookie. ERR_FORBIDDEN: no rule is for this person, or their sessions were ended since the sign-in began. */
enum status person_sessions_begin(struct person_sessions *sessions, struct pipeline *pipeline,
	const struct person_sessions_beginning *beginning, struct buf *cookie, struct error *err) MUST_CHECK;
/* Whose session it is; false: it is none, or over. Does not block. */
bool person_sessions_find(struct person_sessions *sessions, struct span cookie, struct principal *out);
/* Is the session that this person has come by still there? */
bool person_sessions_has(struct person_sessions *sessions, const struct principal *principal);
/* ERR_NOT_FOUND: there is none; sign-ins of this person that have begun bring none all the same. */
struct person_sessions_ending {
	uint64_t session; /* this one; 0: none */
	struct span name; /* and all of this person ("oidc/corp/ann"); "": of nobody */
	struct span team; /* of these only the team's; "": whatever it is */
};
enum status person_sessions_end(struct person_sessions *sessions, struct pipeline *pipeline,
	const struct person_sessions_ending *which, struct error *err) MUST_CHECK;

/* Those that go on, the oldest first; team "": of all. */
struct person_session {
	struct principal person;
	int64_t began_ms, until_ms;
};
enum status person_sessions_list(struct person_sessions *sessions, struct span team, struct arena *arena,
	struct person_session **out, size_t *count, struct error *err) MUST_CHECK;
/* True: some have ended by their time since the last call. */
bool person_sessions_expire(struct person_sessions *sessions);

AUTO_TYPE(person_sessions)
