/** As the server takes it (people/sign_ins.h): else it refuses the sign-in. */
const MOST_BYTES = 1024;

/** Where the browser comes back to after it has signed in elsewhere: as much of the address as fits. */
export function comeBackTo(at: { pathname: string; search: string; hash: string }): string {
  const parts = [at.pathname, at.search, at.hash].map((part) => part.replaceAll("\\", "%5C"));
  if (/^(?!\/)|^\/\//.test(at.pathname)) return "/";
  for (let count = parts.length; count > 0; count--) {
    const path = parts.slice(0, count).join("");
    if (new TextEncoder().encode(path).length <= MOST_BYTES) return path;
  }
  return "/";
}
