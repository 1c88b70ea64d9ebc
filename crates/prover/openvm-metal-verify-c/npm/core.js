// The WebAssembly module's functions: bytes go in and an object comes out. No file, no network.

/** The reason why a proof is refused. */
export class VerifyError extends Error {
  constructor(message) {
    super(message);
    this.name = "VerifyError";
  }
}

// A panic of OpenVM's verifier and a lack of memory both end an instance of WebAssembly, without a text.
const UNVERIFIABLE =
  "the proof is not accepted: OpenVM's verifier cannot work with it, or memory was refused: the proof or its key is damaged or forged, "
  + "or the files need more memory than there is";

function bytes(name, value) {
  if (typeof value === "string") return new TextEncoder().encode(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`${name}: expected is an ArrayBuffer, a typed array or a text`);
}

/** Verifies files with a compiled module. Each call has an instance of its own, which ends with it. */
export async function verifyWith(module, { proof, key, expected, trustKey = false, minSecurityBits = 80 }) {
  if (typeof minSecurityBits !== "number" || Number.isNaN(minSecurityBits)) {
    throw new TypeError("minSecurityBits: expected is a number");
  }
  const files = [bytes("proof", proof), bytes("key", key), bytes("expected", expected ?? new Uint8Array())];
  const trust = expected != null ? 2 : trustKey === true ? 1 : 0;
  const start = performance.now();
  let answer;
  try {
    const instance = await WebAssembly.instantiate(module, {});
    const { memory, openvm_metal_verify_room: room, openvm_metal_verify_json: verify } = instance.exports;
    const places = files.flatMap((file) => {
      const address = room(file.length) >>> 0;
      new Uint8Array(memory.buffer, address, file.length).set(file);
      return [address, file.length];
    });
    const address = verify(...places, trust, minSecurityBits) >>> 0;
    const length = new DataView(memory.buffer).getUint32(address, true);
    answer = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, address + 4, length)));
  } catch (error) {
    // A memory that cannot be made, or a place outside of it, is a RangeError.
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) throw new VerifyError(UNVERIFIABLE);
    throw error;
  }
  if (answer.error !== undefined) throw new VerifyError(answer.error);
  return {
    appExeCommit: answer.app_exe_commit,
    appVmCommit: answer.app_vm_commit,
    publicValues: answer.public_values,
    exitCode: answer.exit_code,
    securityBits: answer.security_bits,
    isOfAllCircuits: answer.is_of_all_circuits,
    comparedWith: answer.compared_with,
    seconds: (performance.now() - start) / 1000,
  };
}
