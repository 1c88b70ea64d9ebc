// The verifier for Node.js, browsers and their workers: loads the module next to this file, once.

import { VerifyError, verifyWith } from "./core.js";

export { VerifyError };

let loaded;

async function load() {
  const address = new URL("./verifier.wasm", import.meta.url);
  if (address.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(address));
  }
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${answer.statusText}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

/** Verifies an aggregated proof: see index.d.ts. */
export async function verify(files) {
  loaded ??= load().catch((error) => {
    loaded = undefined;
    throw error;
  });
  return verifyWith(await loaded, files);
}
