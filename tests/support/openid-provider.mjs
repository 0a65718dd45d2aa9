// A real OpenID provider (npm's oidc-provider) for tests: node openid-provider.mjs PORT CALLBACK; it prints its issuer when it is there.
// Whoever signs in is NAME@example.org, in the groups that follow in the name: "ann+admins+ml" is ann, in admins and ml.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

const [port, callback] = process.argv.slice(2);
const server = createServer();
await new Promise((resolve) => server.listen(Number(port), "127.0.0.1", resolve));

const key = (kid, kind, options) => ({ ...generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" }), kid, use: "sig" });
const client = (client_id, method, alg, rest = {}) => ({
  client_id,
  ...(method === "none" ? {} : { client_secret: "a secret/with +signs" }),
  token_endpoint_auth_method: method,
  id_token_signed_response_alg: alg,
  redirect_uris: [callback.replace("NAME", client_id)],
  ...rest,
});
const claims = (id) => {
  const [name, ...groups] = id.split("+");
  return { sub: id, email: `${name}@example.org`, email_verified: name !== "mallory", preferred_username: name, groups };
};

const provider = new Provider(`http://127.0.0.1:${server.address().port}`, {
  clients: [client("basic", "client_secret_basic", "RS256"), client("post", "client_secret_post", "ES256"), client("public", "none", "RS256")],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
  // of one client in the ID token, of the others at the userinfo endpoint alone
  conformIdTokenClaims: process.env.CLAIMS_IN_ID_TOKEN === undefined,
  findAccount: (_, id) => ({ accountId: id, claims: () => claims(id) }),
  jwks: { keys: [key("rsa", "rsa", { modulusLength: 2048 }), key("curve", "ec", { namedCurve: "P-256" })] },
  cookies: { keys: ["of tests"] },
  pkce: { required: () => true },
});
server.on("request", provider.callback());
console.log(`ready http://127.0.0.1:${server.address().port}`);
