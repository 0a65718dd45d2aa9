#include "http/rate.h"
#include "base/map.h"

#include <math.h>
#include <pthread.h>

enum { BURST_S = 2, CPU_BURST_S = 60, NS_A_MS = 1000000, SWEEP_AT = 4096, LONGEST_WAIT_S = 3600 };

struct limits {
	double requests_per_s, bytes_per_s, cpu_ms_per_s; /* 0: none */
};

struct bucket {
	struct limits limits; /* of the last request */
	double requests; /* left; below 0 is debt */
	double bytes;
	double cpu_ms;
	int64_t filled_at_ms;
};

struct rate {
	pthread_mutex_t mutex;
	atomic_uint_fast64_t requests_per_s, bytes_per_s;
	uint64_t cpu_ms_per_s;
	struct map *buckets; /* by the principal's id */
	size_t sweep_at;
};

void rate_set(struct rate *rate, uint64_t requests_per_s, uint64_t bytes_per_s)
{
	atomic_store(&rate->requests_per_s, requests_per_s);
	atomic_store(&rate->bytes_per_s, bytes_per_s);
}

struct rate *rate_new(uint64_t requests_per_s, uint64_t bytes_per_s, uint64_t cpu_ms_per_s)
{
	struct rate *rate = mem_zeroed(sizeof *rate);

	if (!rate || !(rate->buckets = map_new())) {
		mem_free(rate);
		return NULL;
	}
	pthread_mutex_init(&rate->mutex, NULL);
	rate_set(rate, requests_per_s, bytes_per_s);
	rate->cpu_ms_per_s = cpu_ms_per_s;
	rate->sweep_at = SWEEP_AT;
	return rate;
}

void rate_free(struct rate *rate)
{
	void *bucket;

	if (!rate)
		return;
	for (size_t at = 0; map_next(rate->buckets, &at, NULL, &bucket);)
		mem_free(bucket);
	map_free(rate->buckets);
	pthread_mutex_destroy(&rate->mutex);
	mem_free(rate);
}

static struct limits limits_of(struct rate *rate, const struct principal *who)
{
	uint64_t requests = who->rate_requests_per_s ? who->rate_requests_per_s : atomic_load(&rate->requests_per_s);
	uint64_t bytes = who->rate_bytes_per_s ? who->rate_bytes_per_s : atomic_load(&rate->bytes_per_s);

	return (struct limits){(double)requests, (double)bytes, (double)rate->cpu_ms_per_s};
}

static void fill(struct bucket *bucket, int64_t now_ms)
{
	double passed_s = (double)(now_ms - bucket->filled_at_ms) / 1000;
	const struct limits *limits = &bucket->limits;

	bucket->requests = fmin(limits->requests_per_s * BURST_S, bucket->requests + limits->requests_per_s * passed_s);
	bucket->bytes = fmin(limits->bytes_per_s * BURST_S, bucket->bytes + limits->bytes_per_s * passed_s);
	bucket->cpu_ms = fmin(limits->cpu_ms_per_s * CPU_BURST_S, bucket->cpu_ms + limits->cpu_ms_per_s * passed_s);
	bucket->filled_at_ms = now_ms;
}

/* A full bucket is what a new one would be. */
static bool is_worth_keeping(struct bucket *bucket, int64_t now_ms)
{
	fill(bucket, now_ms);
	return bucket->requests < bucket->limits.requests_per_s * BURST_S ||
	       bucket->bytes < bucket->limits.bytes_per_s * BURST_S ||
	       bucket->cpu_ms < bucket->limits.cpu_ms_per_s * CPU_BURST_S;
}

static void drop_full_buckets(struct rate *rate, int64_t now_ms)
{
	struct map *kept = map_new(), *old = rate->buckets;
	struct span key;
	void *bucket;

	if (!kept)
		return;
	for (size_t at = 0; map_next(old, &at, &key, &bucket);)
		if (!is_worth_keeping(bucket, now_ms) || !map_put(kept, key, bucket))
			mem_free(bucket);
	map_free(old);
	rate->buckets = kept;
	rate->sweep_at = SWEEP_AT + map_count(kept) * 2;
}

/* NULL: out of memory; the request then goes unlimited rather than unanswered. */
static struct bucket *bucket_of(struct rate *rate, const struct principal *who, struct limits limits, int64_t now_ms)
{
	struct span key = span_of((const char *)&who->id, sizeof who->id);
	struct bucket *bucket = map_get(rate->buckets, key);

	if (!bucket) {
		if (map_count(rate->buckets) >= rate->sweep_at)
			drop_full_buckets(rate, now_ms);
		bucket = mem_alloc(sizeof *bucket);
		if (!bucket)
			return NULL;
		*bucket = (struct bucket){limits, limits.requests_per_s * BURST_S, limits.bytes_per_s * BURST_S,
			limits.cpu_ms_per_s * CPU_BURST_S, now_ms};
		if (!map_put(rate->buckets, key, bucket)) {
			mem_free(bucket);
			return NULL;
		}
	}
	bucket->limits = limits;
	fill(bucket, now_ms);
	return bucket;
}

static enum status refuse(double wait_s, const char *what, double per_s, struct error *err)
{
	error_set(err, ERR_BUSY, "more than %.0f %s a second; wait", per_s, what);
	if (err)
		err->retry_after_s = (int)fmin(LONGEST_WAIT_S, fmax(1, ceil(wait_s)));
	return ERR_BUSY;
}

static enum status admit(struct bucket *bucket, struct error *err)
{
	const struct limits *limits = &bucket->limits;

	if (limits->requests_per_s > 0 && bucket->requests < 1)
		return refuse((1 - bucket->requests) / limits->requests_per_s, "requests", limits->requests_per_s, err);
	if (limits->bytes_per_s > 0 && bucket->bytes < 0)
		return refuse(-bucket->bytes / limits->bytes_per_s, "bytes", limits->bytes_per_s, err);
	if (limits->requests_per_s > 0) /* else a limit that comes later would find a debt */
		bucket->requests -= 1;
	return OK;
}

enum status rate_admit(struct rate *rate, const struct principal *who, int64_t now_mono_ms, struct error *err)
{
	struct limits limits = limits_of(rate, who);

	if (limits.requests_per_s <= 0 && limits.bytes_per_s <= 0)
		return OK;
	pthread_mutex_lock(&rate->mutex);
	struct bucket *bucket = bucket_of(rate, who, limits, now_mono_ms);
	enum status status = bucket ? admit(bucket, err) : OK;
	pthread_mutex_unlock(&rate->mutex);
	return status;
}

enum status rate_admit_slow(struct rate *rate, const struct principal *who, int64_t now_mono_ms, struct error *err)
{
	struct limits limits = limits_of(rate, who);
	enum status status = OK;

	if (limits.cpu_ms_per_s <= 0)
		return OK;
	pthread_mutex_lock(&rate->mutex);
	struct bucket *bucket = bucket_of(rate, who, limits, now_mono_ms);
	if (bucket && bucket->cpu_ms < 0)
		status = refuse(-bucket->cpu_ms / limits.cpu_ms_per_s,
			"ms of processor time for slow requests (--rate-cpu-ms)", limits.cpu_ms_per_s, err);
	pthread_mutex_unlock(&rate->mutex);
	return status;
}

void rate_charge_cpu(struct rate *rate, const struct principal *who, int64_t cpu_ns, int64_t now_mono_ms)
{
	struct limits limits = limits_of(rate, who);

	if (limits.cpu_ms_per_s <= 0)
		return;
	pthread_mutex_lock(&rate->mutex);
	struct bucket *bucket = bucket_of(rate, who, limits, now_mono_ms);
	if (bucket)
		bucket->cpu_ms -= (double)cpu_ns / NS_A_MS;
	pthread_mutex_unlock(&rate->mutex);
}

void rate_charge_bytes(struct rate *rate, const struct principal *who, uint64_t bytes, int64_t now_mono_ms)
{
	struct limits limits = limits_of(rate, who);

	if (limits.bytes_per_s <= 0)
		return;
	pthread_mutex_lock(&rate->mutex);
	struct bucket *bucket = bucket_of(rate, who, limits, now_mono_ms);
	if (bucket)
		bucket->bytes -= (double)bytes;
	pthread_mutex_unlock(&rate->mutex);
}
