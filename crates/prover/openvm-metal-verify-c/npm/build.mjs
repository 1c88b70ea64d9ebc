// The last steps of scripts/build-verifier-wasm: leaves in the module what is called, and writes the page.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [built, most] = [process.argv[2], Number(process.argv[3])];
const folder = dirname(fileURLToPath(import.meta.url));
const tool = (name, ...args) =>
  execFileSync(process.execPath, [join(folder, "node_modules/binaryen/bin", name), ...args], { stdio: ["ignore", "ignore", "inherit"] });

// Crates export functions for wasm-bindgen, which nobody calls.
const names = ["openvm_metal_verify_room", "openvm_metal_verify_json", "memory"];
const graph = names.map((name) => ({ name, root: true, export: name }));
const [roots, small, wasm] = ["roots.json", "small.wasm", "verifier.wasm"].map((name) => join(folder, name));
writeFileSync(roots, JSON.stringify(graph));
const features = ["--enable-bulk-memory", "--enable-sign-ext", "--enable-mutable-globals", "--enable-nontrapping-float-to-int",
  "--enable-multivalue", "--enable-reference-types"];
tool("wasm-metadce", ...features, "--graph-file", roots, built, "-o", small);
tool("wasm-opt", ...features, "-Os", "--strip-debug", "--strip-producers", "--strip-target-features", small, "-o", wasm);

// Sections that no engine reads: number 0.
const module = readFileSync(wasm);
const parts = [module.subarray(0, 8)];
for (let place = 8; place < module.length; ) {
  let [length, shift, next] = [0, 0, place + 1];
  do length |= (module[next] & 127) << shift, (shift += 7);
  while (module[next++] & 128);
  if (module[place] !== 0) parts.push(module.subarray(place, next + length));
  place = next + length;
}
const bytes = Buffer.concat(parts);
writeFileSync(wasm, bytes);
[roots, small].forEach((file) => rmSync(file));

const { exports, imports } = ((module) => ({
  exports: WebAssembly.Module.exports(module).map((one) => one.name).sort(),
  imports: WebAssembly.Module.imports(module),
}))(new WebAssembly.Module(bytes));
if (imports.length || exports.join() !== [...names].sort().join()) {
  throw new Error(`the module has other imports or exports: ${JSON.stringify({ imports, exports })}`);
}

// One file with everything: a page from a disk can load nothing else.
const page = join(folder, "page.html");
const worker = ["core.js", "worker.js"].map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
const script = worker.replace(/^export /gm, "").replaceAll("</", "<\\/");
const text = readFileSync(page, "utf8")
  .replace("<!-- worker -->", () => `<script type="text/plain" id="worker">\n${script}</script>`)
  .replace("<!-- module -->", () => `<script type="text/plain" id="module">${bytes.toString("base64")}</script>`);
writeFileSync(page, text);

const sizes = ["verifier.wasm", "core.js", "index.js", "index.d.ts"].map((name) => [name, statSync(join(folder, name)).size]);
const total = sizes.reduce((sum, [, size]) => sum + size, 0);
console.log(`${sizes.map(([name, size]) => `${name} ${size}`).join(", ")}: ${total} bytes; page.html ${statSync(page).size}`);
if (total > most) throw new Error(`the package has ${total} bytes, at most ${most} are allowed`);
