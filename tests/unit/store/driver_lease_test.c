/* One owner at a time, and no commit of another, however late it comes. */
#include "place.h"
#include "store/postgres/postgres_store.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

struct owner {
	struct place place;
	struct postgres_lease *lease;
};

static enum status try_take(
	struct place *p, struct postgres_lease **out, const char *name, int64_t lease_ms, struct error *err)
{
	struct postgres_lease_options options = {.owner = name, .lease_ms = lease_ms};
	AUTO(postgres_lease) lease = NULL;

	TRY(postgres_lease_new(&lease, p->store, &options, err));
	TRY(postgres_lease_take(lease, err));
	*out = TAKE(lease);
	return OK;
}

static struct owner first_owner(int64_t lease_ms)
{
	struct owner a = {.place = place_postgres()};

	place_run(&a.place, "CREATE TABLE things (id BIGINT PRIMARY KEY, n BIGINT)");
	CHECK_OK(postgres_lease_make(a.place.store, &err));
	CHECK_OK(postgres_lease_make(a.place.store, &err)); /* once is enough, twice does no harm */
	CHECK_OK(try_take(&a.place, &a.lease, "first:1", lease_ms, &err));
	return a;
}

/* Another server at the same schema, which comes as soon as it may. It waits for less long than an idle session of the first lives. */
static struct owner next_owner(void)
{
	struct owner b = {
		.place = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 5000, .arena = arena_new()}};
	enum status status;

	place_open_postgres(&b.place);
	do
		status = try_take(&b.place, &b.lease, "second:2", 0, NULL);
	while (status == ERR_CONFLICT);
	CHECK_INT(status, OK);
	return b;
}

static void owner_done(struct owner *o)
{
	postgres_lease_free(o->lease);
	place_done(&o->place);
}

static void put(struct place *p, int64_t id)
{
	CHECK_OK(run_with(place_begin(p), "INSERT INTO things (id, n) VALUES (?, 0)", NUMBERS(id), &err));
}

static int64_t count_things(struct place *p)
{
	return harness_number(p->reader, "SELECT count(*) FROM things");
}

TEST(a_lease_has_one_owner_until_it_is_given_back)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(0);
	struct place other = {.is_postgres = true, .schema = "sm_test", .arena = arena_new()};
	struct postgres_lease *lease = NULL;
	struct store_tx *tx = NULL;

	place_open_postgres(&other);
	CHECK_FAILS(try_take(&other, &lease, "second:2", 0, &err), ERR_CONFLICT, "'first:1'");
	CHECK_OK(postgres_lease_renew(a.lease, &err));
	put(&a.place, 1);
	place_commit(&a.place);
	CHECK_OK(postgres_lease_release(a.lease, &err));
	CHECK_FAILS(store_tx_begin(&tx, a.place.store, &err), ERR_UNAVAILABLE, "not renewed");
	CHECK_OK(try_take(&other, &lease, "second:2", 0, &err));
	put(&other, 2);
	place_commit(&other);
	CHECK_FAILS(postgres_lease_renew(a.lease, &err), ERR_CONFLICT, "'second:2'");
	CHECK_FAILS(store_look_at_file(a.place.store, &err), ERR_UNAVAILABLE, "taken over");
	CHECK_INT(count_things(&other), 2);
	postgres_lease_free(lease);
	place_done(&other);
	owner_done(&a);
}

TEST(a_commit_with_an_old_token_fails_in_the_server)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(1);

	put(&a.place, 1);
	CHECK_INT(
		harness_number(store_tx_reader(a.place.tx), "SELECT count(*) FROM things"), 1); /* the server has it */
	struct owner b = next_owner();
	CHECK_FAILS(store_tx_commit(a.place.tx, &err), ERR_UNAVAILABLE, "taken over");
	CHECK_INT(count_things(&b.place), 0);
	struct store_tx *tx = NULL;
	CHECK_FAILS(store_tx_begin(&tx, a.place.store, &err), ERR_UNAVAILABLE, "taken over");
	put(&b.place, 1);
	place_commit(&b.place);
	CHECK_INT(count_things(&b.place), 1);
	owner_done(&b);
	owner_done(&a);
}

TEST(who_takes_over_ends_the_connection_of_the_old_writer)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(1);

	put(&a.place, 1);
	harness_number(store_tx_reader(a.place.tx), "SELECT count(*) FROM things");
	/* It holds the fence, as in a COMMIT that waits for a standby. */
	CHECK_OK(run_with(a.place.tx, "UPDATE fence SET last_commit = ?", NUMBERS(77), &err));
	harness_number(store_tx_reader(a.place.tx), "SELECT count(*) FROM things");
	struct owner b = next_owner();
	CHECK_FAILS(store_tx_commit(a.place.tx, &err), ERR_UNAVAILABLE, "");
	CHECK_INT(count_things(&b.place), 0);
	CHECK_FAILS(store_look_at_file(a.place.store, &err), ERR_UNAVAILABLE, "taken over");
	owner_done(&b);
	owner_done(&a);
}

TEST(a_lease_that_was_not_renewed_in_time_lets_nothing_be_written)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	struct postgres_lease_options options = {.owner = "first:1", .write_ms = -1};
	struct postgres_lease *lease = NULL;
	struct store_tx *tx = NULL;

	CHECK_OK(postgres_lease_make(p.store, &err));
	CHECK_OK(postgres_lease_new(&lease, p.store, &options, &err));
	CHECK_OK(postgres_lease_take(lease, &err));
	CHECK_FAILS(store_tx_begin(&tx, p.store, &err), ERR_UNAVAILABLE, "not renewed");
	CHECK_OK(store_look_at_file(p.store, &err)); /* which passes with the next renewal */
	postgres_lease_free(lease);
	place_done(&p);
}

/* Nobody looks at it meanwhile, as while the database is away. */
static void wait_until_lease_is_over(struct place *p)
{
	while (!harness_number(p->reader,
		"SELECT count(*) FROM lease WHERE until_ms + 500 < extract(epoch FROM clock_timestamp()) * 1000"))
		continue;
}

static void wait_until_database_is_old(struct place *p)
{
	while (!harness_number(p->reader, "SELECT count(*) FROM (VALUES (1)) AS v (n)"
					  " WHERE pg_postmaster_start_time() < clock_timestamp() - INTERVAL '5 s'"))
		continue;
}

TEST(after_a_gap_the_owner_may_come_back_before_its_lease_is_taken)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(1000);
	struct place other = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 5000, .arena = arena_new()};
	struct postgres_lease_options options = {.owner = "second:2", .gap_ms = 500};
	struct postgres_lease *lease = NULL;

	place_open_postgres(&other);
	wait_until_database_is_old(&a.place);
	CHECK_OK(postgres_lease_renew(a.lease, &err));
	CHECK_OK(postgres_lease_new(&lease, other.store, &options, &err));
	CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'");
	wait_until_lease_is_over(&a.place);
	CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'");
	CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'"); /* the gap was just now */
	CHECK_OK(postgres_lease_renew(a.lease, &err));
	put(&a.place, 1);
	place_commit(&a.place);
	/* But who does not come back loses it, to one that looks all the while. */
	int64_t tries = 0;
	enum status status;
	for (; (status = postgres_lease_take(lease, NULL)) == ERR_CONFLICT; tries++)
		continue;
	CHECK_INT(status, OK);
	CHECK(tries > 1);
	CHECK_FAILS(postgres_lease_renew(a.lease, &err), ERR_CONFLICT, "'second:2'");
	postgres_lease_free(lease);
	place_done(&other);
	owner_done(&a);
}

TEST(a_lease_that_was_given_back_is_taken_after_a_gap)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(1000);
	struct place other = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 5000, .arena = arena_new()};
	struct postgres_lease_options options = {.owner = "second:2", .gap_ms = 500};
	struct postgres_lease *lease = NULL;

	place_open_postgres(&other);
	CHECK_OK(postgres_lease_new(&lease, other.store, &options, &err));
	CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'");
	wait_until_lease_is_over(&a.place);
	CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'");
	CHECK_OK(postgres_lease_release(a.lease, &err));
	CHECK_OK(postgres_lease_take(lease, &err));
	postgres_lease_free(lease);
	place_done(&other);
	owner_done(&a);
}

TEST(who_has_the_row_and_not_the_fence_tries_again_at_once)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(60000);
	struct place other = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 200, .arena = arena_new()};
	struct place third = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 5000, .arena = arena_new()};
	struct postgres_lease_options options = {.owner = "second:2"};
	struct postgres_lease *lease = NULL;

	place_open_postgres(&other);
	place_open_postgres(&third);
	CHECK_OK(postgres_lease_release(a.lease, &err));
	/* A lock that the end of the old writer's session does not end. */
	CHECK_OK(connection_run(database_writer(third.store), "BEGIN; LOCK TABLE fence IN SHARE MODE", &err));
	CHECK_OK(postgres_lease_new(&lease, other.store, &options, &err));
	CHECK(postgres_lease_take(lease, NULL) != OK);
	connection_rollback(database_writer(third.store));
	CHECK_OK(postgres_lease_take(lease, &err));
	place_begin(&other);
	place_commit(&other);
	postgres_lease_free(lease);
	place_done(&third);
	place_done(&other);
	owner_done(&a);
}

TEST(a_lease_is_asked_for_by_the_session_that_is_there)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(60000);
	struct place other = {.is_postgres = true, .schema = "sm_test", .write_limit_ms = 5000, .arena = arena_new()};
	struct postgres_lease_options options = {.owner = "second:2"};
	struct postgres_lease *lease = NULL;

	place_open_postgres(&other);
	CHECK_OK(postgres_lease_new(&lease, other.store, &options, &err));
	CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'");
	static const char ids[] = "SELECT sum(pid) FROM pg_stat_activity WHERE application_name = 'smfleet'";
	int64_t before = harness_number(a.place.reader, ids);
	for (int i = 0; i < 5; i++)
		CHECK_FAILS(postgres_lease_take(lease, &err), ERR_CONFLICT, "'first:1'");
	CHECK_INT(harness_number(a.place.reader, ids), before);
	postgres_lease_free(lease);
	place_done(&other);
	owner_done(&a);
}

TEST(a_server_that_waited_over_a_restart_of_the_database_takes_the_lease)
{
	if (!cluster_is_there())
		return;
	struct place p = place_postgres();
	struct postgres_lease *lease = NULL;

	CHECK_OK(postgres_lease_make(p.store, &err));
	place_terminate(&p, harness_number(database_writer(p.store), "SELECT pg_backend_pid()"));
	CHECK_OK(try_take(&p, &lease, "first:1", 0, &err));
	place_begin(&p);
	place_commit(&p);
	postgres_lease_free(lease);
	place_done(&p);
}

/* Who may not see since when another's session is there. */
static void open_as_stranger(struct place *p)
{
	static char conninfo[512];
	struct postgres_options options = {.conninfo = conninfo, .schema = "sm_test", .connect_limit_s = 2};

	place_administer("DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
	place_administer("GRANT USAGE ON SCHEMA sm_test TO stranger;"
			 "GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA sm_test TO stranger");
	snprintf(conninfo, sizeof conninfo, "%s user=stranger", cluster_conninfo("postgres"));
	CHECK_OK(postgres_open(&p->store, &options, NULL, NULL, &err));
	CHECK_OK(store_reader_new(&p->reader, p->store, &err));
}

TEST(a_session_that_cannot_be_looked_into_is_alive)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(60000);
	struct place other = {.is_postgres = true, .arena = arena_new()};
	struct postgres_lease *lease = NULL;

	open_as_stranger(&other);
	/* Before that the lease of a session that is gone is not taken either. */
	wait_until_database_is_old(&a.place);
	CHECK_FAILS(try_take(&other, &lease, "second:2", 120000, &err), ERR_CONFLICT, "'first:1'");
	place_done(&other);
	owner_done(&a);
}

/* ---- in doubt ---- */

TEST(a_commit_that_hangs_is_made_to_fail_before_that_is_said)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(0);

	postgres_store_of(a.place.store)->target.statement_limit_ms = 1000;
	put(&a.place, 1);
	pid_t backend = (pid_t)harness_number(store_tx_reader(a.place.tx), "SELECT pg_backend_pid()");
	CHECK(kill(backend, SIGSTOP) == 0);
	enum status status = store_tx_commit(a.place.tx, NULL);
	CHECK(kill(backend, SIGCONT) == 0); /* it finds the COMMIT in its socket */
	CHECK_INT(status, ERR_UNAVAILABLE);
	place_begin(&a.place);
	place_commit(&a.place);
	/* It ends itself, once it has read all that was sent to it. */
	char is_there[96];
	snprintf(is_there, sizeof is_there, "SELECT count(*) FROM pg_stat_activity WHERE pid = %ld", (long)backend);
	while (harness_number(a.place.reader, is_there))
		continue;
	CHECK_INT(count_things(&a.place), 0);
	owner_done(&a);
}

/* The client hears nothing any more, while what it says still arrives. */
static void deafen(struct place *p)
{
	struct postgres_reader *on = postgres_reader_of(database_writer(p->store));

	CHECK(shutdown(on->pq->PQsocket(on->conn), SHUT_RD) == 0);
}

TEST(a_commit_whose_answer_is_lost_is_told_as_it_went)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(0);
	int64_t stored = 0;

	for (int64_t id = 0; id < 40; id++) {
		put(&a.place, id);
		if (id % 2)
			harness_number(store_tx_reader(a.place.tx), "SELECT 1");
		deafen(&a.place);
		enum status status = store_tx_commit(a.place.tx, NULL);
		CHECK(status == OK || status == ERR_UNAVAILABLE);
		stored += status == OK;
		CHECK_INT(count_things(&a.place), stored);
	}
	CHECK(stored > 0);
	CHECK_OK(store_look_at_file(a.place.store, &err));
	owner_done(&a);
}

struct administrator {
	struct store_reader *on;
	_Atomic bool is_over;
};

static void *cut_all_waits_short(void *context)
{
	struct administrator *administrator = context;
	int64_t cut = 0;

	while (!atomic_load(&administrator->is_over) && place_cut_waits_short(administrator->on, &cut) == OK)
		continue;
	return NULL;
}

/* The commit is there, but neither it nor the question after it was waited for by a standby. */
TEST(a_commit_whose_answer_is_lost_and_that_was_not_waited_for_is_none)
{
	if (!cluster_is_there())
		return;
	struct owner a = first_owner(0);
	struct administrator administrator = {.on = a.place.reader};
	pthread_t thread;

	place_want_standby(&a.place);
	put(&a.place, 1);
	harness_number(store_tx_reader(a.place.tx), "SELECT 1");
	CHECK(pthread_create(&thread, NULL, cut_all_waits_short, &administrator) == 0);
	deafen(&a.place);
	enum status status = store_tx_commit(a.place.tx, NULL);
	atomic_store(&administrator.is_over, true);
	pthread_join(thread, NULL);
	CHECK_INT(status, ERR_UNAVAILABLE);
	CHECK_FAILS(store_look_at_file(a.place.store, &err), ERR_UNAVAILABLE, "holds what was said to have failed");
	place_want_no_standby(&a.place);
	owner_done(&a);
}
