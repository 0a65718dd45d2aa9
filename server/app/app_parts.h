/*
 * Job: what app is inside, for the files that make its parts: app_pipeline.c and app_api.c take the options of their part from those of
 *      the program, app.c has the order.
 * Ownership: app.c's. Threads: main, but for what says otherwise.
 */
#pragma once

#include "app/collect.h"
#include "app/connection_options.h"
#include "app/control.h"
#include "app/data_files.h"
#include "app/reload.h"
#include "app/storage.h"

extern const struct embedded_file embedded_data[];
extern const struct embedded_file embedded_web[];
extern const struct embedded_file embedded_downloads[];

struct app {
	const struct options *options;
	struct storage storage;
	struct store *store;
	struct hub *hub;
	struct filters *filters;
	struct pipeline *pipeline;
	struct assets *assets;
	struct api *_Atomic api; /* the pipeline's threads run before it is there */
	struct doors doors;
	struct http_route *routes; /* of all */
	struct http_server *server;
	struct http_hooks hooks; /* outlive the server */
	pthread_mutex_t sender_mutex; /* of the two who are woken by others and go first */
	struct webhook_sender *sender;
	struct webhook_formats *formats;
	struct collect_setup *collect;
	struct collector *collector; /* NULL: nothing is collected; under sender_mutex */
	struct buf public_url;
	struct data_files data;
	struct people *people;
	struct buf socket_path;
	int control_fd;
	int signal_fd;
	struct control control;
	struct reload reload;
	unsigned char seal_key[SEAL_KEY_BYTES];
};

static inline size_t app_bytes(const struct options *options, const char *name)
{
	return (size_t)options_i64(options, name);
}

static inline int64_t app_trash_ms(const struct options *options)
{
	return options_i64(options, "trash-days") * 24 * 60 * 60 * 1000;
}

enum status app_start_pipeline(struct app *app, struct error *err) MUST_CHECK;
enum status app_make_api(struct app *app, struct error *err) MUST_CHECK;
/* Messages are to be delivered: any thread, context is the app. */
void app_deliveries_due(void *context);
