// Tests of the package and of its page: `node --test test.mjs` in the folder that scripts/build-verifier-wasm makes. OPENVM_METAL_TEST_DATA is the
// folder with the files of a real proof, OPENVM_METAL_SCREENSHOT a picture (.png) of the page to keep, CHROMIUM the browser.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { verify, VerifyError } from "./index.js";

const [data, screenshot] = [process.env.OPENVM_METAL_TEST_DATA, process.env.OPENVM_METAL_SCREENSHOT];
const file = (name) => readFileSync(join(data, name));
const proof = file("fibonacci.stark.proof");
const key = file("fibonacci.stark.vk");
const baseline = file("fibonacci.baseline.json");
const commit = file("fibonacci.commit.json");
const [toyProof, toyKey] = [file("toy.stark.proof"), file("toy.stark.vk")];
const commitments = JSON.parse(commit);
const revealed = "0x4b60c05cc74d590b";

/** A proof in which one digit is another. */
function changed() {
  const other = Buffer.from(proof);
  const middle = other.length >> 1;
  other[middle] = other[middle] === 0x31 ? 0x32 : 0x31;
  return other;
}

/** The baseline of circuits with few bits of security, and commitments of another program. */
const toy = JSON.stringify({ ...JSON.parse(baseline), security_bits: 5.2 });
const otherProgram = JSON.stringify({ ...commitments, app_exe_commit: `0x${"0".repeat(64)}` });
const otherKey = Buffer.from(key);
otherKey[otherKey.length >> 1] ^= 1;

/** Files that are refused, and a part of the words, which are those of the command and of the library for C. */
const refusals = [
  ["a digit changed", { proof: changed(), key, expected: baseline }, /the proof is not accepted: /],
  ["cut off", { proof: proof.subarray(0, proof.length / 2), key, expected: baseline }, /^a proof cannot be taken from bytes: it is damaged, cut off/],
  ["empty", { proof: "", key, expected: baseline }, /^a proof cannot be taken from bytes/],
  ["another key", { proof, key: otherKey, expected: baseline }, /^a verifying key cannot be taken from bytes/],
  ["no key", { proof, key: proof, expected: baseline }, /^a verifying key cannot be taken from bytes/],
  ["unknown origin", { proof, key }, /^a key of unknown origin can be the key of any circuit: give --commit FILE/],
  ["another program", { proof, key, expected: otherProgram }, /^the program is 0x000deeb6.*, expected is 0x0{64}: another one/],
  ["toy parameters", { proof, key, expected: toy }, /gives 5\.2 bits of security, at least 80 are required/],
  ["a toy proof", { proof: toyProof, key: toyKey }, /^the aggregation verifying key gives 5\.2 bits of security, at least 80 are required/],
  ["a key of another", { proof, key: toyKey, expected: baseline }, /gives 5\.2 bits of security/],
  ["a key of another at any bits", { proof, key: toyKey, expected: baseline, minSecurityBits: 0 }, /not the key that the baseline names/],
  ["a proof of another", { proof: toyProof, key, expected: baseline }, /^the proof is not accepted: Stark verifier failed/],
  ["more bits", { proof, key, expected: baseline, minSecurityBits: 120 }, /at least 120 are required/],
];

// Catches a statement that is not the proof's, and a module that a page cannot load.
test("a proof says what it proves", async () => {
  for (const [expected, comparedWith] of [[baseline, "baseline"], [commit.toString(), "commitments"], [null, "nothing"]]) {
    const verified = await verify({ proof, key, expected, trustKey: expected === null });
    assert.equal(verified.appExeCommit, commitments.app_exe_commit);
    assert.equal(verified.appVmCommit, commitments.app_vm_commit);
    assert.ok(verified.publicValues.startsWith(revealed));
    assert.equal(verified.publicValues.length, 2 + 2 * 32);
    assert.equal(verified.exitCode, 0);
    assert.equal(Math.floor(verified.securityBits), 100);
    assert.equal(verified.isOfAllCircuits, expected !== null);
    assert.equal(verified.comparedWith, comparedWith);
    assert.ok(verified.seconds > 0 && verified.seconds < 60);
    console.log(`node: ${(verified.seconds * 1000).toFixed(0)} ms`);
  }
});

// Catches files that are accepted although they are something else, in 32 bits, too.
test("what is refused, and its words", async () => {
  for (const [name, files, message] of refusals) {
    await assert.rejects(verify(files), (error) => {
      assert.ok(error instanceof VerifyError, `${name}: ${error}`);
      assert.match(error.message, message, name);
      return true;
    });
  }
  await assert.rejects(verify({ proof: 7, key }), TypeError);
  await assert.rejects(verify({ proof, key, minSecurityBits: NaN }), TypeError);
  await assert.rejects(verify({ proof, key, minSecurityBits: "0" }), TypeError);
  assert.ok((await verify({ proof: toyProof, key: toyKey, trustKey: true, minSecurityBits: 0 })).securityBits < 6);
  // An instance that ended leaves the next one alone.
  assert.equal((await verify({ proof, key, expected: baseline })).exitCode, 0);
});

// Parts of the whole proof, in 32 bits: no change of a digit is accepted, or anything but a refusal.
test("a changed digit anywhere is refused", async () => {
  for (let part = 0; part < 8; part++) {
    const other = Buffer.from(proof);
    let place = Math.floor((other.length * (2 * part + 1)) / 16);
    while (!/[0-9a-f]/.test(String.fromCharCode(other[place]))) place++;
    other[place] = other[place] === 0x31 ? 0x32 : 0x31;
    await assert.rejects(verify({ proof: other, key, expected: baseline }), VerifyError, `digit ${place}`);
  }
});

let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "openvm-metal-page-"));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The page at an address. Requests for anything else, and errors, are failures. */
async function open(address) {
  const page = await browser.newPage({ viewport: { width: 900, height: 900 } });
  const other = [];
  page.on("request", (request) => /^(blob|data):/.test(request.url()) || request.url() === address || other.push(request.url()));
  page.on("pageerror", (error) => other.push(String(error)));
  page.on("console", (message) => message.type() === "error" && other.push(message.text()));
  await page.goto(address);
  return { page, other };
}

/** Drops files on the page and returns what it says. */
async function drop(page, files) {
  await page.click("#clear");
  const transfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, base64] of files) {
      transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
    }
    return transfer;
  }, files.map(([name, bytes]) => [name, Buffer.from(bytes).toString("base64")]));
  await page.dispatchEvent("#drop", "drop", { dataTransfer: transfer });
  await page.waitForFunction(() => ["valid", "unknown", "refused"].includes(document.querySelector("#result").className)
    && !document.querySelector("#result").hidden, undefined, { timeout: 60_000 });
  return page.evaluate(() => ({
    state: document.querySelector("#result").className,
    title: document.querySelector("#result h2").textContent,
    text: document.querySelector("#result p").textContent,
    rows: Object.fromEntries([...document.querySelectorAll("#result dt")].map((term) => [term.textContent, term.nextElementSibling.textContent])),
  }));
}

// Catches a page that needs a network or a server, verifies in its own thread, or says something else than the library.
test("the page checks files from a disk", async () => {
  const { page, other } = await open(pathToFileURL(new URL("page.html", import.meta.url).pathname).href);
  await page.context().setOffline(true);
  const names = ["fibonacci.stark.proof", "fibonacci.stark.vk", "fibonacci.baseline.json"];
  const files = [proof, key, baseline].map((bytes, index) => [names[index], bytes]);
  const valid = await drop(page, files);
  assert.equal(valid.state, "valid", valid.text);
  assert.equal(valid.rows.Program, commitments.app_exe_commit);
  assert.equal(valid.rows["Virtual machine"], commitments.app_vm_commit);
  assert.ok(valid.rows["Public values"].startsWith(revealed));
  assert.equal(valid.rows["Exit code"], "0");
  assert.equal(valid.rows.Security, "100.0 bits");
  assert.equal(valid.rows["Compared with"], names[2]);
  assert.equal(page.workers().length, 1, "the page's own thread verifies nothing");
  const milliseconds = Number(valid.rows["Verified in"].replace(" ms", ""));
  console.log(`Chromium: ${milliseconds} ms`);
  // A bound for what hangs: the time itself depends on the load.
  assert.ok(milliseconds < 60_000, `${milliseconds} ms`);
  if (screenshot) await page.screenshot({ path: screenshot });

  for (const [name, given, message] of refusals) {
    if (given.minSecurityBits !== undefined) continue;
    const said = await drop(page, [
      ["a.stark.proof", given.proof],
      ["a.stark.vk", given.key],
      ...(given.expected === undefined ? [] : [["a.json", given.expected]]),
    ]);
    assert.equal(said.state, "refused", name);
    assert.match(said.text, message, name);
    assert.deepEqual(said.rows, {}, "a refusal has no statement");
  }
  if (screenshot) await page.screenshot({ path: screenshot.replace(".png", "-refused.png") });

  // An answer that comes late is of files that are no longer there.
  await page.evaluate(() => { for (let i = 0; i < 3; i++) element("trust").dispatchEvent(new Event("change")); });
  assert.equal((await drop(page, files)).state, "valid");

  // Without the file of a program: valid for this key, which is not the same as valid.
  await page.check("#trust");
  const own = await drop(page, files.slice(0, 2));
  assert.deepEqual([own.state, own.title], ["unknown", "Valid for this key"]);
  assert.equal(own.rows.Security, "100.1 bits in the last circuit");
  await page.uncheck("#trust");
  // Another bound, and none.
  await page.fill("#bits", "0");
  await page.dispatchEvent("#bits", "change");
  const weak = await drop(page, [...files.slice(0, 2), ["toy.json", toy]]);
  assert.deepEqual([weak.state, weak.title], ["refused", "Valid, but can be forged"]);
  await page.fill("#bits", "");
  await page.dispatchEvent("#bits", "change");
  assert.equal((await drop(page, files)).state, "refused");
  assert.deepEqual(other, [], "nothing but the page is asked for");
  await page.close();
});

// Catches what differs between a disk and a server: origins, workers, modules. Files are chosen here, not dropped.
test("the page and the package work from a static server", async () => {
  const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
  const server = createServer((request, response) => {
    const name = request.url.slice(1);
    if (!["page.html", "index.js", "core.js", "verifier.wasm"].includes(name)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[name.slice(name.lastIndexOf("."))] });
    response.end(readFileSync(new URL(name, import.meta.url)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  try {
    const { page, other } = await open(`${address}/page.html`);
    for (const [id, bytes] of [["proof", proof], ["key", key], ["expected", commit]]) {
      const path = join(folder, id);
      writeFileSync(path, bytes);
      await page.setInputFiles(`#${id} input`, path);
    }
    await page.waitForSelector("#result.valid", { timeout: 60_000 });
    assert.deepEqual(other, []);
    await page.close();

    const plain = await browser.newPage();
    await plain.goto(`${address}/core.js`);
    const verified = await plain.evaluate(async ([address, ...files]) => {
      const { verify } = await import(`${address}/index.js`);
      const [proof, key, expected] = files.map((base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
      return verify({ proof, key, expected });
    }, [address, ...[proof, key, baseline].map((bytes) => bytes.toString("base64"))]);
    assert.equal(verified.appExeCommit, commitments.app_exe_commit);
    await plain.close();
  } finally {
    server.close();
  }
});
