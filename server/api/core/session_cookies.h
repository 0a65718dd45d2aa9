/* Job: the cookies that a browser is known by. Ownership: none. Threads: any. */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"

/* Of a token's session, wherever the server is called. */
void session_cookie_set_token(const struct api *api, struct http_response *response, struct span session);
/* Of a person's: where --public-url is https, it goes by nothing else. What the browser had before is gone. */
void session_cookie_set_person(const struct api *api, struct http_response *response, struct span session);
void session_cookies_clear(const struct api *api, struct http_response *response);

/* By which a browser is known again that comes back from a provider; "": none. */
void sign_in_cookie_set(const struct api *api, struct http_response *response, struct span value);
void sign_in_cookie_clear(const struct api *api, struct http_response *response);
struct span sign_in_cookie_of(const struct api *api, const struct http_request *request);
