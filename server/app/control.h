/*
 * Job: the socket beside the database (FILE.sock, mode 0600) by which subcommands ask the running server. One JSON object
 *      on a line each way: {"command":"token_create","name","scope","team"} -> {"token"} or {"error","status"}.
 * Ownership: as said. Threads: main.
 */
#pragma once

#include "app/app.h"

/* A listening socket at path; an old one there is replaced (the database's lock says that nobody listens). */
enum status control_listen(const char *path, int *fd, struct error *err) MUST_CHECK;
/* Takes one connection and answers its one command. Failures are the client's to see. */
void control_answer(int listen_fd, struct app *app);
/* The client's side. ERR_NOT_FOUND: nobody listens there. */
enum status control_ask(const char *path, struct span request, struct buf *reply, struct error *err) MUST_CHECK;
