/*
 * Job: "127.0.0.1:8080", "[::1]:0", "name:port" -> a listening socket.
 * Ownership: the socket is the caller's. Threads: any.
 */
#pragma once

#include "base/error.h"

/* ERR_INVALID: not an address; ERR_IO: cannot be bound. */
enum status listen_open(int *out, const char *address, struct error *err) MUST_CHECK;
unsigned listen_port(int socket);
